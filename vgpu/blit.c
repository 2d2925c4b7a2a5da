// SPDX-License-Identifier: MIT
/*
 * Kernels by which the runtimes move data are carried out for real: CLR's __amd_rocclr_* (their
 * arguments changed between generations, told apart by their number) and ROCr's own, which have no
 * code object around them and are told apart by the layout of their arguments, where the number of
 * work items repeats the grid size.
 */
#include "vgpu.h"

#include <string.h>

struct call {
	const struct vg_kernel *k;
	const char *args;
	struct vg_va_cache *cache;
	struct vg_blit_result *did;
};

static uint64_t arg64(const struct call *c, unsigned i)
{
	uint64_t v;

	memcpy(&v, c->args + c->k->arg_offset[i], sizeof v);
	return v;
}

static uint32_t arg32(const struct call *c, unsigned i)
{
	uint32_t v;

	memcpy(&v, c->args + c->k->arg_offset[i], sizeof v);
	return v;
}

/* Where the GPU faults if not all of this is memory of the program's. */
static bool reaches(const struct call *c, uint64_t va, uint64_t bytes)
{
	if (!bytes || vg_mem__covers(va, bytes))
		return true;
	if (!c->did->faults)
		c->did->fault_va = va;
	c->did->faults = true;
	return false;
}

static char *at(const struct call *c, uint64_t va)
{
	return vg_va(va, c->cache);
}

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Says from where to where a copy goes; a fill has no source. */
static void copies(const struct call *c, uint64_t from, uint64_t to)
{
	c->did->from = from;
	c->did->to = to;
}

static void fill(char *to, const char *pattern, uint64_t size, uint64_t cnt)
{
	uint64_t done, all = size * cnt;

	if (!all)
		return;
	if (size == 1) {
		memset(to, pattern[0], cnt);
		return;
	}
	memcpy(to, pattern, size);
	for (done = size; done < all; done *= 2)
		memcpy(to + done, to, done < all - done ? done : all - done);
}

static uint64_t move(const struct call *c, uint64_t from, uint64_t to, uint64_t n)
{
	copies(c, from, to);
	if (!reaches(c, from, n) || !reaches(c, to, n))
		return 0;
	memmove(at(c, to), at(c, from), n);
	return n;
}

static uint64_t copy_linear(const struct call *c)
{
	uint64_t n, unit = 1;

	if (c->k->arg_cnt >= 7) /* ROCm 6 and 7: source, target, size, ... */
		return move(c, arg64(c, 0), arg64(c, 1), arg64(c, 2));
	if (c->k->arg_cnt != 6)
		return 0;
	/* ROCm 5: source, target, their origins, size, remainder or alignment */
	n = arg64(c, 4);
	if (c->k->aligned)
		n = times(n, unit = arg32(c, 5));
	else
		n = n ? (n - 1) * 4 + arg32(c, 5) : 0;
	return move(c, arg64(c, 0) + arg64(c, 2) * unit, arg64(c, 1) + arg64(c, 3) * unit, n);
}

/* Row pitch, slice pitch, start, in units; from the first to the last byte that is touched. */
static bool reaches_rect(
	const struct call *c, uint64_t va, const uint64_t p[4], const uint64_t n[4], uint64_t unit)
{
	unsigned __int128 span = ((unsigned __int128)p[1] * (n[2] - 1) +
					 (unsigned __int128)p[0] * (n[1] - 1) + n[0]) *
				 unit;

	return reaches(c, va + unit * p[2], span >> 64 ? UINT64_MAX : (uint64_t)span);
}

static uint64_t copy_rect(const struct call *c)
{
	/* two ulong4 {row pitch, slice pitch, start, -}, then the size {x, y, z, unit} */
	uint64_t s[4], t[4], n[4], unit;
	const char *from;
	char *to;

	if (c->k->arg_cnt < 5)
		return 0;
	memcpy(s, c->args + c->k->arg_offset[2], sizeof s);
	memcpy(t, c->args + c->k->arg_offset[3], sizeof t);
	memcpy(n, c->args + c->k->arg_offset[4], sizeof n);
	unit = c->k->aligned ? n[3] : 1;
	copies(c, arg64(c, 0) + unit * s[2], arg64(c, 1) + unit * t[2]);
	if (!n[0] || !n[1] || !n[2] || !unit || !reaches_rect(c, arg64(c, 0), s, n, unit) ||
		!reaches_rect(c, arg64(c, 1), t, n, unit))
		return 0;
	from = at(c, arg64(c, 0));
	to = at(c, arg64(c, 1));
	for (uint64_t z = 0; z < n[2]; z++)
		for (uint64_t y = 0; y < n[1]; y++)
			memmove(to + unit * (t[2] + z * t[1] + y * t[0]),
				from + unit * (s[2] + z * s[1] + y * s[0]), unit * n[0]);
	return unit * n[0] * n[1] * n[2];
}

/* Which of the four typed pointers of the ROCm 5 kernels is set; 0: none. */
static uint64_t typed_pointer(const struct call *c, uint64_t *unit)
{
	for (unsigned i = 0; i < 4; i++)
		if (arg64(c, i)) {
			*unit = 1ull << i;
			return arg64(c, i);
		}
	return 0;
}

static uint64_t set(
	const struct call *c, uint64_t to, uint64_t pattern, uint64_t size, uint64_t cnt)
{
	uint64_t bytes = times(size, cnt);

	if (!c->did->to)
		copies(c, 0, to);
	if (!reaches(c, to, bytes) || !reaches(c, pattern, bytes ? size : 0))
		return 0;
	fill(at(c, to), at(c, pattern), size, cnt);
	return bytes;
}

static uint64_t fill_linear(const struct call *c)
{
	uint64_t unit = 1, size, to;

	if (c->k->arg_cnt == 8) { /* ROCm 5: four pointers, pattern, its size, offset, count */
		to = typed_pointer(c, &unit);
		size = arg32(c, 5) * unit;
		return to ? set(c, to + arg64(c, 6) * unit, arg64(c, 4), size, arg64(c, 7)) : 0;
	}
	if (c->k->arg_cnt == 6 || c->k->arg_cnt == 7) {
		/* ROCm 6 and 7: buffer, pattern, its size, unit, end of the buffer, ... */
		uint64_t end = arg64(c, 4);

		to = arg64(c, 0);
		size = (uint64_t)arg32(c, 2) * arg32(c, 3);
		if (!size || end <= to)
			return 0;
		set(c, to, arg64(c, 1), size, (end - to) / size);
		return end - to;
	}
	return 0;
}

static uint64_t fill_2d(const struct call *c)
{
	uint64_t unit = 1, size, width, height, to, pitch;

	if (c->k->arg_cnt != 10)
		return 0;
	to = typed_pointer(c, &unit);
	size = arg32(c, 5) * unit;
	width = arg64(c, 7);
	height = arg64(c, 8);
	pitch = arg64(c, 9) * unit;
	to += arg64(c, 6) * unit;
	for (uint64_t y = 0; to && y < height && !c->did->faults; y++)
		set(c, to + y * pitch, arg64(c, 4), size, width);
	return to ? size * width * height : 0;
}

/* A wrong guess would write over somebody's memory: both ranges must lie in the GPU's buffers. */
static uint64_t copy_raw(uint64_t to, uint64_t from, uint64_t n, struct vg_va_cache *cache)
{
	if (!vg_mem__covers(to, n) || !vg_mem__covers(from, n))
		return 0;
	memmove(vg_va(to, cache), vg_va(from, cache), n);
	return n;
}

static struct vg_blit_result run_raw(const char *args, uint32_t grid, struct vg_va_cache *cache)
{
	struct vg_blit_result r = {.kind = VG_REC_DISPATCH};
	uint64_t base, size, u[11] = {0};

	if (!args)
		return r;
	memcpy(u, args, 32);
	/* The longer layouts only where the argument buffer is known to be that long. */
	if (vg_mem__range((uintptr_t)args, &base, &size) &&
		base + size - (uintptr_t)args >= sizeof u)
		memcpy(u, args, sizeof u);
	if ((uint32_t)u[10] == grid && u[0] && u[8] >= u[0] && u[8] - u[0] == u[9] - u[1]) {
		/* aligned copy: starts of four phases, ends of source and target, items */
		r = (struct vg_blit_result){
			VG_REC_COPY, copy_raw(u[1], u[0], u[8] - u[0], cache), u[0], u[1]};
	} else if ((uint32_t)u[6] == grid && u[0] && u[4] >= u[0] && u[4] - u[0] == u[5] - u[1]) {
		/* misaligned copy: starts of two phases, ends, items */
		r = (struct vg_blit_result){
			VG_REC_COPY, copy_raw(u[1], u[0], u[4] - u[0], cache), u[0], u[1]};
	} else if ((uint32_t)(u[3] >> 32) == grid && u[0] && u[2] >= u[0] &&
		   vg_mem__covers(u[0], u[2] - u[0])) {
		/* fill: starts of two phases, end, value, items */
		uint32_t value = (uint32_t)u[3];

		fill(vg_va(u[0], cache), (const char *)&value, 4, (u[2] - u[0]) / 4);
		r = (struct vg_blit_result){.kind = VG_REC_FILL, .bytes = u[2] - u[0], .to = u[0]};
	}
	return r;
}

struct vg_blit_result vg_blit__run(
	const struct vg_kernel *k, const char *kernarg, uint32_t grid, struct vg_va_cache *cache)
{
	static const struct {
		uint8_t kind;
		uint64_t (*run)(const struct call *c);
	} effects[] = {
		[VG_EFFECT_COPY] = {VG_REC_COPY, copy_linear},
		[VG_EFFECT_COPY_RECT] = {VG_REC_COPY, copy_rect},
		[VG_EFFECT_FILL] = {VG_REC_FILL, fill_linear},
		[VG_EFFECT_FILL_2D] = {VG_REC_FILL, fill_2d},
	};
	struct vg_blit_result did = {.kind = VG_REC_DISPATCH};
	struct call c = {k, kernarg, cache, &did};

	if (k->effect == VG_EFFECT_RAW)
		return run_raw(kernarg, grid, cache);
	if (k->effect == VG_EFFECT_NONE || k->effect > VG_EFFECT_FILL_2D || !kernarg)
		return did;
	did.kind = effects[k->effect].kind;
	did.bytes = effects[k->effect].run(&c);
	return did;
}
