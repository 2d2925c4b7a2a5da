// SPDX-License-Identifier: MIT
/*
 * What every test program needs that uses HSA directly: the agents, their memory, a code object's
 * kernels, packets. Every failure prints the call and ends the program with exit code 2.
 */
#ifndef TESTS_HSA_PROGRAM_H
#define TESTS_HSA_PROGRAM_H

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define HSA_CHECK(call)                                                                            \
	do {                                                                                       \
		hsa_status_t status_ = (call);                                                     \
		if (status_) {                                                                     \
			fprintf(stderr, "%s:%d: %s = 0x%x\n", __FILE__, __LINE__, #call, status_); \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

struct hsa_program {
	hsa_agent_t cpu, gpu;               /* the first of each */
	hsa_amd_memory_pool_t system, vram; /* where the runtime may allocate */
	hsa_amd_memory_pool_t kernarg;      /* system memory for arguments */
	hsa_executable_t executable;
};

/* hsa_init, agents and pools. No GPU: exit code 2. */
void hsa_program__open(struct hsa_program *program);
/* Loads the code object for the GPU from a file as `hipcc --genco` makes it. */
void hsa_program__load(struct hsa_program *program, const char *path);
/* The packet's kernel_object of "NAME.kd". */
uint64_t hsa_program__kernel(const struct hsa_program *program, const char *name);
/* Memory that the CPU and the GPU reach. */
void *hsa_program__alloc(
	const struct hsa_program *program, hsa_amd_memory_pool_t pool, size_t size);

hsa_queue_t *hsa_program__queue(const struct hsa_program *program, uint32_t packets);

/* ---- packets: `index` is one that was reserved; nothing rings a doorbell but ring() ---- */

uint64_t hsa_reserve(hsa_queue_t *queue, uint64_t count);
/* The header is written last, so that the packet is valid only when it is whole. */
void hsa_write(hsa_queue_t *queue, uint64_t index, const void *packet);
void hsa_ring(hsa_queue_t *queue, uint64_t index);
void hsa_submit(hsa_queue_t *queue, const void *packet); /* all three */

hsa_kernel_dispatch_packet_t hsa_dispatch(
	uint64_t kernel, bool barrier, hsa_signal_t done, void *kernarg);
hsa_barrier_and_packet_t hsa_barrier(
	const hsa_signal_t *dependencies, int count, hsa_signal_t done);

hsa_signal_t hsa_new_signal(hsa_signal_value_t value);
/* false: not below 1 within the time */
bool hsa_reaches_zero(hsa_signal_t signal, double seconds);
/* The signal's memory, where the stamps are. */
amd_signal_t *hsa_inside(hsa_signal_t signal);

#endif
