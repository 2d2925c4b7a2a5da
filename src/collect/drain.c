// SPDX-License-Identifier: MIT
#include "collect/drain.h"

#include <errno.h>
#include <string.h>

#include "collect/fault.h"

/* One frame carries at most this: many small rings fit the buffer beside it. */
#define RING_FRAME_BYTES (4u << 20)
#define OPS_FRAME_CNT    8192u

int wt_drain__commit(struct wt_drain *drain)
{
	int rc = wt_segment__flush(drain->writer);

	if (rc)
		return rc;
	/* where the collector can die with everything in both places */
	(void)wt_fault__check("committed");
	for (size_t i = 0; i < drain->rings.cnt; i++)
		wt_ring_reader__release(&drain->rings.data[i]->reader, drain->rings.data[i]->end);
	for (size_t i = 0; i < drain->slots.cnt; i++)
		wt_slots_reader__release(&drain->slots.data[i]->reader);
	drain->rings.cnt = drain->slots.cnt = 0;
	return 0;
}

static int make_room(struct wt_drain *drain, size_t bytes)
{
	return wt_segment__has_room(drain->writer, bytes) ? 0 : wt_drain__commit(drain);
}

/* Bytes of `copy` that are whole records; all of it when it makes no sense. */
static uint32_t whole_records(const uint8_t *copy, uint32_t length)
{
	uint32_t at = 0;

	while (at + sizeof(struct wt_rec) <= length) {
		struct wt_rec rec;

		memcpy(&rec, copy + at, sizeof(rec));
		if (!rec.size8)
			return length;
		if ((uint32_t)rec.size8 * 8 > length - at)
			break;
		at += (uint32_t)rec.size8 * 8;
	}
	return at ? at : length;
}

static int store_run(
	struct wt_drain *drain, struct wt_ring_source *source, const struct wt_ring_run *run)
{
	uint32_t done = 0;

	while (done < run->length) {
		uint32_t length = run->length - done;
		uint8_t *to;
		int rc;

		if (length > RING_FRAME_BYTES)
			length = RING_FRAME_BYTES;
		rc = make_room(drain, length);
		if (rc)
			return rc;
		to = wt_segment__begin(drain->writer, WT_FRAME_RING, source->process,
			source->number, run->position + done);
		memcpy(to, run->bytes + done, length);
		/* cut where a record ends; by the copy, which no longer changes */
		if (length < run->length - done)
			length = whole_records(to, length);
		wt_segment__end(drain->writer, length);
		done += length;
		source->end = run->position + done;
	}
	return 0;
}

int wt_drain__ring(struct wt_drain *drain, struct wt_ring_source *source)
{
	struct wt_ring_run runs[2];
	uint64_t end;
	uint32_t bytes;
	double fill;
	int rc = 0;

	if (source->mapping.lost)
		return 0;
	bytes = wt_ring_reader__peek(&source->reader, runs, &end);
	if (end == source->reader.tail)
		return 0;
	fill = (double)bytes / source->reader.capacity;
	if (fill > drain->pressure)
		drain->pressure = fill;
	/*
	 * Remembered before the bytes are copied: a commit in the middle releases
	 * exactly what was copied until then.
	 */
	source->end = source->reader.tail;
	if (wt_vec__push(&drain->rings, source))
		return -ENOMEM;
	for (int i = 0; i < 2 && !rc; i++) {
		rc = store_run(drain, source, &runs[i]);
		if (!rc && !drain->rings.cnt && wt_vec__push(&drain->rings, source))
			rc = -ENOMEM;
	}
	if (rc)
		return rc;
	source->end = end;
	drain->ring_bytes += bytes;
	drain->pass_bytes += bytes;
	return 0;
}

int wt_drain__slots(struct wt_drain *drain, struct wt_slots_source *source, bool final)
{
	struct wt_frame_ops *head;
	uint32_t cnt;
	double pressure;
	int rc;

	if (source->mapping.lost)
		return 0;
	pressure = wt_slots_reader__pressure(&source->reader);
	if (pressure > drain->pressure)
		drain->pressure = pressure;
	do {
		rc = make_room(drain, sizeof(*head) + OPS_FRAME_CNT * sizeof(struct wt_op_raw));
		if (rc)
			return rc;
		head = wt_segment__begin(
			drain->writer, WT_FRAME_OPS, source->process, source->number, 0);
		*head = (struct wt_frame_ops){
			.queue = source->reader.queue,
			.device = source->reader.device,
			.capacity = source->reader.capacity,
		};
		cnt = wt_slots_reader__scan(
			&source->reader, (struct wt_op_raw *)(head + 1), OPS_FRAME_CNT, final);
		if (!cnt) {
			wt_segment__drop(drain->writer);
			break;
		}
		wt_segment__end(drain->writer, sizeof(*head) + cnt * sizeof(struct wt_op_raw));
		if (wt_vec__push(&drain->slots, source))
			return -ENOMEM;
		drain->op_cnt += cnt;
		drain->pass_bytes += cnt * sizeof(struct wt_op_raw);
	} while (cnt == OPS_FRAME_CNT);
	return 0;
}

void wt_drain__free(struct wt_drain *drain)
{
	wt_vec__free(&drain->rings);
	wt_vec__free(&drain->slots);
}
