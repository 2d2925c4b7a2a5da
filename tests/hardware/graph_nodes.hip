// SPDX-License-Identifier: MIT
// A graph of six kernels in a row, told apart by their grids 64, 128, … 384, replayed ten times. The
// kernels in between take argument memory that a runtime may use in turn.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		hipError_t error_ = (call);                                                        \
		if (error_ != hipSuccess) {                                                        \
			fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error_));             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void node(int *data, int i)
{
	if (data)
		data[threadIdx.x] = i;
}

int main(void)
{
	hipStream_t stream;
	hipGraph_t graph;
	hipGraphExec_t exec;
	CHECK(hipStreamCreate(&stream));
	CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	for (int i = 0; i < 6; i++)
		node<<<i + 1, 64, 0, stream>>>(nullptr, i);
	CHECK(hipStreamEndCapture(stream, &graph));
	CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < i; k++)
			node<<<7, 64, 0, stream>>>(nullptr, k);
		CHECK(hipGraphLaunch(exec, stream));
		CHECK(hipStreamSynchronize(stream));
	}
	CHECK(hipGraphExecDestroy(exec));
	CHECK(hipGraphDestroy(graph));
	CHECK(hipStreamDestroy(stream));
	return 0;
}
