// SPDX-License-Identifier: MIT
/*
 * Operations whose time stamps lie in a signal that is not ours: the
 * application's, another tool's, or the pool's. They are copied into the slot
 * when they are there: by the keeper's scan, before the signal is used again,
 * or before it is destroyed.
 *
 * One operation a signal. That the stamps changed since the packet was
 * submitted, while nothing else that we know of used the signal, makes them
 * this operation's. A second use before that makes both untimed.
 *
 * An entry is claimed by exchanging its handle for BUSY, so that exactly one
 * thread decides about it.
 */
#include "capture/sources/hsa/hsa.h"

#include <sched.h>

#define ENTRIES	   65536u /* more than four full queues of the usual size */
#define PROBES	   64u
#define EMPTY	   0ull
#define BUSY	   1ull
#define SPIN_LIMIT  4096u
#define YIELD_LIMIT 200000u /* some tenths of a second: that thread will not come back */

static _Atomic uint64_t signals[ENTRIES];
static struct wt_pending whats[ENTRIES];
/* A bit an entry that is not empty: what a scan runs over. */
static _Atomic uint64_t occupied[ENTRIES / 64];

/* Apart: whoever looks at a signal reads the one, each operation with a signal changes the other. */
static _Alignas(64) _Atomic uint32_t pending_cnt;
static _Alignas(64) _Atomic uint32_t copy_cnt;

/* Nothing in a forked child: the signals and the slots are the parent's. */
uint32_t wt_pending__count(void)
{
	/* acquire: pairs with the release in uncount() */
	uint32_t cnt = atomic_load_explicit(&pending_cnt, memory_order_acquire);

	return wt_unlikely(cnt) && wt_hsa__here() ? cnt : 0;
}

uint32_t wt_pending__copies(void)
{
	uint32_t cnt = atomic_load_explicit(&copy_cnt, memory_order_acquire);

	return wt_unlikely(cnt) && wt_hsa__here() ? cnt : 0;
}

static uint32_t first_place(uint64_t signal)
{
	return (uint32_t)((signal >> 6) * 0x9e3779b97f4a7c15ull >> 40) % ENTRIES;
}

static const struct wt_signal *borrow(uint64_t signal)
{
	return (const struct wt_signal *)signal;
}

/* Completes the slot of an operation: times, or why there are none. */
static void finish_op(const struct wt_pending *what, uint64_t start, uint64_t end, enum wt_lost why)
{
	struct wt_vq *vq = what->vq;
	struct wt_signal *mine;

	if (!vq->signals)
		return;
	mine = &vq->signals[what->index & (vq->capacity - 1)];
	atomic_store_explicit(&mine->start_ticks, start, memory_order_relaxed);
	atomic_store_explicit(&mine->end_ticks, end, memory_order_relaxed);
	mine->reserved3[0] = why;
	/* release: pairs with the collector's acquire */
	atomic_store_explicit(&mine->value, 0, memory_order_release);
}

static struct wt_rec_sdma_end end_of_copy(uint64_t signal, const struct wt_pending *what, bool fired,
	enum wt_lost why)
{
	struct wt_rec_sdma_end rec = {
		.rec = {.type = WT_REC_SDMA_END, .id = fired ? WT_LOST_NONE : why},
		.number = what->copy_number,
	};
	struct hsa_copy_time time = {0};

	if (fired && !wt_device__runtime_holds(what->device))
		rec.rec.id = WT_LOST_TIME_NO_CLOCK;
	else if (fired && AMD(hsa_amd_profiling_get_async_copy_time,
			     hsa_amd_profiling_get_async_copy_time_fn)(
			     (hsa_signal){signal}, &time) == HSA_OK) {
		rec.start_ns = time.start;
		rec.end_ns = time.end;
	}
	return rec;
}

/* Has it happened, as far as the signal tells? */
static bool has_fired(uint64_t signal, const struct wt_pending *what)
{
	const struct wt_signal *theirs = borrow(signal);

	if (what->kind == WT_PENDING_COPY)
		return atomic_load_explicit(&theirs->value, memory_order_acquire) <
		       (int64_t)what->old_end;
	return atomic_load_explicit(&theirs->end_ticks, memory_order_acquire) != what->old_end;
}

static void uncount(const struct wt_pending *what)
{
	/* release: who finds nothing pending may free the signal */
	atomic_fetch_sub_explicit(&pending_cnt, 1, memory_order_release);
	if (what->kind == WT_PENDING_COPY)
		atomic_fetch_sub_explicit(&copy_cnt, 1, memory_order_release);
}

/* Something waited for: the claim of another thread. False: it has waited long enough. */
static bool wait_on(uint32_t *spins, bool patient)
{
	if (++*spins < SPIN_LIMIT) {
		__builtin_ia32_pause();
		return true;
	}
	if (!patient || *spins > YIELD_LIMIT)
		return false;
	sched_yield();
	return true;
}

/*
 * The entry of this signal, claimed, or -1. Waits for a claim by another
 * thread, which lasts a microsecond at most while that thread runs, but not
 * for ever: -2. `patient`: also until it has run.
 */
static int claim(uint64_t signal, bool patient)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t at = (first_place(signal) + i) % ENTRIES;

		for (uint32_t spins = 0;;) {
			/* acquire: who finds nothing has what the last claim wrote */
			uint64_t seen =
				atomic_load_explicit(&signals[at], memory_order_acquire);

			if (seen != signal && seen != BUSY)
				break;
			if (seen == signal && atomic_compare_exchange_strong_explicit(
						      &signals[at], &seen, BUSY,
						      memory_order_acquire, memory_order_relaxed))
				return (int)at;
			if (!wait_on(&spins, patient))
				return -2;
		}
	}
	return -1;
}

static int claim_empty(uint64_t signal)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t at = (first_place(signal) + i) % ENTRIES;
		uint64_t seen = EMPTY;

		if (atomic_compare_exchange_strong_explicit(&signals[at], &seen, BUSY,
			    memory_order_acquire, memory_order_relaxed)) {
			atomic_fetch_or_explicit(&occupied[at / 64], 1ull << at % 64,
				memory_order_relaxed);
			return (int)at;
		}
	}
	return -1;
}

static void release(int at, uint64_t value)
{
	if (value == EMPTY)
		atomic_fetch_and_explicit(&occupied[at / 64], ~(1ull << at % 64),
			memory_order_relaxed);
	/* release: pairs with the acquire of the next claim */
	atomic_store_explicit(&signals[at], value, memory_order_release);
}

/*
 * Ends a claim, and what was pending with it. The signal and the slot are not
 * touched any more once the entry is released: whoever finds it empty may free
 * them. Telling of a copy may take its time, so it comes after that.
 */
static void settle(int at, uint64_t signal, bool fired, enum wt_lost why)
{
	const struct wt_signal *theirs = borrow(signal);
	const struct wt_pending what = whats[at];
	struct wt_rec_sdma_end rec = {0};

	if (what.kind == WT_PENDING_COPY)
		rec = end_of_copy(signal, &what, fired, why);
	else if (fired)
		finish_op(&what, atomic_load_explicit(&theirs->start_ticks, memory_order_relaxed),
			atomic_load_explicit(&theirs->end_ticks, memory_order_relaxed),
			WT_LOST_NONE);
	else
		finish_op(&what, 0, 0, why);
	uncount(&what);
	release(at, EMPTY);
	if (what.kind == WT_PENDING_COPY)
		wt_define(&rec.rec, sizeof(rec), NULL, 0);
}

bool wt_pending__add(uint64_t signal, const struct wt_pending *what, enum wt_lost *why)
{
	const struct wt_signal *theirs = borrow(signal);
	int at = claim(signal, false);

	*why = WT_LOST_TIME_NO_ROOM;
	if (at == -2)
		return false;
	if (at >= 0) {
		bool fired = has_fired(signal, &whats[at]);

		settle(at, signal, fired, WT_LOST_TIME_SHARED_SIGNAL);
		if (!fired) {
			*why = WT_LOST_TIME_SHARED_SIGNAL;
			return false;
		}
	}
	/* a signal that counts: others may be about to stamp it */
	if (atomic_load_explicit(&theirs->value, memory_order_relaxed) > 1 &&
		what->kind == WT_PENDING_OP) {
		*why = WT_LOST_TIME_SHARED_SIGNAL;
		return false;
	}
	at = claim_empty(signal);
	if (at < 0)
		return false;
	whats[at] = *what;
	if (what->kind == WT_PENDING_OP)
		whats[at].old_end =
			atomic_load_explicit(&theirs->end_ticks, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&copy_cnt, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&pending_cnt, 1, memory_order_relaxed);
	release(at, signal);
	return true;
}

bool wt_pending__look(uint64_t signal)
{
	int at = claim(signal, false);

	if (at < 0)
		return false;
	if (!has_fired(signal, &whats[at])) {
		release(at, signal);
		return false;
	}
	settle(at, signal, true, WT_LOST_NONE);
	return true;
}

bool wt_pending__part(uint64_t signal)
{
	int at = claim(signal, true);

	if (at >= 0)
		settle(at, signal, has_fired(signal, &whats[at]), WT_LOST_TIME_SIGNAL_REARMED);
	return at != -2;
}

bool wt_pending__scan(void)
{
	bool found = false;

	for (uint32_t word = 0; wt_pending__count() && word < ENTRIES / 64; word++) {
		uint64_t bits = atomic_load_explicit(&occupied[word], memory_order_relaxed);

		for (; bits; bits &= bits - 1) {
			uint32_t at = word * 64 + (uint32_t)__builtin_ctzll(bits);
			uint64_t signal =
				atomic_load_explicit(&signals[at], memory_order_relaxed);

			if (signal != EMPTY && signal != BUSY)
				found |= wt_pending__look(signal);
		}
	}
	return found;
}

/* One entry: true unless somebody else keeps it claimed. */
static bool forget(uint32_t at, const struct wt_vq *vq)
{
	for (uint32_t spins = 0;;) {
		uint64_t signal = atomic_load_explicit(&signals[at], memory_order_acquire);

		if (signal == EMPTY)
			return true;
		if (signal != BUSY &&
			atomic_compare_exchange_strong_explicit(&signals[at], &signal, BUSY,
				memory_order_acquire, memory_order_relaxed)) {
			if (!vq || (whats[at].kind == WT_PENDING_OP && whats[at].vq == vq))
				settle((int)at, signal, has_fired(signal, &whats[at]),
					whats[at].kind == WT_PENDING_OP
						? WT_LOST_TIME_SIGNAL_REARMED
						: WT_LOST_COPY_UNSEEN);
			else
				release((int)at, signal);
			return true;
		}
		if (!wait_on(&spins, true))
			return false;
	}
}

bool wt_pending__forget(const struct wt_vq *vq)
{
	bool all = true;

	for (uint32_t word = 0; wt_pending__count() && word < ENTRIES / 64; word++)
		for (uint64_t bits = atomic_load_explicit(&occupied[word], memory_order_relaxed);
			bits; bits &= bits - 1)
			all &= forget(word * 64 + (uint32_t)__builtin_ctzll(bits), vq);
	return all;
}
