// SPDX-License-Identifier: MIT
/*
 * Which stream a handle is. A stream's identity is its number: a handle that
 * was destroyed and is handed out again gets another. The null stream of each
 * device is one of its own, and so is each thread's default stream.
 *
 * Look-up is lock-free: the thread's one-entry cache, then an open hash table
 * of (key, number). Keys are written once their number is there; a destroyed
 * stream leaves a tombstone, and `epoch` tells the caches.
 */
#include "capture/sources/hip/hip.h"

#include <stdlib.h>

#define TABLE_SIZE	 65536u
#define PROBES		 64u
#define TOMBSTONE	 1ull
#define HANDLE_LEGACY	 1ull /* hipStreamLegacy */
#define HANDLE_PER_THREAD 2ull /* hipStreamPerThread */
/* Keys of streams that have no handle of their own; real handles are user addresses. */
#define KEY_NULL(device)	   (1ull << 63 | (device))
#define KEY_PER_THREAD(thread, device) (1ull << 62 | (uint64_t)(thread) << 16 | (device))

static struct {
	_Atomic uint64_t key;
	_Atomic uint32_t number;
} *table; /* made at the first stream, never freed */

static _Atomic uint32_t number_cnt, epoch;
static uint32_t table_generation; /* under source_lock[4] */

static struct wt_lock *streams_lock(void)
{
	return &wt_process.live->source_lock[4];
}

static uint32_t first_place(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) % TABLE_SIZE;
}

static uint32_t find(uint64_t key)
{
	if (!table)
		return 0;
	for (uint32_t i = 0, at = first_place(key); i < PROBES; i++, at = (at + 1) % TABLE_SIZE) {
		/* acquire: pairs with the release in put() */
		uint64_t seen = atomic_load_explicit(&table[at].key, memory_order_acquire);

		if (seen == key)
			return atomic_load_explicit(&table[at].number, memory_order_relaxed);
		if (!seen)
			return 0;
	}
	return 0;
}

/* Under the lock. A key that is there gets the new number. */
static void put(uint64_t key, uint32_t number)
{
	uint32_t room = TABLE_SIZE;

	for (uint32_t i = 0, at = first_place(key); i < PROBES; i++, at = (at + 1) % TABLE_SIZE) {
		uint64_t seen = atomic_load_explicit(&table[at].key, memory_order_relaxed);

		if (seen == key) {
			atomic_store_explicit(&table[at].number, number, memory_order_release);
			return;
		}
		if (room == TABLE_SIZE && (!seen || seen == TOMBSTONE))
			room = at;
		if (!seen)
			break;
	}
	if (room == TABLE_SIZE)
		return; /* no room: each look-up finds the stream anew, under its own number */
	atomic_store_explicit(&table[room].number, number, memory_order_relaxed);
	atomic_store_explicit(&table[room].key, key, memory_order_release);
}

static void drop(uint64_t key)
{
	for (uint32_t i = 0, at = first_place(key); i < PROBES; i++, at = (at + 1) % TABLE_SIZE) {
		uint64_t seen = atomic_load_explicit(&table[at].key, memory_order_relaxed);

		if (!seen)
			return;
		if (seen == key) {
			atomic_store_explicit(&table[at].key, TOMBSTONE, memory_order_release);
			return;
		}
	}
}

/* HIP's device numbers are HSA's only where no variable reorders them. */
uint32_t wt_streams__device(uint32_t device)
{
	static const char *const reordering[] = {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
		"GPU_DEVICE_ORDINAL"};
	static _Atomic int plain = -1;
	int known = atomic_load_explicit(&plain, memory_order_relaxed);

	if (known < 0) {
		known = 1;
		for (size_t i = 0; i < sizeof(reordering) / sizeof(*reordering); i++)
			if (getenv(reordering[i]))
				known = 0;
		atomic_store_explicit(&plain, known, memory_order_relaxed);
	}
	return known ? device : UINT32_MAX;
}

/* Under the lock. 0: no memory for the table. */
static uint32_t introduce(uint64_t key, struct wt_rec_stream *rec)
{
	uint32_t number;

	if (!table)
		table = calloc(TABLE_SIZE, sizeof(*table));
	if (!table)
		return 0;
	if (table_generation != wt_process.generation) {
		/* a fork's child: the parent's numbers are not known to our trace */
		for (uint32_t i = 0; table_generation && i < TABLE_SIZE; i++)
			atomic_store_explicit(&table[i].key, 0, memory_order_relaxed);
		atomic_store_explicit(&number_cnt, 0, memory_order_relaxed);
		table_generation = wt_process.generation;
	}
	number = 1 + atomic_fetch_add_explicit(&number_cnt, 1, memory_order_relaxed);
	rec->rec = (struct wt_rec){.type = WT_REC_STREAM, .id = number};
	rec->created_ns = wt_clock__boottime_ns();
	wt_define(&rec->rec, sizeof(*rec), NULL, 0);
	put(key, number);
	return number;
}

/* First sight of a stream that nobody saw being created. */
static uint32_t meet(uint64_t key, uint64_t handle, uint32_t kind, uint32_t device)
{
	struct wt_rec_stream rec = {.handle = handle, .kind = kind, .device = wt_streams__device(device)};
	struct wt_hold hold;
	uint32_t number;

	wt_lock__take(streams_lock(), &hold);
	number = table_generation == wt_process.generation ? find(key) : 0;
	if (!number)
		number = introduce(key, &rec);
	wt_lock__drop(streams_lock(), &hold);
	return number;
}

uint32_t wt_streams__number(struct wt_tls *tls, void *handle)
{
	uint64_t value = (uint64_t)handle, key = value;
	uint32_t now = atomic_load_explicit(&epoch, memory_order_acquire);
	uint32_t kind = WT_STREAM_FOUND, number;

	if (value == 0 || value == HANDLE_LEGACY) {
		key = KEY_NULL(tls->device);
		kind = WT_STREAM_NULL;
	} else if (value == HANDLE_PER_THREAD) {
		key = KEY_PER_THREAD(tls->thread->index, tls->device);
		kind = WT_STREAM_PER_THREAD;
	}
	if (wt_likely(tls->stream_handle == key && tls->stream_epoch == now))
		return tls->stream_number;
	number = table_generation == wt_process.generation ? find(key) : 0;
	if (!number)
		number = meet(key, value, kind, kind == WT_STREAM_FOUND ? UINT32_MAX : tls->device);
	tls->stream_handle = key;
	tls->stream_epoch = now;
	tls->stream_number = number;
	return number;
}

uint32_t wt_streams__number_spt(struct wt_tls *tls, void *handle)
{
	return wt_streams__number(tls, handle ? handle : (void *)HANDLE_PER_THREAD);
}

uint32_t wt_streams__created(struct wt_tls *tls, void *handle, uint32_t flags, int32_t priority)
{
	struct wt_rec_stream rec = {
		.handle = (uint64_t)handle,
		.kind = WT_STREAM_CREATED,
		.device = wt_streams__device(tls->device),
		.flags = flags,
		.priority = priority,
	};
	struct wt_hold hold;
	uint32_t number;

	wt_lock__take(streams_lock(), &hold);
	number = introduce((uint64_t)handle, &rec);
	wt_lock__drop(streams_lock(), &hold);
	atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
	return number;
}

uint32_t wt_streams__end(struct wt_tls *tls, void *handle)
{
	uint32_t number = wt_streams__number(tls, handle);
	struct wt_hold hold;

	if ((uint64_t)handle <= HANDLE_PER_THREAD)
		return number; /* the runtime will refuse */
	wt_lock__take(streams_lock(), &hold);
	drop((uint64_t)handle);
	wt_lock__drop(streams_lock(), &hold);
	atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
	return number;
}

void wt_streams__restore(void *handle, uint32_t number)
{
	struct wt_hold hold;

	if ((uint64_t)handle <= HANDLE_PER_THREAD || !number)
		return;
	wt_lock__take(streams_lock(), &hold);
	put((uint64_t)handle, number);
	wt_lock__drop(streams_lock(), &hold);
}
