// SPDX-License-Identifier: MIT
/*
 * Building the store while the program runs: a thread that gets idle time only
 * follows the segment, and waits through bursts. Measured (bench/collect_build): a core builds more than
 * a million events a second and a program makes far fewer, so for nearly all
 * traces little is left at the end; and where all cores are busy the thread
 * hardly runs, and the rest is built at the end as if it were not there. The
 * memory is bounded: what waits, waits in the segment file.
 */
#ifndef WT_COLLECT_LIVE_H
#define WT_COLLECT_LIVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/build.h"

struct wt_live_build {
	struct wt_build *build;
	pthread_t thread;
	bool running;
	_Atomic uint64_t limit; /* of the segment: behind a committed clock sample */
	_Atomic bool stop;
	_Atomic pid_t tid;
	int rc; /* of the thread, once joined */
	struct wt_err *err;
};

/* Starts the thread; without it (rc < 0) everything is built at the end. */
int wt_live_build__start(struct wt_live_build *live, const struct wt_build_options *options);

/* Ends the thread; live->build goes on from where it was. 0 or the thread's failure. */
int wt_live_build__stop(struct wt_live_build *live);

#endif
