// SPDX-License-Identifier: MIT
/* A thread's ring: made at its first event, handed on when it ends. */
#include "capture/capture.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/files.h"

#define SMALL_RING_BYTES (256u << 10)

__thread struct wt_tls wt_tls __attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static bool end_key_made;
static uint32_t free_generation;
static struct wt_thread *free_threads; /* rings whose thread has ended */
static struct wt_thread *spare;	       /* unused entries of the current chunk */
static uint32_t spare_cnt;

/* Entries come from our own pages: the application's malloc may be what called us. */
static struct wt_thread *new_entry(void)
{
	if (!spare_cnt) {
		size_t bytes = 65536;
		void *chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (chunk == MAP_FAILED)
			return NULL;
		spare = chunk;
		spare_cnt = (uint32_t)(bytes / sizeof(*spare));
	}
	spare_cnt--;
	return spare++;
}

static void thread_ends(void *arg)
{
	struct wt_thread *thread = arg;
	struct wt_hold hold;

	/* a fork's child inherits the key's value, not the ring, whether it has joined or not */
	if (!wt_recording_now() || thread->generation != wt_process.generation)
		return;
	wt_tls.generation = 0;
	wt_tls.thread = NULL;
	atomic_store_explicit(&thread->ring.shared->thread_index, 0, memory_order_relaxed);
	/* cancelled in the middle of a call: the next owner is not in it */
	atomic_store_explicit(&thread->ring.shared->call_start_tsc, 0, memory_order_relaxed);
	wt_lock__take(&wt_process.live->thread_lock, &hold);
	thread->next_free = free_threads;
	free_threads = thread;
	wt_lock__drop(&wt_process.live->thread_lock, &hold);
}

/* Smaller where half of the session's memory is given out: many threads rather than few. */
static uint32_t ring_bytes(void)
{
	const struct wt_settings *settings = &wt_process.settings;
	uint64_t used = atomic_load_explicit(&wt_process.session->buffer_used_bytes,
		memory_order_relaxed);

	return used > settings->buffer_bytes / 2 && settings->ring_bytes > SMALL_RING_BYTES
		       ? SMALL_RING_BYTES
		       : settings->ring_bytes;
}

static struct wt_thread *new_ring(void)
{
	struct wt_process *p = &wt_process;
	uint32_t capacity = ring_bytes();
	uint32_t number = atomic_fetch_add_explicit(&p->shared->ring_cnt, 1, memory_order_relaxed);
	size_t bytes = WT_RING_HEADER_BYTES + (size_t)capacity;
	struct wt_thread *thread = new_entry();
	struct wt_new_file file;
	void *map;

	if (!thread)
		return NULL;
	map = wt_files__create(&file, WT_FILE_RING, p->shared->number, number, bytes);
	if (!map)
		return NULL;
	wt_ring__init(&thread->ring, map, capacity, p->shared->number, number);
	return wt_files__publish(&file) ? thread : NULL;
}

static struct wt_thread *get_ring(void)
{
	struct wt_thread *thread = NULL;
	struct wt_hold hold;

	wt_lock__take(&wt_process.live->thread_lock, &hold);
	if (free_generation != wt_process.generation) {
		/* we are a fork's child: those rings are the parent's */
		free_threads = NULL;
		free_generation = wt_process.generation;
	}
	if (!end_key_made)
		end_key_made = !pthread_key_create(&end_key, thread_ends);
	if (free_threads) {
		thread = free_threads;
		free_threads = thread->next_free;
	} else {
		thread = new_ring();
	}
	wt_lock__drop(&wt_process.live->thread_lock, &hold);
	return thread;
}

static bool introduce(struct wt_thread *thread)
{
	struct wt_rec_thread *rec = wt_ring__reserve(&thread->ring, sizeof(*rec));

	if (!rec)
		return false;
	*rec = (struct wt_rec_thread){
		.rec = {WT_REC_THREAD, sizeof(*rec) / 8, thread->index},
		.tid = syscall(SYS_gettid),
	};
	prctl(PR_GET_NAME, rec->name);
	wt_ring__commit(&thread->ring, sizeof(*rec));
	return true;
}

void wt_thread__begin(struct wt_tls *tls)
{
	int saved = errno;
	struct wt_thread *thread;
	struct wt_hold hold;

	wt_hold__begin(&hold);
	tls->nest++;
	tls->thread = NULL;
	tls->generation = wt_process.generation;
	tls->call_cnt = 0;
	tls->corr = 0;
	tls->stream = 0;
	tls->stream_handle = 0;
	tls->in_call = 0;
	thread = get_ring();
	if (thread) {
		thread->generation = wt_process.generation;
		thread->index = 1 + atomic_fetch_add_explicit(&wt_process.shared->thread_cnt, 1,
					    memory_order_relaxed);
		atomic_store_explicit(&thread->ring.shared->thread_index, thread->index,
			memory_order_relaxed);
		if (introduce(thread))
			tls->thread = thread;
		if (end_key_made)
			pthread_setspecific(end_key, thread);
	}
	tls->nest--;
	wt_hold__end(&hold);
	errno = saved;
}
