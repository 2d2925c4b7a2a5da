// SPDX-License-Identifier: MIT
/*
 * hsa_signals CODE_OBJECT: an HSA program that does what HIP never does. Two queues; packets with
 * the application's own completion signals, signals that several packets share and count down,
 * packets without any, kernels that overlap because their barrier bit is 0, several packets for one
 * doorbell, reservations by add and by compare-and-swap, every variant of the write-index functions.
 *
 * It prints what it saw; that must be the same with and without a tracer.
 */
#include <pthread.h>
#include <string.h>

#include "hsa_program.h"

enum { QUEUE_PACKETS = 256, ROUNDS = 40, BATCH = 4 };

static struct hsa_program program;
static uint64_t kernel_object;
static void *kernarg;

static uint64_t reserve(hsa_queue_t *queue, uint64_t count, int how)
{
	uint64_t index;

	switch (how % 6) {
	case 0:
		return hsa_queue_add_write_index_screlease(queue, count);
	case 1:
		return hsa_queue_add_write_index_relaxed(queue, count);
	case 2:
		return hsa_queue_add_write_index_scacquire(queue, count);
	case 3:
		return hsa_queue_add_write_index_scacq_screl(queue, count);
	case 4:
		do
			index = hsa_queue_load_write_index_relaxed(queue);
		while (hsa_queue_cas_write_index_screlease(queue, index, index + count) != index);
		return index;
	default:
		do
			index = hsa_queue_load_write_index_scacquire(queue);
		while (hsa_queue_cas_write_index_relaxed(queue, index, index + count) != index);
		return index;
	}
}

static void write_dispatch(hsa_queue_t *queue, uint64_t index, uint32_t grid, bool barrier,
	hsa_signal_t done)
{
	hsa_kernel_dispatch_packet_t *packet =
		(hsa_kernel_dispatch_packet_t *)queue->base_address + index % queue->size;
	uint16_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
		(barrier ? 1 << HSA_PACKET_HEADER_BARRIER : 0) |
		HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
		HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
	uint16_t setup = 2 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;

	while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
		;
	memset((char *)packet + 4, 0, sizeof(*packet) - 4);
	packet->workgroup_size_x = 64;
	packet->workgroup_size_y = 1;
	packet->workgroup_size_z = 1;
	packet->grid_size_x = grid;
	packet->grid_size_y = 2;
	packet->grid_size_z = 1;
	packet->group_segment_size = 512;
	packet->kernel_object = kernel_object;
	packet->kernarg_address = kernarg;
	packet->completion_signal = done;
	__atomic_store_n((uint32_t *)packet, (uint32_t)header | (uint32_t)setup << 16,
		__ATOMIC_RELEASE);
}

static void write_barrier(hsa_queue_t *queue, uint64_t index, hsa_signal_t dependency,
	hsa_signal_t done)
{
	hsa_barrier_and_packet_t *packet =
		(hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;

	while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
		;
	memset((char *)packet + 4, 0, sizeof(*packet) - 4);
	packet->dep_signal[0] = dependency;
	packet->completion_signal = done;
	__atomic_store_n((uint32_t *)packet,
		(uint32_t)(HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER),
		__ATOMIC_RELEASE);
}

static void ring(hsa_queue_t *queue, uint64_t last, int how)
{
	if (how % 2)
		hsa_signal_store_relaxed(queue->doorbell_signal, (hsa_signal_value_t)last);
	else
		hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)last);
}

static hsa_signal_value_t wait_zero(hsa_signal_t signal)
{
	return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
		HSA_WAIT_STATE_BLOCKED);
}

struct seen {
	int own_done, own_timed, shared_done, counted_down, handled;
};

static bool on_done(hsa_signal_value_t value, void *data)
{
	if (value == 0)
		__atomic_fetch_add((int *)data, 1, __ATOMIC_RELAXED);
	return false;
}

/* One queue's work, by one thread. */
static void work(hsa_queue_t *queue, int seed, struct seen *seen)
{
	const hsa_signal_t none = {0};
	hsa_signal_t own = hsa_new_signal(1), shared = hsa_new_signal(0), counter = hsa_new_signal(ROUNDS);
	hsa_signal_t handled = {0};

	for (int round = 0; round < ROUNDS; round++) {
		int how = round + seed;
		uint64_t index;

		/* the application's own signal, used again each round */
		hsa_signal_store_relaxed(own, 1);
		index = reserve(queue, 1, how);
		write_dispatch(queue, index, 64, true, own);
		ring(queue, index, how);
		seen->own_done += wait_zero(own) == 0;
		hsa_amd_profiling_dispatch_time_t time = {0};
		HSA_CHECK(hsa_amd_profiling_get_dispatch_time(program.gpu, own, &time));
		seen->own_timed += time.start > 0 && time.end > time.start;

		/* overlapping kernels behind one doorbell that share a signal */
		hsa_signal_store_relaxed(shared, BATCH);
		index = reserve(queue, BATCH, how + 1);
		for (int i = 0; i < BATCH; i++)
			write_dispatch(queue, index + (uint64_t)i, 128u + 64u * (uint32_t)i, i == 0,
				shared);
		ring(queue, index + BATCH - 1, how + 1);
		seen->shared_done += wait_zero(shared) == 0;

		/* no signal at all, then one that counts over all rounds */
		index = reserve(queue, 2, how + 2);
		write_dispatch(queue, index, 1024, true, none);
		write_dispatch(queue, index + 1, 2048, true, counter);
		ring(queue, index + 1, how);

		/* a signal with a handler, and a barrier that depends on it */
		handled = hsa_new_signal(1);
		hsa_signal_t barrier = hsa_new_signal(1);
		HSA_CHECK(hsa_amd_signal_async_handler(handled, HSA_SIGNAL_CONDITION_LT, 1, on_done,
			&seen->handled));
		index = reserve(queue, 2, how + 3);
		write_dispatch(queue, index, 4096, false, handled);
		write_barrier(queue, index + 1, handled, barrier);
		ring(queue, index + 1, how);
		wait_zero(barrier);
		while (__atomic_load_n(&seen->handled, __ATOMIC_RELAXED) <= round)
			;
		HSA_CHECK(hsa_signal_destroy(handled));
		HSA_CHECK(hsa_signal_destroy(barrier));
	}
	seen->counted_down = wait_zero(counter) == 0;
	HSA_CHECK(hsa_signal_destroy(own));
	HSA_CHECK(hsa_signal_destroy(shared));
	HSA_CHECK(hsa_signal_destroy(counter));
}

struct job {
	hsa_queue_t *queue;
	int seed;
	struct seen seen;
};

static void *job__run(void *arg)
{
	struct job *job = arg;

	work(job->queue, job->seed, &job->seen);
	return NULL;
}

int main(int argc, char **argv)
{
	struct job jobs[2] = {{.seed = 0}, {.seed = 3}};
	pthread_t threads[2];

	if (argc < 2) {
		fprintf(stderr, "usage: hsa_signals CODE_OBJECT\n");
		return 2;
	}
	hsa_program__open(&program);
	hsa_program__load(&program, argv[1]);
	kernel_object = hsa_program__kernel(&program, "module_kernel_000000.kd");
	kernarg = hsa_program__alloc(&program, program.kernarg, 4096);
	memset(kernarg, 0, 4096);
	for (int i = 0; i < 2; i++)
		jobs[i].queue = hsa_program__queue(&program, QUEUE_PACKETS);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, job__run, &jobs[i]);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		printf("queue %d: own %d/%d, timed %d/%d, shared %d/%d, handlers %d/%d, counter %s\n",
			i, jobs[i].seen.own_done, ROUNDS, jobs[i].seen.own_timed, ROUNDS,
			jobs[i].seen.shared_done, ROUNDS, jobs[i].seen.handled, ROUNDS,
			jobs[i].seen.counted_down ? "0" : "WRONG");
		printf("queue %d: write index %llu\n", i,
			(unsigned long long)hsa_queue_load_write_index_relaxed(jobs[i].queue));
		HSA_CHECK(hsa_queue_destroy(jobs[i].queue));
	}
	HSA_CHECK(hsa_shut_down());
	return 0;
}
