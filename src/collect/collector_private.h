// SPDX-License-Identifier: MIT
#ifndef WT_COLLECT_COLLECTOR_PRIVATE_H
#define WT_COLLECT_COLLECTOR_PRIVATE_H

#include <pthread.h>

#include "base/vec.h"
#include "collect/collector.h"
#include "collect/drain.h"
#include "collect/live.h"
#include "collect/process.h"
#include "collect/segment.h"
#include "collect/session_dir.h"

struct wt_collector {
	const struct wt_collect_options *options;
	char segment[PATH_MAX];
	char part[PATH_MAX]; /* the store while it is not complete */
	struct wt_session_dir dir;
	struct wt_segment_writer writer;
	struct wt_drain drain;
	struct wt_live_build live;
	WT_VEC(struct wt_process *) processes; /* by number; NULL: not opened yet */
	uint32_t opened_cnt, finished_cnt;
	bool unrecorded_noted; /* the note on processes without shared memory is written */
	int epoll_fd;
	uint32_t connection_cnt;
	uint64_t next_sample_ns, next_slow_ns;
	uint64_t on_ns, off_ns; /* when recording begins and ends; UINT64_MAX: not any more */
	uint64_t last_change_ns; /* a join, an end: "none for a moment" counts from here */
	uint64_t last_busy_ns;
	uint64_t primary_ended_ns; /* 0: not yet */
	uint32_t primary_kind;     /* enum wt_exit_kind */
	bool starter_gone;
	bool stop;
	bool discard;              /* the command could not be executed */
	uint64_t failing_since_ns; /* the segment cannot be written; 0: it can */
	int failing;               /* with this error */
	char control[256];         /* a line from the starter, so far */
	size_t control_bytes;
	pthread_t heart;
	bool heart_runs;
	_Atomic bool heart_stop;
};

/* finish.c: from the last event to the finished trace. Returns an exit code. */
int wt_collector__finish(struct wt_collector *c);

/* finish.c: as if nothing had been started. */
int wt_collector__discard(struct wt_collector *c);

/* Writes a clock sample behind what was drained, and commits. */
int wt_collector__sample(struct wt_collector *c);

/* One line to the starter; nothing without one. */
void wt_collector__tell(struct wt_collector *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
