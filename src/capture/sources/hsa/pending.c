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

#define ENTRIES	   65536u /* more than four full queues of the usual size */
#define PROBES	   64u
#define EMPTY	   0ull
#define BUSY	   1ull
#define SPIN_LIMIT 4096u

static _Atomic uint64_t signals[ENTRIES];
static struct wt_pending whats[ENTRIES];
/* A bit an entry that is not empty: what a scan runs over. */
static _Atomic uint64_t occupied[ENTRIES / 64];

static _Atomic uint32_t pending_cnt, copy_cnt;

uint32_t wt_pending__count(void)
{
	return atomic_load_explicit(&pending_cnt, memory_order_relaxed);
}

uint32_t wt_pending__copies(void)
{
	return atomic_load_explicit(&copy_cnt, memory_order_relaxed);
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

static void finish_copy(uint64_t signal, const struct wt_pending *what, bool fired,
	enum wt_lost why)
{
	struct wt_rec_sdma_end rec = {
		.rec = {.type = WT_REC_SDMA_END, .id = fired ? WT_LOST_NONE : why},
		.number = what->copy_number,
	};
	struct hsa_copy_time time = {0};

	if (fired && AMD(hsa_amd_profiling_get_async_copy_time,
			     hsa_amd_profiling_get_async_copy_time_fn)(
			     (hsa_signal){signal}, &time) == HSA_OK) {
		rec.start_ns = time.start;
		rec.end_ns = time.end;
	}
	wt_define(&rec.rec, sizeof(rec), NULL, 0);
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

static void finish(uint64_t signal, const struct wt_pending *what, bool fired, enum wt_lost why)
{
	const struct wt_signal *theirs = borrow(signal);

	if (what->kind == WT_PENDING_COPY)
		finish_copy(signal, what, fired, why);
	else if (fired)
		finish_op(what, atomic_load_explicit(&theirs->start_ticks, memory_order_relaxed),
			atomic_load_explicit(&theirs->end_ticks, memory_order_relaxed),
			WT_LOST_NONE);
	else
		finish_op(what, 0, 0, why);
}

static void uncount(const struct wt_pending *what)
{
	atomic_fetch_sub_explicit(&pending_cnt, 1, memory_order_relaxed);
	if (what->kind == WT_PENDING_COPY)
		atomic_fetch_sub_explicit(&copy_cnt, 1, memory_order_relaxed);
}

/*
 * The entry of this signal, claimed, or -1. Waits for a claim by another
 * thread, which lasts some hundred nanoseconds, but not for ever: -2.
 */
static int claim(uint64_t signal)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t at = (first_place(signal) + i) % ENTRIES;

		for (uint32_t spin = 0;; spin++) {
			uint64_t seen =
				atomic_load_explicit(&signals[at], memory_order_relaxed);

			if (seen != signal && seen != BUSY)
				break;
			if (seen == signal && atomic_compare_exchange_strong_explicit(
						      &signals[at], &seen, BUSY,
						      memory_order_acquire, memory_order_relaxed))
				return (int)at;
			if (spin == SPIN_LIMIT)
				return -2;
			__builtin_ia32_pause();
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

bool wt_pending__add(uint64_t signal, const struct wt_pending *what, enum wt_lost *why)
{
	const struct wt_signal *theirs = borrow(signal);
	int at = claim(signal);

	*why = WT_LOST_TIME_NO_ROOM;
	if (at == -2)
		return false;
	if (at >= 0) {
		struct wt_pending old = whats[at];
		bool fired = has_fired(signal, &old);

		uncount(&old);
		release(at, EMPTY);
		finish(signal, &old, fired, WT_LOST_TIME_SHARED_SIGNAL);
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

bool wt_pending__look(uint64_t signal, bool gone)
{
	struct wt_pending what;
	bool fired;
	int at = claim(signal);

	if (at < 0)
		return false;
	what = whats[at];
	fired = has_fired(signal, &what);
	if (!fired && !gone) {
		release(at, signal);
		return false;
	}
	uncount(&what);
	release(at, EMPTY);
	finish(signal, &what, fired, WT_LOST_TIME_SIGNAL_REARMED);
	return true;
}

/* Calls `look` for each entry; true where one of them was. */
static bool for_each(bool (*look)(uint64_t signal, void *arg), void *arg)
{
	bool found = false;

	for (uint32_t word = 0; wt_pending__count() && word < ENTRIES / 64; word++) {
		uint64_t bits = atomic_load_explicit(&occupied[word], memory_order_relaxed);

		for (; bits; bits &= bits - 1) {
			uint32_t at = word * 64 + (uint32_t)__builtin_ctzll(bits);
			uint64_t signal =
				atomic_load_explicit(&signals[at], memory_order_relaxed);

			if (signal != EMPTY && signal != BUSY)
				found |= look(signal, arg);
		}
	}
	return found;
}

static bool look_at(uint64_t signal, void *unused)
{
	(void)unused;
	return wt_pending__look(signal, false);
}

bool wt_pending__scan(void)
{
	return for_each(look_at, NULL);
}

static bool forget(uint64_t signal, void *arg)
{
	const struct wt_vq *vq = arg;
	struct wt_pending what;
	bool fired;
	int at = claim(signal);

	if (at < 0)
		return false;
	what = whats[at];
	if (what.kind != WT_PENDING_OP || what.vq != vq) {
		release(at, signal);
		return false;
	}
	fired = has_fired(signal, &what);
	uncount(&what);
	release(at, EMPTY);
	finish(signal, &what, fired, WT_LOST_TIME_SIGNAL_REARMED);
	return true;
}

void wt_pending__forget(struct wt_vq *vq)
{
	for_each(forget, vq);
}
