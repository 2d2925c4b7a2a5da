// SPDX-License-Identifier: MIT
// HIP programs whose log is judged by its times and queues: hip_times PART. Exits 0 if HIP agrees.
#include "hip_check.h"
#include <hip/hip_ext.h>
#include <cstring>
#include <vector>

__global__ void times_short() {}
__global__ void times_long() {}
template <typename T> __global__ void times_typed(T) {}

/* 4,000,000 bytes in each direction, all in host memory that the GPU knows. */
static void copies()
{
	const size_t n = 4000000;
	char *host, *first, *second, *peer = nullptr;
	int cnt, access = 0;

	CK(hipGetDeviceCount(&cnt));
	CK(hipHostMalloc(&host, n));
	CK(hipMalloc(&first, n));
	CK(hipMalloc(&second, n));
	CK(hipMemcpyAsync(first, host, n, hipMemcpyHostToDevice, 0));
	CK(hipMemcpyAsync(second, first, n, hipMemcpyDeviceToDevice, 0));
	CK(hipMemcpyAsync(host, second, n, hipMemcpyDeviceToHost, 0));
	CK(hipMemsetAsync(second, 7, n, 0));
	CK(hipDeviceSynchronize());
	if (cnt > 1) { /* without peer access HIP goes through host memory */
		CK(hipDeviceCanAccessPeer(&access, 0, 1));
		printf("%s\n", access ? "peer access" : "no peer access");
		if (access)
			CK(hipDeviceEnablePeerAccess(1, 0));
		CK(hipSetDevice(1));
		if (access)
			CK(hipDeviceEnablePeerAccess(0, 0));
		CK(hipMalloc(&peer, n));
		CK(hipMemcpyPeer(peer, 1, first, 0, n));
		CK(hipDeviceSynchronize());
	}
}

/* One kernel, and another after it, on a stream of each priority. */
static void priorities()
{
	int least, greatest;

	CK(hipDeviceGetStreamPriorityRange(&least, &greatest));
	printf("%d to %d\n", least, greatest);
	for (int priority = greatest; priority <= least; priority++) {
		hipStream_t s;

		CK(hipStreamCreateWithPriority(&s, hipStreamNonBlocking, priority));
		times_short<<<1, 64, 0, s>>>();
		CK(hipStreamSynchronize(s));
		CK(hipStreamDestroy(s));
	}
}

static void cu_masks()
{
	static const std::vector<uint32_t> masks[] = {
		{0x0000000f}, {0xffffffff, 0x000000ff}, {0, 0x00010000, 0}};

	for (const std::vector<uint32_t> &mask : masks) {
		hipStream_t s;

		CK(hipExtStreamCreateWithCUMask(&s, (uint32_t)mask.size(), mask.data()));
		times_long<<<1, 64, 0, s>>>();
		CK(hipStreamSynchronize(s));
		CK(hipStreamDestroy(s));
	}
}

/* More streams than HIP makes hardware queues for; each launches as many kernels as its number. */
static void sharing(int cnt)
{
	std::vector<hipStream_t> s(cnt);

	for (int i = 0; i < cnt; i++)
		CK(hipStreamCreateWithFlags(&s[i], hipStreamNonBlocking));
	for (int i = 0; i < cnt; i++)
		for (int k = 0; k <= i; k++)
			times_short<<<i + 1, 64, 0, s[i]>>>();
	CK(hipDeviceSynchronize());
	for (int i = 0; i < cnt; i++)
		CK(hipStreamDestroy(s[i]));
}

/* Three kernels in turn, on two streams. */
static void kernels(int cnt)
{
	hipStream_t s[2];

	CK(hipStreamCreateWithFlags(&s[0], hipStreamNonBlocking));
	CK(hipStreamCreateWithFlags(&s[1], hipStreamNonBlocking));
	for (int i = 0; i < cnt; i++) {
		times_short<<<1, 64, 0, s[i % 2]>>>();
		times_long<<<1, 64, 0, s[i % 2]>>>();
		times_typed<float><<<1, 64, 0, s[i % 2]>>>(1.0f);
	}
	CK(hipDeviceSynchronize());
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";
	int cnt = argc > 2 ? atoi(argv[2]) : 1;

	if (!strcmp(part, "copies"))
		copies();
	else if (!strcmp(part, "priorities"))
		priorities();
	else if (!strcmp(part, "cu-masks"))
		cu_masks();
	else if (!strcmp(part, "sharing"))
		sharing(cnt);
	else if (!strcmp(part, "kernels"))
		kernels(cnt);
	else
		return 3;
	return 0;
}
