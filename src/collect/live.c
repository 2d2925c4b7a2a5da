// SPDX-License-Identifier: MIT
#include "collect/live.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

/* Small: the end waits for the step in progress, which may hardly get the CPU. */
#define STEP_BYTES (256u << 10)

static void *follow(void *arg)
{
	struct wt_live_build *live = arg;
	struct timespec pause = {.tv_nsec = 100000000};

	pthread_setname_np(pthread_self(), "wavetap-build");
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
	while (!atomic_load_explicit(&live->stop, memory_order_acquire) && live->rc >= 0) {
		/* acquire: pairs with the release that follows the segment's commit */
		uint64_t limit = atomic_load_explicit(&live->limit, memory_order_acquire);

		live->rc =
			limit ? wt_build__advance(live->build, limit, STEP_BYTES, &live->err) : 0;
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
	if (!live->running)
		return live->rc;
	atomic_store_explicit(&live->stop, true, memory_order_release);
	pthread_join(live->thread, NULL);
	live->running = false;
	return live->rc < 0 ? live->rc : 0;
}
