// SPDX-License-Identifier: MIT
/*
 * The CPU clock of the records: TSC where the kernel itself keeps time by it
 * and CPUID calls it invariant, else CLOCK_BOOTTIME. CLOCK_BOOTTIME is the
 * trace's time: the GPU runtime's "system domain" is the same clock.
 */
#ifndef WT_CORE_CLOCK_H
#define WT_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t wt_clock__boottime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* Stands still while the machine is suspended: for time limits. */
static inline uint64_t wt_clock__monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* True where TSC ticks may be recorded. Reads sysfs and CPUID: not for the record path. */
bool wt_clock__tsc_usable(void);

/* The cheap reading; `tsc` is what wt_clock__tsc_usable said. About 10 or 25 ns. */
static inline uint64_t wt_clock__read(bool tsc)
{
#if defined(__x86_64__)
	if (__builtin_expect(tsc, 1))
		return __builtin_ia32_rdtsc();
#endif
	(void)tsc;
	return wt_clock__boottime_ns();
}

/* One reading of all clocks together: the tightest of nine; `width_ns` bounds the error. */
struct wt_clock_sample {
	uint64_t tsc;
	uint64_t boottime_ns;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
	uint64_t width_ns;
};

void wt_clock__sample(struct wt_clock_sample *sample);

#endif
