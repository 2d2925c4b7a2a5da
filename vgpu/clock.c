// SPDX-License-Identifier: MIT
#include "clock.h"

#define G 1000000000ll /* ppb in a whole */
#define M 1000000u     /* kHz in a tick a nanosecond */

typedef __int128 wide;

static wide floor_div(wide a, wide b)
{
	return a / b - (a % b < 0);
}

/* What a rate gains that goes evenly from 0 up to ppb and back to 0, `in` after its beginning. */
static wide hump(int64_t ppb, wide quarter, wide in)
{
	wide left = 2 * quarter - in;

	return in <= quarter ? ppb * in * in / (2 * quarter)
			     : ppb * quarter - ppb * left * left / (2 * quarter);
}

/*
 * The time that a rate which swings evenly between +ppb and -ppb has gained, `at` after it was 0
 * on its way up. In 1e-9 ns. Over a whole period it gains nothing.
 */
static wide swing(int64_t ppb, uint64_t period, wide at)
{
	wide quarter = period / 4, in;

	if (!ppb || !quarter)
		return 0;
	in = at - floor_div(at, 4 * quarter) * 4 * quarter;
	return in <= 2 * quarter ? hump(ppb, quarter, in)
				 : ppb * quarter - hump(ppb, quarter, in - 2 * quarter);
}

/* The same of a rate that is +ppb for half a period, then -ppb. */
static wide steps(int64_t ppb, uint64_t period, wide at)
{
	wide half = period / 2, in;

	if (!ppb || !half)
		return 0;
	in = at - floor_div(at, 2 * half) * 2 * half;
	return ppb * (in <= half ? in : 2 * half - in);
}

uint64_t vg_clock__system(const struct vg_clock *c, uint64_t machine)
{
	uint64_t system = machine;

	for (unsigned i = 0; i < c->suspend_cnt; i++)
		if (machine >= c->epoch_ns + c->suspends[i].at_ns)
			system += c->suspends[i].for_ns;
	return system;
}

uint64_t vg_clock__gpu(const struct vg_clock *c, unsigned gpu, uint64_t machine)
{
	const struct vg_clock_gpu *g = &c->gpus[gpu];
	wide at = (wide)machine - c->epoch_ns, gain;

	if (!g->ppb && !g->drift_ppb && !g->steps_ppb)
		return machine;
	gain = at * g->ppb + swing(g->drift_ppb, g->drift_ns, at) +
	       steps(g->steps_ppb, g->steps_ns, at);
	return machine + (uint64_t)(int64_t)floor_div(gain, G);
}

uint64_t vg_clock__machine(const struct vg_clock *c, unsigned gpu, uint64_t time)
{
	uint64_t m = time, reached;

	/* Rates are near 1, so each round is a few hundred times closer. */
	while ((reached = vg_clock__gpu(c, gpu, m)) != time) {
		uint64_t next = m + (time - reached);

		/* the clock skips this nanosecond */
		if (reached > time && vg_clock__gpu(c, gpu, m - 1) < time)
			break;
		m = next;
	}
	while (m && vg_clock__gpu(c, gpu, m - 1) >= time)
		m--;
	return m;
}

static uint64_t count(const struct vg_clock_gpu *g, uint64_t time)
{
	if (M % g->khz == 0)
		return time / (M / g->khz);
	return (uint64_t)((wide)time * g->khz / M);
}

/* A suspend by the GPU's crystal, whose swings over it even out. */
static uint64_t slept(const struct vg_clock_gpu *g, uint64_t ns)
{
	return ns + (uint64_t)(int64_t)floor_div((wide)ns * g->ppb, G);
}

uint64_t vg_clock__ticks(const struct vg_clock *c, unsigned gpu, uint64_t time)
{
	const struct vg_clock_gpu *g = &c->gpus[gpu];
	wide ticks = (wide)count(g, time) + floor_div((wide)g->offset_ns * g->khz, M);

	for (unsigned i = 0; i < c->suspend_cnt && time >= g->resume_gpu[i]; i++) {
		if (c->counter == VG_COUNTER_RESETS)
			ticks = (wide)count(g, time) - count(g, g->resume_gpu[i]);
		else if (c->counter == VG_COUNTER_CONTINUES)
			ticks += count(g, slept(g, c->suspends[i].for_ns));
	}
	return ticks < 0 ? 0 : (uint64_t)ticks;
}

uint64_t vg_clock__round(const struct vg_clock *c, unsigned gpu, uint64_t time)
{
	const struct vg_clock_gpu *g = &c->gpus[gpu];

	if (M % g->khz == 0)
		return time - time % (M / g->khz);
	return (uint64_t)(((wide)count(g, time) * M + g->khz - 1) / g->khz);
}

uint64_t vg_clock__jitter(const struct vg_clock *c, unsigned gpu, uint64_t machine)
{
	uint64_t x = machine;

	if (!c->gpus[gpu].jitter_ns)
		return 0;
	/* any good mixing of bits */
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (x ^ x >> 31) % (c->gpus[gpu].jitter_ns + 1);
}

void vg_clock__prepare(struct vg_clock *c, unsigned gpu, uint64_t khz)
{
	struct vg_clock_gpu *g = &c->gpus[gpu];

	if (!g->khz)
		g->khz = khz;
	for (unsigned i = 0; i < c->suspend_cnt; i++)
		g->resume_gpu[i] = vg_clock__gpu(c, gpu, c->epoch_ns + c->suspends[i].at_ns);
}
