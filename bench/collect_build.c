// SPDX-License-Identifier: MIT
/*
 * Segment → store: events a second of one core. A launch call and its
 * operation are two events; one in eight launches is a copy by a blit kernel.
 * collect_build [EVENTS] [DIRECTORY]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/build.h"
#include "collect/segment.h"
#include "core/record.h"

#define BATCH 1000u
#define START 1000000000ull

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t definitions;

static void define(struct wt_segment_writer *w, void *rec, size_t bytes, const char *text)
{
	char whole[256] = "";
	size_t length = text ? (strlen(text) + 7) & ~7ul : 0;

	memcpy(whole, rec, bytes);
	((struct wt_rec *)(void *)whole)->size8 = (uint16_t)((bytes + length) / 8);
	if (text)
		memcpy(whole + bytes, text, strlen(text));
	wt_segment__add(
		w, WT_FRAME_RING, 0, WT_FRAME_DEFINITIONS, definitions, whole, bytes + length);
	definitions += bytes + length;
}

static void symbol(struct wt_segment_writer *w, uint64_t object, const char *name)
{
	struct wt_rec_symbol rec = {.rec = {WT_REC_SYMBOL, 0, 1},
		.kernel_object = object,
		.executable = 1,
		.name_bytes = (uint32_t)strlen(name)};

	define(w, &rec, sizeof(rec), name);
}

static void sample(struct wt_segment_writer *w, uint64_t ns)
{
	struct wt_clock_sample clock = {ns, ns, ns, ns, 50};
	struct wt_rec_gpu_clock gpu = {.rec = {WT_REC_GPU_CLOCK, 0, 0},
		.ticks = ns / 10,
		.ns = ns / 10 * 10,
		.taken_ns = ns};

	define(w, &gpu, sizeof(gpu), NULL);
	wt_segment__add(w, WT_FRAME_CLOCK, UINT32_MAX, 0, 0, &clock, sizeof(clock));
}

static void batch(struct wt_segment_writer *w, uint32_t thread, uint64_t first, uint64_t *position)
{
	static struct wt_rec_launch calls[BATCH];
	static struct {
		struct wt_frame_ops head;
		struct wt_op_raw ops[BATCH];
	} frame;

	frame.head = (struct wt_frame_ops){.queue = thread, .capacity = 4096};
	for (uint32_t i = 0; i < BATCH; i++) {
		uint64_t n = first + i, ns = START + n * 4000 + thread * 1000;
		uint64_t corr = WT_CORR(1ull + thread, n + 1);
		union wt_slot_word word = {.state = WT_SLOT_SUBMITTED,
			.kind = WT_SLOT_DISPATCH,
			.flags = WT_SLOT_TIMED};

		calls[i] = (struct wt_rec_launch){.call = {.rec = {WT_REC_CALL_LAUNCH, 10, 0},
							  .start_tsc = ns,
							  .end_tsc = ns + 2000,
							  .corr = corr},
			.function = 0x1000 + n % 20,
			.grid = {256, 1, 1},
			.block = {64, 1, 1}};
		frame.ops[i] =
			(struct wt_op_raw){.slot = {.word = word.raw,
						   .corr = corr,
						   .kernel_object = n % 8 ? 0x100 + n % 20 : 0xc0,
						   .grid = {256, 1, 1},
						   .block = {64, 1, 1},
						   .code_generation = 1},
				.index = n,
				.start_ticks = ns / 10 + 300,
				.end_ticks = ns / 10 + 500};
	}
	wt_segment__add(w, WT_FRAME_OPS, 0, thread, 0, &frame, sizeof(frame));
	wt_segment__add(w, WT_FRAME_RING, 0, thread, *position, calls, sizeof(calls));
	*position += sizeof(calls);
}

static int make(const char *path, uint64_t events)
{
	static struct wt_frame_process process;
	struct wt_process_shared shared = {.cpu_clock = WT_CPU_CLOCK_TSC};
	struct wt_segment_writer w;
	uint64_t positions[4] = {0}, made = 0;
	WT_ERR_AUTO err = NULL;

	unlink(path);
	if (wt_segment__create(&w, path, 1, START, &err)) {
		wt_err__print(stderr, err);
		return -1;
	}
	memcpy(process.shared, &shared, sizeof(shared));
	wt_segment__add(&w, WT_FRAME_PROCESS, 0, 0, 0, &process, sizeof(process));
	sample(&w, START);
	for (uint64_t i = 0; i < 20; i++) {
		char name[64];

		snprintf(name, sizeof(name), "_Z12some_kernel%02uPfPKfm.kd", (unsigned)i);
		symbol(&w, 0x100 + i, name);
	}
	symbol(&w, 0xc0, "__amd_rocclr_copyBufferAligned.kd");
	for (uint64_t n = 0; made < events; n += BATCH) {
		for (uint32_t thread = 0; thread < 4; thread++, made += 2 * BATCH)
			batch(&w, thread, n, &positions[thread]);
		if (n / BATCH % 25 == 24)
			sample(&w, START + (n + BATCH) * 4000);
	}
	if (wt_segment__flush(&w))
		return -1;
	wt_segment__close(&w);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 0) : 2000000;
	const char *dir = argc > 2 ? argv[2] : "/tmp";
	char segment[4096], output[4096];
	struct wt_build_options options = {
		.segment = segment, .output = output, .exists = WT_STORE_REPLACE};
	struct wt_build_stats stats;
	struct wt_build *build;
	WT_ERR_AUTO err = NULL;
	double wall, cpu, closing;
	struct stat st;

	snprintf(segment, sizeof(segment), "%s/wavetap-bench-%d.wtseg", dir, (int)getpid());
	snprintf(output, sizeof(output), "%s/wavetap-bench-%d.db", dir, (int)getpid());
	if (make(segment, events))
		return 1;
	wall = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	if (wt_build__open(&build, &options, &err) ||
		wt_build__advance(build, UINT64_MAX, 0, &err) < 0) {
		wt_err__print(stderr, err);
		return 1;
	}
	closing = now(CLOCK_MONOTONIC);
	if (wt_build__close(build, &stats, &err)) {
		wt_err__print(stderr, err);
		return 1;
	}
	closing = now(CLOCK_MONOTONIC) - closing;
	wall = now(CLOCK_MONOTONIC) - wall;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	events = stats.op_cnt + stats.copy_cnt + stats.call_cnt;
	if (stat(output, &st) || stats.untimed_cnt)
		return 1;
	printf("{\"bench\":\"collect_build\",\"events\":%llu,\"events_per_s\":%.0f,"
	       "\"events_per_cpu_s\":%.0f,\"close_s\":%.3f,\"bytes_per_event\":%.1f,"
	       "\"held_max\":%llu}\n",
		(unsigned long long)events, (double)events / wall, (double)events / cpu, closing,
		(double)st.st_size / (double)events, (unsigned long long)stats.held_max);
	unlink(segment);
	unlink(output);
	return 0;
}
