// SPDX-License-Identifier: MIT
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Handles are multiples of large powers of two: all bits must reach the low ones. */
static uint64_t mix(uint64_t key)
{
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93ull;
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93ull;
	return key ^ key >> 32;
}

/* The entry of `key`, or the free one where it belongs. */
static struct wt_map_entry *probe(const struct wt_map *map, uint64_t key)
{
	size_t mask = map->capacity - 1;
	size_t at = (size_t)mix(key) & mask;

	while (map->entries[at].used && map->entries[at].key != key)
		at = (at + 1) & mask;
	return &map->entries[at];
}

uint64_t *wt_map__find(const struct wt_map *map, uint64_t key)
{
	struct wt_map_entry *entry;

	if (!map->cnt)
		return NULL;
	entry = probe(map, key);
	return entry->used ? &entry->value : NULL;
}

static int grow(struct wt_map *map)
{
	struct wt_map fresh = {.capacity = map->capacity ? map->capacity * 2 : 16};

	fresh.entries = calloc(fresh.capacity, sizeof(*fresh.entries));
	if (!fresh.entries)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->entries[i].used)
			*probe(&fresh, map->entries[i].key) = map->entries[i];
	fresh.cnt = map->cnt;
	free(map->entries);
	*map = fresh;
	return 0;
}

int wt_map__put(struct wt_map *map, uint64_t key, uint64_t value)
{
	struct wt_map_entry *entry;

	if ((map->cnt + 1) * 4 > map->capacity * 3 && grow(map))
		return -ENOMEM;
	entry = probe(map, key);
	map->cnt += !entry->used;
	*entry = (struct wt_map_entry){.key = key, .value = value, .used = true};
	return 0;
}

bool wt_map__remove(struct wt_map *map, uint64_t key)
{
	size_t mask = map->capacity - 1, hole, at;

	if (!wt_map__find(map, key))
		return false;
	hole = (size_t)(probe(map, key) - map->entries);
	map->cnt--;
	/* close the gap, so that no tombstones are needed */
	for (at = (hole + 1) & mask; map->entries[at].used; at = (at + 1) & mask) {
		size_t home = (size_t)mix(map->entries[at].key) & mask;

		if (((at - home) & mask) >= ((at - hole) & mask)) {
			map->entries[hole] = map->entries[at];
			hole = at;
		}
	}
	map->entries[hole].used = false;
	return true;
}

struct wt_map_entry *wt_map__next(const struct wt_map *map, size_t *at)
{
	while (*at < map->capacity)
		if (map->entries[(*at)++].used)
			return &map->entries[*at - 1];
	return NULL;
}

void wt_map__free(struct wt_map *map)
{
	free(map->entries);
	memset(map, 0, sizeof(*map));
}
