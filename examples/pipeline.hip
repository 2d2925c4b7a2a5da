// SPDX-License-Identifier: MIT
// pipeline [CHUNKS]: chunks flow through three streams (copy in, compute, copy out) that meet in
// events. What goes in must come out; the computed half is not looked at, so that the program
// also runs where kernels compute nothing.
#include "common.h"

constexpr int slots = 3; // chunks under way at a time
constexpr int elements = 1 << 16;
constexpr size_t bytes = elements * sizeof(float);

__global__ void blur(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = (in[i ? i - 1 : 0] + in[i] + in[i + 1 < n ? i + 1 : i]) / 3;
}

__global__ void sharpen(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = 2 * in[i] - out[i];
}

struct Slot {
	float *host_in, *host_out, *in, *out;
	hipEvent_t copied_in, computed, copied_out;
};

static float value(int chunk, int i)
{
	return (float)(chunk * 31 + i % 1021);
}

static int mistakes(const Slot &slot, int chunk)
{
	int wrong = 0;
	for (int i = 0; i < elements; i++)
		wrong += slot.host_out[i] != value(chunk, i);
	return wrong;
}

int main(int argc, char **argv)
{
	int chunks = argument(argc, argv, 24), wrong = 0;
	hipStream_t in_stream, compute_stream, out_stream;
	CHECK(hipStreamCreate(&in_stream));
	CHECK(hipStreamCreate(&compute_stream));
	CHECK(hipStreamCreateWithFlags(&out_stream, hipStreamNonBlocking));

	Slot slot[slots];
	for (Slot &s : slot) {
		CHECK(hipHostMalloc((void **)&s.host_in, bytes));
		CHECK(hipHostMalloc((void **)&s.host_out, bytes));
		CHECK(hipMalloc((void **)&s.in, bytes));
		CHECK(hipMalloc((void **)&s.out, bytes));
		CHECK(hipEventCreateWithFlags(&s.copied_in, hipEventDisableTiming));
		CHECK(hipEventCreateWithFlags(&s.computed, hipEventDisableTiming));
		CHECK(hipEventCreateWithFlags(&s.copied_out, hipEventDisableTiming));
	}

	for (int chunk = 0; chunk < chunks; chunk++) {
		Slot &s = slot[chunk % slots];
		if (chunk >= slots) { // the slot's previous chunk must have left
			CHECK(hipEventSynchronize(s.copied_out));
			wrong += mistakes(s, chunk - slots);
		}
		for (int i = 0; i < elements; i++)
			s.host_in[i] = value(chunk, i);
		CHECK(hipMemcpyAsync(s.in, s.host_in, bytes, hipMemcpyHostToDevice, in_stream));
		CHECK(hipMemsetAsync(s.out, 0, bytes, in_stream));
		CHECK(hipEventRecord(s.copied_in, in_stream));

		CHECK(hipStreamWaitEvent(compute_stream, s.copied_in, 0));
		blur<<<elements / 256, 256, 0, compute_stream>>>(s.in, s.out, elements);
		LAUNCHED();
		sharpen<<<elements / 128, 128, 0, compute_stream>>>(s.in, s.out, elements);
		LAUNCHED();
		CHECK(hipEventRecord(s.computed, compute_stream));

		CHECK(hipStreamWaitEvent(out_stream, s.computed, 0));
		CHECK(hipMemcpyAsync(s.host_out, s.in, bytes, hipMemcpyDeviceToHost, out_stream));
		CHECK(hipEventRecord(s.copied_out, out_stream));
	}
	CHECK(hipDeviceSynchronize());
	for (int chunk = chunks > slots ? chunks - slots : 0; chunk < chunks; chunk++)
		wrong += mistakes(slot[chunk % slots], chunk);

	for (Slot &s : slot) {
		CHECK(hipHostFree(s.host_in));
		CHECK(hipHostFree(s.host_out));
		CHECK(hipFree(s.in));
		CHECK(hipFree(s.out));
		CHECK(hipEventDestroy(s.copied_in));
		CHECK(hipEventDestroy(s.computed));
		CHECK(hipEventDestroy(s.copied_out));
	}
	CHECK(hipStreamDestroy(in_stream));
	CHECK(hipStreamDestroy(compute_stream));
	CHECK(hipStreamDestroy(out_stream));
	printf("pipeline: %d chunks, %d kernels, %d copies, %d wrong values\n", chunks, 2 * chunks,
		2 * chunks, wrong);
	return wrong != 0;
}
