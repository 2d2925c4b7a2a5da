// SPDX-License-Identifier: MIT
/*
 * An HSA runtime of a few functions and a GPU of one thread a queue, for tests
 * of the HSA source. The GPU's addresses of locked memory differ from the
 * CPU's. It executes what lies below the real write index and a rung doorbell,
 * in order, each packet taking no time, and checks nothing but counts.
 */
#ifndef FAKE_HSA_H
#define FAKE_HSA_H

#include "capture/sources/hsa/abi.h"
#include "core/slot.h"

#define FAKE_GPU_BIAS 0x100000000000ull

/* Fresh tables; passed to OnLoad, then used as the application would. */
struct hsa_api_table *fake_hsa__table(void);

/*
 * The same functions as a runtime of ROCm 10 has them: the AMD table's newer
 * order, its 16th step, and hsa_amd_queue_create.
 */
struct hsa_api_table *fake_hsa__newer_table(void);

struct fake_stats {
	_Atomic uint64_t executed;	/* packets */
	_Atomic uint64_t dispatches;
	_Atomic uint64_t unsigned_dispatches; /* without a completion signal */
	_Atomic uint64_t invalid;	/* below the doorbell, yet not valid */
};
extern struct fake_stats fake_stats;

/* While held, the GPU executes nothing. */
void fake_hsa__hold(bool hold);

/* While set, hsa_amd_memory_lock fails: the GPU cannot be given our memory. */
void fake_hsa__refuse_lock(bool refuse);

/* How long the runtime takes to say when a copy was made. */
void fake_hsa__slow_copy_time(unsigned us);

extern const hsa_agent fake_gpu;

/* How many GPUs there are: agents from fake_gpu.handle on. */
void fake_hsa__gpus(uint32_t cnt);

/* What a code object reader's handle points to. */
struct fake_code {
	const void *bytes;
	uint64_t size;
};

#define FAKE_CORE(table_, name, type) ((type *)(table_)->core->fn[HSA_CORE_##name])
#define FAKE_AMD(table_, name, type)  ((type *)(table_)->amd_ext->fn[HSA_AMD_##name])

#endif
