// SPDX-License-Identifier: MIT
// allocations: every way that HIP has to get and to give back memory, on one thread and on several
// that take each other's addresses. Prints what it did, a line an allocation, in its own order:
//
//   KIND BYTES ADDRESS DEVICE FREED
//
// DEVICE: a GPU's number, -1: the host's, "-": it does not say. FREED: 1, or 0 where it lives on.
#include "workload.h"
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

static void told(
	const char *kind, size_t bytes, const void *at, const char *device, bool freed = true)
{
	printf("%s %zu %llu %s %d\n", kind, bytes, (unsigned long long)(uintptr_t)at, device,
		freed);
}

static void usual(int device)
{
	char name[16];
	void *p;
	snprintf(name, sizeof(name), "%d", device);
	for (size_t bytes : {(size_t)1, (size_t)70000, (size_t)5 << 20}) {
		CHECK(hipMalloc(&p, bytes));
		told("device", bytes, p, name);
		CHECK(hipFree(p));
		CHECK(hipHostMalloc(&p, bytes));
		told("host", bytes, p, "-1");
		CHECK(hipHostFree(p));
		CHECK(hipMallocManaged(&p, bytes));
		told("managed", bytes, p, "-");
		CHECK(hipFree(p));
		CHECK(hipExtMallocWithFlags(&p, bytes, hipDeviceMallocDefault));
		told("device", bytes, p, name);
		CHECK(hipFree(p));
	}
	size_t pitch;
	CHECK(hipMallocPitch(&p, &pitch, 300, 7));
	told("device", pitch * 7, p, name);
	CHECK(hipFree(p));
	hipPitchedPtr box;
	CHECK(hipMalloc3D(&box, make_hipExtent(300, 7, 3)));
	told("device", box.pitch * 7 * 3, box.ptr, name);
	CHECK(hipFree(box.ptr));
}

static void pools()
{
	int supported = 0;
	hipStream_t stream;
	void *p;
	CHECK(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, 0));
	if (!supported)
		return;
	CHECK(hipStreamCreate(&stream));
	for (int i = 0; i < 5; i++) {
		CHECK(hipMallocAsync(&p, 3 << 20, stream));
		told("async", 3 << 20, p, "0");
		CHECK(hipFreeAsync(p, stream));
		CHECK(hipStreamSynchronize(stream));
	}
	CHECK(hipStreamDestroy(stream));
}

static void registered()
{
	std::vector<char> own(1 << 20);
	CHECK(hipHostRegister(own.data(), own.size(), 0));
	told("registered", own.size(), own.data(), "-1");
	CHECK(hipHostUnregister(own.data()));
}

static void mapped()
{
#if HIP_VERSION >= 60000000
	int supported = 0;
	CHECK(hipDeviceGetAttribute(
		&supported, hipDeviceAttributeVirtualMemoryManagementSupported, 0));
	if (!supported)
		return;
	hipMemAllocationProp prop = {};
	size_t bytes;
	hipMemGenericAllocationHandle_t handle;
	void *at;
	prop.type = hipMemAllocationTypePinned;
	prop.location = {hipMemLocationTypeDevice, 0};
	CHECK(hipMemGetAllocationGranularity(&bytes, &prop, hipMemAllocationGranularityMinimum));
	CHECK(hipMemCreate(&handle, bytes, &prop, 0));
	told("physical", bytes, (void *)handle, "-");
	CHECK(hipMemAddressReserve(&at, bytes, 0, nullptr, 0));
	told("reserved", bytes, at, "-");
	CHECK(hipMemMap(at, bytes, 0, handle, 0));
	CHECK(hipMemUnmap(at, bytes));
	CHECK(hipMemRelease(handle));
	CHECK(hipMemAddressFree(at, bytes));
#endif
}

// What one thread gives back another gets at once: the same addresses, over and over.
static std::atomic<int> mine;
static void contend(int self, int rounds, std::vector<void *> *got)
{
	CHECK(hipSetDevice(0));
	for (int i = 0; i < rounds; i++) {
		void *p;
		CHECK(hipMalloc(&p, 64 << 10));
		got->push_back(p);
		if (i % 3 == self % 3)
			std::this_thread::yield();
		CHECK(hipFree(p));
	}
	mine++;
}

int main(int argc, char **argv)
{
	int rounds = argument(argc, argv, 1, 200), gpus = 0;
	std::vector<void *> got[4];
	std::vector<std::thread> threads;
	void *p, *kept;
	CHECK(hipGetDeviceCount(&gpus));
	usual(0);
	if (gpus > 1) {
		CHECK(hipSetDevice(1));
		usual(1);
		CHECK(hipSetDevice(0));
	}
	pools();
	registered();
	mapped();
	for (int i = 0; i < 4; i++)
		threads.emplace_back(contend, i, rounds, &got[i]);
	for (std::thread &thread : threads)
		thread.join();
	for (const std::vector<void *> &each : got)
		for (void *at : each)
			told("device", 64 << 10, at, "0");
	// nothing comes of these
	CHECK(hipFree(nullptr));
	if (hipMalloc(&p, (size_t)1 << 50) == hipSuccess || hipFree((void *)4096) == hipSuccess)
		return 1;
	CHECK(hipMalloc(&kept, 12345));
	told("device", 12345, kept, "0", false);
	if (argc > 2) {
		CHECK(hipDeviceReset());
		CHECK(hipDeviceSynchronize());
	}
	return 0;
}
