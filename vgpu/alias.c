// SPDX-License-Identifier: MIT
/*
 * GPU addresses that differ from the CPU's: host memory registered with the GPU (memory_lock,
 * pinned staging buffers). A sorted array, changed in place under a sequence lock; every packet
 * looks here, so readers take no lock and keep the last answer: the range they fell in, which may
 * just as well be a gap between two registered ranges.
 */
#include "vgpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_RANGES (1u << 16) /* address space only; touched as it fills */

struct range {
	_Atomic uint64_t gpu, size, cpu;
};

struct vg_alias_map {
	_Atomic uint64_t gen; /* odd while a writer is at work */
	_Atomic uint32_t cnt;
	struct vg_lock lock; /* of writers */
	struct range ranges[MAX_RANGES];
};

/*
 * Release and acquire on the ranges themselves: who read a changed range then sees the odd
 * generation of the writer that changed it. (On x86-64 these cost nothing.)
 */
#define GET(x)    atomic_load_explicit(&(x), memory_order_acquire)
#define SET(x, v) atomic_store_explicit(&(x), (v), memory_order_release)

struct vg_alias_map *vg_alias__new(void)
{
	return vg_zalloc(sizeof(struct vg_alias_map));
}

void vg_alias__free(struct vg_alias_map *map)
{
	if (map)
		munmap(map, sizeof *map);
}

/* First range whose start is above va. */
static uint32_t upper_bound(struct vg_alias_map *map, uint32_t cnt, uint64_t va)
{
	uint32_t lo = 0, hi = cnt;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (GET(map->ranges[mid].gpu) <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void move(struct range *to, const struct range *from)
{
	SET(to->gpu, GET(from->gpu));
	SET(to->size, GET(from->size));
	SET(to->cpu, GET(from->cpu));
}

static void write_begin(struct vg_alias_map *map)
{
	vg_lock(&map->lock);
	atomic_fetch_add_explicit(&map->gen, 1, memory_order_acq_rel);
}

static void write_end(struct vg_alias_map *map)
{
	/* Release: pairs with the acquire of gen in vg_alias__look(). */
	atomic_fetch_add_explicit(&map->gen, 1, memory_order_release);
	vg_unlock(&map->lock);
}

int vg_alias__add(struct vg_alias_map *map, uint64_t gpu, uint64_t cpu, uint64_t size)
{
	uint32_t cnt, at;

	if (!size || gpu + size < gpu)
		return -EINVAL;
	write_begin(map);
	cnt = GET(map->cnt);
	if (cnt == MAX_RANGES) {
		write_end(map);
		return -ENOMEM;
	}
	at = upper_bound(map, cnt, gpu);
	for (uint32_t i = cnt; i > at; i--)
		move(&map->ranges[i], &map->ranges[i - 1]);
	SET(map->ranges[at].gpu, gpu);
	SET(map->ranges[at].size, size);
	SET(map->ranges[at].cpu, cpu);
	SET(map->cnt, cnt + 1);
	write_end(map);
	return 0;
}

int vg_alias__del(struct vg_alias_map *map, uint64_t gpu)
{
	uint32_t cnt, at;
	int err = -ENOENT;

	write_begin(map);
	cnt = GET(map->cnt);
	at = upper_bound(map, cnt, gpu);
	if (at && GET(map->ranges[at - 1].gpu) == gpu) {
		for (uint32_t i = at; i < cnt; i++)
			move(&map->ranges[i - 1], &map->ranges[i]);
		SET(map->cnt, cnt - 1);
		err = 0;
	}
	write_end(map);
	return err;
}

static void look_up(struct vg_alias_map *map, uint64_t va, struct vg_va_cache *c)
{
	uint32_t cnt = GET(map->cnt), at;

	if (cnt > MAX_RANGES)
		cnt = 0; /* torn: the generation tells */
	at = upper_bound(map, cnt, va);
	c->lo = 0;
	c->hi = at < cnt ? GET(map->ranges[at].gpu) : UINT64_MAX;
	c->delta = 0;
	if (at) {
		uint64_t gpu = GET(map->ranges[at - 1].gpu), size = GET(map->ranges[at - 1].size);

		if (va - gpu < size) {
			c->lo = gpu;
			c->hi = gpu + size;
			c->delta = GET(map->ranges[at - 1].cpu) - gpu;
		} else {
			c->lo = gpu + size;
		}
	}
}

uint64_t vg_alias__look(struct vg_alias_map *map, uint64_t va, struct vg_va_cache *c)
{
	uint64_t gen = atomic_load_explicit(&map->gen, memory_order_acquire);

	/* c->gen is even and 0 only before the first look-up, when hi is 0 as well. */
	if (gen == c->gen && va >= c->lo && va < c->hi)
		return va + c->delta;
	for (;;) {
		if (!(gen & 1)) {
			look_up(map, va, c);
			if (GET(map->gen) == gen)
				break;
		}
		__builtin_ia32_pause();
		gen = atomic_load_explicit(&map->gen, memory_order_acquire);
	}
	c->gen = gen;
	return va + c->delta;
}
