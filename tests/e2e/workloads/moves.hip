// SPDX-License-Identifier: MIT
// moves: every way that HIP has to copy and to fill. Prints a line for each call that moves
// something, in their order: what the program itself knows of it.
//
//   call FUNCTION: the call; then, one line each, what it is to move in all:
//   move DIRECTION BYTES DST DST_GPU SRC SRC_GPU SPAN
//
// DIRECTION: h2d, d2h, d2d, peer, fill. Addresses are the first bytes, "-" where they are not what
// the GPU has to see (pageable memory, fills have no source); GPU -1: the host. SPAN: bytes from
// the first to behind the last one written, where rows lie apart. A call without a move has no
// operation.
#include "workload.h"
#include <cstdint>
#include <cstring>
#include <vector>

static const size_t KB = 1024, MB = 1024 * 1024;
__device__ unsigned symbol[4096];

struct Memory {
	void *at;
	int gpu;   // -1: the host
	bool seen; // the GPU sees it at this address
};

static Memory on(void *at, int gpu)
{
	return {at, gpu, true};
}

static void address(const Memory &m)
{
	if (m.seen)
		printf(" %llu %d", (unsigned long long)(uintptr_t)m.at, m.gpu);
	else
		printf(" - %d", m.gpu);
}

static void call(const char *function)
{
	printf("call %s\n", function);
}

static void move(Memory dst, Memory src, size_t bytes, size_t span = 0)
{
	const char *kind = src.gpu < 0          ? dst.gpu < 0 ? "h2h" : "h2d"
			   : dst.gpu < 0        ? "d2h"
			   : dst.gpu == src.gpu ? "d2d"
						: "peer";
	printf("move %s %zu", kind, bytes);
	address(dst);
	address(src);
	printf(" %zu\n", span ? span : bytes);
}

static void fill(Memory dst, size_t bytes, size_t span = 0)
{
	printf("move fill %zu", bytes);
	address(dst);
	printf(" - -1 %zu\n", span ? span : bytes);
}

#define MOVES(function, arguments, ...)                                                            \
	do {                                                                                       \
		CHECK(function arguments);                                                         \
		call(#function);                                                                   \
		__VA_ARGS__;                                                                       \
	} while (0)

static Memory a, b, pinned, pinned2, heap, symbol_at;
static hipStream_t stream;

static char *byte(Memory m, size_t offset)
{
	return (char *)m.at + offset;
}

static Memory at(Memory m, size_t offset)
{
	return {byte(m, offset), m.gpu, m.seen};
}

static void linear()
{
	for (size_t n : {(size_t)1, (size_t)100, 4 * KB, (size_t)70001, 3 * MB + 5, 24 * MB + 3}) {
		MOVES(hipMemcpy, (a.at, heap.at, n, hipMemcpyHostToDevice), move(a, heap, n));
		MOVES(hipMemcpy, (heap.at, a.at, n, hipMemcpyDeviceToHost), move(heap, a, n));
		MOVES(hipMemcpy, (b.at, a.at, n, hipMemcpyDefault), move(b, a, n));
		MOVES(hipMemcpyAsync, (a.at, pinned.at, n, hipMemcpyDefault, stream),
			move(a, pinned, n));
		MOVES(hipMemcpyAsync, (pinned.at, a.at, n, hipMemcpyDeviceToHost, stream),
			move(pinned, a, n));
		MOVES(hipMemcpyAsync, (byte(b, 7), byte(a, 3), n, hipMemcpyDeviceToDevice, stream),
			move(at(b, 7), at(a, 3), n));
		CHECK(hipStreamSynchronize(stream));
		MOVES(hipMemcpyHtoD, (a.at, heap.at, n), move(a, heap, n));
		MOVES(hipMemcpyDtoH, (heap.at, a.at, n), move(heap, a, n));
		MOVES(hipMemcpyDtoD, (b.at, a.at, n), move(b, a, n));
		MOVES(hipMemcpyHtoDAsync, (a.at, pinned.at, n, stream), move(a, pinned, n));
		MOVES(hipMemcpyDtoHAsync, (pinned.at, a.at, n, stream), move(pinned, a, n));
		MOVES(hipMemcpyDtoDAsync, (b.at, a.at, n, stream), move(b, a, n));
		MOVES(hipMemcpyWithStream, (b.at, a.at, n, hipMemcpyDeviceToDevice, stream),
			move(b, a, n));
	}
	// By the CPU, as neither is memory that the GPU knows.
	MOVES(hipMemcpy, (byte(heap, MB), heap.at, 4 * KB, hipMemcpyHostToHost));
}

static void symbols()
{
	const size_t n = sizeof(symbol);
	MOVES(hipMemcpyToSymbol, (HIP_SYMBOL(symbol), heap.at, n - 16, 16, hipMemcpyHostToDevice),
		move(at(symbol_at, 16), heap, n - 16));
	MOVES(hipMemcpyFromSymbol, (heap.at, HIP_SYMBOL(symbol), n, 0, hipMemcpyDeviceToHost),
		move(heap, symbol_at, n));
	MOVES(hipMemcpyToSymbolAsync,
		(HIP_SYMBOL(symbol), a.at, n, 0, hipMemcpyDeviceToDevice, stream),
		move(symbol_at, a, n));
	MOVES(hipMemcpyFromSymbolAsync,
		(pinned.at, HIP_SYMBOL(symbol), n, 0, hipMemcpyDeviceToHost, stream),
		move(pinned, symbol_at, n));
	CHECK(hipStreamSynchronize(stream));
	MOVES(hipMemset, (symbol_at.at, 1, n), fill(symbol_at, n));
}

static void rows()
{
	const size_t w = 300, h = 40, p = 512, q = 320;
	const size_t span = (h - 1) * p + w, close = (h - 1) * q + w;
	MOVES(hipMemcpy2D, (a.at, p, heap.at, q, w, h, hipMemcpyHostToDevice),
		move(a, heap, w * h, span));
	MOVES(hipMemcpy2D, (byte(b, 12), q, byte(a, 4), p, w, h, hipMemcpyDeviceToDevice),
		move(at(b, 12), at(a, 4), w * h, close));
	MOVES(hipMemcpy2D, (heap.at, q, a.at, p, w, h, hipMemcpyDeviceToHost),
		move(heap, a, w * h, close));
	MOVES(hipMemcpy2DAsync, (a.at, p, pinned.at, q, w, h, hipMemcpyHostToDevice, stream),
		move(a, pinned, w * h, span));
	MOVES(hipMemcpy2DAsync, (pinned.at, q, a.at, p, w, h, hipMemcpyDeviceToHost, stream),
		move(pinned, a, w * h, close));
	CHECK(hipStreamSynchronize(stream));
	MOVES(hipMemcpy2D, (a.at, w, pinned.at, w, w, h, hipMemcpyHostToDevice),
		move(a, pinned, w * h));
}

static hipMemcpy3DParms boxes(Memory dst, Memory src, hipMemcpyKind kind)
{
	hipMemcpy3DParms box = {};
	box.dstPtr = make_hipPitchedPtr(dst.at, 512, 300, 20);
	box.srcPtr = make_hipPitchedPtr(src.at, 384, 300, 30);
	box.dstPos = make_hipPos(4, 2, 1);
	box.srcPos = make_hipPos(8, 1, 2);
	box.extent = make_hipExtent(256, 10, 5);
	box.kind = kind;
	return box;
}

static void box(Memory dst, Memory src)
{
	move(at(dst, (1 * 20 + 2) * 512 + 4), at(src, (2 * 30 + 1) * 384 + 8), 256 * 10 * 5,
		(4 * 20 + 9) * 512 + 256);
}

static void volumes()
{
	hipMemcpy3DParms in = boxes(a, heap, hipMemcpyHostToDevice);
	hipMemcpy3DParms within = boxes(b, a, hipMemcpyDeviceToDevice);
	hipMemcpy3DParms out = boxes(pinned, b, hipMemcpyDeviceToHost);
	MOVES(hipMemcpy3D, (&in), box(a, heap));
	MOVES(hipMemcpy3D, (&within), box(b, a));
	MOVES(hipMemcpy3DAsync, (&out, stream), box(pinned, b));
	CHECK(hipStreamSynchronize(stream));
}

static void fills()
{
	for (size_t n : {(size_t)4, 4 * KB, (size_t)70000, 3 * MB + 4}) {
		MOVES(hipMemset, (a.at, 1, n), fill(a, n));
		// not aligned; HIP 5.2 reaches far beyond the end of such a fill of less than 8
		// bytes
		size_t odd = n > 8;
		MOVES(hipMemsetAsync, (byte(a, odd), 2, n, stream), fill(at(a, odd), n));
		MOVES(hipMemsetD8, ((hipDeviceptr_t)a.at, 3, n), fill(a, n));
		MOVES(hipMemsetD8Async, ((hipDeviceptr_t)a.at, 4, n, stream), fill(a, n));
		MOVES(hipMemsetD16, ((hipDeviceptr_t)a.at, 5, n / 2), fill(a, n));
		MOVES(hipMemsetD16Async, ((hipDeviceptr_t)a.at, 6, n / 2, stream), fill(a, n));
		MOVES(hipMemsetD32, ((hipDeviceptr_t)a.at, 7, n / 4), fill(a, n));
		MOVES(hipMemsetD32Async, ((hipDeviceptr_t)a.at, 8, n / 4, stream), fill(a, n));
		CHECK(hipStreamSynchronize(stream));
	}
	MOVES(hipMemset2D, (a.at, 512, 9, 300, 40), fill(a, 300 * 40, 39 * 512 + 300));
	MOVES(hipMemset2DAsync, (a.at, 512, 9, 300, 40, stream), fill(a, 300 * 40, 39 * 512 + 300));
	CHECK(hipStreamSynchronize(stream));
	hipPitchedPtr box = make_hipPitchedPtr(a.at, 512, 512, 20);
	hipExtent extent = make_hipExtent(256, 20, 3);
	MOVES(hipMemset3D, (box, 10, extent), fill(a, 256 * 20 * 3, 59 * 512 + 256));
	MOVES(hipMemset3DAsync, (box, 11, extent, stream), fill(a, 256 * 20 * 3, 59 * 512 + 256));
	CHECK(hipStreamSynchronize(stream));
	MOVES(hipMemset, (pinned.at, 12, 64 * KB), fill(pinned, 64 * KB));
}

static void peers(Memory there)
{
	MOVES(hipMemcpyPeer, (there.at, 1, a.at, 0, 70001), move(there, a, 70001));
	MOVES(hipMemcpyPeer, (b.at, 0, there.at, 1, MB), move(b, there, MB));
	MOVES(hipMemcpyPeerAsync, (there.at, 1, a.at, 0, MB, stream), move(there, a, MB));
	CHECK(hipStreamSynchronize(stream));
	MOVES(hipMemcpyAsync, (b.at, there.at, 5000, hipMemcpyDeviceToDevice, stream),
		move(b, there, 5000));
	CHECK(hipStreamSynchronize(stream));
	MOVES(hipMemcpy, (there.at, heap.at, MB, hipMemcpyHostToDevice), move(there, heap, MB));
}

// One line for the launch, then what its nodes move.
static void graphs()
{
	const size_t n = 70000;
	hipGraph_t graph;
	hipGraphExec_t exec;
	CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
	CHECK(hipMemcpyAsync(a.at, pinned.at, n, hipMemcpyHostToDevice, stream));
	CHECK(hipMemcpyAsync(b.at, a.at, n, hipMemcpyDeviceToDevice, stream));
	CHECK(hipMemsetAsync(a.at, 1, n, stream));
	CHECK(hipMemsetAsync(byte(a, n), 2, 2 * n, stream));
	CHECK(hipMemcpyAsync(pinned2.at, b.at, n, hipMemcpyDeviceToHost, stream));
	CHECK(hipStreamEndCapture(stream, &graph));
	CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	for (int i = 0; i < 3; i++) {
		MOVES(hipGraphLaunch, (exec, stream));
		move(a, pinned, n);
		move(b, a, n);
		fill(a, n);
		fill(at(a, n), 2 * n);
		move(pinned2, b, n);
		CHECK(hipStreamSynchronize(stream));
	}
	CHECK(hipGraphExecDestroy(exec));
	CHECK(hipGraphDestroy(graph));

	hipGraphNode_t copy, set;
	hipMemsetParams params = {};
	params.dst = b.at;
	params.elementSize = 4;
	params.width = 1000;
	params.height = 1;
	params.value = 77;
	CHECK(hipGraphCreate(&graph, 0));
	CHECK(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &params));
	CHECK(hipGraphAddMemcpyNode1D(
		&copy, graph, &set, 1, a.at, b.at, 4000, hipMemcpyDeviceToDevice));
	CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	for (int i = 0; i < 3; i++) {
		MOVES(hipGraphLaunch, (exec, stream), fill(b, 4000); move(a, b, 4000));
		CHECK(hipStreamSynchronize(stream));
	}
	CHECK(hipGraphExecDestroy(exec));
	CHECK(hipGraphDestroy(graph));
}

// Memory that is the GPU's, then the host's, then the GPU's again: addresses come round.
static void again()
{
	for (int i = 0; i < 6; i++) {
		void *device, *host;
		CHECK(hipMalloc(&device, 5 * MB));
		MOVES(hipMemset, (device, i, 5 * MB), fill(on(device, 0), 5 * MB));
		CHECK(hipFree(device));
		CHECK(hipHostMalloc(&host, 5 * MB));
		MOVES(hipMemcpy, (a.at, host, 5 * MB, hipMemcpyDefault),
			move(a, on(host, -1), 5 * MB));
		CHECK(hipHostFree(host));
	}
}

int main()
{
	const size_t most = 32 * MB;
	int gpus = 0;
	std::vector<char> pageable(most);
	Memory there = {};
	CHECK(hipGetDeviceCount(&gpus));
	if (gpus > 1) {
		CHECK(hipSetDevice(1));
		there.gpu = 1;
		there.seen = true;
		CHECK(hipMalloc(&there.at, most));
		CHECK(hipSetDevice(0));
		if (hipDeviceEnablePeerAccess(1, 0) != hipSuccess)
			(void)hipGetLastError();
	}
	a = b = symbol_at = on(nullptr, 0);
	pinned = pinned2 = on(nullptr, -1);
	heap = {pageable.data(), -1, false};
	CHECK(hipMalloc(&a.at, most));
	CHECK(hipMalloc(&b.at, most));
	CHECK(hipHostMalloc(&pinned.at, most));
	CHECK(hipHostMalloc(&pinned2.at, most));
	CHECK(hipGetSymbolAddress(&symbol_at.at, HIP_SYMBOL(symbol)));
	CHECK(hipStreamCreate(&stream));
	linear();
	symbols();
	rows();
	volumes();
	fills();
	if (gpus > 1)
		peers(there);
	graphs();
	again();
	CHECK(hipDeviceSynchronize());
	return 0;
}
