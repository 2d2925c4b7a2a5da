// SPDX-License-Identifier: MIT
#include "capture/sources/hip/numbers.h"

#include <stddef.h>
#include <stdlib.h>

#define PROBES    64u
#define TOMBSTONE 1ull

static uint32_t first_place(const struct wt_numbers *numbers, uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) & (numbers->size - 1);
}

static struct wt_numbers_entry *place(const struct wt_numbers *numbers, uint64_t key, uint32_t i)
{
	struct wt_numbers_entry *entries =
		atomic_load_explicit(&numbers->entries, memory_order_acquire);

	return entries ? &entries[(first_place(numbers, key) + i) & (numbers->size - 1)] : NULL;
}

static struct wt_numbers_entry *find(const struct wt_numbers *numbers, uint64_t key)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct wt_numbers_entry *entry = place(numbers, key, i);
		uint64_t seen;

		if (!entry)
			return NULL;
		/* acquire: pairs with the release in put() */
		seen = atomic_load_explicit(&entry->key, memory_order_acquire);
		if (seen == key)
			return entry;
		if (!seen)
			return NULL;
	}
	return NULL;
}

uint32_t wt_numbers__find(const struct wt_numbers *numbers, uint64_t key)
{
	struct wt_numbers_entry *entry = find(numbers, key);

	return entry ? atomic_load_explicit(&entry->number, memory_order_relaxed) : 0;
}

bool wt_numbers__put(struct wt_numbers *numbers, uint64_t key, uint32_t number)
{
	struct wt_numbers_entry *entry = find(numbers, key);

	if (entry) {
		atomic_store_explicit(&entry->number, number, memory_order_release);
		return true;
	}
	if (!atomic_load_explicit(&numbers->entries, memory_order_relaxed)) {
		struct wt_numbers_entry *entries = calloc(numbers->size, sizeof(*entries));

		if (!entries)
			return false;
		/* release: who sees the table sees it empty */
		atomic_store_explicit(&numbers->entries, entries, memory_order_release);
	}
	for (uint32_t i = 0; i < PROBES; i++) {
		entry = place(numbers, key, i);
		if (atomic_load_explicit(&entry->key, memory_order_relaxed) > TOMBSTONE)
			continue;
		atomic_store_explicit(&entry->number, number, memory_order_relaxed);
		/* release: who sees the key sees its number */
		atomic_store_explicit(&entry->key, key, memory_order_release);
		return true;
	}
	return false;
}

void wt_numbers__drop(struct wt_numbers *numbers, uint64_t key)
{
	struct wt_numbers_entry *entry = find(numbers, key);

	if (entry)
		atomic_store_explicit(&entry->key, TOMBSTONE, memory_order_release);
}

static struct wt_numbers_entry *find_number(const struct wt_numbers *numbers, uint32_t number)
{
	struct wt_numbers_entry *entries =
		atomic_load_explicit(&numbers->entries, memory_order_acquire);

	for (uint32_t i = 0; entries && i < numbers->size; i++)
		if (atomic_load_explicit(&entries[i].key, memory_order_acquire) > TOMBSTONE &&
			atomic_load_explicit(&entries[i].number, memory_order_relaxed) == number)
			return &entries[i];
	return NULL;
}

void wt_numbers__drop_number(struct wt_numbers *numbers, uint32_t number)
{
	struct wt_numbers_entry *entry;

	while ((entry = find_number(numbers, number)))
		atomic_store_explicit(&entry->key, TOMBSTONE, memory_order_release);
}

bool wt_numbers__has_number(const struct wt_numbers *numbers, uint32_t number)
{
	return find_number(numbers, number) != NULL;
}

void wt_numbers__clear(struct wt_numbers *numbers)
{
	struct wt_numbers_entry *entries =
		atomic_load_explicit(&numbers->entries, memory_order_relaxed);

	for (uint32_t i = 0; entries && i < numbers->size; i++)
		atomic_store_explicit(&entries[i].key, 0, memory_order_relaxed);
}
