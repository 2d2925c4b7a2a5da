// SPDX-License-Identifier: MIT
// many_launches [THREADS] [EACH]: every thread launches on a stream of its own without ever
// waiting, so that rings fill up: in the driver, in the runtime and in a tracer.
#include "workload.h"
#include <thread>
#include <vector>

__global__ void even(int *data, int tag)
{
	if (data)
		data[threadIdx.x] = tag;
}

__global__ void odd(int *data, int tag)
{
	if (data)
		data[threadIdx.x] = -tag;
}

static void work(int number, int each)
{
	hipStream_t stream;
	CHECK(hipStreamCreate(&stream));
	for (int i = 0; i < each; i++) {
		dim3 grid(1 + i % 7, 1 + number), block(64, 1 + i % 2);
		if (i % 2)
			odd<<<grid, block, 0, stream>>>(nullptr, i);
		else
			even<<<grid, block, 0, stream>>>(nullptr, i);
	}
	CHECK(hipGetLastError());
	CHECK(hipStreamSynchronize(stream));
	CHECK(hipStreamDestroy(stream));
}

int main(int argc, char **argv)
{
	int threads = argument(argc, argv, 1, 8), each = argument(argc, argv, 2, 12500);
	std::vector<std::thread> all;
	CHECK(hipFree(nullptr));
	for (int i = 0; i < threads; i++)
		all.emplace_back(work, i, each);
	for (std::thread &thread : all)
		thread.join();
	printf("many_launches: %d threads, %d launches\n", threads, threads * each);
	return 0;
}
