// SPDX-License-Identifier: MIT
// How many empty kernels a second one thread gets through one stream: the figure by which the
// virtual GPU is judged not to be the bottleneck of the other benchmarks. Prints one JSON line.
//   VGPU_KERNEL_NS=0 vgpu-run -- dispatch_rate [DISPATCHES [SYNC_EVERY]]      (SYNC_EVERY 0: never)
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <ctime>

__global__ void rate_empty() {}

static void must(hipError_t e, const char *what)
{
	if (e != hipSuccess) {
		fprintf(stderr, "dispatch_rate: %s: %s\n", what, hipGetErrorString(e));
		exit(1);
	}
}

static double seconds(clockid_t clock)
{
	timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	long cnt = argc > 1 ? atol(argv[1]) : 400000, every = argc > 2 ? atol(argv[2]) : 4000;
	double wall, submit_cpu, all_cpu;
	hipStream_t s;

	must(hipStreamCreate(&s), "hipStreamCreate");
	for (int i = 0; i < 1000; i++)
		rate_empty<<<1, 64, 0, s>>>();
	must(hipStreamSynchronize(s), "hipStreamSynchronize");
	wall = seconds(CLOCK_MONOTONIC);
	submit_cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	all_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (long i = 0; i < cnt; i++) {
		rate_empty<<<1, 64, 0, s>>>();
		if (every && i % every == every - 1)
			must(hipStreamSynchronize(s), "hipStreamSynchronize");
	}
	must(hipStreamSynchronize(s), "hipStreamSynchronize");
	wall = seconds(CLOCK_MONOTONIC) - wall;
	submit_cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - submit_cpu;
	all_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - all_cpu;
	printf("{\"bench\":\"dispatch_rate\",\"emulated\":true,\"dispatches\":%ld,\"sync_every\":%ld,"
	       "\"seconds\":%.6f,\"per_second\":%.0f,\"submit_cpu_ns\":%.1f,\"process_cpu_ns\":%.1f}\n",
		cnt, every, wall, (double)cnt / wall, submit_cpu / (double)cnt * 1e9,
		all_cpu / (double)cnt * 1e9);
	return 0;
}
