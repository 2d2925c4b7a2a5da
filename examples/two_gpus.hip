// SPDX-License-Identifier: MIT
// two_gpus [ROUNDS]: two devices work at the same time and pass a buffer to each other.
#include "common.h"
#include <cstring>

constexpr int elements = 1 << 16;
constexpr size_t bytes = elements * sizeof(int);

__global__ void ping(int *data, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		data[i] += 1;
}

__global__ void pong(int *data, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		data[i] -= 1;
}

int main(int argc, char **argv)
{
	int rounds = argument(argc, argv, 10), devices = 0, wrong = 0;
	CHECK(hipGetDeviceCount(&devices));
	if (devices < 2) {
		fprintf(stderr, "two_gpus: needs two GPUs, found %d\n", devices);
		return 77;
	}
	int *message[2], *scratch[2];
	hipStream_t stream[2];
	for (int d = 0; d < 2; d++) {
		CHECK(hipSetDevice(d));
		CHECK(hipMalloc((void **)&message[d], bytes));
		CHECK(hipMalloc((void **)&scratch[d], bytes));
		CHECK(hipStreamCreate(&stream[d]));
	}
	int *host = (int *)malloc(bytes), *back = (int *)malloc(bytes);
	for (int i = 0; i < elements; i++)
		host[i] = i * 3;
	CHECK(hipSetDevice(0));
	CHECK(hipMemcpy(message[0], host, bytes, hipMemcpyHostToDevice));

	for (int round = 0; round < rounds; round++) {
		int from = round & 1, to = 1 - from;
		CHECK(hipSetDevice(from));
		ping<<<elements / 256, 256, 0, stream[from]>>>(scratch[from], elements);
		LAUNCHED();
		CHECK(hipSetDevice(to));
		pong<<<elements / 128, 128, 0, stream[to]>>>(scratch[to], elements);
		LAUNCHED();
		// each GPU has a null stream of its own: nothing orders one's work after the other's
		CHECK(hipMemcpyPeer(message[to], to, message[from], from, bytes));
		CHECK(hipDeviceSynchronize());
		CHECK(hipSetDevice(from));
		CHECK(hipMemset(message[from], 0, bytes));
		CHECK(hipDeviceSynchronize());
	}
	for (int d = 0; d < 2; d++) {
		CHECK(hipSetDevice(d));
		CHECK(hipDeviceSynchronize());
	}
	CHECK(hipMemcpy(back, message[rounds & 1], bytes, hipMemcpyDeviceToHost));
	wrong = memcmp(host, back, bytes) != 0;
	for (int d = 0; d < 2; d++) {
		CHECK(hipSetDevice(d));
		CHECK(hipFree(message[d]));
		CHECK(hipFree(scratch[d]));
		CHECK(hipStreamDestroy(stream[d]));
	}
	free(host);
	free(back);
	printf("two_gpus: %d rounds, %d peer copies, %d wrong\n", rounds, rounds, wrong);
	return wrong;
}
