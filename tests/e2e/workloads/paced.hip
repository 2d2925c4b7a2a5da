// SPDX-License-Identifier: MIT
// paced [MS] [GPUS]: a kernel and a copy on each GPU every few milliseconds, for so long: what a
// clock does in that time can be seen in them.
#include "workload.h"
#include <time.h>
#include <vector>

__global__ void tick(int *data, int tag)
{
	if (data)
		data[threadIdx.x] = tag;
}

static const size_t bytes = 64 << 10;

struct gpu {
	hipStream_t stream;
	void *host, *device;
};

static long long now_ms()
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	int ms = argument(argc, argv, 1, 1000), cnt = argument(argc, argv, 2, 1);
	std::vector<gpu> gpus(cnt);
	for (int i = 0; i < cnt; i++) {
		CHECK(hipSetDevice(i));
		CHECK(hipStreamCreate(&gpus[i].stream));
		CHECK(hipHostMalloc(&gpus[i].host, bytes));
		CHECK(hipMalloc(&gpus[i].device, bytes));
	}
	long long end = now_ms() + ms;
	for (int round = 0; now_ms() < end; round++) {
		struct timespec pause = {0, 2000000};
		for (int i = 0; i < cnt; i++) {
			CHECK(hipSetDevice(i));
			tick<<<1 + round % 100, 64, 0, gpus[i].stream>>>(nullptr, round);
			CHECK(hipGetLastError());
			CHECK(hipMemcpyAsync(gpus[i].device, gpus[i].host, bytes,
				hipMemcpyHostToDevice, gpus[i].stream));
			CHECK(hipStreamSynchronize(gpus[i].stream));
		}
		nanosleep(&pause, nullptr);
	}
	for (int i = 0; i < cnt; i++) {
		CHECK(hipSetDevice(i));
		CHECK(hipFree(gpus[i].device));
		CHECK(hipHostFree(gpus[i].host));
		CHECK(hipStreamDestroy(gpus[i].stream));
	}
	printf("paced: done\n");
	return 0;
}
