// SPDX-License-Identifier: MIT
#include "core/ring.h"

#include <errno.h>

void wt_ring__init(struct wt_ring *ring, void *mapping, uint32_t capacity, uint32_t process,
	uint32_t number)
{
	struct wt_ring_shared *shared = mapping;

	shared->version = 1;
	shared->process = process;
	shared->number = number;
	shared->capacity = capacity;
	atomic_store_explicit(&shared->head, 0, memory_order_relaxed);
	atomic_store_explicit(&shared->tail, 0, memory_order_relaxed);
	/* the magic goes last: a consumer that sees it sees the rest */
	__atomic_store_n(&shared->magic, WT_RING_MAGIC, __ATOMIC_RELEASE);
	*ring = (struct wt_ring){
		.shared = shared,
		.data = (uint8_t *)mapping + WT_RING_HEADER_BYTES,
		.capacity = capacity,
	};
}

int wt_ring_reader__open(struct wt_ring_reader *reader, void *mapping, size_t bytes)
{
	struct wt_ring_shared *shared = mapping;
	uint32_t capacity;

	if (bytes < WT_RING_HEADER_BYTES + WT_RING_MIN_BYTES ||
		__atomic_load_n(&shared->magic, __ATOMIC_ACQUIRE) != WT_RING_MAGIC ||
		shared->version != 1)
		return -EINVAL;
	capacity = shared->capacity;
	if (capacity < WT_RING_MIN_BYTES || capacity > WT_RING_MAX_BYTES ||
		(capacity & (capacity - 1)) || bytes < WT_RING_HEADER_BYTES + (size_t)capacity)
		return -EINVAL;
	*reader = (struct wt_ring_reader){
		.shared = shared,
		.data = (const uint8_t *)mapping + WT_RING_HEADER_BYTES,
		.capacity = capacity,
		.tail = atomic_load_explicit(&shared->tail, memory_order_relaxed),
	};
	return 0;
}

/*
 * Whole records from `from` on, at most `limit` bytes and never past the end
 * of the buffer. *pad is set when a PAD ended the run.
 */
static uint32_t whole_records(const struct wt_ring_reader *reader, uint64_t from, uint32_t limit,
	bool *pad, bool *bad)
{
	uint32_t at = (uint32_t)from & (reader->capacity - 1);
	uint32_t run = 0;

	*pad = *bad = false;
	if (limit > reader->capacity - at)
		limit = reader->capacity - at;
	while (run < limit) {
		struct wt_rec rec;

		memcpy(&rec, reader->data + at + run, sizeof(rec));
		if (rec.type == WT_REC_PAD) {
			*pad = true;
			break;
		}
		if (!rec.size8 || (uint32_t)rec.size8 * 8 > limit - run) {
			*bad = true;
			break;
		}
		run += (uint32_t)rec.size8 * 8;
	}
	return run;
}

uint32_t wt_ring_reader__peek(struct wt_ring_reader *reader, struct wt_ring_run runs[2],
	uint64_t *end)
{
	/* acquire: pairs with wt_ring__commit's release */
	uint64_t head = atomic_load_explicit(&reader->shared->head, memory_order_acquire);
	uint64_t at = reader->tail;
	uint32_t total = 0;

	memset(runs, 0, 2 * sizeof(*runs));
	*end = at;
	if (head - at > reader->capacity || head % 8) {
		/* behind, or ahead by more than there is: nothing in between can be trusted */
		reader->corrupt += 8;
		*end = head - head % 8;
		return 0;
	}
	for (int i = 0; i < 2 && at < head; i++) {
		bool pad, bad;
		uint32_t run = whole_records(reader, at, (uint32_t)(head - at), &pad, &bad);

		runs[i] = (struct wt_ring_run){
			.bytes = reader->data + ((uint32_t)at & (reader->capacity - 1)),
			.length = run,
			.position = at,
		};
		total += run;
		at += run;
		if (bad) {
			reader->corrupt += head - at;
			at = head;
		} else if (pad) {
			uint64_t next = (at | (reader->capacity - 1)) + 1;

			at = next < head ? next : head;
		}
	}
	*end = at;
	return total;
}

void wt_ring_reader__release(struct wt_ring_reader *reader, uint64_t end)
{
	reader->tail = end;
	/* release: our reads are done before the producer may overwrite */
	atomic_store_explicit(&reader->shared->tail, end, memory_order_release);
}
