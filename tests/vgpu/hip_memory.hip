// SPDX-License-Identifier: MIT
// Memory of every kind and copies of every shape, with the data checked.
#include "hip_check.h"
#include <cstring>
#include <vector>
#include <unistd.h>

__device__ int table[1000];
__global__ void read_table(int *to)
{
	*to = table[threadIdx.x];
}

using bytes = std::vector<unsigned char>;

static bytes pattern(size_t n, unsigned seed)
{
	bytes v(n);

	for (size_t i = 0; i < n; i++)
		v[i] = (unsigned char)((i * 31 + i / 251 + seed * 97) ^ (i >> 9));
	return v;
}

// All pairs of GPUs, both ways of asking, with and without access to each other.
static void peers(int cnt)
{
	const size_t n = 300001;
	std::vector<unsigned char *> d(cnt);
	bytes r(n);

	for (int i = 0; i < cnt; i++) {
		CK(hipSetDevice(i));
		CK(hipMalloc(&d[i], n));
	}
	for (int enabled = 0; enabled < 2; enabled++)
		for (int i = 0; i < cnt; i++)
			for (int k = 0; k < cnt; k++) {
				bytes h = pattern(n, i * 8 + k + enabled);
				int can = 0;

				if (i == k)
					continue;
				CK(hipDeviceCanAccessPeer(&can, i, k));
				check("every GPU can access every other", can == 1);
				CK(hipSetDevice(i));
				if (enabled)
					CK(hipDeviceEnablePeerAccess(k, 0));
				CK(hipMemcpy(d[i], h.data(), n, hipMemcpyHostToDevice));
				if (enabled)
					CK(hipMemcpyPeerAsync(d[k], k, d[i], i, n, nullptr));
				else
					CK(hipMemcpyPeer(d[k], k, d[i], i, n));
				CK(hipDeviceSynchronize());
				memset(r.data(), 0, n);
				CK(hipMemcpy(r.data(), d[k], n, hipMemcpyDeviceToHost));
				check("peer copy", r == h);
			}
	for (int i = 0; i < cnt; i++)
		CK(hipFree(d[i]));
	CK(hipSetDevice(0));
	printf("%d pairs\n", cnt * (cnt - 1));
}

// Odd sizes at odd places, device to device and fills: everything beside must stay.
static void odd()
{
	const size_t n = 1 << 20;
	unsigned char *a, *b;
	bytes h = pattern(n, 1), want, r(n);

	CK(hipMalloc(&a, n));
	CK(hipMalloc(&b, n));
	CK(hipMemcpy(a, h.data(), n, hipMemcpyHostToDevice));
	for (size_t size : { 1, 2, 3, 7, 15, 16, 17, 63, 255, 4097, 65535, 500003 })
		for (size_t from : { 0, 1, 16, 4093 })
			for (size_t to : { 0, 3, 4096, 65521 }) {
				CK(hipMemset(b, 0xee, n));
				CK(hipMemcpy(b + to, a + from, size, hipMemcpyDeviceToDevice));
				CK(hipMemcpy(r.data(), b, n, hipMemcpyDeviceToHost));
				want.assign(n, 0xee);
				memcpy(&want[to], &h[from], size);
				check("odd copy", r == want);
				/* ROCm 5.2 counts below zero in short fills that end before the next
				 * multiple of 8, and would write all over the memory. */
				if (size < 8 && to % 8)
					continue;
				CK(hipMemset(b + to, 0x31, size));
				CK(hipMemcpy(r.data(), b, n, hipMemcpyDeviceToHost));
				memset(&want[to], 0x31, size);
				check("odd fill", r == want);
			}
	CK(hipMemsetD16((hipDeviceptr_t)(b + 64), 0x1234, 1001));
	CK(hipMemsetD32((hipDeviceptr_t)(b + 8192), 0x55667788, 777));
	CK(hipMemcpy(r.data(), b, n, hipMemcpyDeviceToHost));
	for (int i = 0; i < 1001; i++)
		check("16-bit fill", r[64 + 2 * i] == 0x34 && r[65 + 2 * i] == 0x12);
	for (int i = 0; i < 777; i++)
		check("32-bit fill", !memcmp(&r[8192 + 4 * i], "\x88\x77\x66\x55", 4));
	CK(hipFree(a));
	CK(hipFree(b));
}

// Pitched and three-dimensional: host to device, device to device, back, with gaps.
static void shapes()
{
	for (size_t w : { (size_t)1, (size_t)13, (size_t)64, (size_t)1000 }) {
		const size_t h = 17, depth = 5;
		bytes src = pattern(w * h * depth, (unsigned)w), r(src.size());
		hipPitchedPtr a, b;
		hipMemcpy3DParms p = {};
		unsigned char *q;
		size_t pitch;

		CK(hipMalloc3D(&a, make_hipExtent(w, h, depth)));
		CK(hipMalloc3D(&b, make_hipExtent(w + 100, h + 3, depth + 1)));
		p.extent = make_hipExtent(w, h, depth);
		p.srcPtr = make_hipPitchedPtr(src.data(), w, w, h);
		p.dstPtr = a;
		p.kind = hipMemcpyHostToDevice;
		CK(hipMemcpy3D(&p));
		p.srcPtr = a;
		p.dstPtr = b;
		p.dstPos = make_hipPos(20, 2, 1);
		p.kind = hipMemcpyDeviceToDevice;
		CK(hipMemcpy3D(&p));
		CK(hipDeviceSynchronize());
		p.srcPtr = b;
		p.srcPos = p.dstPos;
		p.dstPos = make_hipPos(0, 0, 0);
		p.dstPtr = make_hipPitchedPtr(r.data(), w, w, h);
		p.kind = hipMemcpyDeviceToHost;
		CK(hipMemcpy3D(&p));
		check("3D copy", r == src);
		CK(hipMallocPitch((void **)&q, &pitch, w, h));
		CK(hipMemcpy2D(q, pitch, src.data() + 1, w, w, h, hipMemcpyHostToDevice));
		memset(r.data(), 0, r.size());
		CK(hipMemcpy2D(r.data(), w, q, pitch, w, h, hipMemcpyDeviceToHost));
		check("2D copy", !memcmp(r.data(), src.data() + 1, w * h));
		CK(hipFree(a.ptr));
		CK(hipFree(b.ptr));
		CK(hipFree(q));
	}
}

static void symbols()
{
	std::vector<int> h(1000), r(1000, -1);
	void *address;

	for (int i = 0; i < 1000; i++)
		h[i] = i * i;
	CK(hipMemcpyToSymbol(HIP_SYMBOL(table), h.data(), 4000));
	CK(hipMemcpyFromSymbol(r.data(), HIP_SYMBOL(table), 2000, 400));
	check("symbol", !memcmp(r.data(), &h[100], 2000));
	CK(hipGetSymbolAddress(&address, HIP_SYMBOL(table)));
	CK(hipMemcpy(r.data(), address, 4000, hipMemcpyDeviceToHost));
	check("symbol's address", r == h);
}

static void host()
{
	const size_t n = 100000;
	bytes h = pattern(n, 3), r(n);
	unsigned char *d, *p, *device;

	CK(hipMalloc(&d, n));
	for (unsigned flags : std::vector<unsigned>{ hipHostMallocDefault, hipHostMallocPortable,
		     hipHostMallocMapped, hipHostMallocWriteCombined, hipHostMallocCoherent,
		     hipHostMallocNonCoherent }) {
		CK(hipHostMalloc((void **)&p, n, flags));
		memcpy(p, h.data(), n);
		CK(hipHostGetDevicePointer((void **)&device, p, 0));
		CK(hipMemcpy(d, device, n, hipMemcpyDeviceToDevice));
		CK(hipMemcpy(r.data(), d, n, hipMemcpyDeviceToHost));
		check("hipHostMalloc", r == h);
		CK(hipHostFree(p));
	}
	// registered memory by its address for the GPU, odd start
	memset(r.data(), 0, n);
	CK(hipHostRegister(h.data(), n, hipHostRegisterMapped));
	CK(hipHostGetDevicePointer((void **)&device, h.data(), 0));
	CK(hipMemcpy(d, device, n, hipMemcpyDeviceToDevice));
	CK(hipMemcpy(r.data(), d, n, hipMemcpyDeviceToHost));
	check("hipHostRegister", r == h);
	CK(hipHostUnregister(h.data()));
	CK(hipMallocManaged((void **)&p, n));
	memcpy(p, h.data(), n);
	CK(hipMemset(d, 0, n));
	CK(hipMemcpy(d, p, n, hipMemcpyDefault));
	CK(hipMemset(p, 9, n));
	CK(hipDeviceSynchronize());
	check("managed memory", p[0] == 9 && p[n - 1] == 9);
	CK(hipMemcpy(p, d, n, hipMemcpyDefault));
	CK(hipDeviceSynchronize());
	check("and back", !memcmp(p, h.data(), n));
	CK(hipFree(p));
	CK(hipFree(d));
}

static void big()
{
	size_t before, total, after;
	unsigned char *d, *second;

	CK(hipMemGetInfo(&before, &total));
	CK(hipMalloc(&d, total / 2));
	CK(hipMemGetInfo(&after, &total));
	check("half of it is taken", before - after >= total / 2 && before - after < total / 2 + (64 << 20));
	CK(hipMemset(d + total / 2 - 4096, 7, 4096));
	CK(hipDeviceSynchronize());
	check("no room for more than the rest", hipMalloc(&second, total / 2 + (1 << 30)) == hipErrorOutOfMemory);
	(void)hipGetLastError();
	CK(hipFree(d));
	CK(hipMemGetInfo(&after, &total));
	check("and given back", after > total / 2 + total / 4);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int cnt = 0;

	CK(hipGetDeviceCount(&cnt));
	if (!strcmp(what, "peers"))
		peers(cnt);
	if (!strcmp(what, "shapes")) {
		odd();
		shapes();
		symbols();
	}
	if (!strcmp(what, "host"))
		host();
	if (!strcmp(what, "big"))
		big();
	puts(wrong ? "wrong" : "right");
	return wrong != 0;
}
