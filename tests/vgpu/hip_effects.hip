// SPDX-License-Identifier: MIT
// Kernels whose results are checked: on the virtual GPU their functions come from effects.c.
#include "hip_check.h"
#include <cstring>
#include <numeric>
#include <vector>

__global__ void effect_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

/* One sum a block; the block's size in elements of dynamic LDS. */
__global__ void effect_sum(const int *in, long long *out, int n)
{
	extern __shared__ int part[];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	part[threadIdx.x] = i < n ? in[i] : 0;
	__syncthreads();
	if (threadIdx.x == 0) {
		long long sum = 0;

		for (unsigned k = 0; k < blockDim.x; k++)
			sum += part[k];
		out[blockIdx.x] = sum;
	}
}

struct place {
	short x, y;
	double weight;
};

/* Every kind of argument, a grid with three dimensions, and a message of its own. */
__global__ void effect_mark(unsigned *out, char c, place p, unsigned long long big)
{
	unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
		 z = blockIdx.z * blockDim.z + threadIdx.z;

	out[(z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x] =
		x + 100 * y + 10000 * z + (unsigned)c + (unsigned)p.x + (unsigned)p.weight + (unsigned)big;
}

__global__ void effect_crash() {}
__global__ void effect_none(int *a)
{
	a[0] = 1;
}

static void add(int n, bool registered)
{
	std::vector<float> a(n), b(n), c(n);
	float *da, *db, *dc;
	bool ok = true;

	for (int i = 0; i < n; i++) {
		a[i] = (float)i;
		b[i] = 0.5f * (float)i;
	}
	if (registered) { /* the GPU's address is another one than the host's */
		CK(hipHostRegister(a.data(), n * sizeof(float), 0));
		CK(hipHostGetDevicePointer((void **)&da, a.data(), 0));
	} else {
		CK(hipMalloc(&da, n * sizeof(float)));
		CK(hipMemcpy(da, a.data(), n * sizeof(float), hipMemcpyHostToDevice));
	}
	CK(hipMalloc(&db, n * sizeof(float)));
	CK(hipMalloc(&dc, n * sizeof(float)));
	CK(hipMemcpy(db, b.data(), n * sizeof(float), hipMemcpyHostToDevice));
	for (int round = 0; round < 3; round++) {
		effect_add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
		effect_add<<<(n + 255) / 256, 256>>>(dc, db, db, n); /* after the first */
	}
	CK(hipMemcpy(c.data(), db, n * sizeof(float), hipMemcpyDeviceToHost));
	for (int i = 0; i < n; i++) {
		float y = b[i];

		for (int round = 0; round < 3; round++)
			y = a[i] + y + y;
		ok &= c[i] == y;
	}
	check(registered ? "sums from registered memory" : "sums", ok);
	if (registered)
		CK(hipHostUnregister(a.data()));
	else
		CK(hipFree(da));
	CK(hipFree(db));
	CK(hipFree(dc));
}

static void sum()
{
	const int n = 10007, block = 128, blocks = (n + block - 1) / block;
	std::vector<int> in(n);
	std::vector<long long> out(blocks);
	long long *dout;
	int *din;

	std::iota(in.begin(), in.end(), -17);
	CK(hipMalloc(&din, n * sizeof(int)));
	CK(hipMalloc(&dout, blocks * sizeof(long long)));
	CK(hipMemcpy(din, in.data(), n * sizeof(int), hipMemcpyHostToDevice));
	effect_sum<<<blocks, block, block * sizeof(int)>>>(din, dout, n);
	CK(hipMemcpy(out.data(), dout, blocks * sizeof(long long), hipMemcpyDeviceToHost));
	check("reduction", std::accumulate(out.begin(), out.end(), 0ll) ==
				   std::accumulate(in.begin(), in.end(), 0ll));
	CK(hipFree(din));
	CK(hipFree(dout));
}

static void mark()
{
	std::vector<unsigned> out(8 * 6 * 4);
	unsigned *d;
	bool ok = true;

	CK(hipMalloc(&d, out.size() * 4));
	effect_mark<<<dim3(2, 3, 4), dim3(4, 2, 1)>>>(d, 7, place{11, 3, 5.5}, 1000000ull);
	CK(hipMemcpy(out.data(), d, out.size() * 4, hipMemcpyDeviceToHost));
	for (unsigned z = 0; z < 4; z++)
		for (unsigned y = 0; y < 6; y++)
			for (unsigned x = 0; x < 8; x++)
				ok &= out[(z * 6 + y) * 8 + x] ==
				      x + 100 * y + 10000 * z + 7 + 11 + 5 + 1000000;
	check("arguments and dimensions", ok);
	CK(hipFree(d));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "all";
	int cnt = 0;

	CK(hipGetDeviceCount(&cnt));
	for (int i = 0; i < cnt && !strcmp(what, "all"); i++) {
		CK(hipSetDevice(i));
		add(10000, false);
		add(4096, true);
		sum();
		mark();
	}
	if (!strcmp(what, "crash")) {
		effect_crash<<<1, 64>>>();
		CK(hipDeviceSynchronize());
	}
	if (!strcmp(what, "none")) {
		int *d;

		CK(hipMalloc(&d, 4));
		effect_none<<<1, 1>>>(d);
		CK(hipDeviceSynchronize());
	}
	return wrong != 0;
}
