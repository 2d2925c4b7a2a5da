// SPDX-License-Identifier: MIT
/*
 * Operations whose time stamps lie in a signal that is not ours: the
 * application's, another tool's, or the pool's. They are copied into the slot
 * when they are there: by the keeper's scan, before the signal is used again,
 * or before it is destroyed.
 *
 * One operation a signal. That the stamps changed since the packet was
 * submitted, while nothing else that we know of used the signal, makes them
 * this operation's. A second use before that makes both untimed, and each
 * further one until none can be in flight any more: whichever of them stamps
 * the signal would be taken for the newest. So uses that are not timed (barriers,
 * what --depth leaves out) are noted, too.
 *
 * Each signal that was ever used so keeps its place in the table, for its
 * address comes again. Bit 0 of the place is the claim of the one thread that
 * decides about it.
 */
#include "capture/sources/hsa/hsa.h"

#include <sched.h>

#define ENTRIES	   65536u /* more than four full queues of the usual size */
#define PROBES	   64u
#define EMPTY	   0ull
#define CLAIMED	   1ull
#define SPIN_LIMIT  4096u
#define YIELD_LIMIT 200000u /* some tenths of a second: that thread will not come back */

static _Atomic uint64_t signals[ENTRIES];
static struct wt_pending whats[ENTRIES];
/* A bit an entry with an operation or a copy: what a scan runs over. */
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
 * The entry of this signal, claimed; -1: none, and `make` is not set or there is
 * no room. Waits for a claim by another thread, which lasts a microsecond at
 * most while that thread runs, but not for ever: -2. `patient`: also until it
 * has run.
 */
static int claim(uint64_t signal, bool make, bool patient)
{
	uint32_t spins = 0;

	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t at = (first_place(signal) + i) % ENTRIES;

		for (;;) {
			/* acquire: who claims it has what the last claim wrote */
			uint64_t seen =
				atomic_load_explicit(&signals[at], memory_order_acquire);

			if (seen == EMPTY && !make)
				return -1;
			if ((seen & ~CLAIMED) != signal && seen != EMPTY)
				break; /* another's */
			if (!(seen & CLAIMED) &&
				atomic_compare_exchange_strong_explicit(&signals[at], &seen,
					signal | CLAIMED, memory_order_acquire,
					memory_order_relaxed))
				return (int)at;
			if ((seen & ~CLAIMED) == signal && !wait_on(&spins, patient))
				return -2;
		}
	}
	return -1;
}

static void release(int at, uint64_t signal)
{
	/* release: pairs with the acquire of the next claim */
	atomic_store_explicit(&signals[at], signal, memory_order_release);
}

static void occupy(int at)
{
	atomic_fetch_or_explicit(&occupied[at / 64], 1ull << at % 64, memory_order_relaxed);
}

static void vacate(int at)
{
	atomic_fetch_and_explicit(&occupied[at / 64], ~(1ull << at % 64), memory_order_relaxed);
}

static bool is_pending(const struct wt_pending *what)
{
	return what->kind == WT_PENDING_OP || what->kind == WT_PENDING_COPY;
}

/*
 * Ends what was pending with a claimed entry, and the claim. The signal and the
 * slot are not touched any more once the entry is released: whoever finds it
 * idle may free them. Telling of a copy may take its time, so it comes after
 * that. `next`: what the entry is from now on.
 */
static void settle(int at, uint64_t signal, bool fired, enum wt_lost why,
	const struct wt_pending *next)
{
	const struct wt_signal *theirs = borrow(signal);
	const struct wt_pending what = whats[at];
	struct wt_rec_sdma_end rec = {0};

	if (what.kind == WT_PENDING_COPY) {
		rec = end_of_copy(signal, &what, fired, why);
	} else if (fired) {
		finish_op(&what, atomic_load_explicit(&theirs->start_ticks, memory_order_relaxed),
			atomic_load_explicit(&theirs->end_ticks, memory_order_relaxed),
			WT_LOST_NONE);
		if (what.ordered)
			wt_vq__passed(what.vq, what.index);
	} else {
		finish_op(&what, 0, 0, why);
	}
	uncount(&what);
	vacate(at);
	whats[at] = next ? *next : (struct wt_pending){0};
	release(at, signal);
	if (what.kind == WT_PENDING_COPY)
		wt_define(&rec.rec, sizeof(rec), NULL, 0);
}

/* No use of that signal is in flight any more, as far as can be told. */
static bool is_over(uint64_t signal, const struct wt_pending *used)
{
	if (used->uses == 1 && atomic_load_explicit(&borrow(signal)->value, memory_order_acquire) <
				       used->old_value)
		return true;
	return used->vq && wt_vq__has_passed(used->vq, used->vq_number, used->index);
}

/* One more use that is not timed; `before`: uses that may be in flight. */
static struct wt_pending one_use(uint64_t signal, struct wt_vq *vq, uint64_t index, uint32_t before)
{
	return (struct wt_pending){
		.kind = WT_PENDING_USED,
		.vq = vq,
		.vq_number = vq ? vq->number : 0,
		.index = index,
		.uses = before + 1,
		.old_value = atomic_load_explicit(&borrow(signal)->value, memory_order_relaxed),
	};
}

/* Notes a use of a claimed entry that is not timed; ends the claim. */
static void note_use(int at, uint64_t signal, struct wt_vq *vq, uint64_t index)
{
	const struct wt_pending *what = &whats[at];
	struct wt_pending next;

	if (is_pending(what)) {
		bool fired = has_fired(signal, what);

		next = one_use(signal, vq, index, !fired);
		/* two queues, or a copy: nothing says when the older one is over */
		if (!fired && what->vq != vq)
			next.vq = NULL;
		settle(at, signal, fired, WT_LOST_TIME_SHARED_SIGNAL, &next);
		return;
	}
	if (what->kind == WT_PENDING_USED && !is_over(signal, what)) {
		next = one_use(signal, vq, index, what->uses);
		if (what->vq != vq)
			next.vq = NULL;
	} else {
		next = one_use(signal, vq, index, 0);
	}
	whats[at] = next;
	release(at, signal);
}

void wt_pending__use(uint64_t signal, struct wt_vq *vq, uint64_t index)
{
	int at = claim(signal, true, false);

	if (at >= 0)
		note_use(at, signal, vq, index);
}

bool wt_pending__add(uint64_t signal, const struct wt_pending *what, enum wt_lost *why)
{
	const struct wt_signal *theirs = borrow(signal);
	int at = claim(signal, true, false);
	const struct wt_pending *old = &whats[at < 0 ? 0 : at];

	*why = WT_LOST_TIME_NO_ROOM;
	if (at < 0)
		return false;
	if (is_pending(old) && has_fired(signal, old)) {
		settle(at, signal, true, WT_LOST_NONE, NULL);
		at = claim(signal, true, false);
		if (at < 0)
			return false;
		old = &whats[at];
	}
	/* a signal that counts: others may be about to stamp it */
	if (is_pending(old) || (old->kind == WT_PENDING_USED && !is_over(signal, old)) ||
		(what->kind == WT_PENDING_OP &&
			atomic_load_explicit(&theirs->value, memory_order_relaxed) > 1)) {
		note_use(at, signal, what->vq, what->index);
		*why = WT_LOST_TIME_SHARED_SIGNAL;
		return false;
	}
	whats[at] = *what;
	if (what->kind == WT_PENDING_OP)
		whats[at].old_end =
			atomic_load_explicit(&theirs->end_ticks, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&copy_cnt, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&pending_cnt, 1, memory_order_relaxed);
	occupy(at);
	release(at, signal);
	return true;
}

bool wt_pending__look(uint64_t signal)
{
	int at = claim(signal, false, false);

	if (at < 0)
		return false;
	if (!is_pending(&whats[at]) || !has_fired(signal, &whats[at])) {
		release(at, signal);
		return false;
	}
	settle(at, signal, true, WT_LOST_NONE, NULL);
	return true;
}

void wt_pending__store(uint64_t signal)
{
	int at = claim(signal, false, false);

	if (at < 0)
		return;
	if (is_pending(&whats[at]) && has_fired(signal, &whats[at])) {
		settle(at, signal, true, WT_LOST_NONE, NULL);
		return;
	}
	if (whats[at].kind == WT_PENDING_USED) {
		/* from now on its value does not tell any more */
		if (is_over(signal, &whats[at]))
			whats[at] = (struct wt_pending){0};
		else if (whats[at].uses == 1)
			whats[at].uses = 2;
	}
	release(at, signal);
}

bool wt_pending__part(uint64_t signal)
{
	int at = claim(signal, false, true);

	if (at >= 0 && is_pending(&whats[at])) {
		settle(at, signal, has_fired(signal, &whats[at]), WT_LOST_TIME_SIGNAL_REARMED,
			NULL);
	} else if (at >= 0) {
		whats[at] = (struct wt_pending){0};
		release(at, signal);
	}
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

			if (!(signal & CLAIMED))
				found |= wt_pending__look(signal);
		}
	}
	return found;
}

/* One entry: true unless somebody else keeps it claimed. */
static bool forget(uint32_t place, const struct wt_vq *vq)
{
	uint64_t signal =
		atomic_load_explicit(&signals[place], memory_order_relaxed) & ~CLAIMED;
	int at = claim(signal, false, true);

	if (at < 0)
		return at != -2;
	if (!is_pending(&whats[at]) ||
		(vq && (whats[at].kind != WT_PENDING_OP || whats[at].vq != vq)))
		release(at, signal);
	else
		settle(at, signal, has_fired(signal, &whats[at]),
			whats[at].kind == WT_PENDING_OP ? WT_LOST_TIME_SIGNAL_REARMED
							: WT_LOST_COPY_UNSEEN,
			NULL);
	return true;
}

bool wt_pending__forget(const struct wt_vq *vq)
{
	bool all = true;

	for (uint32_t word = 0; wt_pending__count() && word < ENTRIES / 64; word++)
		for (uint64_t bits = atomic_load_explicit(&occupied[word], memory_order_relaxed);
			bits; bits &= bits - 1)
			all &= forget(word * 64 + (uint32_t)__builtin_ctzll(bits), vq);
	/* the runtime ends: what it had in flight ends with it, and its signals' addresses come again */
	for (uint32_t at = 0; !vq && at < ENTRIES; at++)
		if (whats[at].kind == WT_PENDING_USED)
			wt_pending__part(atomic_load_explicit(&signals[at], memory_order_relaxed) &
					 ~CLAIMED);
	return all;
}
