// SPDX-License-Identifier: MIT
// kill_me: works for ever on several threads and streams; somebody kills it.
#include "workload.h"
#include <atomic>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void first(int *data, int n)
{
	if (data && (int)threadIdx.x < n)
		data[threadIdx.x] = n;
}

__global__ void second(int *data, int n)
{
	if (data && (int)threadIdx.x < n)
		data[threadIdx.x] = -n;
}

constexpr int threads = 3;
static std::atomic<int> working;

static void work(int number)
{
	hipStream_t stream;
	int *data, *host;
	CHECK(hipStreamCreate(&stream));
	CHECK(hipMalloc((void **)&data, 65536));
	CHECK(hipHostMalloc((void **)&host, 65536));
	for (int i = 0;; i++) {
		first<<<1 + i % 9, 64, 0, stream>>>(nullptr, i);
		second<<<dim3(1 + number, 2), dim3(32, 4), 0, stream>>>(nullptr, i);
		if (i % 16 == 3)
			CHECK(hipMemcpyAsync(data, host, 65536, hipMemcpyHostToDevice, stream));
		if (i % 16 == 7)
			CHECK(hipMemsetAsync(data, i, 4096, stream));
		if (i % 16 == 11)
			CHECK(hipMemcpyAsync(host, data, 32768, hipMemcpyDeviceToHost, stream));
		if (i % 64 == 63)
			CHECK(hipStreamSynchronize(stream));
		if (i == 63 && ++working == threads) { // all have been through everything once
			printf("ready %d\n", (int)getpid());
			fflush(stdout);
		}
	}
}

int main(void)
{
	CHECK(hipFree(nullptr));
	std::vector<std::thread> all;
	for (int i = 0; i < threads; i++)
		all.emplace_back(work, i);
	all[0].join();
	return 0;
}
