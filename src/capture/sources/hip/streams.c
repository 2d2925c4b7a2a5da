// SPDX-License-Identifier: MIT
/*
 * Which stream a handle is. A stream's identity is its number: a handle that
 * was destroyed and is handed out again gets another. The null stream of each
 * device is one of its own, and so is each thread's default stream.
 *
 * Look-up is lock-free: the thread's one-entry cache, then a table of (key,
 * number). `epoch` tells the caches that a stream was destroyed.
 */
#include "capture/sources/hip/hip.h"

#include <stdlib.h>

#include "capture/sources/hip/numbers.h"

#define HANDLE_LEGACY	 1ull /* hipStreamLegacy */
#define HANDLE_PER_THREAD 2ull /* hipStreamPerThread */
/* Keys of streams that have no handle of their own; real handles are user addresses. */
#define DEFAULT_NULL	  (1ull << 63)
#define DEFAULT_PER_THREAD (1ull << 62)
#define KEY_NULL(device)  (DEFAULT_NULL | (device))
#define KEY_PER_THREAD(thread, device) (DEFAULT_PER_THREAD | (uint64_t)(thread) << 16 | (device))

static struct wt_numbers table = {.size = 65536};
static _Atomic uint32_t number_cnt, epoch;
static uint32_t table_generation; /* under source_lock[4] */

struct wt_lock *wt_streams__lock(void)
{
	return &wt_process.live->source_lock[4];
}

static uint32_t find(uint64_t key)
{
	return table_generation == wt_process.generation ? wt_numbers__find(&table, key) : 0;
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
	return known ? device : WT_DEVICE_NOT_KNOWN;
}

/* Under the lock. */
static uint32_t introduce(uint64_t key, struct wt_rec_stream *rec)
{
	uint32_t number;

	if (table_generation != wt_process.generation) {
		/* a fork's child: the parent's numbers are not known to our trace */
		wt_numbers__clear(&table);
		atomic_store_explicit(&number_cnt, 0, memory_order_relaxed);
		table_generation = wt_process.generation;
	}
	number = 1 + atomic_fetch_add_explicit(&number_cnt, 1, memory_order_relaxed);
	rec->rec = (struct wt_rec){.type = WT_REC_STREAM, .id = number};
	rec->created_ns = wt_clock__boottime_ns();
	wt_define(&rec->rec, sizeof(*rec), NULL, 0);
	/* without room each look-up finds the stream anew, under its own number */
	wt_numbers__put(&table, key, number);
	return number;
}

/* First sight of a stream that nobody saw being created. */
static uint32_t meet(uint64_t key, uint64_t handle, uint32_t kind, uint32_t device)
{
	struct wt_rec_stream rec = {
		.handle = handle,
		.kind = kind,
		.device = wt_streams__device(device),
		.ordinal = device,
	};
	struct wt_hold hold;
	uint32_t number;

	wt_lock__take(wt_streams__lock(), &hold);
	number = find(key);
	if (!number)
		number = introduce(key, &rec);
	wt_lock__drop(wt_streams__lock(), &hold);
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
	if (wt_unlikely(kind != WT_STREAM_FOUND && tls->device == WT_DEVICE_NOT_KNOWN))
		return 0;
	if (wt_likely(tls->stream_handle == key && tls->stream_epoch == now))
		return tls->stream_number;
	number = find(key);
	if (!number)
		number = meet(key, value, kind, kind == WT_STREAM_FOUND ? UINT32_MAX : tls->device);
	tls->stream_handle = key;
	tls->stream_epoch = now;
	tls->stream_number = number;
	return number;
}

uint32_t wt_streams__number_spt(struct wt_tls *tls, void *handle)
{
	/* HIP 6.4 and 7.2 take the legacy stream for the thread's own here: no way to be sure */
	if (wt_unlikely((uint64_t)handle == HANDLE_LEGACY))
		return 0;
	return wt_streams__number(tls, handle ? handle : (void *)HANDLE_PER_THREAD);
}

uint32_t wt_streams__created(struct wt_tls *tls, void *handle, uint32_t flags, int32_t priority)
{
	struct wt_rec_stream rec = {
		.handle = (uint64_t)handle,
		.kind = WT_STREAM_CREATED,
		.device = wt_streams__device(tls->device),
		.ordinal = tls->device,
		.flags = flags,
		.priority = priority,
	};
	struct wt_hold hold;
	uint32_t number;

	wt_lock__take(wt_streams__lock(), &hold);
	number = introduce((uint64_t)handle, &rec);
	wt_lock__drop(wt_streams__lock(), &hold);
	atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
	wt_workers__created(tls, handle, number);
	return number;
}

uint32_t wt_streams__end(struct wt_tls *tls, void *handle)
{
	uint32_t number = wt_streams__number(tls, handle);
	struct wt_hold hold;

	if ((uint64_t)handle <= HANDLE_PER_THREAD)
		return number; /* the runtime will refuse */
	wt_lock__take(wt_streams__lock(), &hold);
	wt_numbers__drop(&table, (uint64_t)handle);
	wt_lock__drop(wt_streams__lock(), &hold);
	atomic_fetch_add_explicit(&epoch, 1, memory_order_release);
	return number;
}

void wt_streams__ended(uint32_t number)
{
	struct wt_rec_stream_end rec = {
		.rec = {.type = WT_REC_STREAM_END, .id = number},
		.ended_ns = wt_clock__boottime_ns(),
	};

	if (!number)
		return;
	wt_define(&rec.rec, sizeof(rec), NULL, 0);
	wt_workers__ended(number);
}

bool wt_streams__is_default(uint64_t key)
{
	return key & (DEFAULT_NULL | DEFAULT_PER_THREAD);
}

void wt_streams__restore(void *handle, uint32_t number)
{
	struct wt_hold hold;

	if ((uint64_t)handle <= HANDLE_PER_THREAD || !number)
		return;
	wt_lock__take(wt_streams__lock(), &hold);
	wt_numbers__put(&table, (uint64_t)handle, number);
	wt_lock__drop(wt_streams__lock(), &hold);
}
