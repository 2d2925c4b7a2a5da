// SPDX-License-Identifier: MIT
// Kernels that need registers, memory and stack in different ways: what is recorded of them is
// compared with what the compiler wrote into the file.
#include <hip/hip_runtime.h>

// Nothing here needs device libraries: they may not be there for every architecture.
#define ME __builtin_amdgcn_workitem_id_x()

extern "C" __global__ void plain(float *a)
{
	a[ME] += 1;
}

extern "C" __global__ __launch_bounds__(256) void lds(float *a)
{
	__shared__ float s[1000];
	s[ME] = a[ME];
	__builtin_amdgcn_s_barrier();
	a[ME] = s[255 - ME];
}

extern "C" __global__ __launch_bounds__(64) void scratch(float *a, int n)
{
	float t[512], sum = 0;
	for (int i = 0; i < 512; i++)
		t[i] = a[i * n];
	for (int i = 0; i < n; i++)
		sum += t[(i * 37 + n) & 511];
	a[ME] = sum;
}

// Too much for the registers of so large a work-group.
extern "C" __global__ __launch_bounds__(1024) void spills(float *a, const float *b)
{
	float t[200];
#pragma unroll
	for (int i = 0; i < 200; i++)
		t[i] = b[i * 4096 + ME];
	__builtin_amdgcn_s_barrier();
#pragma unroll
	for (int i = 0; i < 200; i++)
		a[i * 4096 + ME] = t[i] * t[(i * 7 + 3) % 200];
}

#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__)
typedef float float16_ __attribute__((ext_vector_type(16)));
extern "C" __global__ void matrix(float16_ *a, float x, float y)
{
	float16_ sum[4];
	for (int i = 0; i < 4; i++)
		sum[i] = a[i * 64 + ME];
	// where registers are one file, the compiler may do without those for accumulation
	asm volatile("v_accvgpr_write_b32 a40, %0" ::"v"(x) : "a40");
	for (int i = 0; i < 4; i++)
		sum[i] = __builtin_amdgcn_mfma_f32_32x32x2f32(x, y, sum[i], 0, 0, 0);
	for (int i = 0; i < 4; i++)
		a[i * 64 + ME] = sum[i];
}
#endif

__device__ __attribute__((noinline)) int down(int n)
{
	return n < 2 ? n : down(n - 1) + down(n - 2);
}

extern "C" __global__ void recursive(int *a)
{
	a[ME] = down(a[ME]);
}

template <typename T> struct of {
	template <int N> static __global__ void a_template(T *a)
	{
		a[ME] *= N;
	}
};
template __global__ void of<double>::a_template<3>(double *);
