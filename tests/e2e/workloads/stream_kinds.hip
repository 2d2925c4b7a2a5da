// SPDX-License-Identifier: MIT
// stream_kinds TRUTH CODE_OBJECT: kernels and copies on every kind of stream there is. A kernel's
// grid is ID blocks of 64; TRUTH gets a line "ID DEVICE STREAM" for each, where equal names are one
// stream; "?" in a name: whose it is does not show in HIP's calls. Compiled twice, the second time with
// -fgpu-default-stream=per-thread.
#include "workload.h"
#include <thread>

__global__ void mark(int *data, int tag)
{
	if (data)
		data[threadIdx.x] = tag;
}

// not in every release's headers
extern "C" hipError_t hipLaunchKernel_spt(
	const void *, dim3, dim3, void **, size_t, hipStream_t);

#ifdef HIP_API_PER_THREAD_DEFAULT_STREAM
#define DEFAULT "thread"
#else
#define DEFAULT "null"
#endif

static FILE *truth;
static int id, device;

// The next kernel's number; `stream` is whose it is.
static int next(const char *stream)
{
	fprintf(truth, "%d %d %s%d\n", ++id, device, stream, device);
	return id;
}

static void launch(hipStream_t stream, const char *name)
{
	mark<<<next(name), 64, 0, stream>>>(nullptr, id);
	CHECK(hipGetLastError());
}

#if HIP_VERSION_MAJOR >= 6
static void nothing(void *)
{
}
#endif

static void after(hipStream_t, hipError_t, void *)
{
}

[[maybe_unused]] static const char main_thread[] = "main";

static void default_streams(const char *thread)
{
	const char *implicit = DEFAULT[0] == 't' ? thread : "null";
	dim3 block(64);
	int tag = 0;
	int *data = nullptr;
	void *args[] = {&data, &tag};

	mark<<<next(implicit), 64>>>(nullptr, id);
	launch(nullptr, implicit);
	launch(hipStreamPerThread, thread);
#if defined(hipStreamLegacy) && defined(HIP_API_PER_THREAD_DEFAULT_STREAM)
	// taken for the thread's own
	launch(hipStreamLegacy, thread == main_thread ? "main?" : "other?");
#elif defined(hipStreamLegacy)
	launch(hipStreamLegacy, "null");
#endif
	CHECK(hipLaunchKernel_spt((const void *)mark, dim3(next(thread)), block, args, 0, nullptr));
	CHECK(hipDeviceSynchronize());
}

static void handles()
{
	hipStream_t first, again = nullptr, kept[64];
	int cnt = 0;

	CHECK(hipStreamCreate(&first));
	launch(first, "first");
	CHECK(hipStreamSynchronize(first));
	CHECK(hipStreamDestroy(first));
	while (again != first && cnt < 64) {
		CHECK(hipStreamCreate(&again));
		kept[cnt++] = again;
	}
	fprintf(truth, "0 %d reused\n", again == first);
	launch(again, "again");
	CHECK(hipStreamSynchronize(again));
	while (cnt)
		CHECK(hipStreamDestroy(kept[--cnt]));
}

static void created(const char *code_object)
{
	hipStream_t high, low, masked, plain;
	uint32_t mask[] = {0xff, 0};
	hipModule_t module;
	hipFunction_t function;
	int least, greatest, tag = 0;
	int *data = nullptr;
	void *args[] = {&data, &tag};

	CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
	CHECK(hipStreamCreateWithPriority(&high, hipStreamNonBlocking, greatest));
	CHECK(hipStreamCreateWithPriority(&low, 0, least));
	CHECK(hipExtStreamCreateWithCUMask(&masked, 2, mask));
	CHECK(hipStreamCreateWithFlags(&plain, hipStreamNonBlocking));
	launch(high, "high");
	launch(low, "low");
	launch(masked, "masked");
	launch(plain, "plain");
#if HIP_VERSION_MAJOR >= 6
	CHECK(hipLaunchHostFunc(plain, nothing, nullptr));
#endif
	CHECK(hipStreamAddCallback(plain, after, nullptr, 0));
	launch(plain, "plain");
	CHECK(hipModuleLoad(&module, code_object));
	CHECK(hipModuleGetFunction(&function, module, "module_kernel_000000"));
	CHECK(hipModuleLaunchKernel(function, next("plain"), 1, 1, 64, 1, 1, 0, plain, args, nullptr));
	CHECK(hipLaunchCooperativeKernel(
		(const void *)mark, dim3(next("plain")), dim3(64), args, 0, plain));
	CHECK(hipExtLaunchKernel((const void *)mark, dim3(next("plain")), dim3(64), args, 0, plain,
		nullptr, nullptr, 0));
	CHECK(hipDeviceSynchronize());
	CHECK(hipModuleUnload(module));
	for (hipStream_t stream : {high, low, masked, plain})
		CHECK(hipStreamDestroy(stream));
}

// Whose the null stream is when the device was changed in a way that says nothing.
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
static void contexts()
{
	hipCtx_t context;
	int current;

	if (hipCtxGetCurrent(&context) != hipSuccess || !context ||
		hipCtxSetCurrent(context) != hipSuccess) {
		(void)hipGetLastError();
		return;
	}
	launch(nullptr, DEFAULT[0] == 't' ? "main?" : "null?");
	CHECK(hipGetDevice(&current));
	launch(nullptr, DEFAULT[0] == 't' ? "main" : "null");
	CHECK(hipDeviceSynchronize());
}

int main(int argc, char **argv)
{
	int devices;

	truth = argc > 2 ? fopen(argv[1], "w") : nullptr;
	if (!truth) {
		fprintf(stderr, "usage: stream_kinds TRUTH CODE_OBJECT\n");
		return 2;
	}
	CHECK(hipGetDeviceCount(&devices));
	for (device = devices - 1; device >= 0; device--) {
		CHECK(hipSetDevice(device));
		default_streams(main_thread);
		std::thread([] {
			CHECK(hipSetDevice(device));
			default_streams("other");
		}).join();
		handles();
		created(argv[2]);
	}
	device = 0;
	contexts();
	fclose(truth);
	printf("stream_kinds: %d devices, %d kernels\n", devices, id);
	return 0;
}
