// SPDX-License-Identifier: MIT
/* The builder's end: what was held back, processes, losses. */
#include "collect/build_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

static int add_lost(struct wt_build *build, uint32_t process_id, unsigned cause, uint64_t cnt)
{
	if (!cnt)
		return 0;
	return wt_store__add_lost(build->store, &(struct wt_store_lost){
							.process_id = process_id,
							.cause = wt_lost__name(cause),
							.count = cnt,
						});
}

/* Recorded all the same: only their times, their stream or their call are missing. */
static bool has_row(unsigned cause)
{
	switch (cause) {
	case WT_LOST_TIME_SHARED_SIGNAL:
	case WT_LOST_TIME_SIGNAL_REARMED:
	case WT_LOST_TIME_NO_ROOM:
	case WT_LOST_TIME_NOT_STAMPED:
	case WT_LOST_TIME_DEPTH:
	case WT_LOST_TIME_OTHER_TOOL:
	case WT_LOST_TIME_NO_CLOCK:
	case WT_LOST_STREAM_UNNAMED:
	case WT_LOST_STREAM_HIDDEN:
	case WT_LOST_STREAM_OUTSIDE:
	case WT_LOST_CALLER_WORKER:
	case WT_LOST_CALLER_OUTSIDE:
		return true;
	default:
		return false;
	}
}

static bool is_of_hip(unsigned cause)
{
	return cause >= WT_LOST_STREAM_UNNAMED && cause <= WT_LOST_CALLER_OUTSIDE;
}

static int write_lost(struct wt_build *build, struct wt_build_process *process)
{
	const struct wt_frame_process_end *end = &process->end;
	int rc = 0;

	for (unsigned cause = 1; cause < WT_LOST_CNT && !rc; cause++) {
		uint64_t cnt = end->lost[cause];

		if (cause == WT_LOST_CALL_RING_FULL)
			cnt += end->ring_dropped;
		if (cause == WT_LOST_DEFINITION_RING_FULL)
			cnt += end->definitions_dropped;
		/* counted by their rows; the process may have counted the same ones */
		if (is_of_hip(cause) && !process->streams.cnt && !process->last_thread_index)
			continue; /* a program without HIP has neither */
		if (has_row(cause))
			cnt = process->by_row[cause];
		else
			build->stats.lost_cnt += cnt;
		rc = add_lost(build, process->id, cause, cnt);
	}
	return rc;
}

/* The process of this trace that its parent pid names: of those that live then, the newest. */
static uint32_t parent_of(
	const struct wt_build *build, const struct wt_build_process *process, int32_t parent_pid)
{
	for (size_t i = process->id - 1; i-- > 0;) {
		const struct wt_build_process *other = build->processes.data[i];
		struct wt_process_shared shared;

		if (!other->started)
			continue;
		memcpy(&shared, other->start.shared, sizeof(shared));
		if (shared.pid == parent_pid)
			return other->id;
	}
	return 0;
}

static int write_process(struct wt_build *build, struct wt_build_process *process)
{
	struct wt_process_shared shared;
	struct wt_store_process row;

	memcpy(&shared, process->start.shared, sizeof(shared));
	shared.image[sizeof(shared.image) - 1] = 0;
	shared.command[sizeof(shared.command) - 1] = 0;
	shared.host[sizeof(shared.host) - 1] = 0;
	shared.rank[sizeof(shared.rank) - 1] = 0;
	row = (struct wt_store_process){
		.id = process->id,
		.parent_id = parent_of(build, process, shared.parent_pid),
		.pid = shared.pid,
		.parent_pid = shared.parent_pid,
		.start_ticks = shared.start_ticks,
		.joined_ns = process->started ? shared.joined_ns : WT_ABSENT,
		.ended_ns = process->ended ? process->end.ended_ns : WT_ABSENT,
		.exit_kind = process->ended ? (int32_t)process->end.exit_kind : 0,
		.forked = shared.forked,
		.image = shared.image,
		.command = shared.command,
		.host = shared.host,
		.rank = shared.rank,
	};
	build->stats.process_cnt++;
	return wt_store__add_process(build->store, &row);
}

static void note(struct wt_build *build, uint32_t process_id, const char *what, uint64_t cnt)
{
	char text[160];

	if (!cnt)
		return;
	snprintf(text, sizeof(text), "%s: %llu", what, (unsigned long long)cnt);
	wt_store__add_status(build->store, &(struct wt_store_status){
						   .process_id = process_id,
						   .source = "collector",
						   .level = "degraded",
						   .text = text,
					   });
}

static int finish_process(struct wt_build *build, struct wt_build_process *process)
{
	int rc = wt_build__release_held(build, process, true);

	if (!rc)
		rc = wt_build__flush_sdma(build, process);
	if (!rc)
		rc = wt_build__write_devices(build, process);
	if (!rc)
		rc = wt_build__write_queues(build, process);
	if (!rc)
		rc = wt_build__write_streams(build, process);
	if (!rc)
		rc = wt_build__write_threads(build, process);
	if (!rc)
		rc = write_lost(build, process);
	if (rc)
		return rc;
	note(build, process->id, "records that make no sense were left out",
		process->unknown_records);
	note(build, process->id, "bytes of shared memory that make no sense were left out",
		process->end.corrupt_bytes);
	if (process->end.interrupted_ns)
		note(build, process->id, "recording stopped before the process ended, ns",
			process->end.interrupted_ns);
	return write_process(build, process);
}

/* An older segment may lack the last process ends: it was cut off there. */
static int finish(struct wt_build *build)
{
	int rc = 0;

	for (size_t i = 0; i < build->processes.cnt && !rc; i++)
		rc = finish_process(build, build->processes.data[i]);
	build->stats.damaged_bytes = build->events.damaged_bytes;
	note(build, 0, "damaged bytes of the segment file were left out",
		build->stats.damaged_bytes);
	if (!build->complete)
		note(build, 0, "the segment file has no end: events may be missing", 1);
	return rc;
}

int wt_build__close(struct wt_build *build, struct wt_build_stats *stats, struct wt_err **err)
{
	struct wt_err *inner = NULL;
	int rc, closed;

	if (!build->store) {
		rc = wt_err__new(err, -ENODATA, "%s holds no clock sample: nothing was recorded",
			build->segment);
		wt_build__abort(build);
		return rc;
	}
	rc = finish(build);
	closed = wt_store__close(build->store, &inner);
	build->store = NULL;
	if (closed) {
		/* the store's own word says more than what the last row got */
		if (err) {
			wt_err__free(*err);
			*err = inner;
		} else {
			wt_err__free(inner);
		}
		rc = closed;
	} else if (rc) {
		wt_err__errno(err, rc, "cannot build the trace from %s", build->segment);
	}
	if (stats)
		*stats = build->stats;
	wt_build__abort(build);
	return rc;
}
