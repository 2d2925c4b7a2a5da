// SPDX-License-Identifier: MIT
/*
 * A queue's packets complete nearly in order, so the reader walks up from
 * `seen` and keeps the few that were not complete in `pending`. When `window`
 * of those are waiting it stops walking: what lies behind them is most likely
 * waiting, too, and each look costs two cache lines. The window grows with
 * the share of the table that was not looked at, up to all of it, so that one
 * kernel that never ends cannot fill the table.
 */
#include "collect/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/session.h"

#define WINDOW_MIN 64u

enum look { LOOK_NOTHING, LOOK_WAIT, LOOK_DONE };

static bool table_fits(uint64_t offset, uint64_t bytes, size_t size)
{
	return offset >= sizeof(struct wt_slots_shared) && offset % 64 == 0 && offset <= size &&
	       bytes <= size - offset;
}

int wt_slots_reader__open(struct wt_slots_reader *reader, void *mapping, size_t bytes)
{
	struct wt_slots_shared *shared = mapping;
	uint64_t slots_offset, signals_offset;

	memset(reader, 0, sizeof(*reader));
	if (bytes < WT_SLOTS_HEADER_BYTES ||
		__atomic_load_n(&shared->magic, __ATOMIC_ACQUIRE) != WT_SLOTS_MAGIC ||
		shared->version != 1)
		return -EINVAL;
	reader->capacity = *(volatile uint32_t *)&shared->capacity;
	slots_offset = *(volatile uint64_t *)&shared->slots_offset;
	signals_offset = *(volatile uint64_t *)&shared->signals_offset;
	if (!reader->capacity || reader->capacity > WT_SLOTS_MAX_CAPACITY ||
		(reader->capacity & (reader->capacity - 1)) ||
		!table_fits(slots_offset, (uint64_t)reader->capacity * 64, bytes) ||
		!table_fits(signals_offset, (uint64_t)reader->capacity * 64, bytes))
		return -EINVAL;
	reader->shared = shared;
	reader->slots = (struct wt_slot *)((uint8_t *)mapping + slots_offset);
	reader->signals = (struct wt_signal *)((uint8_t *)mapping + signals_offset);
	reader->shift = (uint32_t)__builtin_ctz(reader->capacity);
	reader->process = shared->process;
	reader->number = shared->number;
	reader->queue = shared->queue;
	reader->device = shared->device;
	reader->window = WINDOW_MIN;
	/* as many as can ever be needed, so that a scan cannot fail */
	if (wt_vec__reserve(&reader->pending, reader->capacity) ||
		wt_vec__reserve(&reader->taken, reader->capacity)) {
		wt_slots_reader__close(reader);
		return -ENOMEM;
	}
	return 0;
}

void wt_slots_reader__close(struct wt_slots_reader *reader)
{
	wt_vec__free(&reader->pending);
	wt_vec__free(&reader->taken);
	free(reader->stored);
	memset(reader, 0, sizeof(*reader));
}

static void free_slot(struct wt_slots_reader *reader, uint64_t index)
{
	struct wt_slot *slot = &reader->slots[index & (reader->capacity - 1)];
	union wt_slot_word word = {
		.lap = (uint32_t)(index >> reader->shift), .state = WT_SLOT_FREE};

	/* release: our reads are done; pairs with the producer's acquire when it reserves */
	atomic_store_explicit(&slot->word, word.raw, memory_order_release);
}

static void copy_slot(struct wt_slots_reader *reader, uint64_t index, union wt_slot_word word,
	struct wt_op_raw *op)
{
	memcpy(&op->slot, &reader->slots[index & (reader->capacity - 1)], sizeof(op->slot));
	atomic_init(&op->slot.word, word.raw);
	op->index = index;
	op->start_ticks = op->end_ticks = 0;
	op->state = WT_OP_UNTIMED;
}

/* Looks at the slot of packet `index`; LOOK_DONE fills *op. */
static enum look look(
	struct wt_slots_reader *reader, uint64_t index, bool final, struct wt_op_raw *op)
{
	uint32_t at = (uint32_t)index & (reader->capacity - 1);
	struct wt_signal *signal = &reader->signals[at];
	union wt_slot_word word;

	/* acquire: pairs with the producer's release of the filled slot */
	word.raw = atomic_load_explicit(&reader->slots[at].word, memory_order_acquire);
	if (word.lap != (uint32_t)(index >> reader->shift) || word.state == WT_SLOT_FREE)
		return LOOK_NOTHING;
	if (word.state != WT_SLOT_SUBMITTED && !final)
		return LOOK_WAIT;
	if (word.kind != WT_SLOT_DISPATCH || (reader->stored && reader->stored[at] == index + 1)) {
		free_slot(reader, index);
		return LOOK_NOTHING;
	}
	if (word.flags & WT_SLOT_TIMED) {
		/* acquire: the GPU writes the ticks, then the value */
		int64_t value = atomic_load_explicit(&signal->value, memory_order_acquire);

		if (value > 0 && !final)
			return LOOK_WAIT;
		copy_slot(reader, index, word, op);
		op->start_ticks = atomic_load_explicit(&signal->start_ticks, memory_order_relaxed);
		op->end_ticks = atomic_load_explicit(&signal->end_ticks, memory_order_relaxed);
		op->state = value > 0 ? WT_OP_IN_FLIGHT : WT_OP_DONE;
		if (value > 0 || !op->end_ticks)
			op->start_ticks = op->end_ticks = 0;
		if (value <= 0 && !op->end_ticks) {
			op->state = WT_OP_UNTIMED;
			/* an application's signal: the producer's side says why it gave up */
			word.untimed = word.flags & WT_SLOT_OWN_SIGNAL && signal->reserved3[0] &&
						       signal->reserved3[0] < WT_LOST_CNT
					       ? (uint8_t)signal->reserved3[0]
					       : WT_LOST_TIME_NOT_STAMPED;
			atomic_init(&op->slot.word, word.raw);
			reader->untimed_cnt++;
		}
		return LOOK_DONE;
	}
	copy_slot(reader, index, word, op);
	return LOOK_DONE;
}

static uint32_t scan_pending(
	struct wt_slots_reader *reader, struct wt_op_raw *ops, uint32_t max, bool final)
{
	uint32_t cnt = 0;
	size_t kept = 0;

	for (size_t i = 0; i < reader->pending.cnt; i++) {
		uint64_t index = reader->pending.data[i];
		enum look found = LOOK_WAIT;

		if (cnt < max)
			found = look(reader, index, final, &ops[cnt]);
		if (found == LOOK_WAIT)
			reader->pending.data[kept++] = index;
		if (found != LOOK_DONE)
			continue;
		cnt++;
		reader->taken.data[reader->taken.cnt++] = index;
	}
	reader->pending.cnt = kept;
	return cnt;
}

/*
 * Further than a whole table behind: slots were skipped by their producer (it
 * found them in use), so each slot's own lap says which packet it holds.
 */
static uint64_t index_held(const struct wt_slots_reader *reader, uint32_t at, uint64_t submitted)
{
	union wt_slot_word word;
	uint64_t lap = submitted >> reader->shift;

	word.raw = atomic_load_explicit(&reader->slots[at].word, memory_order_relaxed);
	lap -= (uint32_t)((uint32_t)lap - word.lap);
	return lap << reader->shift | at;
}

static void remember_all(struct wt_slots_reader *reader, uint64_t submitted)
{
	for (uint32_t at = 0; at < reader->capacity; at++) {
		uint64_t index = index_held(reader, at, submitted);

		if (index >= reader->seen && index < submitted &&
			reader->pending.cnt + reader->taken.cnt < reader->capacity)
			reader->pending.data[reader->pending.cnt++] = index;
	}
	reader->seen = submitted;
}

static uint32_t window_for(const struct wt_slots_reader *reader, uint64_t behind)
{
	uint32_t window = WINDOW_MIN;

	if (behind > reader->capacity / 2)
		window = reader->capacity;
	else if (behind > reader->capacity / 8)
		window = reader->capacity / 4;
	return window > WINDOW_MIN ? window : WINDOW_MIN;
}

uint32_t wt_slots_reader__scan(
	struct wt_slots_reader *reader, struct wt_op_raw *ops, uint32_t max, bool final)
{
	/* acquire: pairs with the release that counts packets as submitted */
	uint64_t submitted = atomic_load_explicit(&reader->shared->submitted, memory_order_acquire);
	uint32_t cnt, room = reader->capacity - (uint32_t)reader->taken.cnt;

	if (max > room)
		max = room;
	if (submitted < reader->seen || submitted >> 63)
		submitted = reader->seen; /* nonsense: only what is known already is looked at */
	if (submitted - reader->seen > reader->capacity)
		remember_all(reader, submitted);
	reader->window = window_for(reader, submitted - reader->seen);
	cnt = scan_pending(reader, ops, max, final);
	while (reader->seen < submitted && cnt < max &&
		reader->pending.cnt + reader->taken.cnt < reader->capacity &&
		(final || reader->pending.cnt < reader->window)) {
		uint64_t index = reader->seen++;
		enum look found = look(reader, index, final, &ops[cnt]);

		if (found == LOOK_WAIT)
			reader->pending.data[reader->pending.cnt++] = index;
		if (found != LOOK_DONE)
			continue;
		cnt++;
		reader->taken.data[reader->taken.cnt++] = index;
	}
	return cnt;
}

void wt_slots_reader__release(struct wt_slots_reader *reader)
{
	for (size_t i = 0; i < reader->taken.cnt; i++)
		free_slot(reader, reader->taken.data[i]);
	reader->taken.cnt = 0;
}

bool wt_slots_reader__finished(const struct wt_slots_reader *reader)
{
	return atomic_load_explicit(&reader->shared->retired, memory_order_acquire) &&
	       !reader->pending.cnt && !reader->taken.cnt &&
	       reader->seen >=
		       atomic_load_explicit(&reader->shared->submitted, memory_order_acquire);
}

int wt_slots_reader__mark_stored(struct wt_slots_reader *reader, uint64_t index)
{
	if (!reader->stored)
		reader->stored = calloc(reader->capacity, sizeof(*reader->stored));
	if (!reader->stored)
		return -ENOMEM;
	reader->stored[index & (reader->capacity - 1)] = index + 1;
	return 0;
}

double wt_slots_reader__pressure(const struct wt_slots_reader *reader)
{
	uint64_t submitted = atomic_load_explicit(&reader->shared->submitted, memory_order_relaxed);
	uint64_t behind = submitted > reader->seen ? submitted - reader->seen : 0;

	return (double)behind / reader->capacity;
}
