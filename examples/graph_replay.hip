// SPDX-License-Identifier: MIT
// graph_replay [REPLAYS]: captures a stream into graphs, replays them, updates one in place and
// replays it again. The copied data is checked.
#include "common.h"
#include <cstring>

constexpr int elements = 1 << 15;
constexpr size_t bytes = elements * sizeof(float);

__global__ void axpy(const float *x, float *y, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] += a * x[i];
}

__global__ void clamp(float *y, float low, float high, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = fminf(fmaxf(y[i], low), high);
}

struct Buffers {
	float *host_in, *host_out, *x, *y;
};

// host_in -> x, kernels on y, x -> host_out
static hipGraph_t capture(hipStream_t stream, const Buffers &b, int kernels, int n)
{
	hipGraph_t graph;
	CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	CHECK(hipMemcpyAsync(b.x, b.host_in, bytes, hipMemcpyHostToDevice, stream));
	for (int i = 0; i < kernels; i++)
		axpy<<<n / 256, 256, 0, stream>>>(b.x, b.y, 0.5f, n);
	clamp<<<n / 64, 64, 0, stream>>>(b.y, 0.0f, 1.0f, n);
	CHECK(hipMemcpyAsync(b.host_out, b.x, bytes, hipMemcpyDeviceToHost, stream));
	CHECK(hipStreamEndCapture(stream, &graph));
	return graph;
}

static int replay(hipGraphExec_t exec, hipStream_t stream, const Buffers &b, int times)
{
	int wrong = 0;
	for (int i = 0; i < times; i++) {
		for (int k = 0; k < elements; k++)
			b.host_in[k] = (float)(i * 17 + k);
		memset(b.host_out, 0xff, bytes);
		CHECK(hipGraphLaunch(exec, stream));
		CHECK(hipStreamSynchronize(stream));
		wrong += memcmp(b.host_in, b.host_out, bytes) != 0;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	int replays = argument(argc, argv, 10), wrong = 0;
	hipStream_t stream;
	Buffers b;
	CHECK(hipStreamCreate(&stream));
	CHECK(hipHostMalloc((void **)&b.host_in, bytes));
	CHECK(hipHostMalloc((void **)&b.host_out, bytes));
	CHECK(hipMalloc((void **)&b.x, bytes));
	CHECK(hipMalloc((void **)&b.y, bytes));
	CHECK(hipMemset(b.y, 0, bytes));

	hipGraph_t small = capture(stream, b, 2, elements), large = capture(stream, b, 6, elements);
	hipGraphExec_t exec_small, exec_large;
	CHECK(hipGraphInstantiate(&exec_small, small, nullptr, nullptr, 0));
	CHECK(hipGraphInstantiate(&exec_large, large, nullptr, nullptr, 0));
	wrong += replay(exec_small, stream, b, replays);
	wrong += replay(exec_large, stream, b, replays);

	// the same topology over half the elements: the exec takes it over in place
	hipGraph_t half = capture(stream, b, 2, elements / 2);
	hipGraphNode_t error_node = nullptr;
	hipGraphExecUpdateResult result;
	CHECK(hipGraphExecUpdate(exec_small, half, &error_node, &result));
	wrong += replay(exec_small, stream, b, replays);

	CHECK(hipGraphExecDestroy(exec_small));
	CHECK(hipGraphExecDestroy(exec_large));
	CHECK(hipGraphDestroy(small));
	CHECK(hipGraphDestroy(large));
	CHECK(hipGraphDestroy(half));
	CHECK(hipFree(b.x));
	CHECK(hipFree(b.y));
	CHECK(hipHostFree(b.host_in));
	CHECK(hipHostFree(b.host_out));
	CHECK(hipStreamDestroy(stream));
	printf("graph_replay: 2 graphs, %d replays, %d wrong\n", 3 * replays, wrong);
	return wrong != 0;
}
