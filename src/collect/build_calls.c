// SPDX-License-Identifier: MIT
#include "collect/build_private.h"

#include <errno.h>
#include <string.h>

#include "collect/api_name.h"

/* Dense ids are given out in blocks of this many to the threads: gaps only at their ends. */
#define BLOCK_BITS 8

#define MAX_THREADS (1u << 20)

uint64_t wt_build__dense(struct wt_build *build, struct wt_build_process *process, uint64_t corr)
{
	uint64_t key = corr >> BLOCK_BITS;

	if (!corr)
		return 0;
	if (key != process->block_key || !process->block_base) {
		uint64_t base = wt_map__get(&process->blocks, key, 0);

		if (!base) {
			base = build->next_block;
			if (wt_map__put(&process->blocks, key, base))
				return 0;
			build->next_block += 1u << BLOCK_BITS;
		}
		process->block_key = key;
		process->block_base = base;
	}
	return process->block_base + (corr & ((1u << BLOCK_BITS) - 1));
}

uint64_t wt_build__cpu_ns(
	struct wt_build *build, const struct wt_build_process *process, uint64_t tsc)
{
	uint64_t ns;

	if (!process->tsc)
		return tsc;
	return wt_clock_line__convert(&build->cpu, tsc, &ns) ? ns : WT_ABSENT;
}

struct wt_build_thread *wt_build__thread(
	struct wt_build *build, struct wt_build_process *process, uint32_t index)
{
	struct wt_build_thread thread = {0};
	uint64_t *at;

	if (index && index == process->last_thread_index)
		return &process->threads.data[process->last_thread];
	at = wt_map__find(&process->thread_of, index);
	if (!at) {
		if (process->threads.cnt >= MAX_THREADS)
			return NULL;
		thread.id = ++build->next_thread;
		if (wt_map__put(&process->thread_of, index, process->threads.cnt) ||
			wt_vec__push(&process->threads, thread))
			return NULL;
		at = wt_map__find(&process->thread_of, index);
	}
	process->last_thread = *at;
	process->last_thread_index = index;
	return &process->threads.data[*at];
}

static int add_thread(
	struct wt_build *build, struct wt_build_process *process, const struct wt_rec *rec)
{
	const struct wt_rec_thread *t = (const void *)rec;
	struct wt_build_thread *thread = wt_build__thread(build, process, rec->id);
	char name[sizeof(t->name) + 1] = "";

	if (!thread)
		return -ENOMEM;
	if (thread->written)
		return 0;
	thread->written = true;
	memcpy(name, t->name, sizeof(t->name));
	return wt_store__add_thread(build->store, &(struct wt_store_thread){
							  .id = thread->id,
							  .process_id = process->id,
							  .tid = t->tid,
							  .name = name,
						  });
}

/* Threads whose own record did not arrive: their calls still belong to one thread. */
int wt_build__write_threads(struct wt_build *build, struct wt_build_process *process)
{
	int rc = 0;

	for (size_t i = 0; i < process->threads.cnt && !rc; i++) {
		struct wt_build_thread *thread = &process->threads.data[i];

		if (thread->written)
			continue;
		thread->written = true;
		rc = wt_store__add_thread(build->store, &(struct wt_store_thread){
								.id = thread->id,
								.process_id = process->id,
								.tid = 0,
								.name = "",
							});
	}
	return rc;
}

static void add_detail(const struct wt_rec *rec, uint32_t bytes, struct wt_store_api *row)
{
	const struct wt_rec_launch *launch = (const void *)rec;
	const struct wt_rec_copy *copy = (const void *)rec;
	const struct wt_rec_args *args = (const void *)rec;
	const struct wt_rec_memory *memory = (const void *)rec;

	switch (rec->type) {
	case WT_REC_CALL_LAUNCH:
		row->detail = WT_API_LAUNCH;
		row->launch.function = launch->function;
		memcpy(row->launch.grid, launch->grid, sizeof(row->launch.grid));
		memcpy(row->launch.block, launch->block, sizeof(row->launch.block));
		row->launch.shared_bytes = launch->shared_bytes;
		break;
	case WT_REC_CALL_COPY:
		row->detail = WT_API_COPY;
		row->copy.dst = copy->dst;
		row->copy.src = copy->src;
		row->copy.bytes = copy->bytes;
		row->copy.kind = copy->kind;
		break;
	case WT_REC_CALL_ARGS:
		row->detail = WT_API_ARGS;
		row->args.cnt = (bytes - sizeof(*args)) / sizeof(*args->value);
		if (row->args.cnt > WT_STORE_ARGS)
			row->args.cnt = WT_STORE_ARGS;
		memcpy(row->args.value, args->value, row->args.cnt * sizeof(*args->value));
		break;
	case WT_REC_CALL_MEMORY:
		row->detail = WT_API_ARGS;
		row->args.cnt = 3;
		row->args.value[0] = memory->address;
		row->args.value[1] = memory->bytes;
		row->args.value[2] = memory->kind;
		break;
	}
}

/* The first call of a function with arguments says how they are called. */
static int name_args(struct wt_build *build, const struct wt_rec *rec)
{
	static const char *const memory[] = {"address", "bytes", "kind"};
	bool is_memory = rec->type == WT_REC_CALL_MEMORY;
	char name[64];
	int rc = 0;

	if ((rec->type != WT_REC_CALL_ARGS && !is_memory) || rec->id >= WT_HIP_CNT ||
		build->args_named[rec->id])
		return 0;
	build->args_named[rec->id] = true;
	for (uint32_t i = 0; i < WT_STORE_ARGS && !rc; i++) {
		if (is_memory ? i >= 3 : !wt_hip_api__arg_name(rec->id, i, name))
			break;
		rc = wt_store__add_arg_name(build->store, wt_api__name(rec->id), i,
			is_memory ? memory[i] : name);
	}
	return rc;
}

static int add_call(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec *rec, uint32_t bytes)
{
	const struct wt_rec_call *call = (const void *)rec;
	uint32_t api = rec->id & ~WT_REC_OFF;
	uint32_t index = (uint32_t)(call->corr >> WT_CORR_COUNT_BITS);
	struct wt_build_thread *thread = wt_build__thread(build, process, index);
	struct wt_store_api row;
	int rc;

	if (!thread)
		return -ENOMEM;
	row = (struct wt_store_api){
		.id = wt_build__dense(build, process, call->corr),
		.process_id = process->id,
		.thread_id = thread->id,
		.name = wt_api__name(api),
		.domain = "hip",
		.start_ns = wt_build__cpu_ns(build, process, call->start_tsc),
		.end_ns = wt_build__cpu_ns(build, process, call->end_tsc),
		.ret = call->ret,
		.no_ret = api < WT_HIP_CNT && !wt_hip_functions[api].returns_error,
		.stream_id = wt_build__stream_id(process, call->stream),
	};
	if (!row.id)
		return call->corr ? -ENOMEM : -EINVAL;
	if (row.start_ns == WT_ABSENT || row.end_ns == WT_ABSENT)
		return -EINVAL;
	if (rec->id == WT_HIP_hipGraphLaunch || rec->id == WT_HIP_hipGraphLaunch_spt)
		wt_build__stream_replays(process, call->stream);
	if (rec->type == WT_REC_CALL_MEMORY) {
		rc = wt_build__memory(
			build, process, (const void *)rec, &row, !(rec->id & WT_REC_OFF));
		if (rc)
			return rc;
	}
	/* it is followed for what it made, and no part of the recording */
	if (rec->id & WT_REC_OFF)
		return 0;
	rc = name_args(build, rec);
	if (rc)
		return rc;
	add_detail(rec, bytes, &row);
	if (row.end_ns > build->stats.end_ns)
		build->stats.end_ns = row.end_ns;
	build->stats.call_cnt++;
	return wt_store__add_api(build->store, &row);
}

static const uint16_t sizes[] = {
	[WT_REC_THREAD] = sizeof(struct wt_rec_thread),
	[WT_REC_CALL] = sizeof(struct wt_rec_call),
	[WT_REC_CALL_LAUNCH] = sizeof(struct wt_rec_launch),
	[WT_REC_CALL_COPY] = sizeof(struct wt_rec_copy),
	[WT_REC_CALL_ARGS] = sizeof(struct wt_rec_args),
	[WT_REC_CALL_MEMORY] = sizeof(struct wt_rec_memory),
};

int wt_build__thread_record(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec *rec, uint32_t bytes)
{
	int rc = -EINVAL;

	if (rec->type && rec->type < sizeof(sizes) / sizeof(*sizes) && bytes >= sizes[rec->type])
		rc = rec->type == WT_REC_THREAD ? add_thread(build, process, rec)
						: add_call(build, process, rec, bytes);
	if (rc != -EINVAL)
		return rc;
	process->unknown_records++;
	return 0;
}

/* A call that had not returned. Where its correlation is not known it gets an id of its own. */
int wt_build__open_call(struct wt_build *build, struct wt_build_process *process, uint32_t ring,
	const struct wt_frame_call_open *open)
{
	struct wt_build_thread *thread;
	struct wt_store_api row;

	if (!open->thread_index || wt_map__find(&process->open_calls, ring))
		return 0;
	thread = wt_build__thread(build, process, open->thread_index);
	if (!thread || wt_map__put(&process->open_calls, ring, 1))
		return -ENOMEM;
	row = (struct wt_store_api){
		.id = open->corr >> WT_CORR_COUNT_BITS == open->thread_index
			      ? wt_build__dense(build, process, open->corr)
			      : build->next_block++,
		.process_id = process->id,
		.thread_id = thread->id,
		.name = wt_api__name(open->api),
		.domain = "hip",
		.start_ns = wt_build__cpu_ns(build, process, open->start_tsc),
		.end_ns = WT_ABSENT,
	};
	if (row.start_ns == WT_ABSENT || !row.id)
		return 0;
	build->stats.call_cnt++;
	return wt_store__add_api(build->store, &row);
}

static const char *left_out_name(uint32_t api)
{
	return api == WT_LEFT_OUT_DISPATCH ? "dispatch"
	       : api == WT_LEFT_OUT_COPY   ? "copy"
					   : wt_api__name(api);
}

/* What compiled code calls by itself is not what the program's author calls. */
static const char *left_out_domain(uint32_t api)
{
	if (api >= WT_LEFT_OUT_COPY)
		return "gpu";
	return api < WT_HIP_CNT && wt_hip_functions[api].class == WT_API_CLASS_COMPILER
		       ? "compiler"
		       : "hip";
}

/* Written again where the end of a process had to be: the first counts. */
int wt_build__left_out(struct wt_build *build, struct wt_build_process *process,
	const struct wt_frame_left_out *calls, size_t cnt)
{
	struct wt_frame_left_out call;
	int rc = 0;

	if (process->left_out)
		return 0;
	process->left_out = true;
	for (size_t i = 0; i < cnt && !rc; i++) {
		memcpy(&call, &calls[i], sizeof(call));
		rc = wt_store__add_unrecorded(
			build->store, &(struct wt_store_unrecorded){
					      .process_id = process->id,
					      .domain = left_out_domain(call.api),
					      .name = left_out_name(call.api),
					      .count = call.cnt,
				      });
	}
	return rc;
}
