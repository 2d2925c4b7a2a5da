// SPDX-License-Identifier: MIT
/*
 * Copies by DMA engines. What was asked for and what became of it are two
 * records: a copy whose end never came was in flight when its process ended,
 * or ended in the moment before that.
 */
#include "collect/build_private.h"

#include <errno.h>

/* Writes the copy; `end` NULL: in flight. */
static int write_copy(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec_sdma *rec, const struct wt_rec_sdma_end *end)
{
	struct wt_build_device *device = wt_build__device(build, process, rec->rec.id);
	bool timed = end && !end->rec.id && end->start_ns && end->end_ns >= end->start_ns;
	struct wt_store_op op = {
		.kind = WT_OP_COPY,
		.process_id = process->id,
		.device_id = device ? device->id : 0,
		.stream_id = wt_build__stream_id(process, rec->stream),
		.packet = WT_ABSENT,
		.start_ns = timed ? end->start_ns : WT_ABSENT,
		.end_ns = timed ? end->end_ns : WT_ABSENT,
		.in_flight = !end,
		.private_bytes = UINT32_MAX,
		.bytes = rec->bytes,
		.dst = rec->dst,
		.src = rec->src,
	};

	if (!device)
		return -ENOMEM;
	if (end && !timed) {
		op.untimed = end->rec.id && end->rec.id < WT_LOST_CNT ? end->rec.id
								      : WT_LOST_TIME_NOT_STAMPED;
		process->by_row[op.untimed]++;
	}
	wt_build__producer(build, process, rec->corr, rec->stream);
	if (rec->corr) {
		op.api_id = wt_build__dense(build, process, rec->corr);
		if (!op.api_id)
			return -ENOMEM;
	}
	wt_build__place_copy(build, process, &op, rec);
	return wt_build__write_op(build, &op);
}

int wt_build__sdma(struct wt_build_process *process, const struct wt_rec_sdma *rec)
{
	return wt_vec__push(&process->open_copies, *rec);
}

int wt_build__sdma_end(
	struct wt_build *build, struct wt_build_process *process, const struct wt_rec_sdma_end *end)
{
	/* the oldest are in front, and mostly the ones that end */
	for (size_t i = 0; i < process->open_copies.cnt; i++) {
		struct wt_rec_sdma rec = process->open_copies.data[i];

		if (rec.number != end->number)
			continue;
		process->open_copies.cnt--;
		for (; i < process->open_copies.cnt; i++)
			process->open_copies.data[i] = process->open_copies.data[i + 1];
		return end->rec.id == WT_SDMA_REFUSED ? 0 : write_copy(build, process, &rec, end);
	}
	return -EINVAL;
}

int wt_build__flush_sdma(struct wt_build *build, struct wt_build_process *process)
{
	int rc = 0;

	for (size_t i = 0; i < process->open_copies.cnt && !rc; i++)
		rc = write_copy(build, process, &process->open_copies.data[i], NULL);
	process->open_copies.cnt = 0;
	return rc;
}
