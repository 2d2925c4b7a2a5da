// SPDX-License-Identifier: MIT
/*
 * The collector's half of a slot table: finds operations that are complete,
 * hands them out, and frees their slots once they are stored. The table is
 * hostile; offsets and capacity are checked once and kept.
 */
#ifndef WT_COLLECT_SLOTS_H
#define WT_COLLECT_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "core/slot.h"

struct wt_slots_reader {
	struct wt_slots_shared *shared;
	struct wt_slot *slots;
	struct wt_signal *signals;
	uint32_t capacity, shift;
	uint32_t process, number, queue, device;
	uint64_t seen;            /* packet indices below were looked at */
	uint32_t window;          /* unfinished operations to look past */
	WT_VEC(uint64_t) pending; /* … and their indices, ascending */
	WT_VEC(uint64_t) taken;   /* indices handed out, slots not yet free */
	uint64_t *stored;         /* recover: by slot, index + 1 that the segment has already */
	uint64_t untimed_cnt;     /* complete without stamps */
};

/* 0, -EINVAL, -ENOMEM. */
int wt_slots_reader__open(struct wt_slots_reader *reader, void *mapping, size_t bytes);
void wt_slots_reader__close(struct wt_slots_reader *reader);

/*
 * Operations that are complete, at most `max`, into `ops`; returns how many.
 * `final`: the process is gone or the queue retired, so what is not complete
 * is in flight and is handed out as such. Call again while it returns `max`.
 */
uint32_t wt_slots_reader__scan(
	struct wt_slots_reader *reader, struct wt_op_raw *ops, uint32_t max, bool final);

/* What was handed out is stored: its slots become free. */
void wt_slots_reader__release(struct wt_slots_reader *reader);

/* True when nothing is in flight any more and the queue is gone. */
bool wt_slots_reader__finished(const struct wt_slots_reader *reader);

/* Recover: the segment has this operation already. Before the first scan. */
int wt_slots_reader__mark_stored(struct wt_slots_reader *reader, uint64_t index);

/* Slots between what was looked at and what was submitted, of the capacity: 0 to 1. */
double wt_slots_reader__pressure(const struct wt_slots_reader *reader);

#endif
