// SPDX-License-Identifier: MIT
/*
 * From shared memory to the segment. Bytes are copied as they are and the
 * sources remembered; wt_drain__commit writes the segment and only then moves
 * the rings' tails and frees the slots.
 */
#ifndef WT_COLLECT_DRAIN_H
#define WT_COLLECT_DRAIN_H

#include "base/vec.h"
#include "collect/mapping.h"
#include "collect/segment.h"
#include "collect/slots.h"
#include "core/ring.h"

struct wt_ring_source {
	struct wt_mapping mapping; /* not of a definition ring: it lies in the process file */
	struct wt_ring_reader reader;
	uint32_t process, number; /* WT_FRAME_DEFINITIONS: definition ring */
	uint64_t end;             /* tail to set once stored */
};

struct wt_slots_source {
	struct wt_mapping mapping;
	struct wt_slots_reader reader;
	uint32_t process, number;
	uint64_t not_stamped;
};

struct wt_drain {
	struct wt_segment_writer *writer;
	WT_VEC(struct wt_ring_source *) rings; /* read, not committed */
	WT_VEC(struct wt_slots_source *) slots;
	uint64_t ring_bytes, op_cnt; /* committed and not */
	uint64_t pass_bytes;         /* of this pass; the caller resets it */
	double pressure;             /* fullest source seen in this pass, 0 to 1 */
};

/* 0 or a negative errno: the segment could not be written; nothing is lost, call commit later. */
int wt_drain__ring(struct wt_drain *drain, struct wt_ring_source *source);
int wt_drain__slots(struct wt_drain *drain, struct wt_slots_source *source, bool final);
int wt_drain__commit(struct wt_drain *drain);
void wt_drain__free(struct wt_drain *drain);

#endif
