// SPDX-License-Identifier: MIT
/* What the wrappers call, and which wrapper calls what. */
#include "capture/sources/hip/hip.h"

#include <dlfcn.h>
#include <string.h>

#include "capture/dl.h"
#include "capture/elf.h"

static _Atomic(void *) originals[WT_HIP_CNT]; /* as the wrappers found them */

static const struct {
	const char *name, *symbol;
} mangled[] = {
#define MANGLED(name, symbol) {#name, #symbol},
#include "capture/sources/hip/mangled.def"
#undef MANGLED
};

const char *wt_hip__plain_name(const char *symbol)
{
	for (size_t i = 0; i < sizeof(mangled) / sizeof(*mangled) && symbol[0] == '_'; i++)
		if (!strcmp(mangled[i].symbol, symbol))
			return mangled[i].name;
	return symbol;
}

static void *look_up_symbol(const char *name)
{
	/* loaded with RTLD_LOCAL the runtime is not behind us in the search order */
	static const char *const libraries[] = {"libamdhip64", "libhiprtc"};
	void *fn = wt_dl__next(name);
	struct wt_elf library;

	for (size_t i = 0; !fn && i < sizeof(libraries) / sizeof(*libraries); i++)
		if (wt_elf__named(libraries[i], &library))
			fn = wt_elf__find(&library, name);
	return fn;
}

static void *look_up(const char *name)
{
	void *fn = look_up_symbol(name);

	for (size_t i = 0; !fn && i < sizeof(mangled) / sizeof(*mangled); i++)
		if (!strcmp(mangled[i].name, name))
			fn = look_up_symbol(mangled[i].symbol);
	return fn;
}

/*
 * A wrapper keeps the address of what it calls, and the program may keep the
 * wrapper's: the runtime must not leave when it is closed, as ROCm's own does
 * before 6.4.
 */
static void keep_loaded(void *fn)
{
	static _Atomic uintptr_t kept;
	struct wt_elf library;
	void *handle;

	if (!wt_elf__at(fn, &library) || !*library.path ||
		atomic_load_explicit(&kept, memory_order_relaxed) == library.start)
		return;
	atomic_store_explicit(&kept, library.start, memory_order_relaxed);
	handle = dlopen(library.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (handle)
		dlclose(handle);
}

void *wt_hip__original(enum wt_hip_api id)
{
	void *fn = atomic_load_explicit(&originals[id], memory_order_relaxed);
	int saved = errno;

	if (wt_likely(fn != NULL))
		return fn;
	fn = look_up(wt_hip_functions[id].name);
	/* absence is not kept: the runtime may be loaded later */
	if (fn) {
		keep_loaded(fn);
		atomic_store_explicit(&originals[id], fn, memory_order_relaxed);
	}
	errno = saved;
	return fn;
}

void *wt_hip__wrapper_named(const char *symbol)
{
	return wt_hip__wrapper(wt_hip__plain_name(symbol));
}

void *wt_hip__original_named(const char *symbol)
{
	const char *name = wt_hip__plain_name(symbol);
	unsigned id = wt_hip_api__find(name);
	void *fn =
		id < WT_HIP_CNT ? atomic_load_explicit(&originals[id], memory_order_relaxed) : NULL;

	return fn || id == WT_HIP_CNT ? fn : look_up(name);
}

/* The wrapper of that name, if `fn` is what it calls. */
static void *wrapper_of(void *fn, const char *name)
{
	return wt_hip__original_named(name) == fn ? wt_hip__wrapper_named(name) : NULL;
}

void *wt_hip__exchanged(void *fn, const char *name)
{
	void *ours = fn && name ? wrapper_of(fn, name) : NULL;
	int saved = errno;
	struct wt_elf library;

	if (!ours && fn && wt_elf__at(fn, &library))
		for (uint32_t i = 0; !ours && i < library.symbol_cnt; i++) {
			void *address;
			const char *has = wt_elf__function(&library, i, &address);

			if (has && address == fn)
				ours = wrapper_of(fn, has);
		}
	errno = saved;
	return ours ? ours : fn;
}
