// SPDX-License-Identifier: MIT
/*
 * Keys to numbers: an open hash table. Looked up by any thread without a lock;
 * changed by one thread at a time, the caller sees to that. A key that is
 * dropped leaves a tombstone.
 */
#ifndef WT_HIP_NUMBERS_H
#define WT_HIP_NUMBERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct wt_numbers_entry {
	_Atomic uint64_t key; /* 0: free, 1: dropped; written once its number is there */
	_Atomic uint32_t number;
};

struct wt_numbers {
	uint32_t size;                            /* entries, a power of two */
	struct wt_numbers_entry *_Atomic entries; /* made at the first put, never freed */
};

/* 0: not there. `key` above 1. */
uint32_t wt_numbers__find(const struct wt_numbers *numbers, uint64_t key);
/* A key that is there gets the new number, which is not 0. False: no memory, or no room. */
bool wt_numbers__put(struct wt_numbers *numbers, uint64_t key, uint32_t number);
void wt_numbers__drop(struct wt_numbers *numbers, uint64_t key);
void wt_numbers__drop_number(struct wt_numbers *numbers, uint32_t number);
/* Looks at every entry, as the one before. */
bool wt_numbers__has_number(const struct wt_numbers *numbers, uint32_t number);
/* All keys; whoever has looked up may still find some. */
void wt_numbers__clear(struct wt_numbers *numbers);

#endif
