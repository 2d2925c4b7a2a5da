// SPDX-License-Identifier: MIT
/*
 * hsa_cycles CYCLES: the runtime comes and goes. Each cycle starts it, makes a queue, submits
 * barriers with the application's own signal and without any, and ends it; every second cycle
 * leaves its queue and its signal to the runtime. At the end of every fifth a child is forked that
 * exits in the usual way, exit handlers and all.
 *
 * It prints what it saw; that must be the same with and without a tracer.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hsa_program.h"

enum { PACKETS = 64, EACH = 100 };

static hsa_status_t find_gpu(hsa_agent_t agent, void *data)
{
	hsa_device_type_t type;

	hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
	if (type == HSA_DEVICE_TYPE_GPU)
		*(hsa_agent_t *)data = agent;
	return HSA_STATUS_SUCCESS;
}

static void submit(hsa_queue_t *queue, hsa_signal_t signal)
{
	uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
	hsa_barrier_and_packet_t *packet;

	while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
		;
	packet = (hsa_barrier_and_packet_t *)queue->base_address + index % queue->size;
	memset((char *)packet + 2, 0, sizeof(*packet) - 2);
	packet->completion_signal = signal;
	__atomic_store_n(&packet->header,
		HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER |
			HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE,
		__ATOMIC_RELEASE);
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void fork_child(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		exit(3);
	if (waitpid(pid, &status, 0) != pid)
		exit(1);
	printf("child: %#x\n", status);
}

int main(int argc, char **argv)
{
	int cycles = argc > 1 ? atoi(argv[1]) : 20;

	for (int cycle = 0; cycle < cycles; cycle++) {
		hsa_agent_t gpu = {0};
		hsa_queue_t *queue;
		hsa_signal_t signal;

		HSA_CHECK(hsa_init());
		HSA_CHECK(hsa_iterate_agents(find_gpu, &gpu));
		HSA_CHECK(hsa_queue_create(gpu, PACKETS, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
			UINT32_MAX, &queue));
		HSA_CHECK(hsa_signal_create(1, 0, NULL, &signal));
		for (int i = 0; i < EACH; i++)
			submit(queue, (hsa_signal_t){0});
		submit(queue, signal);
		hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
			HSA_WAIT_STATE_BLOCKED);
		printf("cycle %d: signal %ld, %lu packets\n", cycle,
			(long)hsa_signal_load_relaxed(signal),
			(unsigned long)hsa_queue_load_write_index_relaxed(queue));
		if (cycle % 5 == 4)
			fork_child();
		if (cycle % 2) {
			HSA_CHECK(hsa_signal_destroy(signal));
			HSA_CHECK(hsa_queue_destroy(queue));
		}
		HSA_CHECK(hsa_shut_down());
	}
	puts("end");
	return 0;
}
