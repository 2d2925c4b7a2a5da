// SPDX-License-Identifier: MIT
/*
 * What runs inside the traced process, and what its sources share.
 *
 * Rules: no HIP call on an application's thread; errno preserved; nothing here
 * ends, blocks or aborts the process. After a thread's first event the record
 * path does no allocation, lock, system call or formatting.
 *
 * Lock order: process.join_lock > process.thread_lock; process.define_lock and
 * the locks of the sources are leaves. All of them lie in memory that the
 * kernel wipes in a forked child, so a child never finds one taken. While a
 * thread has one, it takes no signal and is not cancelled: a handler cannot
 * come to the same lock, and nobody leaves with it.
 */
#ifndef WT_CAPTURE_CAPTURE_H
#define WT_CAPTURE_CAPTURE_H

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/record.h"
#include "core/ring.h"
#include "core/session.h"

#define wt_likely(x)   __builtin_expect(!!(x), 1)
#define wt_unlikely(x) __builtin_expect(!!(x), 0)
#define wt_export      __attribute__((visibility("default")))

/* ---- a lock that a forked child finds open -------------------------------- */

struct wt_lock {
	_Atomic uint32_t word; /* 0 open, 1 taken, 2 taken and somebody sleeps */
};

/*
 * No signal (but those of a crash) and no cancellation for this thread until
 * the end. Nests, last begun first ended; only the outermost costs system calls.
 */
struct wt_hold {
	sigset_t signals;
	int cancel;
};

void wt_hold__begin(struct wt_hold *hold);
void wt_hold__end(const struct wt_hold *hold);

/* With a hold of its own: the same `hold` for both. */
void wt_lock__take(struct wt_lock *lock, struct wt_hold *hold);
void wt_lock__drop(struct wt_lock *lock, const struct wt_hold *hold);

/* ---- the process ----------------------------------------------------------- */

enum wt_recording {
	WT_UNDECIDED = 0, /* also what a forked child reads: it must join anew */
	WT_RECORDING = 1,
	WT_OFF = 2,
};

/* One page, wiped on fork (MADV_WIPEONFORK). */
struct wt_live {
	_Atomic uint32_t recording; /* enum wt_recording */
	struct wt_lock join_lock;
	struct wt_lock thread_lock;
	struct wt_lock define_lock;
	struct wt_lock source_lock[8]; /* one a source, by its index */
	_Atomic uint32_t hsa_here;     /* this very process has taken the HSA tables */
	uint32_t keeper_here;	       /* … and has the keeper thread; under source_lock[3] */
	uint32_t keeper_barred;	       /* … and is ending: no keeper any more */
};

struct wt_process {
	struct wt_live *live;
	uint32_t generation;	/* counts joins: a thread's state of an older one is stale */
	bool forked;		/* joined in a child by fork: no HSA */
	bool tsc;
	struct wt_settings settings;
	struct wt_session_shared *session;
	struct wt_process_shared *shared;
	struct wt_ring define;	/* under define_lock */
	char session_dir[256];
};

extern struct wt_process wt_process;

/* Counts `count` losses. Any thread; a no-op where the process has not joined. */
static inline void wt_lost__count(enum wt_lost cause, uint64_t count)
{
	if (wt_process.shared)
		atomic_fetch_add_explicit(&wt_process.shared->lost[cause], count,
			memory_order_relaxed);
}

static inline uint64_t wt_now(void)
{
	return wt_clock__read(wt_process.tsc);
}

/* True when events of this process are recorded; joins the session at the first call. */
bool wt_process__join(void);

static inline bool wt_recording(void)
{
	struct wt_live *live = wt_process.live;

	if (wt_likely(live)) {
		/* acquire: whoever joined has filled wt_process */
		uint32_t state = atomic_load_explicit(&live->recording, memory_order_acquire);

		if (wt_likely(state == WT_RECORDING))
			return true;
		if (state == WT_OFF)
			return false;
	}
	return wt_process__join();
}

/* Recording, without joining: for threads of our own and for late events. */
static inline bool wt_recording_now(void)
{
	return wt_process.live && atomic_load_explicit(&wt_process.live->recording,
					  memory_order_acquire) == WT_RECORDING;
}

/* Nothing is recorded just now; what exists is followed all the same. */
static inline bool wt_off(void)
{
	return atomic_load_explicit(&wt_process.session->off, memory_order_relaxed);
}

/* Stops recording in this process for good (the collector is gone). */
void wt_process__stop(void);

/*
 * What a child's environment is to say: "WAVETAP_SESSION=<dir>"; "" where
 * children are not followed; NULL where this process takes no part itself.
 */
const char *wt_session__child_setting(void);

/* One line on stderr, signal-safe, at most a few a process. */
void wt_say(const char *text, const char *detail);

/* Starts a collector for a program that was started by hand; its directory into dir. */
bool wt_spawn__collector(char *dir, size_t dir_bytes);

/* ---- threads --------------------------------------------------------------- */

struct wt_thread {
	struct wt_ring ring;
	uint32_t index;
	uint32_t generation;
	struct wt_thread *next_free;
};

#define WT_DEVICE_NOT_KNOWN UINT32_MAX

/* Thread-local state of the record path: at most 64 bytes, initial-exec. */
struct wt_tls {
	struct wt_thread *thread;
	uint64_t call_cnt;	/* correlation counter of this thread */
	uint64_t corr;		/* of the API call in progress, 0: none */
	uint32_t stream;	/* its stream's number, 0: none or not known */
	uint32_t device;	/* current HIP device, WT_DEVICE_NOT_KNOWN */
	uint32_t generation;	/* of `thread` */
	uint8_t nest;		/* > 0: in wavetap, or in a wrapped call */
	uint8_t in_graph;	/* the call in progress replays a graph */
	uint16_t in_call;	/* a HIP call is in progress: 1 + its index in core/hip_api.def; 0: none */
	uint16_t holds;		/* begun holds */
	uint16_t worker_generation; /* of `worker` */
	uint32_t worker;	/* a thread of the runtime's: the stream that it serves */
	uint64_t stream_handle;	/* one-entry cache: handle … */
	uint32_t stream_number;	/* … number … */
	uint32_t stream_epoch;	/* … valid while no stream was destroyed */
};
static_assert(sizeof(struct wt_tls) <= 64, "TLS budget");

extern __thread struct wt_tls wt_tls __attribute__((tls_model("initial-exec")));

/* Gives the calling thread a ring; `thread` stays NULL where none is to be had. Keeps errno. */
void wt_thread__begin(struct wt_tls *tls);

/* The calling thread's state if an event may be recorded now, else NULL. */
static inline struct wt_tls *wt_enter(void)
{
	struct wt_tls *tls = &wt_tls;

	if (wt_unlikely(tls->nest) || wt_unlikely(!wt_recording()))
		return NULL;
	if (wt_unlikely(tls->generation != wt_process.generation))
		wt_thread__begin(tls);
	if (wt_unlikely(!tls->thread)) {
		wt_lost__count(WT_LOST_CALL_NO_RING, 1);
		return NULL;
	}
	return tls;
}

/* ---- whose work it is ------------------------------------------------------- */

/*
 * The stream for which the calling thread submits, of the threads that HIP
 * keeps for that (AMD_DIRECT_DISPATCH=0); 0: it is none of those; may be
 * WT_STREAM_NOT_KNOWN. gpu_cnt: GPUs of this process. By the HIP source.
 */
uint32_t wt_workers__stream(uint32_t gpu_cnt);

struct wt_producer {
	uint64_t corr;	 /* the API call, 0: none */
	uint32_t stream; /* its number, 0: none; WT_STREAM_NOT_KNOWN */
};

/* Who asks for what the calling thread is about to submit. */
static inline struct wt_producer wt_producer(uint32_t gpu_cnt)
{
	const struct wt_tls *tls = &wt_tls;
	struct wt_producer who = {0};

	if (wt_likely(tls->generation == wt_process.generation))
		who = (struct wt_producer){tls->corr, tls->stream};
	if (wt_unlikely(!who.corr && !who.stream))
		who.stream = wt_workers__stream(gpu_cnt);
	return who;
}

/* ---- definitions ----------------------------------------------------------- */

/*
 * Appends a record and text behind it (may be empty; padded to 8) to the
 * definition ring. Waits a bounded time for room, then counts a loss. Not for
 * the record path.
 */
void wt_define(struct wt_rec *rec, size_t rec_bytes, const char *text, size_t text_bytes);

/* A source's word on itself. level: 0 information, 1 degraded, 2 off. */
void wt_define__status(const char *source, uint32_t level, const char *text);

#endif
