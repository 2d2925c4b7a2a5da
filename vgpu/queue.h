// SPDX-License-Identifier: MIT
/* What queue.c (the ioctls) and wait.c (the threads) share. */
#ifndef VGPU_QUEUE_H
#define VGPU_QUEUE_H

#include <linux/kfd_ioctl.h>
#include <pthread.h>

#include "vgpu.h"

struct vg_queue_table {
	struct vg_lock lock; /* queues, doorbells; held while the watcher looks */
	_Atomic uint32_t watcher_started;
	_Atomic uint32_t log_ready;
	_Atomic uint32_t watch_word;   /* futex: changes when the watcher should look at once */
	_Atomic uint32_t watch_asleep; /* for long: a hint wakes it */
	_Atomic uint32_t parked_cnt, blocked_cnt;
	_Atomic uint32_t spin_cnt;
	uint32_t spin_max;
	_Atomic uint64_t active_at; /* when a queue last parked or was woken */
	pid_t watcher_tid;
	uint64_t watcher_cpu_ns;
	struct vg_queue *queues[VG_MAX_QUEUES];
	uint32_t queue_end; /* no queue at or above */
	struct vg_queue *spare[64];
	uint32_t spare_cnt;
	uint32_t last_seq;
	bool bell_used[VG_MAX_GPUS][VG_BELLS];
	struct vg_spool_cursor log; /* the records of queue_log.c */
};

struct vg_queue_table *vg_queue__table(void); /* NULL: out of memory */
void *vg_queue__main(void *queue);
int vg_queue__start_thread(pthread_t *thread, void *(*fn)(void *), void *arg, bool detached);
void vg_queue__start_watcher(struct vg_proc *p);

/* ---- queue_log.c: the table's lock is held ---- */

void vg_queue__log_created(struct vg_queue_table *t, struct vg_queue *q);
void vg_queue__log_destroyed(struct vg_queue_table *t, struct vg_queue *q);
/* changed: enum vg_queue_changed, or'ed; 0: nothing to say. */
void vg_queue__log_changed(struct vg_queue_table *t, struct vg_queue *q, unsigned changed);

static inline bool vg_queue__is_aql(const struct vg_queue *q)
{
	return q->type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

#endif
