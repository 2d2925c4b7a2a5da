// SPDX-License-Identifier: MIT
/*
 * Kernels by which a stream waits for, or writes, a word of memory: hipStreamWaitValue,
 * hipStreamWriteValue, hipStreamBatchMemOp. A wait holds up its queue until the word, which the
 * host or another queue writes, is as it should be.
 */
#include "vgpu.h"

#include <string.h>

/* Entry of a batch, 48 bytes, as CLR writes it; numbers of hipStreamBatchMemOpType. */
struct batch_entry {
	uint32_t operation;
	uint32_t reserved0;
	uint64_t address;
	uint64_t value; /* 32-bit operations: the low half */
	uint32_t flags;
	uint32_t reserved1;
	uint64_t reserved2[2];
};
_Static_assert(sizeof(struct batch_entry) == 48, "hipStreamBatchMemOpParams");

enum { WAIT_32 = 1, WRITE_32 = 2, WAIT_64 = 4, WRITE_64 = 5 };
enum { WAIT_GEQ = 0, WAIT_EQ = 1, WAIT_AND = 2, WAIT_NOR = 3 }; /* hipStreamWaitValue* */

bool vg_stream_wait__holds(const struct vg_stream_wait *w)
{
	uint64_t limit = w->wide ? UINT64_MAX : UINT32_MAX;
	uint64_t mask = w->mask & limit, want = w->value & limit;
	uint64_t have = w->wide ? __atomic_load_n((const uint64_t *)w->at, __ATOMIC_SEQ_CST)
				: __atomic_load_n((const uint32_t *)w->at, __ATOMIC_SEQ_CST);

	have &= mask;
	switch (w->condition) {
	case WAIT_GEQ:
		return have >= want;
	case WAIT_EQ:
		return have == want;
	case WAIT_AND:
		return (have & want) != 0;
	case WAIT_NOR:
		return (~(have | want) & mask) != 0;
	default: /* the kernel knows no other and goes on */
		return true;
	}
}

struct op {
	bool wait, wide;
	uint64_t address, value, mask;
	uint32_t condition;
};

static void *reach(struct vg_queue *q, uint64_t va, uint64_t bytes, struct vg_blit_result *did)
{
	if (vg_mem__covers(va, bytes))
		return vg_va(va, &q->va_data);
	did->faults = true;
	did->fault_va = va;
	return NULL;
}

/* false: it waits. What has no memory is done, and has faulted. */
static bool carry_out(struct vg_queue *q, const struct op *op, struct vg_blit_result *did)
{
	void *word = reach(q, op->address, op->wide ? 8 : 4, did);

	if (!word)
		return true;
	if (op->wait) {
		q->op_wait =
			(struct vg_stream_wait){word, op->wide, op->condition, op->value, op->mask};
		return vg_stream_wait__holds(&q->op_wait);
	}
	if (op->wide)
		__atomic_store_n((uint64_t *)word, op->value, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((uint32_t *)word, (uint32_t)op->value, __ATOMIC_SEQ_CST);
	vg_queue__signal_changed(); /* another queue may poll it */
	return true;
}

static bool run_batch(struct vg_queue *q, uint64_t params, uint32_t cnt, struct vg_blit_result *did)
{
	for (; q->op_next < cnt && !did->faults; q->op_next++) {
		const struct batch_entry *e =
			reach(q, params + q->op_next * sizeof *e, sizeof *e, did);
		struct op op;

		if (!e)
			break;
		op = (struct op){
			.wait = e->operation == WAIT_32 || e->operation == WAIT_64,
			.wide = e->operation == WAIT_64 || e->operation == WRITE_64,
			.address = e->address,
			.value = e->value,
			.mask = UINT64_MAX,
			.condition = e->flags,
		};
		if ((op.wait || e->operation == WRITE_32 || op.wide) && !carry_out(q, &op, did))
			return false;
	}
	q->op_next = 0;
	return true;
}

bool vg_stream_op__run(
	struct vg_queue *q, const struct vg_kernel *k, uint64_t kernarg, struct vg_blit_result *did)
{
	/* pointer to 32 bits or to 64 bits, value; a wait also has flags and a mask */
	unsigned cnt = k->effect == VG_EFFECT_STREAM_WAIT    ? 5
		       : k->effect == VG_EFFECT_STREAM_BATCH ? 2
							     : 3;
	const char *args = reach(q, kernarg, cnt * 8, did);
	uint64_t a[5] = {0};
	struct op op;

	if (!args || k->arg_cnt < cnt)
		return true;
	for (unsigned i = 0; i < cnt; i++)
		memcpy(&a[i], args + k->arg_offset[i], k->arg_size[i] < 8 ? k->arg_size[i] : 8);
	if (k->effect == VG_EFFECT_STREAM_BATCH)
		return run_batch(q, a[0], (uint32_t)a[1], did);
	op = (struct op){
		.wait = k->effect == VG_EFFECT_STREAM_WAIT,
		.wide = !a[0],
		.address = a[0] ? a[0] : a[1],
		.value = a[2],
		.condition = (uint32_t)a[3],
		.mask = a[4],
	};
	return carry_out(q, &op, did);
}
