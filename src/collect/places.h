// SPDX-License-Identifier: MIT
/*
 * Whose memory lay at an address, and when. Addresses come round: what was a
 * GPU's may be the host's later, so each life is kept, but for those that say
 * the same as an earlier one of the same addresses.
 */
#ifndef WT_COLLECT_PLACES_H
#define WT_COLLECT_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

#define WT_PLACES_MAX (1u << 20) /* lives; more make what follows "not known" */

struct wt_place {
	uint64_t address, end; /* first byte, and the one behind the last */
	uint64_t from_ns, to_ns;
	uint32_t owner; /* device number, WT_PLACE_HOST */
	/* a tree by address; each node knows how far any below it reaches */
	uint64_t reach;
	uint32_t left, right; /* index + 1 */
	uint32_t rank;
};

struct wt_places {
	WT_VEC(struct wt_place) lives;
	uint32_t root;        /* index + 1 */
	struct wt_map newest; /* address → index of the last life that begins there */
	uint64_t dropped_cnt, seed;
};

/* 0 or -ENOMEM. */
int wt_places__begin(struct wt_places *places, uint64_t address, uint64_t bytes, uint32_t owner,
	uint64_t from_ns);
void wt_places__end(struct wt_places *places, uint64_t address, uint64_t to_ns);

/*
 * Whose memory an operation found at `address`; `at_ns` is when it began,
 * UINT64_MAX: not known. False: not known, or not certain.
 */
bool wt_places__owner(
	const struct wt_places *places, uint64_t address, uint64_t at_ns, uint32_t *owner);

void wt_places__free(struct wt_places *places);

#endif
