// SPDX-License-Identifier: MIT
/* User queues: creation, destruction, suspension, settings. */
#include "queue.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#define PERCENTAGE_MASK 0xff

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
	if (a->ctx_save_restore_address && a->ctx_save_restore_size >= sizeof *q->save_area)
		q->save_area = vg_va(a->ctx_save_restore_address, &c);
	if (vg_queue__is_aql(q))
		q->aql = (const struct abi_queue *)((char *)q->wptr -
						    offsetof(struct abi_queue, write_dispatch_id));
	/* AQL: the index of the newest packet, so "none yet" is -1. SDMA: the write pointer. */
	__atomic_store_n(q->bell, vg_queue__is_aql(q) ? ~0ull : 0, __ATOMIC_RELEASE);
	q->setting.priority = (uint16_t)a->queue_priority;
	q->setting.percentage = (uint16_t)(a->queue_percentage & PERCENTAGE_MASK);
	q->setting.cus = (uint16_t)vg_proc()->conf.model->cu_cnt;
	atomic_store(&q->paused, !q->setting.percentage);
}

/* What the driver refuses. The percentage's second byte chooses a compute partition. */
static bool is_setting(uint32_t percentage, uint32_t priority)
{
	return (percentage & PERCENTAGE_MASK) <= KFD_MAX_QUEUE_PERCENTAGE &&
	       priority <= KFD_MAX_QUEUE_PRIORITY;
}

int vg_queue__create(struct kfd_ioctl_create_queue_args *a)
{
	int gpu = vg_gpu_index(a->gpu_id);
	struct vg_queue_table *t = vg_queue__table();
	struct vg_queue *q;
	int err;

	if (gpu < 0 || a->ring_size < 64 || a->ring_size % 64 ||
		!is_setting(a->queue_percentage, a->queue_priority))
		return -EINVAL;
	if (!t)
		return -ENOMEM;
	vg_once(&t->watcher_started, vg_queue__start_watcher);
	vg_lock(&t->lock);
	q = take_queue(t);
	err = q ? enter(t, q, gpu) : -ENOMEM;
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
		vg_queue__log_created(t, q);
	}
	vg_unlock(&t->lock);
	if (err)
		return err;
	a->queue_id = q->id;
	/* SOC15: the place inside the doorbell page comes with the page's offset. */
	a->doorbell_offset = VG_BELL_OFFSET(gpu) + q->bell_slot * 8ull;
	TRACE(1, "queue %u type %u gpu %d ring %p, %llu bytes", q->id, q->type, gpu,
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
	vg_queue__log_destroyed(t, q);
	t->bell_used[q->gpu][q->bell_slot] = false;
	if (t->spare_cnt < sizeof t->spare / sizeof *t->spare)
		t->spare[t->spare_cnt++] = q;
	vg_unlock(&t->lock);
	return 0;
}

/* The table's lock is held. Neither priority nor CUs change how long anything takes. */
static void set(struct vg_queue_table *t, struct vg_queue *q, const struct vg_queue_setting *new)
{
	const struct vg_queue_setting *old = &q->setting;
	unsigned changed = 0;

	changed |= new->priority != old->priority ? VG_QUEUE_PRIORITY : 0;
	changed |= new->percentage != old->percentage ? VG_QUEUE_PERCENTAGE : 0;
	changed |=
		new->mask_bits != old->mask_bits || memcmp(new->mask, old->mask, sizeof new->mask)
			? VG_QUEUE_CU_MASK
			: 0;
	q->setting = *new;
	TRACE(1, "queue %u: priority %u, %u %%, %u CUs", q->id, new->priority, new->percentage,
		new->cus);
	vg_queue__log_changed(t, q, changed);
}

int vg_queue__update(const struct kfd_ioctl_update_queue_args *a)
{
	struct vg_queue_table *t = vg_queue__table();
	struct vg_queue_setting new;
	struct vg_queue *q = NULL;

	if (!t || !is_setting(a->queue_percentage, a->queue_priority))
		return -EINVAL;
	vg_lock(&t->lock);
	if (a->queue_id < VG_MAX_QUEUES)
		q = t->queues[a->queue_id];
	if (q) {
		new = q->setting;
		new.priority = (uint16_t)a->queue_priority;
		new.percentage = (uint16_t)(a->queue_percentage & PERCENTAGE_MASK);
		set(t, q, &new);
		/* 0 percent takes the queue off the hardware; what runs goes on to its end. */
		atomic_store(&q->paused, !new.percentage);
		atomic_store(&q->state, VG_Q_RUNNING);
		vg_futex_wake(&q->state, 1);
	}
	vg_unlock(&t->lock);
	return q ? 0 : -EFAULT;
}

/* Bits beyond the GPU's compute units mean nothing. */
static uint16_t count_cus(const struct vg_queue_setting *s, uint32_t cu_cnt)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < s->mask_bits && i < cu_cnt; i++)
		cnt += s->mask[i / 32] >> i % 32 & 1;
	return (uint16_t)cnt;
}

int vg_queue__set_cu_mask(const struct kfd_ioctl_set_cu_mask_args *a)
{
	struct vg_queue_table *t = vg_queue__table();
	struct vg_queue_setting new;
	struct vg_queue *q = NULL;
	uint32_t bits = a->num_cu_mask;

	if (!t || !bits || bits % 32 || !a->cu_mask_ptr)
		return -EINVAL;
	if (bits > sizeof new.mask * 8)
		bits = sizeof new.mask * 8;
	vg_lock(&t->lock);
	if (a->queue_id < VG_MAX_QUEUES)
		q = t->queues[a->queue_id];
	if (q) {
		new = q->setting;
		new.mask_bits = (uint16_t)bits;
		memset(new.mask, 0, sizeof new.mask);
		memcpy(new.mask, (const void *)(uintptr_t)a->cu_mask_ptr, bits / 8);
		new.cus = count_cus(&new, vg_proc()->conf.model->cu_cnt);
		set(t, q, &new);
	}
	vg_unlock(&t->lock);
	return q ? 0 : -EFAULT;
}
