// SPDX-License-Identifier: MIT
// `random`: the operations, each made and submitted in one of the ways that HIP has for it.
#ifndef RANDOM_OPS_H
#define RANDOM_OPS_H

#include "random_lane.h"

template <int N> __global__ void touch(const unsigned *in, unsigned *out, unsigned n)
{
	__shared__ unsigned shared[64 * (N + 1)];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	shared[threadIdx.x % (64 * (N + 1))] = i;
	__syncthreads();
	if (i < n)
		out[i] = in[i] + shared[0] + N;
}

using Touch = void (*)(const unsigned *, unsigned *, unsigned);
static const Touch kernels[] = {touch<0>, touch<1>, touch<2>, touch<3>, touch<4>};
constexpr unsigned kernel_cnt = sizeof(kernels) / sizeof(*kernels);
constexpr unsigned scratch_words = 64 * 1024;

static void count_call(void *arg)
{
	((Lane *)arg)->calls++;
}

static void on_stream(hipStream_t, hipError_t, void *arg)
{
	((Lane *)arg)->calls++;
}

// Sizes around the runtime's own limits, most of them small.
static inline size_t some_bytes(Rng &rng, size_t most)
{
	static const size_t usual[] = {1, 2, 3, 4, 15, 16, 64, 100, 255, 256, 1000, 4096, 4097,
		16384, 65536, 70001, 262144, 1 << 20};
	size_t n = rng.chance(70) ? usual[rng.below(sizeof(usual) / sizeof(*usual))]
				  : 1 + rng.below((uint32_t)most);
	return n < most ? n : most;
}

static inline size_t some_place(Rng &rng, size_t room, size_t multiple)
{
	if (rng.chance(30))
		return 0;
	size_t at = rng.below((uint32_t)room + 1);
	if (rng.chance(50))
		multiple = multiple > 256 ? multiple : 256;
	return at / multiple * multiple;
}

// Rows within `size` bytes; pitch of at least the width.
static inline size_t some_pitch(Rng &rng, size_t width, size_t rows, size_t size)
{
	size_t most = rows > 1 ? size / rows : width;
	size_t pitch = rng.chance(50) ? (width + 63) / 64 * 64 : width + rng.below(64);
	return pitch > most ? width : pitch;
}

static inline size_t extent(const Op &op, size_t pitch)
{
#if HIP_VERSION < 60000000 // HIP 5.2 refuses to fill rows of which the last has no whole pitch
	if (op.kind == FILL && op.rows > 1)
		return op.rows * pitch;
#endif
	return (op.rows - 1) * pitch + op.width;
}

static inline Op make_kernel(Rng &rng)
{
	Op op = {};
	op.kind = KERNEL;
	op.kernel = rng.below(kernel_cnt);
	op.blocks = 1 + rng.below(64);
	op.threads = 64 * (1 + rng.below(8));
	op.rows = 0;
	return op;
}

// An operation on `dst` (or out of `src`); a copy goes from one to the other.
static inline Op make_op(Rng &rng, Kind kind, Buffer *dst, Buffer *src, bool plain)
{
	Op op = {};
	size_t to = dst ? dst->expected.size() : SIZE_MAX;
	size_t from = src ? src->expected.size() : kind == FROM_HOST ? noise_bytes : SIZE_MAX;
	size_t room = to < from ? to : from;

	if (room > out_bytes / 4)
		room = out_bytes / 4;
	// HIP 5.2 fills rows of managed memory with the CPU, and the first row only
	if (is_hip5 && kind == FILL && dst->managed)
		plain = true;
	op.kind = kind;
	op.dst = dst;
	op.src = src;
	op.pinned = rng.chance(50);
	op.value = rng.next() << 1 ^ rng.next();
	op.element = kind == FILL ? 1u << rng.below(3) : 1;
	op.rows = plain || rng.chance(75) ? 1 : 2 + rng.below(40);
	op.width = some_bytes(rng, room / op.rows);
	if (op.width < op.element)
		op.element = 1;
	op.width = op.width / op.element * op.element;
	if (op.rows > 1 && kind == FILL)
		op.element = 1; // hipMemset2D fills bytes
	op.dst_pitch = dst ? some_pitch(rng, op.width, op.rows, to) : op.width;
	op.src_pitch = src || kind == FROM_HOST ? some_pitch(rng, op.width, op.rows, from) : 0;
	if (dst)
		op.dst_at = some_place(rng, to - extent(op, op.dst_pitch), op.element);
#if HIP_VERSION < 60000000
	// HIP 5.2 fills without end when 8 or 16 bit patterns end before the next multiple of 8
	if (kind == FILL && op.dst_at % 8 + op.width < 8)
		op.dst_at -= op.dst_at % 8;
#endif
	if (op.src_pitch)
		op.src_at = some_place(rng, from - extent(op, op.src_pitch), 1);
	return op;
}

static inline Kind some_kind(Rng &rng)
{
	static const Kind kinds[] = {FILL, FILL, FROM_HOST, FROM_HOST, TO_HOST, TO_HOST, COPY, COPY,
		KERNEL, KERNEL, KERNEL, HOST_CALL};
	return kinds[rng.below(sizeof(kinds) / sizeof(*kinds))];
}

static inline void fill(Rng &rng, const Op &op, hipStream_t stream, bool wait)
{
	unsigned char *at = op.dst->gpu + op.dst_at;
	auto word = (hipDeviceptr_t)at;
	size_t n = op.width / op.element;

	if (op.rows > 1)
		CHECK(wait ? hipMemset2D(
				     at, op.dst_pitch, (int)(op.value & 0xff), op.width, op.rows)
			   : hipMemset2DAsync(at, op.dst_pitch, (int)(op.value & 0xff), op.width,
				     op.rows, stream));
	else if (op.element == 4)
		CHECK(wait ? hipMemsetD32(word, (int)op.value, n)
			   : hipMemsetD32Async(word, (int)op.value, n, stream));
	else if (op.element == 2)
		CHECK(wait ? hipMemsetD16(word, (unsigned short)op.value, n)
			   : hipMemsetD16Async(word, (unsigned short)op.value, n, stream));
	else if (rng.chance(50))
		CHECK(wait ? hipMemset(at, (int)(op.value & 0xff), n)
			   : hipMemsetAsync(at, (int)(op.value & 0xff), n, stream));
	else
		CHECK(wait ? hipMemsetD8(word, (unsigned char)op.value, n)
			   : hipMemsetD8Async(word, (unsigned char)op.value, n, stream));
}

static inline void copy(Rng &rng, const Op &op, const Noise &noise, hipStream_t stream, bool wait)
{
	hipMemcpyKind kind = op.kind == FROM_HOST ? hipMemcpyHostToDevice
			     : op.kind == TO_HOST ? hipMemcpyDeviceToHost
						  : hipMemcpyDeviceToDevice;
	unsigned char *dst = op.kind == TO_HOST ? op.out->at : op.dst->gpu + op.dst_at;
	const unsigned char *src = (op.kind != FROM_HOST ? op.src->gpu
					   : op.pinned   ? noise.pinned
							 : noise.pageable.data()) +
				   op.src_at;

	if (op.rows > 1) {
		CHECK(wait ? hipMemcpy2D(
				     dst, op.dst_pitch, src, op.src_pitch, op.width, op.rows, kind)
			   : hipMemcpy2DAsync(dst, op.dst_pitch, src, op.src_pitch, op.width,
				     op.rows, kind, stream));
		return;
	}
	if (rng.chance(25))
		kind = hipMemcpyDefault;
	if (wait && rng.chance(70))
		CHECK(hipMemcpy(dst, src, op.width, kind));
	else if (wait)
		CHECK(hipMemcpyWithStream(dst, src, op.width, kind, stream));
	else if (kind == hipMemcpyHostToDevice && rng.chance(30))
		CHECK(hipMemcpyHtoDAsync((hipDeviceptr_t)dst, (void *)src, op.width, stream));
	else if (kind == hipMemcpyDeviceToHost && rng.chance(30))
		CHECK(hipMemcpyDtoHAsync(dst, (hipDeviceptr_t)src, op.width, stream));
	else if (kind == hipMemcpyDeviceToDevice && rng.chance(30))
		CHECK(hipMemcpyDtoDAsync(
			(hipDeviceptr_t)dst, (hipDeviceptr_t)src, op.width, stream));
	else
		CHECK(hipMemcpyAsync(dst, src, op.width, kind, stream));
}

static inline void launch(Rng &rng, Lane &lane, const Op &op, hipStream_t stream, bool capturing)
{
	const unsigned *in = (const unsigned *)lane.scratch;
	unsigned *out = lane.scratch, n = scratch_words;
	void *args[] = {&in, &out, &n};
	const void *function = (const void *)kernels[op.kernel];

	if (!capturing && rng.chance(10)) {
		hipEvent_t start, stop;
		float ms = -1;
		CHECK(hipEventCreate(&start));
		CHECK(hipEventCreate(&stop));
		CHECK(hipEventRecord(start, stream));
		CHECK(hipLaunchKernel(
			function, dim3(op.blocks), dim3(op.threads), args, 0, stream));
		CHECK(hipEventRecord(stop, stream));
		CHECK(hipEventSynchronize(stop));
		CHECK(hipEventElapsedTime(&ms, start, stop));
		lane.checks++;
		if (!(ms >= 0))
			failed(lane, "hipEventElapsedTime is negative", 0, 0, 1);
		CHECK(hipEventDestroy(start));
		CHECK(hipEventDestroy(stop));
		return;
	}
	CHECK(hipLaunchKernel(function, dim3(op.blocks, 1 + op.kernel % 2), dim3(op.threads), args,
		rng.chance(30) ? 1024 : 0, stream));
}

// Submits it to a stream that may use its buffers.
static inline void submit(Rng &rng, Lane &lane, const Op &op, const Noise &noise,
	hipStream_t stream, bool wait, bool capturing)
{
	switch (op.kind) {
	case FILL:
		fill(rng, op, stream, wait);
		break;
	case KERNEL:
		launch(rng, lane, op, stream, capturing);
		break;
	case HOST_CALL:
#if HIP_VERSION >= 60000000 // HIP 5.2 has no such function
		if (capturing || rng.chance(50)) {
			CHECK(hipLaunchHostFunc(stream, count_call, &lane));
			break;
		}
#endif
		CHECK(hipStreamAddCallback(stream, on_stream, &lane, 0));
		break;
	default:
		copy(rng, op, noise, stream, wait);
	}
}

#endif
