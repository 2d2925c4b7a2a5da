// SPDX-License-Identifier: MIT
/*
 * clock_gettime, for one clock: CLOCK_BOOTTIME goes on while the machine is suspended, and an
 * emulated suspend takes no time, so its length is added to what libc says. The other clocks are
 * right as they are, but for CLOCK_REALTIME, which goes on in a suspend, too: threads wait by it
 * with time limits that are the kernel's business, so it is left alone.
 */
#include "vgpu.h"

VG_EXPORT int clock_gettime(clockid_t id, struct timespec *now)
{
	int r = vg_clock__real(id, now);
	const struct vg_clock *c;
	uint64_t machine, slept;

	if (id != CLOCK_BOOTTIME || r)
		return r;
	c = &vg_proc()->conf.clock;
	if (!c->suspend_cnt)
		return r;
	machine = (uint64_t)now->tv_sec * 1000000000u + (uint64_t)now->tv_nsec;
	slept = vg_clock__system(c, machine);
	now->tv_sec = (time_t)(slept / 1000000000u);
	now->tv_nsec = (long)(slept % 1000000000u);
	return 0;
}
