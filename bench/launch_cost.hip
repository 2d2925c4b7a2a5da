// SPDX-License-Identifier: MIT
// launch_cost [BATCHES] [LAUNCHES]: what a launch costs the thread that makes it. Each batch of
// launches is timed without the wait that follows it. Of the batches' figures the lowest tenth's is
// printed (what it costs when nothing disturbs) and the median, as one JSON line. `total_ns` is the
// whole loop with its waits; `process_cpu_ns` all CPU time of the process but that of the virtual
// GPU's own threads (named vgpu-*) and of the spinning waits.
#include <hip/hip_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <vector>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		hipError_t error_ = (call);                                                        \
		if (error_ != hipSuccess) {                                                        \
			fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error_));             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void empty(int *data)
{
	if (data)
		data[0] = 1;
}

static uint64_t clock_ns(clockid_t clock)
{
	timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

// CPU time of the threads whose name begins so.
static uint64_t threads_ns(const char *prefix)
{
	uint64_t sum = 0;
	DIR *tasks = opendir("/proc/self/task");
	while (dirent *task = tasks ? readdir(tasks) : nullptr) {
		char path[300], name[32] = "";
		unsigned long long ns = 0;
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		if (FILE *file = fopen(path, "r")) {
			if (!fgets(name, sizeof(name), file))
				name[0] = 0;
			fclose(file);
		}
		if (strncmp(name, prefix, strlen(prefix)))
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", task->d_name);
		if (FILE *file = fopen(path, "r")) {
			if (fscanf(file, "%llu", &ns) == 1)
				sum += ns;
			fclose(file);
		}
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

static double quantile(std::vector<double> &values, double part)
{
	std::sort(values.begin(), values.end());
	return values[(size_t)((double)(values.size() - 1) * part)];
}

int main(int argc, char **argv)
{
	int batches = argc > 1 ? atoi(argv[1]) : 50, launches = argc > 2 ? atoi(argv[2]) : 2000;
	std::vector<double> wall, cpu;
	hipStream_t stream;
	CHECK(hipStreamCreate(&stream));
	for (int i = 0; i < 1000; i++)
		empty<<<1, 64, 0, stream>>>(nullptr);
	CHECK(hipStreamSynchronize(stream));
	uint64_t waited = 0, began = clock_ns(CLOCK_MONOTONIC);
	uint64_t process = clock_ns(CLOCK_PROCESS_CPUTIME_ID), emulator = threads_ns("vgpu");
	for (int b = 0; b < batches; b++) {
		uint64_t cpu_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t start = clock_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < launches; i++)
			empty<<<1, 64, 0, stream>>>(nullptr);
		wall.push_back((double)(clock_ns(CLOCK_MONOTONIC) - start) / launches);
		cpu.push_back((double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start) / launches);
		cpu_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		CHECK(hipStreamSynchronize(stream));
		waited += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start;
	}
	uint64_t total = clock_ns(CLOCK_MONOTONIC) - began;
	process = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process;
	emulator = threads_ns("vgpu") - emulator;
	CHECK(hipStreamDestroy(stream));
	printf("{\"launches\":%d,\"wall_ns\":%.1f,\"wall_median_ns\":%.1f,\"cpu_ns\":%.1f,"
	       "\"cpu_median_ns\":%.1f,\"total_ns\":%llu,\"process_cpu_ns\":%llu,"
	       "\"emulator_cpu_ns\":%llu}\n",
		batches * launches, quantile(wall, 0.1), quantile(wall, 0.5), quantile(cpu, 0.1),
		quantile(cpu, 0.5), (unsigned long long)total,
		(unsigned long long)(process - emulator - waited), (unsigned long long)emulator);
	return 0;
}
