// SPDX-License-Identifier: MIT
#include "base/strset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* Eight bytes at a time: keys are kernel names of kilobytes, and structs of every event. */
static uint64_t hash_bytes(const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ length, word = 0;

	for (; length >= 8; text += 8, length -= 8) {
		memcpy(&word, text, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	word = 0;
	if (length)
		memcpy(&word, text, length);
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint32_t *probe(const struct wt_strset *set, const char *text, size_t length, uint64_t hash)
{
	size_t mask = set->slot_cnt - 1;

	for (size_t at = (size_t)hash & mask;; at = (at + 1) & mask) {
		const struct wt_strset_item *item;

		if (!set->slots[at])
			return &set->slots[at];
		item = &set->items[set->slots[at] - 1];
		if (item->hash == hash && item->length == length &&
			!memcmp(item->text, text, length))
			return &set->slots[at];
	}
}

static int grow_slots(struct wt_strset *set)
{
	size_t slot_cnt = set->slot_cnt ? set->slot_cnt * 2 : 64;
	uint32_t *slots = calloc(slot_cnt, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->cnt; i++) {
		size_t at = (size_t)set->items[i].hash & (slot_cnt - 1);

		while (slots[at])
			at = (at + 1) & (slot_cnt - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(set->slots);
	set->slots = slots;
	set->slot_cnt = slot_cnt;
	return 0;
}

uint32_t wt_strset__intern(struct wt_strset *set, const char *text, size_t length)
{
	uint64_t hash = hash_bytes(text, length);
	uint32_t *slot;
	char *copy;

	if ((set->cnt + 1) * 4 > set->slot_cnt * 3 && grow_slots(set))
		return 0;
	slot = probe(set, text, length, hash);
	if (*slot)
		return *slot;
	if (set->cnt >= UINT32_MAX - 1 || length == SIZE_MAX)
		return 0;
	if (set->cnt == set->item_capacity &&
		wt_vec__grow(&set->items, &set->item_capacity, set->cnt + 1, sizeof(*set->items)))
		return 0;
	copy = malloc(length + 1);
	if (!copy)
		return 0;
	if (length)
		memcpy(copy, text, length);
	copy[length] = '\0';
	set->items[set->cnt++] =
		(struct wt_strset_item){.text = copy, .length = length, .hash = hash};
	*slot = (uint32_t)set->cnt;
	return *slot;
}

uint32_t wt_strset__intern_string(struct wt_strset *set, const char *text)
{
	return wt_strset__intern(set, text, strlen(text));
}

uint32_t wt_strset__find(const struct wt_strset *set, const char *text, size_t length)
{
	return set->cnt ? *probe(set, text, length, hash_bytes(text, length)) : 0;
}

const char *wt_strset__text(const struct wt_strset *set, uint32_t id)
{
	return id && id <= set->cnt ? set->items[id - 1].text : "";
}

size_t wt_strset__length(const struct wt_strset *set, uint32_t id)
{
	return id && id <= set->cnt ? set->items[id - 1].length : 0;
}

void wt_strset__free(struct wt_strset *set)
{
	for (size_t i = 0; i < set->cnt; i++)
		free(set->items[i].text);
	free(set->items);
	free(set->slots);
	memset(set, 0, sizeof(*set));
}
