// SPDX-License-Identifier: MIT
/*
 * String interning: equal strings get equal ids, dense from 1 in the order of
 * arrival. Zero-initialised is empty. The strings live until free.
 */
#ifndef WT_BASE_STRSET_H
#define WT_BASE_STRSET_H

#include <stddef.h>
#include <stdint.h>

struct wt_strset {
	struct wt_strset_item *items; /* by id - 1 */
	size_t cnt, item_capacity;
	uint32_t *slots; /* hash table of ids, 0: free */
	size_t slot_cnt; /* power of two, or 0 */
};

struct wt_strset_item {
	char *text; /* NUL-terminated; may hold NULs before its end */
	size_t length;
	uint64_t hash;
};

/* The id of the string, added if it is new; 0: out of memory. */
uint32_t wt_strset__intern(struct wt_strset *set, const char *text, size_t length);
uint32_t wt_strset__intern_string(struct wt_strset *set, const char *text);

/* The id of the string, 0: not there. */
uint32_t wt_strset__find(const struct wt_strset *set, const char *text, size_t length);

/* The string of an id; "" for an id that was never given out. */
const char *wt_strset__text(const struct wt_strset *set, uint32_t id);
size_t wt_strset__length(const struct wt_strset *set, uint32_t id);

void wt_strset__free(struct wt_strset *set);

#endif
