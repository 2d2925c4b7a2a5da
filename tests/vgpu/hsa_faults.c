// SPDX-License-Identifier: MIT
/*
 * An HSA program that lives on after a GPU's fault: it has a handler for system events and one for
 * its queue's errors. Says what reached it, how many of its packets completed, and ends in order.
 */
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKETS 8

static atomic_int event;

#define CK(x)                                                                                      \
	do {                                                                                       \
		hsa_status_t s_ = (x);                                                             \
		if (s_) {                                                                          \
			printf("%s = 0x%x\n", #x, s_);                                             \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

static hsa_status_t on_agent(hsa_agent_t a, void *data)
{
	hsa_device_type_t type;

	hsa_agent_get_info(a, HSA_AGENT_INFO_DEVICE, &type);
	if (type == HSA_DEVICE_TYPE_GPU && !((hsa_agent_t *)data)->handle)
		*(hsa_agent_t *)data = a;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t on_event(const hsa_amd_event_t *e, void *data)
{
	(void)data;
	if (e->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT)
		printf("memory fault 0x%llx reasons 0x%x\n",
			(unsigned long long)e->memory_fault.virtual_address,
			e->memory_fault.fault_reason_mask);
	else
		printf("event %d\n", e->event_type);
	atomic_store(&event, 1);
	return HSA_STATUS_SUCCESS;
}

static void on_error(hsa_status_t status, hsa_queue_t *q, void *data)
{
	(void)q;
	(void)data;
	printf("queue error 0x%x\n", status);
	atomic_store(&event, 1);
}

static void submit(hsa_queue_t *q, hsa_signal_t done)
{
	uint64_t i = hsa_queue_add_write_index_screlease(q, 1);
	hsa_barrier_and_packet_t *p = (hsa_barrier_and_packet_t *)q->base_address + i % q->size;

	memset((char *)p + 4, 0, 60);
	p->completion_signal = done;
	__atomic_store_n((uint32_t *)p,
		HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER, __ATOMIC_RELEASE);
	hsa_signal_store_screlease(q->doorbell_signal, (hsa_signal_value_t)i);
}

/* Until it is complete or something happened. */
static int completes(hsa_signal_t s)
{
	while (hsa_signal_wait_scacquire(
		       s, HSA_SIGNAL_CONDITION_LT, 1, 10000000, HSA_WAIT_STATE_BLOCKED) >= 1)
		if (atomic_load(&event))
			return 0;
	return 1;
}

int main(void)
{
	hsa_signal_t done[PACKETS];
	hsa_agent_t gpu = {0};
	hsa_queue_t *q;
	int cnt = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	CK(hsa_init());
	CK(hsa_iterate_agents(on_agent, &gpu));
	CK(hsa_amd_register_system_event_handler(on_event, NULL));
	CK(hsa_queue_create(
		gpu, 64, HSA_QUEUE_TYPE_SINGLE, on_error, NULL, UINT32_MAX, UINT32_MAX, &q));
	CK(hsa_amd_profiling_set_profiler_enabled(q, 1));
	for (int i = 0; i < PACKETS; i++) {
		CK(hsa_signal_create(1, 0, NULL, &done[i]));
		submit(q, done[i]);
	}
	while (cnt < PACKETS && completes(done[cnt]))
		cnt++;
	printf("%d packets complete\n", cnt);
	/* Older runtimes know no such event: a program there waits for good. */
	printf("hardware exceptions: %s\n",
		dlsym(RTLD_DEFAULT, "hsa_amd_agent_set_async_scratch_limit") ? "yes" : "no");
	for (int i = 0; i < PACKETS; i++)
		CK(hsa_signal_destroy(done[i]));
	CK(hsa_queue_destroy(q));
	CK(hsa_shut_down());
	puts("end");
	return 0;
}
