// SPDX-License-Identifier: MIT
/*
 * The keeper: wavetap's one thread in a traced process. It takes clock pairs,
 * reads stamps out of signals that are not ours, rings again where a doorbell
 * came before its packets, and notices that the collector has gone.
 *
 * It is stopped before the runtime's destructors run (sources.c) and when the
 * runtime unloads its tools.
 */
#include "capture/sources/hsa/hsa.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10)
#define CLOCK_NS    250000000ull
#define CLOCK_FIRST 1000000ull /* then twice as long each time: a short life has pairs, too */
#define IDLE_NS	    20000000ull
#define SUSPENDED_NS 1000000 /* CLOCK_BOOTTIME went on by more than that on its own */
#define UNKNOWN	    INT64_MIN
#define SCAN_NS	    200000ull  /* signals that are not ours are pending … */
#define SCAN_MAX_NS 2000000ull /* … and nothing happened for a while */

static pthread_t thread;
static _Atomic int64_t slept_ns = UNKNOWN; /* see slept_at_least() */
static _Atomic uint32_t stop_word;

static struct wt_lock *keeper_lock(void)
{
	return &wt_process.live->source_lock[3];
}

static void sleep_ns(uint64_t ns)
{
	struct timespec pause = {0, (long)ns};

	syscall(SYS_futex, &stop_word, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
}

static void check_collector(void)
{
	const struct wt_session_shared *session = wt_process.session;
	uint64_t beat = atomic_load_explicit(&session->heartbeat_ns, memory_order_relaxed);
	uint32_t state = atomic_load_explicit(&session->state, memory_order_relaxed);

	if (state >= WT_COLLECTOR_STOPPING ||
		(int64_t)(wt_clock__monotonic_ns() - beat) > (int64_t)WT_COLLECTOR_GONE_NS)
		wt_process__stop();
}

/* Reads what has fired; returns when to look again. */
static uint64_t scan(uint64_t pause)
{
	uint64_t began = wt_clock__boottime_ns(), took;
	bool found;

	if (!wt_pending__count())
		return IDLE_NS;
	found = wt_pending__scan();
	took = wt_clock__boottime_ns() - began;
	pause = found || pause > SCAN_MAX_NS ? SCAN_NS : pause * 2;
	if (pause > SCAN_MAX_NS)
		pause = SCAN_MAX_NS;
	/* many signals: each look at one misses the cache; never more than a tenth of a core */
	return pause > took * 10 ? pause : took * 10;
}

/* How far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, at least: a suspend alone changes it. */
static int64_t slept_at_least(void)
{
	uint64_t boot = wt_clock__boottime_ns();

	/* a thread that loses the CPU in between finds less, never more */
	return (int64_t)(boot - wt_clock__monotonic_ns());
}

bool wt_keeper__slept(void)
{
	int64_t known = atomic_load_explicit(&slept_ns, memory_order_relaxed);

	return known != UNKNOWN && slept_at_least() - known > SUSPENDED_NS;
}

/* How long ago, awake, it was last seen that the machine had not been suspended; 0: it was not. */
static uint32_t suspended(uint64_t *seen_ns)
{
	uint64_t gap = wt_clock__monotonic_ns() - *seen_ns;
	bool slept = wt_keeper__slept();
	int64_t now = slept_at_least(), known = atomic_load_explicit(&slept_ns, memory_order_relaxed);

	*seen_ns += gap;
	if (known == UNKNOWN || now > known)
		atomic_store_explicit(&slept_ns, now, memory_order_relaxed);
	return !slept ? 0 : gap < UINT32_MAX ? (uint32_t)gap : UINT32_MAX;
}

static void *keep(void *arg)
{
	uint64_t next_clock = 0, clock_step = CLOCK_FIRST, pause = SCAN_NS;
	uint64_t seen_ns = wt_clock__monotonic_ns();

	wt_tls.nest++; /* nothing that this thread does is the application's */
	prctl(PR_SET_NAME, "wavetap");
	(void)arg;
	while (!atomic_load_explicit(&stop_word, memory_order_acquire)) {
		uint64_t now = wt_clock__monotonic_ns();
		uint32_t gap_ns;

		if (wt_hsa__recording()) {
			pause = scan(pause);
			gap_ns = suspended(&seen_ns);
			if (gap_ns)
				clock_step = CLOCK_FIRST; /* the rate, too, may be another */
			if (now >= next_clock || gap_ns) {
				wt_devices__sample_all(gap_ns);
				check_collector();
				wt_vq__look_for_bypass();
				next_clock = now + clock_step;
				clock_step = clock_step * 2 < CLOCK_NS ? clock_step * 2 : CLOCK_NS;
			}
		}
		wt_vq__rescue();
		sleep_ns(clock_step < pause ? clock_step : pause);
	}
	return NULL;
}

/* Under the lock. */
static bool make_thread(void)
{
	pthread_attr_t attr;
	sigset_t all, old;
	bool made;

	atomic_store_explicit(&stop_word, 0, memory_order_relaxed);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	made = !pthread_create(&thread, &attr, keep, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!made)
		wt_define__status("hsa", 1, "no thread of our own could be made");
	return made;
}

bool wt_keeper__start(void)
{
	struct wt_live *live = wt_process.live;
	struct wt_hold hold;
	int saved = errno;
	bool running;

	wt_lock__take(keeper_lock(), &hold);
	if (!live->keeper_here && !live->keeper_barred)
		live->keeper_here = make_thread();
	running = live->keeper_here;
	wt_lock__drop(keeper_lock(), &hold);
	errno = saved;
	return running;
}

/* Also where nothing is recorded any more: the thread must not outlive the runtime. */
void wt_keeper__stop(void)
{
	struct wt_hold hold;
	bool join;

	if (!wt_process.live)
		return;
	wt_lock__take(keeper_lock(), &hold);
	join = wt_process.live->keeper_here; /* wiped in a forked child, which has no such thread */
	wt_process.live->keeper_here = false;
	wt_lock__drop(keeper_lock(), &hold);
	if (!join)
		return;
	wt_hold__begin(&hold);
	atomic_store_explicit(&stop_word, 1, memory_order_release);
	syscall(SYS_futex, &stop_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(thread, NULL);
	wt_hold__end(&hold);
}

void wt_keeper__bar(void)
{
	struct wt_hold hold;

	if (!wt_process.live)
		return;
	wt_lock__take(keeper_lock(), &hold);
	wt_process.live->keeper_barred = true;
	wt_lock__drop(keeper_lock(), &hold);
}

bool wt_keeper__running(void)
{
	struct wt_hold hold;
	bool running;

	if (!wt_process.live)
		return false;
	wt_lock__take(keeper_lock(), &hold);
	running = wt_process.live->keeper_here;
	wt_lock__drop(keeper_lock(), &hold);
	return running;
}
