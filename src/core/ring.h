// SPDX-License-Identifier: MIT
/*
 * The ring: one producer, one consumer, records of variable size, in shared
 * memory. The only ring of the project.
 *
 * A ring file is a struct wt_ring_shared (4 KiB) followed by `capacity` bytes
 * (a power of two). `head` and `tail` count bytes and never wrap; a record is
 * never split: where it would be, a WT_REC_PAD fills the buffer's end.
 *
 * The producer trusts nothing but its own copy of head and capacity: the
 * shared words could have been overwritten. The consumer treats everything as
 * hostile (see wt_ring__peek).
 */
#ifndef WT_CORE_RING_H
#define WT_CORE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/record.h"

#define WT_RING_MAGIC	     0x31474e4952545741ull /* "AWTRING1" */
#define WT_RING_HEADER_BYTES 4096u
#define WT_RING_LEFT_OUT     976u
#define WT_RING_MIN_BYTES    4096u
#define WT_RING_MAX_BYTES    (64u << 20)

struct wt_ring_shared {
	uint64_t magic;
	uint32_t version;	/* 1 */
	uint32_t process;	/* number of the process in the session */
	uint32_t number;	/* of this ring in the process; UINT32_MAX: definition ring */
	uint32_t capacity;	/* bytes, power of two */
	uint64_t reserved0[5];
	/* written by the producer */
	_Alignas(64) _Atomic uint64_t head;	/* release; pairs with the consumer's acquire */
	_Atomic uint64_t dropped;		/* records that found no room */
	_Atomic uint64_t call_start_tsc;	/* the call in progress, 0: none */
	_Atomic uint32_t call_api;
	_Atomic uint32_t thread_index;		/* of the thread that owns it now, 0: none */
	_Atomic uint64_t call_corr;		/* of the call in progress; stored before its start */
	uint64_t reserved1[3];
	/* written by the consumer */
	_Alignas(64) _Atomic uint64_t tail;	/* release; pairs with the producer's acquire */
	uint64_t reserved2[7];
	/* written by the producer: calls that were not to be recorded, by place in hip_api.def */
	_Alignas(64) _Atomic uint32_t left_out[WT_RING_LEFT_OUT];
};
static_assert(offsetof(struct wt_ring_shared, head) == 64, "producer line");
static_assert(offsetof(struct wt_ring_shared, tail) == 128, "consumer line");
static_assert(sizeof(struct wt_ring_shared) == WT_RING_HEADER_BYTES, "ring header");

/* The producer's private half. */
struct wt_ring {
	struct wt_ring_shared *shared;
	uint8_t *data;
	uint64_t head;
	uint64_t tail;		/* as last seen */
	uint32_t capacity;
};

/*
 * Room for a record of `bytes` (a multiple of 8, at most capacity / 4), or
 * NULL when the ring is full; a full ring counts one dropped record. Write the
 * record, then wt_ring__commit with the same size. Never blocks. One thread.
 */
static inline void *wt_ring__reserve(struct wt_ring *ring, uint32_t bytes)
{
	uint32_t at = (uint32_t)ring->head & (ring->capacity - 1);
	uint32_t pad = at + bytes > ring->capacity ? ring->capacity - at : 0;

	if (__builtin_expect(ring->head + pad + bytes - ring->tail > ring->capacity, 0)) {
		/* acquire: the consumer has read what we are about to overwrite */
		uint64_t tail =
			atomic_load_explicit(&ring->shared->tail, memory_order_acquire);

		if (tail <= ring->head && tail > ring->tail)
			ring->tail = tail;
		if (ring->head + pad + bytes - ring->tail > ring->capacity) {
			atomic_fetch_add_explicit(&ring->shared->dropped, 1, memory_order_relaxed);
			return NULL;
		}
	}
	if (__builtin_expect(pad != 0, 0)) {
		struct wt_rec filler = {.type = WT_REC_PAD, .size8 = 1};

		/* PAD's size is implied (to the end of the buffer): a gap may exceed size8 */
		memcpy(ring->data + at, &filler, sizeof(filler));
		ring->head += pad;
		at = 0;
	}
	return ring->data + at;
}

static inline void wt_ring__commit(struct wt_ring *ring, uint32_t bytes)
{
	ring->head += bytes;
	/* release: the record is visible before the head that covers it */
	atomic_store_explicit(&ring->shared->head, ring->head, memory_order_release);
}

/* Sets up a fresh mapping of WT_RING_HEADER_BYTES + capacity zeroed bytes. */
void wt_ring__init(struct wt_ring *ring, void *mapping, uint32_t capacity, uint32_t process,
	uint32_t number);

/*
 * The consumer's half. `mapping` is hostile: `bytes` is its real size.
 * Returns 0 or -EINVAL (not a ring, or a size that does not fit the mapping).
 */
struct wt_ring_reader {
	struct wt_ring_shared *shared;
	const uint8_t *data;
	uint32_t capacity;
	uint64_t tail;		/* our own: the shared word is for the producer */
	uint64_t corrupt;	/* bytes given up because they made no sense */
};

int wt_ring_reader__open(struct wt_ring_reader *reader, void *mapping, size_t bytes);

/*
 * The unread bytes, as at most two runs of whole records without PADs.
 * Returns the number of bytes in `runs`. Records are checked only for size:
 * each begins with a size8 that keeps it inside its run. `end` is the tail to
 * pass to wt_ring_reader__release once the bytes were stored elsewhere.
 * Garbage (a head behind the tail, or ahead by more than the capacity, or a
 * size of 0) is skipped up to the head and counted in `corrupt`.
 */
struct wt_ring_run {
	const uint8_t *bytes;
	uint32_t length;
	uint64_t position;	/* of the first byte, counted since the ring began */
};

uint32_t wt_ring_reader__peek(struct wt_ring_reader *reader, struct wt_ring_run runs[2],
	uint64_t *end);

void wt_ring_reader__release(struct wt_ring_reader *reader, uint64_t end);

#endif
