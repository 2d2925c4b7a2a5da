// SPDX-License-Identifier: MIT
/*
 * Which buffer an address is in: ranges in the order of their starts. They may overlap, as nothing
 * keeps a program from importing over what it has; so each entry knows how far those up to it reach,
 * and a look-up goes back no further than needed. Not for several threads at a time.
 */
#include "vgpu.h"

#include <string.h>

/* First entry whose start is above va. */
static uint32_t upper_bound(const struct vg_ranges *r, uint64_t va)
{
	uint32_t lo = 0, hi = r->cnt;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->entry[mid].start <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* From `i` on there are other entries. Ends where nothing changes any more. */
static void reach_anew(struct vg_ranges *r, uint32_t i)
{
	uint64_t before = i ? r->entry[i - 1].reach : 0;

	for (; i < r->cnt; i++) {
		struct vg_range *e = &r->entry[i];
		uint64_t reach = e->end > before ? e->end : before;

		if (e->reach == reach)
			return;
		e->reach = before = reach;
	}
}

bool vg_ranges__add(struct vg_ranges *r, uint64_t start, uint64_t size, uint32_t number)
{
	uint32_t at = upper_bound(r, start);

	if (r->cnt == VG_MAX_RANGES || !size || start + size < start)
		return false;
	memmove(&r->entry[at + 1], &r->entry[at], (r->cnt - at) * sizeof *r->entry);
	r->entry[at] = (struct vg_range){start, start + size, 0, number};
	r->cnt++;
	reach_anew(r, at);
	return true;
}

void vg_ranges__del(struct vg_ranges *r, uint64_t start, uint32_t number)
{
	uint32_t at = upper_bound(r, start);

	while (at && r->entry[at - 1].start == start)
		if (r->entry[--at].number == number) {
			r->cnt--;
			memmove(&r->entry[at], &r->entry[at + 1],
				(r->cnt - at) * sizeof *r->entry);
			reach_anew(r, at);
			return;
		}
}

uint32_t vg_ranges__find(const struct vg_ranges *r, uint64_t va)
{
	for (uint32_t i = upper_bound(r, va); i && r->entry[i - 1].reach > va; i--)
		if (r->entry[i - 1].end > va)
			return r->entry[i - 1].number;
	return 0;
}

uint32_t vg_ranges__from(const struct vg_ranges *r, uint64_t va, uint32_t nth)
{
	uint32_t i = va ? upper_bound(r, va - 1) : 0;

	return nth < r->cnt - i ? r->entry[i + nth].number : 0;
}
