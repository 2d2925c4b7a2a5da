// SPDX-License-Identifier: MIT
/*
 * Streams, and whose an operation is.
 *
 * HIP numbers devices by itself (HIP_VISIBLE_DEVICES and others reorder them):
 * which one a stream's is shows where its kernels ran. Copies do not tell, nor
 * does a stream on which graphs are replayed: they may run on other devices.
 */
#include "collect/build_private.h"

#include <errno.h>

#define MAX_STREAMS (1u << 24)

static struct wt_build_stream *find(const struct wt_build_process *process, uint32_t number)
{
	uint64_t at = number ? wt_map__get(&process->stream_of, number, UINT64_MAX) : UINT64_MAX;

	return at == UINT64_MAX ? NULL : &process->streams.data[at];
}

int wt_build__stream(
	struct wt_build *build, struct wt_build_process *process, const struct wt_rec_stream *rec)
{
	struct wt_build_stream stream = {.rec = *rec, .ended_ns = WT_ABSENT};

	if (find(process, rec->rec.id))
		return 0;
	if (!rec->rec.id || process->streams.cnt >= MAX_STREAMS)
		return -EINVAL;
	stream.id = ++build->next_stream;
	if (wt_map__put(&process->stream_of, rec->rec.id, process->streams.cnt) ||
		wt_vec__push(&process->streams, stream))
		return -ENOMEM;
	return 0;
}

int wt_build__stream_end(struct wt_build_process *process, const struct wt_rec_stream_end *rec)
{
	struct wt_build_stream *stream = find(process, rec->rec.id);

	if (!stream)
		return -EINVAL;
	stream->ended_ns = rec->ended_ns;
	return 0;
}

uint32_t wt_build__stream_id(const struct wt_build_process *process, uint32_t number)
{
	struct wt_build_stream *stream = find(process, number);

	return stream ? stream->id : 0;
}

void wt_build__stream_ran(
	const struct wt_build_process *process, uint32_t number, uint32_t device_id)
{
	struct wt_build_stream *stream = find(process, number);

	if (!stream || !device_id)
		return;
	if (stream->ran_on && stream->ran_on != device_id)
		stream->anywhere = true;
	stream->ran_on = device_id;
}

void wt_build__stream_replays(const struct wt_build_process *process, uint32_t number)
{
	struct wt_build_stream *stream = find(process, number);

	if (stream)
		stream->anywhere = true;
}

void wt_build__producer(const struct wt_build *build, struct wt_build_process *process,
	uint64_t corr, uint32_t number)
{
	bool known = find(process, number) != NULL;

	if (!known)
		process->by_row[corr                            ? WT_LOST_STREAM_UNNAMED
				: number == WT_STREAM_NOT_KNOWN ? WT_LOST_STREAM_HIDDEN
								: WT_LOST_STREAM_OUTSIDE]++;
	/* a stream without a call: of a thread that the runtime keeps for it */
	if (!corr && build->calls)
		process->by_row[number ? WT_LOST_CALLER_WORKER : WT_LOST_CALLER_OUTSIDE]++;
}

/* By HIP's number of a device: its id, 0 where nothing or not always the same was seen. */
static int devices_by_ordinal(const struct wt_build_process *process, struct wt_map *map)
{
	for (size_t i = 0; i < process->streams.cnt; i++) {
		const struct wt_build_stream *stream = &process->streams.data[i];
		uint32_t ordinal = stream->rec.ordinal;
		uint64_t seen = wt_map__get(map, ordinal, UINT64_MAX);

		if (stream->anywhere || !stream->ran_on || ordinal == UINT32_MAX)
			continue;
		if (wt_map__put(map, ordinal,
			    seen == UINT64_MAX || seen == stream->ran_on ? stream->ran_on : 0))
			return -ENOMEM;
	}
	return 0;
}

static uint32_t device_of(struct wt_build *build, struct wt_build_process *process,
	const struct wt_build_stream *stream, const struct wt_map *by_ordinal)
{
	struct wt_build_device *device;

	if (stream->ran_on && !stream->anywhere)
		return stream->ran_on;
	if (stream->rec.ordinal == UINT32_MAX)
		return 0;
	if (stream->rec.device == UINT32_MAX)
		return (uint32_t)wt_map__get(by_ordinal, stream->rec.ordinal, 0);
	device = wt_build__device(build, process, stream->rec.device);
	return device ? device->id : 0;
}

int wt_build__write_streams(struct wt_build *build, struct wt_build_process *process)
{
	static const char *const kinds[] = {
		[WT_STREAM_CREATED] = "created",
		[WT_STREAM_FOUND] = "found",
		[WT_STREAM_NULL] = "null",
		[WT_STREAM_PER_THREAD] = "per-thread",
	};
	struct wt_map by_ordinal = {0};
	int rc = devices_by_ordinal(process, &by_ordinal);

	for (size_t i = 0; i < process->streams.cnt && !rc; i++) {
		const struct wt_build_stream *stream = &process->streams.data[i];
		const struct wt_rec_stream *rec = &stream->rec;

		rc = wt_store__add_stream(build->store,
			&(struct wt_store_stream){
				.id = stream->id,
				.process_id = process->id,
				.device_id = device_of(build, process, stream, &by_ordinal),
				.number = rec->rec.id,
				.handle = rec->handle,
				.created_ns = rec->created_ns ? rec->created_ns : WT_ABSENT,
				.ended_ns = stream->ended_ns,
				.kind = rec->kind < sizeof(kinds) / sizeof(*kinds)
						? kinds[rec->kind]
						: "found",
				.priority = rec->priority,
				.flags = rec->flags,
			});
	}
	wt_map__free(&by_ordinal);
	return rc;
}
