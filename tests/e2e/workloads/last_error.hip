// SPDX-License-Identifier: MIT
// last_error: prints what every kind of call returns, what hipGetLastError and hipPeekAtLastError
// say after it, and the capture state of the stream. A tracer that makes a HIP call on this thread
// shows up in this transcript. errno is part of it.
#include "workload.h"
#include <cerrno>
#include <cstring>

__global__ void nothing(int *data)
{
	if (data)
		data[0] = 1;
}

static hipStream_t stream;

static const char *capture_state()
{
	hipStreamCaptureStatus status;
	if (hipStreamIsCapturing(stream, &status) != hipSuccess)
		return "?";
	return status == hipStreamCaptureStatusActive    ? "active"
		: status == hipStreamCaptureStatusNone       ? "none"
		: status == hipStreamCaptureStatusInvalidated ? "invalidated"
							      : "?";
}

// The error state is set to a known value before each call, and read in both ways after it.
#define SAY(name, call)                                                                            \
	do {                                                                                       \
		errno = 4711;                                                                      \
		int ret_ = (int)(call);                                                            \
		int errno_ = errno == 4711;                                                        \
		int peek_ = (int)hipPeekAtLastError(), last_ = (int)hipGetLastError();             \
		int after_ = (int)hipGetLastError();                                               \
		printf("%-36s ret %3d peek %3d last %3d then %3d errno %s\n", name, ret_, peek_,   \
			last_, after_, errno_ ? "kept" : "changed");                               \
	} while (0)

#define LAUNCH(...)                                                                                \
	([&] {                                                                                     \
		nothing<<<__VA_ARGS__>>>(nullptr);                                                 \
		return hipSuccess;                                                                 \
	}())

int main(void)
{
	void *p = nullptr, *host = nullptr;
	hipEvent_t event, other;
	hipGraph_t graph;
	hipGraphExec_t exec;
	char buffer[256];
	int count = 0;

	SAY("hipGetDeviceCount", hipGetDeviceCount(&count));
	SAY("hipSetDevice(99)", hipSetDevice(99));
	SAY("hipSetDevice(0)", hipSetDevice(0));
	SAY("hipStreamCreate", hipStreamCreate(&stream));
	SAY("hipStreamCreate(NULL)", hipStreamCreate(nullptr));
	SAY("hipMalloc", hipMalloc(&p, 4096));
	SAY("hipMalloc(too much)", hipMalloc(&host, (size_t)1 << 50));
	SAY("hipMalloc(NULL)", hipMalloc(nullptr, 16));
	SAY("hipHostMalloc", hipHostMalloc(&host, 4096));
	SAY("hipFree(wrong pointer)", hipFree(buffer));
	SAY("hipMemcpy H2D", hipMemcpy(p, buffer, sizeof(buffer), hipMemcpyHostToDevice));
	SAY("hipMemcpy(NULL)", hipMemcpy(nullptr, buffer, 16, hipMemcpyHostToDevice));
	SAY("hipMemcpy(bad kind)", hipMemcpy(p, buffer, 16, (hipMemcpyKind)77));
	SAY("hipMemcpyAsync", hipMemcpyAsync(p, host, 64, hipMemcpyHostToDevice, stream));
	SAY("hipMemset", hipMemset(p, 1, 4096));
	SAY("hipMemset(NULL)", hipMemset(nullptr, 1, 4096));
	SAY("launch", LAUNCH(1, 64, 0, stream));
	SAY("launch(block too large)", LAUNCH(1, 4096, 0, stream));
	SAY("launch(block 0)", LAUNCH(1, 0, 0, stream));
	SAY("launch(null stream)", LAUNCH(1, 64));
	SAY("hipEventCreate", hipEventCreate(&event));
	SAY("hipEventCreate", hipEventCreate(&other));
	SAY("hipEventElapsedTime(unrecorded)", [&] {
		float ms;
		return hipEventElapsedTime(&ms, event, other);
	}());
	SAY("hipEventRecord", hipEventRecord(event, stream));
	SAY("hipStreamWaitEvent", hipStreamWaitEvent(stream, event, 0));
	SAY("hipEventSynchronize", hipEventSynchronize(event));
	SAY("hipEventQuery", hipEventQuery(event));
	SAY("hipStreamSynchronize", hipStreamSynchronize(stream));
	SAY("hipStreamQuery", hipStreamQuery(stream));

	// an error that stays: the calls in between must not clear it
	(void)hipSetDevice(99);
	nothing<<<1, 64, 0, stream>>>(nullptr);
	printf("error kept over a launch: %d\n", (int)hipPeekAtLastError());
	(void)hipStreamSynchronize(stream);
	printf("error kept over a wait: %d\n", (int)hipGetLastError());

	// capture
	printf("before capture: %s\n", capture_state());
	SAY("hipStreamBeginCapture", hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	printf("capturing: %s\n", capture_state());
	SAY("captured launch", LAUNCH(2, 64, 0, stream));
	printf("after a launch: %s\n", capture_state());
	SAY("captured copy", hipMemcpyAsync(p, host, 64, hipMemcpyHostToDevice, stream));
	SAY("captured memset", hipMemsetAsync(p, 0, 64, stream));
	SAY("captured event", hipEventRecord(other, stream));
	printf("after copies: %s\n", capture_state());
	SAY("hipStreamEndCapture", hipStreamEndCapture(stream, &graph));
	printf("after capture: %s\n", capture_state());
	size_t nodes = 0;
	SAY("hipGraphGetNodes", hipGraphGetNodes(graph, nullptr, &nodes));
	printf("nodes: %zu\n", nodes);
	SAY("hipGraphInstantiate", hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	SAY("hipGraphLaunch", hipGraphLaunch(exec, stream));
	SAY("hipGraphLaunch(NULL)", hipGraphLaunch(nullptr, stream));
	SAY("hipStreamSynchronize", hipStreamSynchronize(stream));
	SAY("hipStreamEndCapture(not capturing)", hipStreamEndCapture(stream, &graph));
	SAY("hipGraphExecDestroy", hipGraphExecDestroy(exec));
	SAY("hipGraphDestroy", hipGraphDestroy(graph));

	hipModule_t module;
	SAY("hipModuleLoad(missing)", hipModuleLoad(&module, "/nonexistent.co"));
	SAY("hipEventDestroy", hipEventDestroy(event));
	SAY("hipEventDestroy", hipEventDestroy(other));
	SAY("hipEventDestroy(NULL)", hipEventDestroy(nullptr));
	SAY("hipFree", hipFree(p));
	SAY("hipHostFree", hipHostFree(host));
	SAY("hipStreamDestroy", hipStreamDestroy(stream));
	SAY("hipStreamDestroy(NULL)", hipStreamDestroy(nullptr));
	SAY("hipDeviceSynchronize", hipDeviceSynchronize());
	return 0;
}
