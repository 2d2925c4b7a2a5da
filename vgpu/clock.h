// SPDX-License-Identifier: MIT
/*
 * Three times, each a whole number of nanoseconds, and the GPU's counter:
 *
 *   machine   the real machine's CLOCK_BOOTTIME. Everything runs by it.
 *   system    CLOCK_BOOTTIME as the program sees it: machine, and the time spent in the emulated
 *             suspends, which the real machine did not spend.
 *   gpu       what the GPU's own crystal makes of machine. It never stands still and never jumps:
 *             a GPU executes nothing while the machine is suspended. Packets are timed in it.
 *   ticks     the GPU's counter: gpu time at the counter's frequency, an offset, and what a
 *             suspend does to it.
 *
 * All of it follows from a few constants, so vgpu-run converts the log with the same functions.
 * Whole numbers only: the same result everywhere, and an inverse that is exact.
 */
#ifndef VGPU_CLOCK_H
#define VGPU_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define VG_CLOCK_GPUS     8
#define VG_CLOCK_SUSPENDS 4
#define VG_CLOCK_MAX_PPB  1000000     /* 1,000 ppm: ten times what a bad crystal does */
#define VG_CLOCK_MAX_NS   (1ll << 52) /* of an option: 52 days */

/* What the counter does while the machine is suspended. */
enum vg_clock_counter {
	VG_COUNTER_RESETS, /* it begins anew at 0: the GPU was without power */
	VG_COUNTER_STANDS,
	VG_COUNTER_CONTINUES,
};

struct vg_clock_gpu {
	int64_t offset_ns; /* of the counter, at its frequency */
	int64_t ppb;       /* its crystal is that much faster than the machine's */
	int64_t drift_ppb; /* and swings so far up and down, evenly, once in … */
	uint64_t drift_ns;
	int64_t steps_ppb; /* and is faster, then slower by so much, half of … each */
	uint64_t steps_ns;
	uint64_t khz;
	uint64_t jitter_ns; /* the driver reads it up to so long before the system clock */
	uint64_t resume_gpu[VG_CLOCK_SUSPENDS]; /* gpu time of each suspend: vg_clock__prepare() */
};

struct vg_clock {
	uint64_t epoch_ns; /* machine: rates and suspends count from here */
	uint64_t counter;  /* enum vg_clock_counter */
	uint64_t suspend_cnt;
	struct {
		uint64_t at_ns, for_ns; /* at: after the epoch */
	} suspends[VG_CLOCK_SUSPENDS];  /* in order */
	struct vg_clock_gpu gpus[VG_CLOCK_GPUS];
};

/*
 * "offset=3s,ppm=20,1:ppm=-35": an item counts for all GPUs, or for the one whose number stands
 * before it; later ones win. 0, or -EINVAL with the place of the mistake in *bad. The rest of the
 * clock is as it was.
 */
int vg_clock__parse(struct vg_clock *clock, const char *text, const char **bad);
/* After the last change: khz is the frequency of GPUs that have none yet. */
void vg_clock__prepare(struct vg_clock *clock, unsigned gpu, uint64_t khz);

uint64_t vg_clock__system(const struct vg_clock *clock, uint64_t machine);
uint64_t vg_clock__gpu(const struct vg_clock *clock, unsigned gpu, uint64_t machine);
/* The first moment at which gpu time is `time` or more. */
uint64_t vg_clock__machine(const struct vg_clock *clock, unsigned gpu, uint64_t time);
uint64_t vg_clock__ticks(const struct vg_clock *clock, unsigned gpu, uint64_t time);
/* The gpu time at which the tick began that is under way at `time`. */
uint64_t vg_clock__round(const struct vg_clock *clock, unsigned gpu, uint64_t time);
/* How much before the system's clock the counter was read: the same for the same moment. */
uint64_t vg_clock__jitter(const struct vg_clock *clock, unsigned gpu, uint64_t machine);

#endif
