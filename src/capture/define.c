// SPDX-License-Identifier: MIT
/* The definition ring: many producers in turn, off the record path. */
#include "capture/capture.h"

#include <string.h>
#include <time.h>

#define ROOM_TRIES 200 /* of 1 ms: how long a definition may wait for the collector */

static void *reserve_with_patience(uint32_t bytes)
{
	static _Atomic bool given_up; /* after one wait in vain nobody waits again */
	struct wt_ring *ring = &wt_process.define;
	const struct timespec pause = {0, 1000000};

	for (int i = 0;; i++) {
		uint64_t dropped = atomic_load_explicit(&ring->shared->dropped,
			memory_order_relaxed);
		void *room = wt_ring__reserve(ring, bytes);

		if (room) {
			atomic_store_explicit(&given_up, false, memory_order_relaxed);
			return room;
		}
		/* the loss is counted by cause, once, and not in the ring */
		atomic_store_explicit(&ring->shared->dropped, dropped, memory_order_relaxed);
		if (i >= ROOM_TRIES || atomic_load_explicit(&given_up, memory_order_relaxed)) {
			atomic_store_explicit(&given_up, true, memory_order_relaxed);
			return NULL;
		}
		nanosleep(&pause, NULL);
	}
}

void wt_define(struct wt_rec *rec, size_t rec_bytes, const char *text, size_t text_bytes)
{
	size_t padded = (text_bytes + 7) & ~(size_t)7;
	struct wt_tls *tls = &wt_tls;
	struct wt_hold hold;
	int saved = errno;
	char *room;

	if (!wt_recording_now())
		return;
	tls->nest++;
	rec->size8 = (uint16_t)((rec_bytes + padded) / 8);
	wt_lock__take(&wt_process.live->define_lock, &hold);
	room = reserve_with_patience((uint32_t)(rec_bytes + padded));
	if (room) {
		memcpy(room, rec, rec_bytes);
		memset(room + rec_bytes, 0, padded);
		if (text_bytes)
			memcpy(room + rec_bytes, text, text_bytes);
		wt_ring__commit(&wt_process.define, (uint32_t)(rec_bytes + padded));
	} else {
		wt_lost__count(WT_LOST_DEFINITION_RING_FULL, 1);
	}
	wt_lock__drop(&wt_process.live->define_lock, &hold);
	tls->nest--;
	errno = saved;
}

void wt_define__status(const char *source, uint32_t level, const char *text)
{
	struct wt_rec_status rec = {.rec = {.type = WT_REC_STATUS, .id = level}};

	rec.text_bytes = (uint32_t)strlen(text);
	strncpy(rec.source, source, sizeof(rec.source) - 1);
	wt_define(&rec.rec, sizeof(rec), text, rec.text_bytes);
}
