// SPDX-License-Identifier: MIT
/*
 * The threads: one for each queue, and one watcher for those that sleep. A doorbell is plain
 * memory, so somebody has to look at it: a queue's thread looks for a short while after its last
 * packet, then it parks and the watcher looks, the less often the longer nothing happened.
 */
#include "queue.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_IDLE_NS     30000u /* look at the doorbell without a pause */
#define SPIN_AHEAD_NS    60000u /* a sleep that is shorter than this is not worth its wake-up */
#define SPIN_PAUSES      40
#define BUSY_INTERVAL_NS 1000000u
#define HINT_FROM_NS     100000u /* a shorter sleep is not cut short */
#define NAP_NS           20000u
#define NAPS_NS          1500000u /* nap so long before parking */
#define BIG_STACK_BYTES  (64u * 1024u * 1024u)
#define STACK_BYTES      (256u * 1024u)

enum why { FOR_PACKET, FOR_SIGNAL, FOR_TIME };

/* ---- CPU time of our own threads ---- */

static void account(uint64_t *known)
{
	struct vg_spool_header *h = vg_proc()->spool.header;
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	if (h)
		atomic_fetch_add_explicit(&h->cpu_ns, now - *known, memory_order_relaxed);
	*known = now;
}

static uint64_t unaccounted(pid_t tid, uint64_t known)
{
	/* The kernel's encoding of a thread's CPU clock: ~tid, 4 per thread, 2 scheduled time. */
	clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 4 | 2);
	struct timespec ts;
	uint64_t now;

	if (!tid || clock_gettime(clock, &ts))
		return 0;
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	return now > known ? now - known : 0;
}

/* At the end of the process: the other threads' clocks, by number, since they go on running. */
void vg_queue__account_all(void)
{
	struct vg_queue_table *t = __atomic_load_n(&vg_proc()->queue, __ATOMIC_ACQUIRE);
	struct vg_spool_header *h = vg_proc()->spool.header;
	uint64_t all = 0;

	/* In a signal handler the lock may be held by the thread that was interrupted. */
	if (!t || !h || !vg_trylock(&t->lock))
		return;
	for (uint32_t i = 0; i < t->queue_end; i++)
		if (t->queues[i])
			all += unaccounted(t->queues[i]->tid, t->queues[i]->cpu_ns);
	all += unaccounted(t->watcher_tid, t->watcher_cpu_ns);
	vg_unlock(&t->lock);
	atomic_fetch_add_explicit(&h->cpu_ns, all, memory_order_relaxed);
}

/* ---- waiting ---- */

static bool may_spin(struct vg_queue_table *t, struct vg_queue *q)
{
	if (q->spinning)
		return true;
	if (atomic_fetch_add_explicit(&t->spin_cnt, 1, memory_order_relaxed) >= t->spin_max) {
		atomic_fetch_sub_explicit(&t->spin_cnt, 1, memory_order_relaxed);
		return false;
	}
	return q->spinning = true;
}

static void end_spin(struct vg_queue_table *t, struct vg_queue *q)
{
	if (!q->spinning)
		return;
	q->spinning = false;
	atomic_fetch_sub_explicit(&t->spin_cnt, 1, memory_order_relaxed);
}

/* By the program, or by a fault: it takes no packet. */
static bool is_held(struct vg_queue *q)
{
	return atomic_load_explicit(&q->paused, memory_order_relaxed) ||
	       atomic_load_explicit(&q->stalled, memory_order_relaxed) ||
	       atomic_load_explicit(&q->halted, memory_order_relaxed);
}

static bool awaited(struct vg_queue *q, enum why why)
{
	if (atomic_load_explicit(&q->stop, memory_order_relaxed))
		return true;
	if (why == FOR_TIME || is_held(q))
		return false;
	if (why == FOR_PACKET)
		return vg_queue__is_aql(q) ? vg_aql__ready(q) : vg_sdma__ready(q);
	return vg_queue__is_aql(q) ? vg_aql__unblocked(q) : vg_sdma__unblocked(q);
}

static void nap(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	nanosleep(&ts, NULL);
}

/* About a microsecond: looking more often takes the doorbell's cache line from the producer. */
static void spin_pause(void)
{
	for (int i = 0; i < SPIN_PAUSES; i++)
		__builtin_ia32_pause();
}

static void kick_watcher(struct vg_queue_table *t)
{
	atomic_fetch_add(&t->watch_word, 1);
	if (atomic_load(&t->watch_asleep))
		vg_futex_wake(&t->watch_word, 1);
}

/* timeout_ns 0: none. The queue's thread sleeps until the watcher, a signal or time wakes it. */
static void park(struct vg_queue_table *t, struct vg_queue *q, enum why why, uint64_t timeout_ns)
{
	account(&q->cpu_ns);
	atomic_store(&q->blocked, why == FOR_SIGNAL);
	if (why == FOR_SIGNAL)
		atomic_fetch_add(&t->blocked_cnt, 1);
	atomic_store_explicit(&t->active_at, vg_now(), memory_order_relaxed);
	atomic_store(&q->state, VG_Q_PARKED);
	if (atomic_fetch_add(&t->parked_cnt, 1) == 0)
		kick_watcher(t);
	/* Sequentially consistent with the counters above: whoever changes the signal after this
	 * look sees that somebody is blocked. */
	if (!awaited(q, why))
		vg_futex_wait(&q->state, VG_Q_PARKED, timeout_ns);
	vg_lock(&q->look); /* the watcher may be reading the head packet */
	atomic_store(&q->state, VG_Q_RUNNING);
	vg_unlock(&q->look);
	atomic_fetch_sub(&t->parked_cnt, 1);
	if (why == FOR_SIGNAL)
		atomic_fetch_sub(&t->blocked_cnt, 1);
}

/* Returns when what is awaited is there, or at the deadline (UINT64_MAX: none), or to stop. */
static void wait_for(struct vg_queue_table *t, struct vg_queue *q, enum why why, uint64_t deadline)
{
	uint64_t begin = 0;

	while (!awaited(q, why)) {
		uint64_t now = q->now = vg_gpu_now(q->gpu), left;

		if (now >= deadline)
			break;
		left = deadline - now;
		if (!begin)
			begin = now;
		if ((left < SPIN_AHEAD_NS || now - begin < SPIN_IDLE_NS) && may_spin(t, q)) {
			spin_pause();
			continue;
		}
		end_spin(t, q);
		if (left < SPIN_AHEAD_NS)
			nap(left);
		else if (now - begin < NAPS_NS)
			nap(left - SPIN_AHEAD_NS / 2 < NAP_NS ? left - SPIN_AHEAD_NS / 2 : NAP_NS);
		else
			park(t, q, why, deadline == UINT64_MAX ? 0 : left - SPIN_AHEAD_NS / 2);
	}
	end_spin(t, q);
}

/* ---- the watcher ---- */

static bool look_at(struct vg_queue *q)
{
	enum why why = atomic_load(&q->blocked) ? FOR_SIGNAL : FOR_PACKET;
	bool woken = false;

	if (atomic_load(&q->state) != VG_Q_PARKED)
		return false;
	vg_lock(&q->look);
	if (atomic_load(&q->state) == VG_Q_PARKED &&
		(awaited(q, why) || (why == FOR_PACKET && vg_queue__is_aql(q) && !is_held(q) &&
					    vg_aql__bare(q)))) {
		atomic_store(&q->state, VG_Q_RUNNING);
		woken = true;
	}
	vg_unlock(&q->look);
	if (woken)
		vg_futex_wake(&q->state, 1);
	return woken;
}

static uint64_t watch_interval_ns(uint64_t idle_ns)
{
	static const struct {
		uint64_t idle_ns, interval_ns;
	} steps[] = {
		{2000000, 50000},
		{20000000, 100000},
		{100000000, 500000},
		{500000000, 1000000},
		{2000000000, 3000000},
	};

	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++)
		if (idle_ns < steps[i].idle_ns)
			return steps[i].interval_ns;
	return 8000000;
}

/* One look at all parked queues; returns for how long to sleep, 0: until a queue parks. */
static uint64_t look_around(struct vg_queue_table *t)
{
	uint32_t live = 0, parked = atomic_load(&t->parked_cnt);
	uint64_t now, interval;
	bool any = false;

	if (!parked)
		return 0;
	vg_lock(&t->lock);
	for (uint32_t i = 0; i < t->queue_end; i++)
		if (t->queues[i]) {
			any |= look_at(t->queues[i]);
			live++;
		}
	vg_unlock(&t->lock);
	now = vg_now();
	if (any)
		atomic_store_explicit(&t->active_at, now, memory_order_relaxed);
	interval =
		watch_interval_ns(now - atomic_load_explicit(&t->active_at, memory_order_relaxed));
	/* While one queue works, the program may turn to another at any time. */
	return live > parked && interval > BUSY_INTERVAL_NS ? BUSY_INTERVAL_NS : interval;
}

static void *watcher_main(void *arg)
{
	struct vg_queue_table *t = arg;
	uint64_t rounds = 0;

	t->watcher_tid = (pid_t)syscall(SYS_gettid);
	prctl(PR_SET_NAME, "vgpu-watch");
	prctl(PR_SET_TIMERSLACK, 1000);
	for (;;) {
		uint32_t word = atomic_load(&t->watch_word);
		uint64_t interval = look_around(t);

		if (rounds++ % 64 == 0 || !interval)
			account(&t->watcher_cpu_ns);
		atomic_store(&t->watch_asleep, interval && interval <= HINT_FROM_NS ? 0 : 1);
		vg_futex_wait(&t->watch_word, word, interval);
		atomic_store(&t->watch_asleep, 0);
	}
	return NULL;
}

void vg_queue__hint(void)
{
	struct vg_queue_table *t = __atomic_load_n(&vg_proc()->queue, __ATOMIC_ACQUIRE);

	if (t && atomic_load_explicit(&t->parked_cnt, memory_order_relaxed))
		kick_watcher(t);
}

void vg_queue__signal_changed(void)
{
	struct vg_queue_table *t = __atomic_load_n(&vg_proc()->queue, __ATOMIC_ACQUIRE);

	if (!t || !atomic_load(&t->blocked_cnt))
		return;
	for (uint32_t i = 0; i < VG_MAX_QUEUES && i < t->queue_end; i++) {
		/* Queues are never unmapped, so a stale pointer costs a useless wake-up at worst.
		 */
		struct vg_queue *q = __atomic_load_n(&t->queues[i], __ATOMIC_RELAXED);
		uint32_t parked = VG_Q_PARKED;

		if (q && atomic_load(&q->blocked) &&
			atomic_compare_exchange_strong(&q->state, &parked, VG_Q_RUNNING))
			vg_futex_wake(&q->state, 1);
	}
}

/* ---- the queue's thread ---- */

void *vg_queue__main(void *arg)
{
	struct vg_queue *q = arg;
	struct vg_queue_table *t = vg_queue__table();
	char name[16];

	q->tid = (pid_t)syscall(SYS_gettid);
	snprintf(name, sizeof name, "vgpu-%s%u", vg_queue__is_aql(q) ? "q" : "sdma", q->seq);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1000);
	while (!atomic_load_explicit(&q->stop, memory_order_relaxed)) {
		bool paused = atomic_load_explicit(&q->paused, memory_order_relaxed);
		enum vg_step step = VG_STEP_IDLE;
		uint64_t deadline = UINT64_MAX;

		if (atomic_load(&q->halted)) {
			wait_for(t, q, FOR_TIME, UINT64_MAX);
			continue;
		}
		if (paused)
			vg_aql__complete_due(q);
		else
			step = vg_queue__is_aql(q) ? vg_aql__step(q) : vg_sdma__step(q);
		if (step == VG_STEP_DONE) {
			if (++q->packets % 4096 == 0)
				account(&q->cpu_ns);
			continue;
		}
		if (q->flight_cnt)
			deadline = q->flight[0].end;
		else if (step == VG_STEP_LATER)
			deadline = q->last_end;
		if (step == VG_STEP_STALLED && q->stall_until < deadline)
			deadline = q->stall_until;
		if (step == VG_STEP_IDLE && q->bare_since && q->bare_since + VG_BARE_NS < deadline)
			deadline = q->bare_since + VG_BARE_NS;
		wait_for(t, q,
			step == VG_STEP_IDLE      ? FOR_PACKET
			: step == VG_STEP_BLOCKED ? FOR_SIGNAL
						  : FOR_TIME,
			deadline);
	}
	free(q->runs);
	vg_spool__release(&q->spool); /* what is still in flight has no end in the log */
	account(&q->cpu_ns);
	return NULL;
}

/* The program's signals are not for our threads. */
int vg_queue__start_thread(pthread_t *thread, void *(*fn)(void *), void *arg, bool detached)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	pthread_attr_init(&attr);
	/* The functions of VGPU_KERNELS expect an ordinary stack. */
	pthread_attr_setstacksize(&attr, vg_proc()->conf.kernels ? BIG_STACK_BYTES : STACK_BYTES);
	if (detached)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, &attr, fn, arg);
	if (err == EINVAL) { /* the program's thread-local storage alone is larger */
		pthread_attr_setstacksize(&attr, BIG_STACK_BYTES);
		err = pthread_create(thread, &attr, fn, arg);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

void vg_queue__start_watcher(struct vg_proc *p)
{
	pthread_t thread;

	if (vg_queue__start_thread(&thread, watcher_main, p->queue, true))
		vg_trace("the doorbell watcher could not be started");
}
