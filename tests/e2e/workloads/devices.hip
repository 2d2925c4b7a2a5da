// SPDX-License-Identifier: MIT
// devices [CODE_OBJECT]: says what HIP tells of each of its devices, does a little on each, and
// loads the code object.
#include "workload.h"

int main(int argc, char **argv)
{
	int cnt = 0;
	hipModule_t module;

	CHECK(hipGetDeviceCount(&cnt));
	for (int i = 0; i < cnt; i++) {
		hipDeviceProp_t properties;
		char address[32];
		int *data;

		CHECK(hipSetDevice(i));
		CHECK(hipGetDeviceProperties(&properties, i));
		CHECK(hipDeviceGetPCIBusId(address, sizeof(address), i));
		printf("%d|%s|%s|%s|%zu|%d|%d|%d|%d|%zu|%d|%d|%d\n", i, address, properties.name,
			properties.gcnArchName, properties.totalGlobalMem,
			properties.multiProcessorCount, properties.clockRate / 1000,
			properties.memoryClockRate / 1000, properties.memoryBusWidth,
			properties.sharedMemPerBlock, properties.warpSize,
			properties.maxThreadsPerBlock, properties.maxThreadsPerMultiProcessor);
		CHECK(hipMalloc(&data, 64));
		// a kernel of HIP's own: the program is for any architecture
		CHECK(hipMemset(data, 1, 64));
		CHECK(hipDeviceSynchronize());
		CHECK(hipFree(data));
		if (argc > 1) {
			CHECK(hipModuleLoad(&module, argv[1]));
			CHECK(hipModuleUnload(module));
		}
	}
	return 0;
}
