// SPDX-License-Identifier: MIT
/*
 * dlsym and dlvsym of the program: who asks a vendor's library for a function
 * that we wrap gets the wrapper.
 *
 * The loader's dlsym looks at its return address: RTLD_NEXT and RTLD_DEFAULT
 * mean what they mean for the caller. So what we do not answer ourselves goes
 * on by a jump, with the caller's own return address on the stack. A function
 * is exchanged only where the wrapper would call the very one that was found:
 * another version of it, another copy of the library, and what another tool has
 * put there stay what they are.
 *
 * Names that no source knows, that is all of them in a process without a GPU,
 * cost a comparison of three letters.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "capture/capture.h"
#include "capture/dl.h"
#include "capture/elf.h"
#include "capture/source.h"

/* Elsewhere nothing is interposed: the jump has to be written for each processor. */
#ifdef __x86_64__

/* What the stubs do next: jump to `go_on`, or, where it is NULL, return `value`. */
struct wt_answer {
	void *go_on;
	void *value;
};

struct wt_answer wt_dlsym__answer(
	void *handle, const char *name, const char *version, const void *caller);

/* Ours, whoever is in front of us. */
void wt_own_dlsym(void);
void wt_own_dlvsym(void);

#define STUB(name, arguments)                                                                      \
	"	.text\n	.p2align 4\n"                                                                    \
	"	.globl " #name "\n"                                                                \
	"	.type " #name ", @function\n"                                                      \
	"	.hidden wt_own_" #name "\n"                                                        \
	"wt_own_" #name ":\n" #name ":\n"                                                          \
	"	.cfi_startproc\n"                                                                        \
	"	endbr64\n" arguments "	movq (%rsp), %rcx\n"                                        \
	"	pushq %rdi\n"                                                                            \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	pushq %rsi\n"                                                                            \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	pushq %rdx\n"                                                                            \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	call wt_dlsym__answer\n"                                                                 \
	"	movq %rdx, %r11\n"                                                                       \
	"	popq %rdx\n"                                                                             \
	"	.cfi_adjust_cfa_offset -8\n"                                                             \
	"	popq %rsi\n"                                                                             \
	"	.cfi_adjust_cfa_offset -8\n"                                                             \
	"	popq %rdi\n"                                                                             \
	"	.cfi_adjust_cfa_offset -8\n"                                                             \
	"	testq %rax, %rax\n"                                                                      \
	"	je 1f\n"                                                                                 \
	"	jmp *%rax\n"                                                                             \
	"1:	movq %r11, %rax\n"                                                                     \
	"	ret\n"                                                                                   \
	"	.cfi_endproc\n"                                                                          \
	"	.size " #name ", .-" #name "\n"

/* no version; it is in %rdx already */
__asm__(STUB(dlsym, "	xorl %edx, %edx\n"));
__asm__(STUB(dlvsym, ""));

/*
 * Another library behind us that defines dlsym, too, is asked as if we were not
 * there; without one this is libc's.
 */
static void *behind_us(_Atomic(void *) *place, const char *name, void *own)
{
	void *fn = atomic_load_explicit(place, memory_order_relaxed);

	if (fn)
		return fn;
	fn = wt_dl__next(name);
	if (!fn)
		fn = own;
	atomic_store_explicit(place, fn, memory_order_relaxed);
	return fn;
}

static void *next_function(const char *version)
{
	static _Atomic(void *) sym, vsym;

	return version ? behind_us(&vsym, "dlvsym", (void *)wt_dl__vsym())
		       : behind_us(&sym, "dlsym", (void *)wt_dl__sym());
}

/* As the program asks, but it is us who ask. */
static void *ask(void *handle, const char *name, const char *version)
{
	void *fn = next_function(version);

	if (!fn)
		return NULL;
	/* volatile: a jump would make our caller the one who asks */
	void *volatile found = version ? ((wt_dlvsym_fn *)fn)(handle, name, version)
				       : ((wt_dlsym_fn *)fn)(handle, name);
	return found;
}

static const struct wt_source *source_of(const char *name)
{
	/* hip…, __hip…, and the few that C++ has mangled */
	if (wt_likely((name[0] != 'h' || name[1] != 'i' || name[2] != 'p') &&
		      (name[0] != '_' || ((name[1] != '_' || name[2] != 'h') && name[1] != 'Z'))))
		return NULL;
	for (size_t i = 0; wt_sources[i]; i++)
		if (wt_sources[i]->wrapper && wt_sources[i]->wrapper(name))
			return wt_sources[i];
	return NULL;
}

static bool same_object(const void *a, const void *b)
{
	struct wt_elf elf;

	return wt_elf__at(a, &elf) && (uintptr_t)b >= elf.start && (uintptr_t)b < elf.end;
}

static bool is_first(const struct wt_elf *elf, void *first)
{
	*(struct wt_elf *)first = *elf;
	return true;
}

/* In the program itself, not in a library of it. */
static bool in_program(const void *address)
{
	struct wt_elf elf;

	return wt_elf__each(is_first, &elf) && (uintptr_t)address >= elf.start &&
	       (uintptr_t)address < elf.end;
}

/* Loaded before us, so that we are next to it. */
struct before {
	const void *address;
	bool before;
};

static bool look_before(const struct wt_elf *elf, void *data)
{
	struct before *before = data;
	uintptr_t own = (uintptr_t)wt_dlsym__answer, address = (uintptr_t)before->address;

	if (own >= elf->start && own < elf->end)
		return true;
	before->before |= address >= elf->start && address < elf->end;
	return false;
}

static bool is_before_us(const void *address)
{
	struct before before = {.address = address};

	wt_elf__each(look_before, &before);
	return before.before;
}

/* What was found, or the wrapper that calls it. */
static void *exchanged(void *found, void *wrapper, void *original, const void *caller)
{
	/* the library's look-ups of itself are its own business */
	return found && found == original && !same_object(original, caller) ? wrapper : found;
}

/*
 * RTLD_DEFAULT and RTLD_NEXT. Where the search reaches us it finds a wrapper,
 * whether there is anything for it to wrap or not: then it is for us to say no.
 * The last look-up leaves to dlerror() what the program's own would have left.
 */
static struct wt_answer search(const struct wt_source *source, void *handle, const char *name,
	const char *version, const void *caller)
{
	struct wt_answer go_on = {.go_on = next_function(version)}, answer = {0};
	void *wrapper = source->wrapper(name), *original = source->original(name);
	void *first = handle == RTLD_DEFAULT ? ask(handle, name, version) : wrapper;

	if (handle == RTLD_NEXT && !is_before_us(caller))
		return go_on;
	/* versions are the library's: a search for one passes us by */
	if (first && first == original) {
		answer.value = exchanged(first, wrapper, original, caller);
		return answer;
	}
	if (first != wrapper)
		return go_on;
	answer.value = ask(RTLD_NEXT, name, version);
	if (answer.value && handle == RTLD_NEXT && !version)
		return go_on; /* us, or somebody between the two of us */
	/* loaded for its user alone; whose scope the caller shares is the loader's secret */
	if (!answer.value && handle == RTLD_DEFAULT && original && !in_program(caller))
		return go_on;
	answer.value = exchanged(answer.value, wrapper, original, caller);
	return answer;
}

static struct wt_answer from_handle(const struct wt_source *source, void *handle, const char *name,
	const char *version, const void *caller)
{
	void *wrapper = source->wrapper(name), *original = source->original(name);
	struct wt_answer answer = {.value = ask(handle, name, version)};

	/* the program's own handle, or ours: as above */
	if (answer.value == wrapper)
		answer.value = ask(RTLD_NEXT, name, version);
	answer.value = exchanged(answer.value, wrapper, original, caller);
	return answer;
}

/*
 * An interposer in front of us that looks for the next dlsym by the version of
 * libc's: the same case, and it is to find the same function as without one.
 */
static void *own_function(const char *name)
{
	return wt_elf__same(name, "dlsym")    ? (void *)wt_own_dlsym
	       : wt_elf__same(name, "dlvsym") ? (void *)wt_own_dlvsym
					      : NULL;
}

/* Equal to its own address once this library is relocated; before, no other object can be called.
 */
static const void *const volatile relocated = (const void *)&relocated;

struct wt_answer wt_dlsym__answer(
	void *handle, const char *name, const char *version, const void *caller)
{
	const struct wt_source *source;
	struct wt_answer answer = {0};
	int saved;

	/* an indirect function's resolver, while the process is being put together */
	if (wt_unlikely(relocated != (const void *)&relocated))
		return answer;
	saved = errno;
	source = name ? source_of(name) : NULL;
	if (wt_unlikely(version && handle == RTLD_NEXT) && !source && name && own_function(name) &&
		is_before_us(caller))
		answer.value = own_function(name);
	else if (!source || wt_dl__look_ups_off())
		answer.go_on = next_function(version);
	else if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
		answer = search(source, handle, name, version, caller);
	else
		answer = from_handle(source, handle, name, version, caller);
	errno = saved;
	return answer;
}

#endif
