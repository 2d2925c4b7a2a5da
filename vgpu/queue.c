// SPDX-License-Identifier: MIT
/* User queues: creation, destruction, suspension, and their line in the log. */
#include "queue.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

struct vg_queue_table *vg_queue__table(void)
{
	struct vg_proc *p = vg_proc();
	struct vg_queue_table *t = __atomic_load_n(&p->queue, __ATOMIC_ACQUIRE), *none = NULL;

	if (!t) {
		cpu_set_t set;

		t = vg_zalloc(sizeof *t);
		if (!t)
			return NULL;
		/* Half the CPUs at most spin for the GPU; on a single one nobody does. */
		t->spin_max =
			sched_getaffinity(0, sizeof set, &set) ? 0 : (uint32_t)CPU_COUNT(&set) / 2;
		if (!__atomic_compare_exchange_n(
			    &p->queue, &none, t, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			t = none;
	}
	return t;
}

void vg_queue__log_open(struct vg_proc *p)
{
	char dir[sizeof p->log_path + sizeof VG_SPOOL_SUFFIX];
	int err;

	if (!p->conf.log)
		return;
	snprintf(dir, sizeof dir, "%s%s", p->conf.log, VG_SPOOL_SUFFIX);
	err = vg_spool__open(&p->spool, dir, (uint32_t)p->conf.gpu_cnt, p->conf.model->name);
	if (err)
		vg_trace("no log: %s: %s", dir, strerror(-err));
}

/* At the first packet: ROCr has filled in the queue's structure by then. */
void vg_queue__announce(struct vg_queue *q)
{
	struct vg_rec_queue *r;

	if (q->announced)
		return;
	q->announced = true;
	r = vg_spool__slots(&vg_proc()->spool, &q->spool, 1);
	if (!r)
		return;
	r->gpu = (uint8_t)q->gpu;
	r->sdma = !q->aql;
	r->queue = q->seq;
	r->hsa_queue = (uintptr_t)q->aql;
	r->hsa_id = q->aql ? q->aql->id : 0;
	r->ring_bytes = q->ring_bytes;
	r->first_ns = q->now;
	__atomic_store_n(&r->kind, VG_REC_QUEUE, __ATOMIC_RELEASE);
}

/* ---- ioctls ---- */

static struct vg_queue *take_queue(struct vg_queue_table *t)
{
	struct vg_queue *q = t->spare_cnt ? t->spare[--t->spare_cnt] : vg_zalloc(sizeof *q);

	if (q)
		memset(q, 0, sizeof *q);
	return q;
}

/* Finds a place for the queue; the lock is held. */
static int enter(struct vg_queue_table *t, struct vg_queue *q, int gpu)
{
	uint32_t id, slot;

	for (id = 0; id < VG_MAX_QUEUES && t->queues[id]; id++)
		;
	for (slot = 0; slot < VG_BELLS && t->bell_used[gpu][slot]; slot++)
		;
	if (id == VG_MAX_QUEUES || slot == VG_BELLS)
		return -ENOMEM;
	t->bell_used[gpu][slot] = true;
	q->id = id;
	q->seq = ++t->last_seq;
	q->gpu = gpu;
	q->bell_slot = slot;
	return 0;
}

static void set_up(struct vg_queue *q, const struct kfd_ioctl_create_queue_args *a)
{
	struct vg_va_cache c = {0};

	q->type = a->queue_type;
	q->ring = vg_va(a->ring_base_address, &c);
	q->ring_bytes = a->ring_size;
	q->rptr = vg_va(a->read_pointer_address, &c);
	q->wptr = vg_va(a->write_pointer_address, &c);
	q->bell = (uint64_t *)(vg_proc()->bells[q->gpu] + q->bell_slot * 8ull);
	q->bell_seen = -1;
	if (vg_queue__is_aql(q))
		q->aql = (const struct abi_queue *)((char *)q->wptr -
						    offsetof(struct abi_queue, write_dispatch_id));
	/* AQL: the index of the newest packet, so "none yet" is -1. SDMA: the write pointer. */
	__atomic_store_n(q->bell, vg_queue__is_aql(q) ? ~0ull : 0, __ATOMIC_RELEASE);
	atomic_store(&q->paused, a->queue_percentage == 0);
}

int vg_queue__create(struct kfd_ioctl_create_queue_args *a)
{
	uint32_t gpu = a->gpu_id - VG_GPU_ID(0);
	struct vg_queue_table *t = vg_queue__table();
	struct vg_proc *p = vg_proc();
	struct vg_queue *q;
	int err;

	if (gpu >= (uint32_t)p->conf.gpu_cnt || a->ring_size < 64 || a->ring_size % 64)
		return -EINVAL;
	if (!t)
		return -ENOMEM;
	vg_once(&t->watcher_started, vg_queue__start_watcher);
	vg_lock(&t->lock);
	q = take_queue(t);
	err = q ? enter(t, q, (int)gpu) : -ENOMEM;
	if (!err) {
		set_up(q, a);
		err = vg_queue__start_thread((pthread_t *)&q->thread, vg_queue__main, q, false);
		if (err)
			t->bell_used[gpu][q->bell_slot] = false;
	}
	if (!err) {
		__atomic_store_n(&t->queues[q->id], q, __ATOMIC_RELEASE);
		if (q->id >= t->queue_end)
			t->queue_end = q->id + 1;
	}
	vg_unlock(&t->lock);
	if (err)
		return err;
	a->queue_id = q->id;
	/* SOC15: the place inside the doorbell page comes with the page's offset. */
	a->doorbell_offset = VG_BELL_OFFSET(gpu) + q->bell_slot * 8ull;
	TRACE(1, "queue %u type %u gpu %u ring %p, %llu bytes", q->id, q->type, gpu,
		(void *)q->ring, (unsigned long long)q->ring_bytes);
	return 0;
}

int vg_queue__destroy(uint32_t id)
{
	struct vg_queue_table *t = vg_queue__table();
	struct vg_queue *q = NULL;

	if (!t)
		return -EINVAL;
	vg_lock(&t->lock);
	if (id < VG_MAX_QUEUES)
		q = t->queues[id];
	if (q)
		__atomic_store_n(&t->queues[id], NULL, __ATOMIC_RELEASE);
	vg_unlock(&t->lock);
	if (!q)
		return -EINVAL;
	atomic_store(&q->stop, true);
	atomic_store(&q->state, VG_Q_RUNNING);
	vg_futex_wake(&q->state, 1);
	pthread_join((pthread_t)q->thread, NULL);
	TRACE(1, "queue %u destroyed after %llu packets", id, (unsigned long long)q->packets);
	vg_lock(&t->lock);
	t->bell_used[q->gpu][q->bell_slot] = false;
	if (t->spare_cnt < sizeof t->spare / sizeof *t->spare)
		t->spare[t->spare_cnt++] = q;
	vg_unlock(&t->lock);
	return 0;
}

int vg_queue__update(const struct kfd_ioctl_update_queue_args *a)
{
	struct vg_queue_table *t = vg_queue__table();
	struct vg_queue *q = NULL;

	if (!t)
		return -EINVAL;
	vg_lock(&t->lock);
	if (a->queue_id < VG_MAX_QUEUES)
		q = t->queues[a->queue_id];
	if (q) {
		/* 0 percent takes the queue off the hardware; what runs goes on to its end. */
		atomic_store(&q->paused, a->queue_percentage == 0);
		atomic_store(&q->state, VG_Q_RUNNING);
		vg_futex_wake(&q->state, 1);
	}
	vg_unlock(&t->lock);
	return q ? 0 : -EINVAL;
}
