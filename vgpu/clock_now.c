// SPDX-License-Identifier: MIT
#include "vgpu.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

int vg_clock__real(clockid_t id, struct timespec *now)
{
	static _Atomic(void *) libc;
	void *fn = atomic_load_explicit(&libc, memory_order_relaxed);

	if (!fn) {
		fn = dlsym(RTLD_NEXT, "clock_gettime");
		atomic_store_explicit(&libc, fn, memory_order_relaxed);
	}
	return fn ? ((int (*)(clockid_t, struct timespec *))fn)(id, now)
		  : (int)syscall(SYS_clock_gettime, id, now);
}

static uint64_t read_ns(clockid_t id)
{
	struct timespec t;

	vg_clock__real(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t vg_now(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

uint64_t vg_gpu_now(int gpu)
{
	const struct vg_clock *c = &vg_proc()->conf.clock;

	return vg_clock__round(c, (unsigned)gpu, vg_clock__gpu(c, (unsigned)gpu, vg_now()));
}

uint64_t vg_gpu_ticks(int gpu, uint64_t time)
{
	return vg_clock__ticks(&vg_proc()->conf.clock, (unsigned)gpu, time);
}

/*
 * The pair is exact: the system's clock at the beginning of the tick. With a jitter the counter is
 * that much older.
 */
struct vg_clock_reading vg_clock__read(int gpu)
{
	const struct vg_clock *c = &vg_proc()->conf.clock;
	struct vg_clock_reading r = {.raw = read_ns(CLOCK_MONOTONIC_RAW)};
	uint64_t now = vg_now(), older, time;
	unsigned g = (unsigned)gpu;

	if (gpu < 0) {
		r.system = vg_clock__system(c, now);
		return r;
	}
	older = now - vg_clock__jitter(c, g, now);
	time = vg_clock__round(c, g, vg_clock__gpu(c, g, older));
	r.ticks = vg_clock__ticks(c, g, time);
	r.system = vg_clock__system(c, now - (older - vg_clock__machine(c, g, time)));
	return r;
}
