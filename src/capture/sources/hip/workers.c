// SPDX-License-Identifier: MIT
/*
 * Threads of the runtime that submit for one stream.
 *
 * With AMD_DIRECT_DISPATCH=0 HIP makes a thread for each stream, inside the call
 * that makes the stream or needs its default one first; all that the stream
 * executes is submitted there, outside any call. So pthread_create is watched:
 * a thread that begins in libamdhip64, made by a thread that is in a HIP call,
 * is such a worker. Whose it is follows from the call:
 *
 *   it makes a stream		that stream's, once its handle is known. From HIP 6 on
 *				the worker's object lies in the stream's: that is checked.
 *   it names a default stream	that one's, if no worker of it is known
 *   any other			the null stream's of the thread's device
 *   graphs, several devices	hidden streams': nobody's that we know
 *
 * Two of them in one call that does not make a stream are nobody's either. In
 * a call that may be about memory of another device, whose null stream it then
 * makes, it holds only where there is one GPU.
 */
#include "capture/sources/hip/hip.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "capture/dl.h"
#include "capture/sources/hip/numbers.h"

#define MADE_MAX     4u         /* workers of one call that are remembered */
#define OBJECT_BYTES 4096u      /* a stream's object is smaller */
#define ONE_GPU      (1u << 31) /* of a number: it holds where there is one GPU */
#define NOBODY       (WT_STREAM_NOT_KNOWN & ~ONE_GPU)

static struct wt_numbers workers = {.size = 8192}; /* pthread_t → stream, under source_lock[4] */
/* The process generation in which there are any: a fork has none of its parent's threads. */
static _Atomic uint32_t used_generation;

/* Of the HIP call in progress on this thread. */
static __thread struct {
	uint64_t call; /* wt_tls.call_cnt */
	uint32_t cnt;
	bool inside; /* this HIP has a worker's object inside the stream's */
	struct {
		pthread_t thread;
		uint64_t object;
	} made[MADE_MAX];
} mine __attribute__((tls_model("initial-exec")));

static void bind(pthread_t thread, uint32_t number)
{
	struct wt_lock *lock = wt_streams__lock();
	struct wt_hold hold;

	wt_lock__take(lock, &hold);
	if (atomic_load_explicit(&used_generation, memory_order_relaxed) != wt_process.generation)
		wt_numbers__clear(&workers);
	if (!wt_numbers__put(&workers, thread, number))
		wt_numbers__drop(&workers, thread);
	/* release: the worker that sees it sees its number */
	atomic_store_explicit(&used_generation, wt_process.generation, memory_order_release);
	wt_lock__drop(lock, &hold);
}

static bool in_use(void)
{
	return atomic_load_explicit(&used_generation, memory_order_acquire) ==
	       wt_process.generation;
}

void wt_workers__ended(uint32_t number)
{
	struct wt_hold hold;

	if (!in_use())
		return;
	wt_lock__take(wt_streams__lock(), &hold);
	wt_numbers__drop_number(&workers, number);
	wt_numbers__drop_number(&workers, number | ONE_GPU);
	wt_lock__drop(wt_streams__lock(), &hold);
}

void wt_workers__reset(void)
{
	struct wt_hold hold;

	if (!in_use())
		return;
	wt_lock__take(wt_streams__lock(), &hold);
	wt_numbers__clear(&workers);
	wt_lock__drop(wt_streams__lock(), &hold);
}

uint32_t wt_workers__stream(uint32_t gpu_cnt)
{
	struct wt_tls *tls = &wt_tls;
	uint16_t generation = (uint16_t)wt_process.generation;
	uint32_t number = tls->worker_generation == generation ? tls->worker : 0;

	if (wt_likely(!in_use()))
		return 0;
	if (!number) {
		number = wt_numbers__find(&workers, pthread_self());
		if (!number)
			return 0;
		if (number == NOBODY)
			return WT_STREAM_NOT_KNOWN;
		/* a thread serves one stream until its end */
		tls->worker = number;
		tls->worker_generation = generation;
	}
	if (number & ONE_GPU && gpu_cnt != 1)
		return WT_STREAM_NOT_KNOWN;
	return number & ~ONE_GPU;
}

/* ---- whose it is ------------------------------------------------------------------ */

static bool makes_streams(const char *name)
{
	return !strncmp(name, "hipStreamCreate", 15) || !strncmp(name, "hipExtStreamCreate", 18);
}

static bool hides_streams(const char *name)
{
	return strstr(name, "Graph") || strstr(name, "Multi") || strstr(name, "Capture");
}

/* The stream of a lone worker that was made in a call that makes no stream; 0: not known. */
static uint32_t default_stream(struct wt_tls *tls, enum wt_api_class class)
{
	bool here = class == WT_API_CLASS_SUBMIT || class == WT_API_CLASS_WAIT;
	bool named = tls->stream && wt_streams__is_default(tls->stream_handle);
	uint32_t number = named ? tls->stream : wt_streams__number(tls, NULL);

	if (!number || wt_numbers__has_number(&workers, number) ||
		wt_numbers__has_number(&workers, number | ONE_GPU))
		return 0;
	return here && (named || !tls->stream) ? number : number | ONE_GPU;
}

static void made_in_call(struct wt_tls *tls, pthread_t thread, void *object, bool inside)
{
	const struct wt_hip_function *api = &wt_hip_functions[tls->in_call - 1];
	uint32_t number;

	if (mine.call != tls->call_cnt) {
		mine.call = tls->call_cnt;
		mine.inside = inside;
		mine.cnt = 0;
	}
	if (mine.cnt < MADE_MAX) {
		mine.made[mine.cnt].thread = thread;
		mine.made[mine.cnt].object = (uint64_t)object;
	}
	mine.cnt++;
	/* also because an earlier thread may have had that id */
	bind(thread, NOBODY);
	if (makes_streams(api->name) || hides_streams(api->name))
		return;
	if (mine.cnt == 2)
		bind(mine.made[0].thread, NOBODY);
	if (mine.cnt > 1)
		return;
	number = default_stream(tls, api->class);
	if (number)
		bind(thread, number);
}

void wt_workers__created(struct wt_tls *tls, void *handle, uint32_t number)
{
	if (mine.call != tls->call_cnt || !number)
		return;
	for (uint32_t i = 0; i < mine.cnt && i < MADE_MAX; i++)
		if (mine.inside ? mine.made[i].object - (uint64_t)handle < OBJECT_BYTES
				: mine.cnt == 1)
			bind(mine.made[i].thread, number);
	mine.cnt = 0;
}

/* ---- the function ------------------------------------------------------------------ */

/* inside: of HIP 6 or newer. */
static bool begins_in_hip(void *(*start)(void *), bool *inside)
{
	static const char library[] = "/libamdhip64.so";
	const char *name;
	Dl_info info;

	if (!dladdr((void *)start, &info) || !info.dli_fname)
		return false;
	name = strstr(info.dli_fname, library);
	if (!name)
		return false;
	name += sizeof(library) - 1;
	*inside = name[0] == '.' && (name[1] >= '6' || (name[1] && name[2] >= '0'));
	return true;
}

wt_export int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
	void *(*start)(void *), void *restrict arg)
{
	static void *_Atomic original;
	__typeof__(&pthread_create) real =
		(__typeof__(real))atomic_load_explicit(&original, memory_order_relaxed);
	struct wt_tls *tls = &wt_tls;
	int ret, saved;
	bool inside;

	if (wt_unlikely(!real)) {
		real = (__typeof__(real))wt_dl__next("pthread_create");
		if (!real)
			return EAGAIN;
		atomic_store_explicit(&original, (void *)real, memory_order_relaxed);
	}
	ret = real(thread, attr, start, arg);
	if (wt_likely(!tls->in_call) || ret || !arg)
		return ret;
	saved = errno;
	if (wt_recording_now() && begins_in_hip(start, &inside))
		made_in_call(tls, *thread, arg, inside);
	errno = saved;
	return ret;
}
