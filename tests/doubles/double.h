// SPDX-License-Identifier: MIT
/*
 * What the doubles of other tools share: the HSA tables by index, kernel names, a pool of signals
 * of their own, and a report of every dispatch that they saw end.
 *
 * The report is written to $DOUBLE_REPORT when the process ends, one line a dispatch:
 *   queue-ordinal sequence start_ns end_ns name
 */
#ifndef DOUBLE_H
#define DOUBLE_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct hsa_api_table_head {
	uint32_t major, minor, step, reserved;
	void *function[];
};
struct hsa_api_root {
	uint32_t major, minor, step, reserved;
	struct hsa_api_table_head *core, *amd_ext;
};

enum { /* positions in CoreApiTable, the same in every release */
	CORE_hsa_system_get_info = 2,
	CORE_hsa_iterate_agents = 5,
	CORE_hsa_queue_create = 7,
	CORE_hsa_queue_destroy = 9,
	CORE_hsa_queue_load_write_index_scacquire = 13,
	CORE_hsa_queue_load_write_index_relaxed = 14,
	CORE_hsa_queue_store_write_index_relaxed = 15,
	CORE_hsa_queue_store_write_index_screlease = 16,
	CORE_hsa_queue_cas_write_index_scacq_screl = 17,
	CORE_hsa_queue_cas_write_index_scacquire = 18,
	CORE_hsa_queue_cas_write_index_relaxed = 19,
	CORE_hsa_queue_cas_write_index_screlease = 20,
	CORE_hsa_queue_add_write_index_scacq_screl = 21,
	CORE_hsa_queue_add_write_index_scacquire = 22,
	CORE_hsa_queue_add_write_index_relaxed = 23,
	CORE_hsa_queue_add_write_index_screlease = 24,
	CORE_hsa_signal_create = 37,
	CORE_hsa_signal_store_relaxed = 41,
	CORE_hsa_signal_store_screlease = 42,
	CORE_hsa_signal_subtract_screlease = 67,
	CORE_hsa_executable_freeze = 86,
	CORE_hsa_executable_symbol_get_info = 93,
	CORE_hsa_signal_silent_store_relaxed = 102,
	CORE_hsa_signal_silent_store_screlease = 103,
	CORE_hsa_executable_iterate_agent_symbols = 123,
	CORE_COUNT = 125,
};
enum {
	AMD_hsa_amd_profiling_set_profiler_enabled = 2,
	AMD_hsa_amd_profiling_get_dispatch_time = 4,
	AMD_hsa_amd_signal_async_handler = 7,
	AMD_COUNT = 48, /* at least */
};

extern void *double_core[CORE_COUNT], *double_amd[AMD_COUNT]; /* as found */
extern uint32_t double_amd_bytes;

#define CORE(name) ((__typeof__(name) *)double_core[CORE_##name])
#define AMD(name)  ((__typeof__(name) *)double_amd[AMD_##name])

/* Copies the tables and puts the name look-up in place. */
void double__load(struct hsa_api_root *root);

struct double_queue {
	hsa_agent_t agent;
	uint32_t ordinal;
	uint64_t next; /* dispatches seen; the caller serialises */
};

struct double_queue *double_queue__new(hsa_agent_t agent);

/* A signal for a dispatch; `original` is decremented when it has ended. */
hsa_signal_t double__inject(struct double_queue *queue, uint64_t kernel_object,
	hsa_signal_t original);

#endif
