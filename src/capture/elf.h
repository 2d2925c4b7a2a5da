// SPDX-License-Identifier: MIT
/*
 * The dynamic symbols of what the loader has loaded, read where they lie: no
 * file is opened, nothing is allocated, no dl function but dl_iterate_phdr is
 * called, dlerror() stays as it is.
 */
#ifndef WT_CAPTURE_ELF_H
#define WT_CAPTURE_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_elf {
	uintptr_t base;       /* load address: add it to a symbol's value */
	uintptr_t start, end; /* the pages that its segments cover */
	const char *path;     /* as the loader has it; "" for the program */
	const char *soname;   /* "" where it has none */
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint16_t *versions; /* NULL: none of its symbols has one */
	uint32_t symbol_cnt;
};

/*
 * Instead of strcmp and strncmp where the process may still be put together: these can be a
 * sanitizer's, which call through pointers that it is asking dlsym for.
 */
static inline bool wt_elf__same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++)
		b++;
	return *a == *b;
}

static inline bool wt_elf__begins(const char *text, const char *with)
{
	for (; *with && *text == *with; with++)
		text++;
	return !*with;
}

/* Calls `visit` for each loaded object in the order of loading until it returns true. */
bool wt_elf__each(bool (*visit)(const struct wt_elf *elf, void *data), void *data);

/*
 * The same along the loader's own list, without a call to anybody, for when
 * dl_iterate_phdr itself may be a sanitizer's that is not ready. The pages are
 * not known: `start` and `end` are 0. A library that another thread unloads
 * meanwhile must not be looked at; those of the start are never unloaded.
 */
bool wt_elf__each_listed(bool (*visit)(const struct wt_elf *elf, void *data), void *data);

/* The object that `address` lies in. False: in none. */
bool wt_elf__at(const void *address, struct wt_elf *elf);

/*
 * The first loaded object whose file or soname begins with `library`, without
 * folders ("libamdhip64"). False: there is none.
 */
bool wt_elf__named(const char *library, struct wt_elf *elf);
bool wt_elf__is_named(const struct wt_elf *elf, const char *library);

/* The function that symbol `i` defines for others to find, in its default version; else NULL. */
const char *wt_elf__function(const struct wt_elf *elf, uint32_t i, void **address);

/* The address of the function `name`; NULL: it defines none. */
void *wt_elf__find(const struct wt_elf *elf, const char *name);

#endif
