// SPDX-License-Identifier: MIT
/*
 * The HIP source: API calls, by symbol interposition.
 *
 *   core/hip_api.def	one row a function
 *   wrappers.c		the functions that are exported, made of these rows
 *   mangled.def	functions that have C++ names in some releases
 *   types.h		HIP's structures
 *   original.c		what they call
 *   table.c		the table that the runtime gives away, dispatch_table.def its order
 *   hip.c		what all of them do before and after the call
 *   source.c		what the source says of itself
 *   streams.c		which stream a handle is
 *   workers.c		threads of the runtime that submit for one stream
 *   numbers.c		keys to numbers
 */
#ifndef WT_HIP_HIP_H
#define WT_HIP_HIP_H

#include "capture/capture.h"
#include "capture/sources/hip/types.h"
#include "core/hip_api.h"

/* A call in progress: on the wrapper's stack. */
struct wt_call {
	struct wt_tls *tls;
	uint64_t start;
	uint64_t corr;
	uint32_t api;
	uint32_t stream;
	bool off; /* recording was off when it began */
};

/* What the exported wrapper calls; NULL where the runtime has none, or is not loaded. */
void *wt_hip__original(enum wt_hip_api id);

/* The name in core/hip_api.def of an exported symbol: itself, but for C++ names. */
const char *wt_hip__plain_name(const char *symbol);

/* Our exported function of that name; NULL: we have none. */
void *wt_hip__wrapper(const char *name);

/* By the symbol, which may be a C++ name: our function, and what it calls. Any time. */
void *wt_hip__wrapper_named(const char *symbol);
void *wt_hip__original_named(const char *symbol);

/*
 * The wrapper that calls `fn`, or `fn` itself. `name` is what was asked for:
 * the runtime may have answered with another version or variant of it.
 */
void *wt_hip__exchanged(void *fn, const char *name);

/*
 * The tables that HIP gives away, "hip" and "hip_compiler": their entries are
 * replaced in place. False: not one of these, or taken already. Joins nothing.
 */
bool wt_hip__take_tables(const char *name, void **tables, uint64_t table_cnt);
/* Our function for the entry, and what was there before. */
void *wt_hip__table_wrapper(enum wt_hip_api id);
void *wt_hip__table_original(enum wt_hip_api id);
/* How many functions there were, and are ours; a sentence. False: no table was given away. */
bool wt_hip__say_tables(char *text, size_t text_bytes);

/* A call that is not to be recorded is counted. One writer: no need for an atomic addition. */
static inline void wt_call__leave_out(struct wt_tls *tls, uint32_t api)
{
	_Atomic uint32_t *place = &tls->thread->ring.shared->left_out[api];

	atomic_store_explicit(place, atomic_load_explicit(place, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

/* Begins a call: false where nothing is to be recorded. */
static inline bool wt_call__enter(struct wt_call *call, uint32_t api, enum wt_api_class class)
{
	/* each program registers its kernels, also if it never touches a GPU */
	if (class == WT_API_CLASS_COMPILER && !wt_recording_now())
		return false;
	call->tls = wt_enter();
	call->api = api;
	if (!call->tls)
		return false;
	/* two for each launch: they must cost nothing */
	if (class == WT_API_CLASS_COMPILER && wt_process.settings.hip != WT_HIP_ALL) {
		wt_call__leave_out(call->tls, api);
		return false;
	}
	call->tls->nest = 1;
	/* a signal handler that calls HIP from here on is passed by */
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

/* After the stream is known: stamps the start, makes the call visible to other sources. */
void wt_call__begin(struct wt_call *call, uint32_t stream);
/* Stamps the end. Room for a record of `bytes` with its head filled, or NULL: not wanted, or full. */
struct wt_rec_call *wt_call__end(struct wt_call *call, hip_error ret, uint16_t type, uint32_t bytes);
void wt_call__commit(struct wt_call *call, uint32_t bytes);
/* Last: from here on this thread may record again (a signal handler before would be passed by). */
static inline void wt_call__leave(struct wt_call *call)
{
	atomic_signal_fence(memory_order_seq_cst);
	call->tls->nest = 0;
}

/* 0: not known, as the null stream of a thread whose device is not. */
uint32_t wt_streams__number(struct wt_tls *tls, void *handle);
/* The same for functions to which NULL is the thread's default stream. */
uint32_t wt_streams__number_spt(struct wt_tls *tls, void *handle);
/* Returns its number. */
uint32_t wt_streams__created(struct wt_tls *tls, void *handle, uint32_t flags, int32_t priority);
/* The trace's number of HIP's device `device`, UINT32_MAX: not known. */
uint32_t wt_streams__device(uint32_t device);
/* Before the runtime may hand the handle out again. Returns the number it had. */
uint32_t wt_streams__end(struct wt_tls *tls, void *handle);
/* It was destroyed. */
void wt_streams__ended(uint32_t number);
/* The runtime refused to destroy it. */
void wt_streams__restore(void *handle, uint32_t number);

bool wt_streams__is_default(uint64_t key); /* of wt_tls.stream_handle */
struct wt_lock *wt_streams__lock(void);

/* ---- workers.c ---- */
/* The call in progress on this thread made that stream. */
void wt_workers__created(struct wt_tls *tls, void *handle, uint32_t number);
void wt_workers__ended(uint32_t number);
void wt_workers__reset(void); /* a device's streams were all destroyed */

#endif
