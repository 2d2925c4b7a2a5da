// SPDX-License-Identifier: MIT
// copies [ROUNDS]: copies and fills of every kind and of sizes around the runtime's own limits;
// prints a checksum of all that came back, which tracing must not change.
#include "workload.h"
#include <cstdint>
#include <cstring>
#include <vector>

static uint64_t checksum = 1469598103934665603ull;

static void add(const void *bytes, size_t n)
{
	const unsigned char *p = (const unsigned char *)bytes;
	for (size_t i = 0; i < n; i++)
		checksum = (checksum ^ p[i]) * 1099511628211ull;
}

int main(int argc, char **argv)
{
	int rounds = argument(argc, argv, 1, 3);
	const size_t largest = 4 << 20;
	const size_t sizes[] = {1, 4, 100, 4096, 16384, 70001, 1 << 20, (4 << 20) - 3, 4 << 20};
	char *a, *b, *pinned;
	std::vector<char> pageable(largest), back(largest);
	hipStream_t stream;
	CHECK(hipMalloc((void **)&a, largest));
	CHECK(hipMalloc((void **)&b, largest));
	CHECK(hipHostMalloc((void **)&pinned, largest));
	CHECK(hipStreamCreate(&stream));
	for (size_t i = 0; i < largest; i++)
		pageable[i] = (char)(i * 131 >> 3);
	CHECK(hipMemset(a, 0, largest));
	CHECK(hipMemset(b, 0, largest));
	for (int round = 0; round < rounds; round++) {
		for (size_t n : sizes) {
			pageable[0] = (char)(round + n);
			CHECK(hipMemcpy(a, pageable.data(), n, hipMemcpyHostToDevice));
			CHECK(hipMemcpy(b, a, n, hipMemcpyDeviceToDevice));
			CHECK(hipMemcpy(back.data(), b, n, hipMemcpyDeviceToHost));
			add(back.data(), n);
			memcpy(pinned, back.data(), n);
			CHECK(hipMemcpyAsync(a, pinned, n, hipMemcpyHostToDevice, stream));
			CHECK(hipMemcpyDtoDAsync(b, a, n, stream));
			CHECK(hipMemsetAsync(a, round + 1, n, stream));
			CHECK(hipMemcpyAsync(pinned, b, n, hipMemcpyDefault, stream));
			CHECK(hipStreamSynchronize(stream));
			add(pinned, n);
			CHECK(hipMemcpyDtoH(back.data(), a, n));
			add(back.data(), n);
			if (n % 4 == 0) {
				CHECK(hipMemsetD32(b, 0x01020304 + round, n / 4));
				CHECK(hipMemcpyDtoH(back.data(), b, n));
				add(back.data(), n);
			}
		}
		CHECK(hipMemset2D(a, 512, 0x33, 300, 40));
		// Not at the start of `back`: that is pinned still, with another size, and the
		// thunk from 6.4 on does not unpin one of two such; Debian's 7.2 then aborts.
		char *rows = back.data() + largest / 2;
		CHECK(hipMemcpy2D(rows, 300, a, 512, 300, 40, hipMemcpyDeviceToHost));
		add(rows, 300 * 40);
	}
	CHECK(hipStreamDestroy(stream));
	CHECK(hipHostFree(pinned));
	CHECK(hipFree(a));
	CHECK(hipFree(b));
	printf("copies: %d rounds, checksum %016llx\n", rounds, (unsigned long long)checksum);
	return 0;
}
