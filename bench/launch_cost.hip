// SPDX-License-Identifier: MIT
// launch_cost [BATCHES] [LAUNCHES]: what a launch costs the thread that makes it. Each batch of
// launches is timed without the wait that follows it; the medians over the batches are printed as
// one JSON line. `total_ns` is the whole loop with its waits; `cpu_ns` the process's CPU time
// without the virtual GPU's own threads (named vgpu-*).
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

static double median(std::vector<double> &values)
{
	std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
	return values[values.size() / 2];
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
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	uint64_t process = clock_ns(CLOCK_PROCESS_CPUTIME_ID), emulator = threads_ns("vgpu");
	for (int b = 0; b < batches; b++) {
		uint64_t cpu_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t start = clock_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < launches; i++)
			empty<<<1, 64, 0, stream>>>(nullptr);
		wall.push_back((double)(clock_ns(CLOCK_MONOTONIC) - start) / launches);
		cpu.push_back((double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start) / launches);
		CHECK(hipStreamSynchronize(stream));
	}
	uint64_t total = clock_ns(CLOCK_MONOTONIC) - began;
	process = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process;
	emulator = threads_ns("vgpu") - emulator;
	CHECK(hipStreamDestroy(stream));
	printf("{\"launches\":%d,\"wall_ns\":%.1f,\"cpu_ns\":%.1f,\"total_ns\":%llu,"
	       "\"process_cpu_ns\":%llu,\"emulator_cpu_ns\":%llu}\n",
		batches * launches, median(wall), median(cpu), (unsigned long long)total,
		(unsigned long long)(process - emulator), (unsigned long long)emulator);
	return 0;
}
