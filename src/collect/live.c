// SPDX-License-Identifier: MIT
#include "collect/live.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "core/clock.h"

/* Small: the end waits for the step in progress. */
#define STEP_BYTES (256u << 10)
#define PAUSE_NS   100000000
/*
 * While the program makes more than this in a pause, its threads want the
 * cores and what we would do waits: up to DEFER_BYTES, about three million
 * events, three seconds of building at the end. Measured with empty kernels on
 * two cores, which the program alone keeps busy: a whole run took 1.4 times as
 * long as untraced with a builder that always goes on, 1.1 times with this.
 */
#define BURST_BYTES (2u << 20)
#define DEFER_BYTES (256u << 20)

static bool shall_wait(const struct wt_live_build *live, uint64_t limit, uint64_t *last)
{
	bool burst = limit - *last > BURST_BYTES;

	*last = limit;
	return burst && limit - wt_build__position(live->build) < DEFER_BYTES;
}

static void *follow(void *arg)
{
	struct wt_live_build *live = arg;
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t last = 0, next_look = 0;

	pthread_setname_np(pthread_self(), "wavetap-build");
	atomic_store_explicit(&live->tid, (pid_t)syscall(SYS_gettid), memory_order_release);
	/* only what nobody else wants: a thread of the program that wakes takes the CPU at once */
	(void)sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
	while (!atomic_load_explicit(&live->stop, memory_order_acquire) && live->rc >= 0) {
		/* acquire: pairs with the release that follows the segment's commit */
		uint64_t limit = atomic_load_explicit(&live->limit, memory_order_acquire);
		uint64_t now = wt_clock__boottime_ns();

		live->rc = 0;
		if (now < next_look || !shall_wait(live, limit, &last))
			live->rc = limit ? wt_build__advance(live->build, limit, STEP_BYTES,
						   &live->err)
					 : 0;
		if (now >= next_look)
			next_look = now + PAUSE_NS;
		if (!live->rc)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

int wt_live_build__start(struct wt_live_build *live, const struct wt_build_options *options)
{
	sigset_t all, before;
	int rc;

	memset(live, 0, sizeof(*live));
	rc = wt_build__open(&live->build, options, &live->err);
	if (rc)
		return rc;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&live->thread, NULL, follow, live);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	live->running = !rc;
	return rc;
}

int wt_live_build__stop(struct wt_live_build *live)
{
	pid_t tid = atomic_load_explicit(&live->tid, memory_order_acquire);

	if (!live->running)
		return live->rc;
	atomic_store_explicit(&live->stop, true, memory_order_release);
	/* now somebody waits for it: a machine that is never idle must not keep it */
	if (tid)
		(void)sched_setscheduler(tid, SCHED_OTHER, &(struct sched_param){0});
	pthread_join(live->thread, NULL);
	live->running = false;
	return live->rc < 0 ? live->rc : 0;
}
