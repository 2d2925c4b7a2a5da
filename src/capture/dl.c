// SPDX-License-Identifier: MIT
#include "capture/dl.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capture/elf.h"

/*
 * Who asks first may be a sanitizer that looks for the functions it stands in
 * front of, while its own are not ready: nothing of libc is called until then.
 */
static void *_Atomic found_sym, *_Atomic found_vsym;

/* libdl has them up to glibc 2.33, libc from then on, and where there is no libdl at all. */
static bool from_libc(const struct wt_elf *elf, void *data)
{
	void *sym, *vsym;

	(void)data;
	if (!wt_elf__begins(elf->soname, "libdl.") && !wt_elf__begins(elf->soname, "libc."))
		return false;
	sym = wt_elf__find(elf, "dlsym");
	vsym = wt_elf__find(elf, "dlvsym");
	if (!sym)
		return false;
	atomic_store_explicit(&found_vsym, vsym, memory_order_relaxed);
	/* release: whoever sees it sees the other, too */
	atomic_store_explicit(&found_sym, sym, memory_order_release);
	return true;
}

wt_dlsym_fn *wt_dl__sym(void)
{
	void *fn = atomic_load_explicit(&found_sym, memory_order_acquire);

	if (!fn && wt_elf__each_listed(from_libc, NULL))
		fn = atomic_load_explicit(&found_sym, memory_order_acquire);
	return (wt_dlsym_fn *)fn;
}

wt_dlvsym_fn *wt_dl__vsym(void)
{
	wt_dl__sym();
	return (wt_dlvsym_fn *)atomic_load_explicit(&found_vsym, memory_order_relaxed);
}

void *wt_dl__next(const char *name)
{
	wt_dlsym_fn *sym = wt_dl__sym();
	/* in a variable: a tail call would make the caller's caller the one who asks */
	void *volatile fn = sym ? sym(RTLD_NEXT, name) : NULL;

	return fn;
}

bool wt_dl__look_ups_off(void)
{
#ifdef __x86_64__
	static _Atomic int known = -1;
	int off = atomic_load_explicit(&known, memory_order_relaxed);

	if (off < 0) {
		const char *value = getenv("WAVETAP_NO_DLSYM");

		off = value && *value && strcmp(value, "0") != 0;
		atomic_store_explicit(&known, off, memory_order_relaxed);
	}
	return off;
#else
	return true;
#endif
}
