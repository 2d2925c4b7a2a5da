// SPDX-License-Identifier: MIT
// The kernels of `probe`. They tell what they saw by the GPU's own constant clock, which is the one
// that the packet processor stamps with.
#include <hip/hip_runtime.h>

__device__ static unsigned long long ticks()
{
#if __has_builtin(__builtin_readsteadycounter)
	return __builtin_readsteadycounter();
#else
	return __builtin_amdgcn_s_memrealtime();
#endif
}

extern "C" __global__ void probe_empty() {}

struct Seen {
	unsigned long long begin, end;
	unsigned long long first, last; // the argument, at the beginning and at the end
};

__device__ static void run(unsigned long long duration, Seen *seen,
	const volatile unsigned long long *argument)
{
	unsigned long long begin = ticks(), first = argument ? *argument : 0, now;
	do {
		now = ticks();
	} while (now - begin < duration);
	if (seen)
		*seen = {begin, ticks(), first, argument ? *argument : 0};
}

// Two names for one kernel: where time is only simulated, a kernel's duration goes by its name.
extern "C" __global__ void probe_spin(unsigned long long duration, Seen *seen,
	const volatile unsigned long long *argument)
{
	run(duration, seen, argument);
}

extern "C" __global__ void probe_long(unsigned long long duration, Seen *seen,
	const volatile unsigned long long *argument)
{
	run(duration, seen, argument);
}
