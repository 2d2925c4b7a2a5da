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

static bool holds(const struct vg_stream_wait *w)
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
		struct vg_stream_wait *w = &q->op_wait[q->op_wait_cnt];

		*w = (struct vg_stream_wait){word, op->wide, op->condition, op->value, op->mask};
		if (holds(w))
			return true;
		q->op_wait_cnt++;
		return false;
	}
	if (op->wide)
		__atomic_store_n((uint64_t *)word, op->value, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n((uint32_t *)word, (uint32_t)op->value, __ATOMIC_SEQ_CST);
	vg_queue__signal_changed(); /* another queue may poll it */
	return true;
}

/* false: there is nothing to do. */
static bool read_entry(struct vg_queue *q, uint64_t va, struct op *op, struct vg_blit_result *did)
{
	const struct batch_entry *e = reach(q, va, sizeof *e, did);

	if (!e)
		return false;
	*op = (struct op){
		.wait = e->operation == WAIT_32 || e->operation == WAIT_64,
		.wide = e->operation == WAIT_64 || e->operation == WRITE_64,
		.address = e->address,
		.value = e->value,
		.mask = UINT64_MAX,
		.condition = e->flags,
	};
	return op->wait || op->wide || e->operation == WRITE_32;
}

/*
 * CLR 6.4 and 7.2 make each operation a work-group, which waits for no other; with a grid of one,
 * as later ones have it, one work-item does all in order. VG_BATCH_WIDTH of them run at a time.
 */
static bool run_batch(struct vg_queue *q, uint64_t params, uint32_t cnt, uint32_t grid,
	struct vg_blit_result *did)
{
	for (; q->op_next < cnt; q->op_next += VG_BATCH_WIDTH, q->op_done = 0) {
		uint32_t end = cnt - q->op_next;
		struct op op;

		q->op_wait_cnt = 0;
		for (uint32_t i = 0; i < end && i < VG_BATCH_WIDTH; i++) {
			uint64_t va = params + (q->op_next + i) * sizeof(struct batch_entry);

			if (q->op_done & 1ull << i)
				continue;
			if (!read_entry(q, va, &op, did) || carry_out(q, &op, did))
				q->op_done |= 1ull << i;
			else if (grid == 1)
				return false;
			if (did->faults)
				goto out;
		}
		if (q->op_wait_cnt)
			return false;
	}
out:
	q->op_next = 0;
	q->op_done = 0;
	return true;
}

bool vg_stream_op__unblocked(const struct vg_queue *q)
{
	for (unsigned i = 0; i < q->op_wait_cnt; i++)
		if (holds(&q->op_wait[i]))
			return true;
	return false;
}

bool vg_stream_op__run(struct vg_queue *q, const struct vg_kernel *k,
	const struct abi_dispatch_packet *d, struct vg_blit_result *did)
{
	/* pointer to 32 bits or to 64 bits, value; a wait also has flags and a mask */
	unsigned cnt = k->effect == VG_EFFECT_STREAM_WAIT    ? 5
		       : k->effect == VG_EFFECT_STREAM_BATCH ? 2
							     : 3;
	const char *args = reach(q, d->kernarg_address, cnt * 8, did);
	uint64_t a[5] = {0};
	struct op op;

	if (!args || k->arg_cnt < cnt)
		return true;
	for (unsigned i = 0; i < cnt; i++)
		memcpy(&a[i], args + k->arg_offset[i], k->arg_size[i] < 8 ? k->arg_size[i] : 8);
	if (k->effect == VG_EFFECT_STREAM_BATCH)
		return run_batch(q, a[0], (uint32_t)a[1], d->grid[0], did);
	q->op_wait_cnt = 0;
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
