// SPDX-License-Identifier: MIT
/*
 * Does the GPU stamp a signal in locked shared memory? One barrier packet on a
 * queue of our own, so that the application's queue holds nothing but its
 * packets; once a device.
 *
 * On a thread of its own, for which the application waits a bounded time and
 * only until the stamp is there. Destroying a queue makes the runtime's
 * exception handler and the caller wait for each other, and ROCm 5.2 can lose
 * that wake-up (seen once in a thousand starts): it must not be the
 * application that hangs there.
 */
#include "capture/sources/hsa/hsa.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define PACKETS	    64u
#define STEP_US	    50u
#define STAMP_US    2000000u /* for the stamp */
#define RESULT_US   3000000u /* for the thread, which may not get a CPU at once */
#define UNLOAD_US   200000u  /* for a destruction in progress, when the runtime goes down */
#define STACK_BYTES (256u << 10)

enum { NOT_RUN, PASSED, FAILED, RUNNING };

struct test {
	struct wt_device *device;
	struct wt_signal *signal;
	uint64_t signal_gpu;
};

static _Atomic uint32_t in_progress;

static void pause_us(uint32_t us)
{
	const struct timespec step = {0, (long)us * 1000};

	nanosleep(&step, NULL);
}

static void submit_barrier(struct hsa_queue *queue, uint64_t signal)
{
	struct hsa_dispatch_packet *packet = queue->base_address;
	uint32_t header = HSA_PACKET_BARRIER_AND | 1u << HSA_HEADER_BARRIER_BIT |
			  (uint32_t)HSA_FENCE_SYSTEM << HSA_HEADER_RELEASE_BIT;
	uint64_t index = CORE(hsa_queue_add_write_index_screlease, hsa_queue_add_index_fn)(queue, 1);

	packet += index % queue->size;
	/* a barrier-AND: no dependency, completion signal where a dispatch has its own */
	packet->workgroup[0] = packet->workgroup[1] = 0;
	for (int i = 0; i < 3; i++)
		packet->grid[i] = 0;
	packet->private_segment_size = packet->group_segment_size = 0;
	packet->kernel_object = packet->reserved2 = 0;
	packet->kernarg_address = NULL;
	packet->completion_signal.handle = signal;
	__atomic_store_n((uint32_t *)packet, header, __ATOMIC_RELEASE);
	CORE(hsa_signal_store_screlease, hsa_signal_store_fn)
	(queue->doorbell_signal, (int64_t)index);
}

static bool is_stamped(struct wt_signal *signal)
{
	for (uint32_t us = 0; us < STAMP_US; us += STEP_US) {
		/* acquire: the stamps were written before the value */
		if (atomic_load_explicit(&signal->value, memory_order_acquire) <= 0)
			return atomic_load_explicit(&signal->end_ticks, memory_order_relaxed) != 0;
		pause_us(STEP_US);
	}
	return false;
}

static void run(const struct test *test)
{
	struct wt_device *device = test->device;
	struct hsa_queue *queue = NULL;
	bool passed = false;

	if (CORE(hsa_queue_create, hsa_queue_create_fn)(device->agent, PACKETS, 0, NULL, NULL,
		    UINT32_MAX, UINT32_MAX, &queue) == HSA_OK) {
		AMD(hsa_amd_profiling_set_profiler_enabled,
			hsa_amd_profiling_set_profiler_enabled_fn)
		(queue, 1);
		submit_barrier(queue, test->signal_gpu);
		passed = is_stamped(test->signal);
	}
	if (passed)
		wt_device__seed(device,
			atomic_load_explicit(&test->signal->end_ticks, memory_order_relaxed));
	/* release: whoever sees the result sees the seed; the signal is the queue's from here on */
	atomic_store_explicit(&device->stamps, passed ? PASSED : FAILED, memory_order_release);
	if (queue)
		CORE(hsa_queue_destroy, hsa_queue_destroy_fn)(queue);
}

static void *test_main(void *arg)
{
	struct test test = *(struct test *)arg;

	free(arg);
	wt_tls.nest++; /* nothing that this thread does is the application's */
	prctl(PR_SET_NAME, "wavetap-test");
	run(&test);
	atomic_fetch_sub_explicit(&in_progress, 1, memory_order_release);
	return NULL;
}

static bool start(const struct test *test)
{
	struct test *copy = malloc(sizeof(*copy));
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	bool started;

	if (!copy)
		return false;
	*copy = *test;
	atomic_fetch_add_explicit(&in_progress, 1, memory_order_relaxed);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	started = !pthread_create(&thread, &attr, test_main, copy);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!started) {
		atomic_fetch_sub_explicit(&in_progress, 1, memory_order_relaxed);
		free(copy);
	}
	return started;
}

bool wt_selftest__passes(struct wt_device *device, struct wt_signal *signal, uint64_t signal_gpu)
{
	struct test test = {device, signal, signal_gpu};
	uint8_t state = NOT_RUN;

	if (atomic_compare_exchange_strong_explicit(&device->stamps, &state, RUNNING,
		    memory_order_acq_rel, memory_order_acquire)) {
		signal->kind = 1;
		atomic_store_explicit(&signal->value, 1, memory_order_relaxed);
		if (!start(&test))
			run(&test); /* no thread to be had */
	}
	/* acquire: pairs with the release in run() */
	for (uint32_t us = 0; us < RESULT_US; us += STEP_US) {
		state = atomic_load_explicit(&device->stamps, memory_order_acquire);
		if (state != RUNNING)
			break;
		pause_us(STEP_US);
	}
	return state == PASSED;
}

void wt_selftest__settle(void)
{
	for (uint32_t us = 0; us < UNLOAD_US; us += STEP_US) {
		if (!atomic_load_explicit(&in_progress, memory_order_acquire))
			return;
		pause_us(STEP_US);
	}
}
