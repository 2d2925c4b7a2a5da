// SPDX-License-Identifier: MIT
#include "collect/build_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

#define MAX_PROCESSES (1u << 20)

struct wt_build_process *wt_build__process(struct wt_build *build, uint32_t number)
{
	uint64_t *index = wt_map__find(&build->process_of, number);
	struct wt_build_process *process;

	if (index)
		return build->processes.data[*index];
	if (build->processes.cnt >= MAX_PROCESSES)
		return NULL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->number = number;
	process->id = (uint32_t)build->processes.cnt + 1;
	if (wt_map__put(&build->process_of, number, build->processes.cnt) ||
		wt_vec__push(&build->processes, process)) {
		free(process);
		return NULL;
	}
	return process;
}

static void free_process(struct wt_build_process *process)
{
	for (size_t i = 0; i < process->devices.cnt; i++) {
		wt_clock_line__free(&process->devices.data[i].clock);
		wt_vec__free(&process->devices.data[i].held);
	}
	wt_vec__free(&process->devices);
	wt_vec__free(&process->queues);
	wt_vec__free(&process->streams);
	wt_vec__free(&process->symbols);
	wt_vec__free(&process->threads);
	wt_vec__free(&process->open_copies);
	wt_places__free(&process->places);
	wt_map__free(&process->device_of);
	wt_map__free(&process->queue_of);
	wt_map__free(&process->stream_of);
	wt_map__free(&process->thread_of);
	wt_map__free(&process->symbol_of);
	wt_map__free(&process->next_position);
	wt_map__free(&process->open_calls);
	wt_map__free(&process->blocks);
	free(process->hip_visible);
	free(process->cuda_visible);
	free(process);
}

static void free_build(struct wt_build *build)
{
	for (size_t i = 0; i < build->processes.cnt; i++)
		free_process(build->processes.data[i]);
	wt_vec__free(&build->processes);
	wt_map__free(&build->process_of);
	for (size_t i = 0; i < build->metas.cnt; i++)
		free(build->metas.data[i]);
	wt_vec__free(&build->metas);
	wt_clock_line__free(&build->cpu);
	wt_segment_reader__close(&build->heads);
	wt_segment_reader__close(&build->events);
	free(build->segment);
	free(build->output);
	free(build);
}

int wt_build__open(
	struct wt_build **out, const struct wt_build_options *options, struct wt_err **err)
{
	struct wt_build *build = calloc(1, sizeof(*build));
	int rc;

	*out = NULL;
	if (!build)
		return wt_err__errno(err, -ENOMEM, "cannot build %s", options->output);
	build->heads.fd = build->events.fd = -1;
	build->options = *options;
	build->segment = strdup(options->segment);
	build->output = strdup(options->output);
	build->next_block = 1;
	build->want = WT_WANT_DEFAULT;
	build->calls = true;
	rc = build->segment && build->output
		     ? 0
		     : wt_err__errno(err, -ENOMEM, "cannot build %s", options->output);
	if (!rc)
		rc = wt_segment_reader__open(&build->heads, options->segment, err);
	if (!rc)
		rc = wt_segment_reader__open(&build->events, options->segment, err);
	if (rc) {
		free_build(build);
		return rc;
	}
	build->session_id = build->heads.header.session_id;
	*out = build;
	return 0;
}

static int open_store(
	struct wt_build *build, const struct wt_clock_sample *first, struct wt_err **err)
{
	struct wt_store_options options = {
		.size = sizeof(options),
		.schema = build->options.schema,
		.exists = build->options.exists,
		.origin_ns = first->boottime_ns,
		.origin_realtime_ns = first->realtime_ns,
		.origin_monotonic_ns = first->monotonic_ns,
	};
	int rc = wt_store__open(&build->store, build->output, &options, err);

	if (rc)
		return rc;
	build->stats.origin_ns = first->boottime_ns;
	for (size_t i = 0; i < build->metas.cnt; i++) {
		const char *key = build->metas.data[i];

		wt_store__add_meta(build->store, key, key + strlen(key) + 1);
	}
	return 0;
}

/* ---- step one: what others refer to ------------------------------------------- */

static int take_clock(
	struct wt_build *build, const void *payload, uint32_t length, struct wt_err **err)
{
	struct wt_clock_sample sample;
	int rc;

	if (length < sizeof(sample))
		return 0;
	memcpy(&sample, payload, sizeof(sample));
	rc = build->store ? 0 : open_store(build, &sample, err);
	if (rc)
		return rc;
	if (wt_clock_line__add(&build->cpu, sample.tsc, sample.boottime_ns, 0))
		return wt_err__errno(err, -ENOMEM, "cannot keep the clock samples");
	build->stats.end_ns =
		sample.boottime_ns > build->stats.end_ns ? sample.boottime_ns : build->stats.end_ns;
	wt_store__add_clock(build->store, &(struct wt_store_clock){
						  .taken_ns = sample.boottime_ns,
						  .ticks = sample.tsc,
						  .ns = sample.boottime_ns,
						  .realtime_ns = sample.realtime_ns,
						  .monotonic_ns = sample.monotonic_ns,
						  .width_ns = sample.width_ns,
					  });
	return 0;
}

static int take_meta(struct wt_build *build, const char *text, uint32_t length)
{
	size_t key = strnlen(text, length);
	unsigned want, hip;
	char *copy;

	if (key == length || memchr(text + key + 1, 0, length - key - 1) == NULL)
		return 0;
	if (!strcmp(text, "settings") &&
		sscanf(text + key + 1, "want=%x hip=%u", &want, &hip) == 2) {
		build->want = want;
		build->calls = want & WT_WANT_HIP && hip != WT_HIP_OFF;
	}
	if (build->store) {
		wt_store__add_meta(build->store, text, text + key + 1);
		return 0;
	}
	copy = malloc(length);
	if (!copy || wt_vec__push(&build->metas, copy)) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, text, length);
	return 0;
}

/*
 * The records of a ring frame that were not taken in before (recover may have
 * stored them twice), one by one.
 */
static int each_record(struct wt_build *build, struct wt_build_process *process,
	const struct wt_frame *frame, const uint8_t *payload)
{
	uint64_t *next = wt_map__find(&process->next_position, frame->number);
	uint64_t from = next ? *next : 0;
	bool definitions = frame->number == WT_FRAME_DEFINITIONS;
	int rc = 0;

	for (uint32_t at = 0; at + sizeof(struct wt_rec) <= frame->length && !rc;) {
		const struct wt_rec *rec = (const void *)(payload + at);
		uint32_t bytes = (uint32_t)rec->size8 * 8;

		if (!bytes || bytes > frame->length - at) {
			process->unknown_records++;
			break;
		}
		if (frame->position + at >= from)
			rc = definitions ? wt_build__definition(build, process, rec, bytes)
					 : wt_build__thread_record(build, process, rec, bytes);
		at += bytes;
	}
	if (!rc && frame->position + frame->length > from)
		rc = wt_map__put(
			&process->next_position, frame->number, frame->position + frame->length);
	return rc;
}

static bool is_reference(const struct wt_frame *frame)
{
	return frame->type == WT_FRAME_CLOCK || frame->type == WT_FRAME_META ||
	       frame->type == WT_FRAME_PROCESS ||
	       (frame->type == WT_FRAME_RING && frame->number == WT_FRAME_DEFINITIONS);
}

static void take_process(struct wt_build_process *process, const void *payload, uint32_t length)
{
	struct wt_process_shared shared;

	if (process->started || length < sizeof(process->start))
		return;
	memcpy(&process->start, payload, sizeof(process->start));
	memcpy(&shared, process->start.shared, sizeof(shared));
	process->tsc = shared.cpu_clock != WT_CPU_CLOCK_BOOTTIME;
	process->started = true;
}

static int take_reference(struct wt_build *build, const struct wt_frame *frame, const void *payload,
	struct wt_err **err)
{
	struct wt_build_process *process;

	if (frame->type == WT_FRAME_CLOCK)
		return take_clock(build, payload, frame->length, err);
	if (frame->type == WT_FRAME_META)
		return take_meta(build, payload, frame->length);
	process = wt_build__process(build, frame->process);
	if (!process)
		return -ENOMEM;
	if (frame->type == WT_FRAME_PROCESS) {
		take_process(process, payload, frame->length);
		return 0;
	}
	/* definitions before any clock sample: not from our collector */
	return build->store ? each_record(build, process, frame, payload) : 0;
}

static int walk_heads(struct wt_build *build, uint64_t limit, struct wt_err **err)
{
	struct wt_frame frame;
	int rc;

	build->heads.limit = limit;
	while ((rc = wt_segment_reader__head(&build->heads, &frame)) == 1) {
		const void *payload;

		if (!is_reference(&frame)) {
			wt_segment_reader__skip(&build->heads, &frame);
			continue;
		}
		payload = wt_segment_reader__payload(&build->heads, &frame);
		rc = payload ? take_reference(build, &frame, payload, err) : 0;
		if (rc)
			return rc;
	}
	return rc;
}

/* ---- step two: events ------------------------------------------------------------ */

static int take_note(struct wt_build *build, const struct wt_frame *frame, const char *payload)
{
	static const char *const levels[] = {"info", "degraded", "off"};
	char *text = strndup(payload, frame->length);
	int rc;

	if (!text)
		return -ENOMEM;
	rc = wt_store__add_status(
		build->store, &(struct wt_store_status){
				      .source = "collector",
				      .level = levels[frame->number < 3 ? frame->number : 2],
				      .text = text,
			      });
	free(text);
	return rc;
}

static int take_event(struct wt_build *build, const struct wt_frame *frame, const void *payload)
{
	struct wt_build_process *process;

	if (frame->type == WT_FRAME_NOTE)
		return take_note(build, frame, payload);
	if (frame->type == WT_FRAME_END) {
		build->end_ns = frame->position;
		build->complete = true;
		return 0;
	}
	if (frame->type != WT_FRAME_RING && frame->type != WT_FRAME_OPS &&
		frame->type != WT_FRAME_CALL_OPEN && frame->type != WT_FRAME_LEFT_OUT &&
		frame->type != WT_FRAME_PROCESS_END)
		return 0;
	process = wt_build__process(build, frame->process);
	if (!process)
		return -ENOMEM;
	switch (frame->type) {
	case WT_FRAME_RING:
		return each_record(build, process, frame, payload);
	case WT_FRAME_OPS:
		if (frame->length < sizeof(struct wt_frame_ops))
			return 0;
		return wt_build__ops(build, process, payload,
			(const void *)((const uint8_t *)payload + sizeof(struct wt_frame_ops)),
			(frame->length - sizeof(struct wt_frame_ops)) / sizeof(struct wt_op_raw));
	case WT_FRAME_CALL_OPEN:
		if (frame->length < sizeof(struct wt_frame_call_open))
			return 0;
		return wt_build__open_call(build, process, frame->number, payload);
	case WT_FRAME_LEFT_OUT:
		return wt_build__left_out(build, process, payload,
			frame->length / sizeof(struct wt_frame_left_out));
	default:
		if (frame->length < sizeof(process->end) || process->ended)
			return 0;
		memcpy(&process->end, payload, sizeof(process->end));
		process->ended = true;
		return 0;
	}
}

/* 1: `until` is reached and there is more. */
static int walk_events(struct wt_build *build, uint64_t limit, uint64_t until)
{
	struct wt_frame frame;
	int rc;

	build->events.limit = limit;
	while ((rc = wt_segment_reader__head(&build->events, &frame)) == 1) {
		const void *payload;

		if (build->events.offset >= until)
			return 1;
		if (!build->all_known && build->held_cnt >= WT_BUILD_HELD_MAX)
			return 0;
		if (is_reference(&frame)) {
			wt_segment_reader__skip(&build->events, &frame);
			continue;
		}
		payload = wt_segment_reader__payload(&build->events, &frame);
		rc = payload ? take_event(build, &frame, payload) : 0;
		if (rc < 0)
			return rc;
	}
	return rc;
}

int wt_build__advance(
	struct wt_build *build, uint64_t limit, uint64_t step_bytes, struct wt_err **err)
{
	uint64_t until = step_bytes ? build->events.offset + step_bytes : UINT64_MAX;
	int rc;

	if (limit == UINT64_MAX) {
		off_t size = lseek(build->heads.fd, 0, SEEK_END);

		limit = size < 0 ? 0 : (uint64_t)size;
		build->all_known = true;
	}
	rc = walk_heads(build, limit, err);
	if (!rc && build->store) {
		rc = walk_events(build, limit, until);
		for (size_t i = 0; i < build->processes.cnt && rc >= 0; i++) {
			int released =
				wt_build__release_held(build, build->processes.data[i], false);

			rc = released ? released : rc;
		}
	}
	if (rc < 0 && err && !*err)
		wt_err__errno(err, rc, "cannot build the trace from %s", build->segment);
	return rc;
}

uint64_t wt_build__position(const struct wt_build *build)
{
	return build->events.offset;
}

void wt_build__abort(struct wt_build *build)
{
	if (!build)
		return;
	wt_store__abort(build->store);
	free_build(build);
}
