// SPDX-License-Identifier: MIT
/*
 * The log's lines about queues: what each was made with, when it came and went, and what was
 * changed in between. They lie in blocks of their own, written under the queue table's lock.
 */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

void vg_queue__log_open(struct vg_proc *p)
{
	char dir[sizeof p->log_path + sizeof VG_SPOOL_SUFFIX];
	int err;

	if (!p->conf.log)
		return;
	snprintf(dir, sizeof dir, "%s%s", p->conf.log, VG_SPOOL_SUFFIX);
	err = vg_spool__open(
		&p->spool, dir, (uint32_t)p->conf.gpu_cnt, p->conf.model->name, &p->conf.clock);
	if (err)
		vg_trace("no log: %s: %s", dir, strerror(-err));
}

void vg_queue__log_created(struct vg_queue_table *t, struct vg_queue *q)
{
	struct vg_rec_queue *r =
		(void *)vg_spool__reserve(&vg_proc()->spool, &t->log, &q->rec_block);

	if (!r)
		return;
	r->gpu = (uint8_t)q->gpu;
	r->sdma = !q->aql;
	r->queue = q->seq;
	r->hsa_queue = (uintptr_t)q->aql;
	r->ring_bytes = q->ring_bytes;
	r->created_ns = vg_now();
	r->setting = q->setting;
	__atomic_store_n(&r->kind, VG_REC_QUEUE, __ATOMIC_RELEASE);
	__atomic_store_n(&q->rec, r, __ATOMIC_RELEASE);
}

/* By the queue's thread, at its first packet: ROCr has filled in the queue's structure by then. */
void vg_queue__announce(struct vg_queue *q)
{
	struct vg_rec_queue *r;

	if (q->announced)
		return;
	r = __atomic_load_n(&q->rec, __ATOMIC_ACQUIRE);
	if (!r)
		return;
	q->announced = true;
	r->hsa_id = q->aql ? q->aql->id : 0;
	__atomic_store_n(&r->first_ns, q->now, __ATOMIC_RELEASE);
}

void vg_queue__log_changed(struct vg_queue_table *t, struct vg_queue *q, unsigned changed)
{
	struct vg_rec_queue_change *r;

	if (!changed)
		return;
	r = vg_spool__slots(&vg_proc()->spool, &t->log, 1);
	if (!r)
		return;
	r->gpu = (uint8_t)q->gpu;
	r->changed = (uint8_t)changed;
	r->queue = q->seq;
	r->at_ns = vg_now();
	r->setting = q->setting;
	__atomic_store_n(&r->kind, VG_REC_QUEUE_CHANGE, __ATOMIC_RELEASE);
}

void vg_queue__log_destroyed(struct vg_queue_table *t, struct vg_queue *q)
{
	if (!q->rec)
		return;
	__atomic_store_n(&q->rec->destroyed_ns, vg_now(), __ATOMIC_RELEASE);
	vg_spool__done(&t->log, q->rec_block);
	q->rec = NULL;
}

void vg_queue__places(struct vg_rec *r, uint64_t from, uint64_t to)
{
	r->source = from;
	r->target = to;
	r->source_gpu = (uint8_t)(vg_mem__vram_gpu(from) + 1);
	r->target_gpu = (uint8_t)(vg_mem__vram_gpu(to) + 1);
}
