// SPDX-License-Identifier: MIT
/*
 * u64 → u64, open addressing. Zero-initialised is empty. Debian's uthash would
 * do, but needs an allocation and a struct for each of millions of entries.
 */
#ifndef WT_BASE_MAP_H
#define WT_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_map {
	struct wt_map_entry *entries;
	size_t capacity; /* power of two, or 0 */
	size_t cnt;
};

struct wt_map_entry {
	uint64_t key, value;
	bool used;
};

/* The value of `key`, to read or change; NULL: not there. Valid until the next put or remove. */
uint64_t *wt_map__find(const struct wt_map *map, uint64_t key);

/* The value of `key`, or `absent`. */
static inline uint64_t wt_map__get(const struct wt_map *map, uint64_t key, uint64_t absent)
{
	const uint64_t *value = wt_map__find(map, key);

	return value ? *value : absent;
}

/* Adds or replaces. 0 or -ENOMEM, then nothing has changed. */
int wt_map__put(struct wt_map *map, uint64_t key, uint64_t value);

/* True when it was there. */
bool wt_map__remove(struct wt_map *map, uint64_t key);

/*
 * Walks in no order: `for (size_t i = 0; (entry = wt_map__next(map, &i)); )`.
 * Nothing may be put or removed meanwhile.
 */
struct wt_map_entry *wt_map__next(const struct wt_map *map, size_t *at);

void wt_map__free(struct wt_map *map);

#endif
