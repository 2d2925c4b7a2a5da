// SPDX-License-Identifier: MIT
/*
 * How many kernels a GPU runs at a time, if that is limited: places that are taken in the order in
 * which the queues launch. A kernel takes the place that is free first, and starts when it is.
 */
#include "vgpu.h"

struct vg_slots {
	struct vg_lock lock;
	uint64_t free_at[VG_MAX_GPUS][VG_MAX_CONCURRENCY];
};

uint64_t vg_slots__take(struct vg_proc *p, int gpu, uint64_t start, uint64_t ns)
{
	struct vg_slots *s;
	uint64_t *place;

	if (!p->conf.concurrency)
		return start;
	s = vg_part(&p->slots, sizeof *s);
	if (!s)
		return start;
	vg_lock(&s->lock);
	place = s->free_at[gpu];
	for (int i = 1; i < p->conf.concurrency; i++)
		if (s->free_at[gpu][i] < *place)
			place = &s->free_at[gpu][i];
	if (*place > start)
		start = *place;
	*place = start + ns;
	vg_unlock(&s->lock);
	return start;
}
