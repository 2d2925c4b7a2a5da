// SPDX-License-Identifier: MIT
// What `random` works on: streams, buffers whose contents are known at every moment, and checks.
//
// Each thread has lanes of its own: a device, two streams, three buffers. What a buffer must hold
// is kept on the host in the order of submission. An operation on a stream first waits, by an
// event, for the stream that used the buffer last: so streams overlap, and contents are certain.
#ifndef RANDOM_LANE_H
#define RANDOM_LANE_H

#include "workload.h"
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <list>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <vector>

// What HIP itself does wrong is left out, each with its reason.
static const bool is_hip5 = HIP_VERSION < 60000000;
static const bool is_hip6 = !is_hip5 && HIP_VERSION < 70000000;
extern bool graph_fills;

extern int steps_failed; // checks that failed, by any thread

// While a stream is captured HIP refuses, in all threads, what would wait: captures are alone.
extern pthread_rwlock_t capturing;

struct Turn {
	explicit Turn(bool alone)
	{
		if (alone)
			pthread_rwlock_wrlock(&capturing);
		else
			pthread_rwlock_rdlock(&capturing);
	}
	~Turn()
	{
		pthread_rwlock_unlock(&capturing);
	}
	Turn(const Turn &) = delete;
};

struct Rng {
	uint64_t state;
	explicit Rng(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 0x1234567)
	{
	}
	uint32_t next()
	{
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		return (uint32_t)(state >> 33);
	}
	uint32_t below(uint32_t n)
	{
		return n ? next() % n : 0;
	}
	bool chance(uint32_t percent)
	{
		return below(100) < percent;
	}
};

using Bytes = std::vector<unsigned char>;

constexpr size_t noise_bytes = 1 << 20;

// What host-to-device copies read; it never changes.
struct Noise {
	Bytes pageable;
	unsigned char *pinned;
};

struct Stream {
	hipStream_t handle;
	int device;
	bool owned;    // made by us: can be destroyed
	bool captures; // and is not tied to the null stream: can be captured
};

// Who wrote each byte: a number of `told`. Only with RANDOM_VERBOSE.
using Writers = std::vector<uint32_t>;

struct Buffer {
	unsigned char *gpu = nullptr;
	Bytes expected;
	Writers writers;
	Stream *last = nullptr; // used it last; nullptr: nothing is pending
	bool managed = false;
};

// A place on the host that a device-to-host copy fills.
struct Out {
	unsigned char *at;
	Bytes expected;
	bool pending;
	Writers writers;
};

enum Kind { FILL, FROM_HOST, TO_HOST, COPY, KERNEL, HOST_CALL };

// An operation. `rows` of `width` bytes each; one row: plain.
struct Op {
	Kind kind;
	Buffer *dst, *src;
	size_t dst_at, src_at; // FROM_HOST: src_at in the noise
	size_t width, rows, dst_pitch, src_pitch;
	bool pinned;
	uint32_t value;
	unsigned element; // FILL: bytes of a pattern
	Out *out;
	unsigned kernel, blocks, threads;
	int branch; // in a graph
};

struct Lane;

extern const bool verbose;
uint32_t tell(const Op &op, const char *how); // says what was done, gives it a number

struct Graph {
	std::vector<Op> ops;
	std::list<Out> outs;
	bool by_hand, forks;
	hipGraphExec_t exec;
};

struct Lane {
	int device;
	Stream stream[2];
	Stream *null; // of the thread and device
	Buffer buffer[3];
	unsigned *scratch; // the kernels' own
	uint64_t *flag;    // for stream memory operations; nullptr: not supported
	uint64_t flag_value = 0;
	unsigned char *pinned_out;
	Bytes pageable_out;
	size_t out_used = 0;
	std::list<Out> outs;
	std::list<Graph> graphs;
	std::atomic<int> calls{0};
	int calls_expected = 0;
	int checks = 0;
	uint64_t checksum = 1469598103934665603ull;
	uint64_t seed;
};

constexpr size_t out_bytes = 1 << 20;

static inline void failed(
	const Lane &lane, const char *what, size_t at, unsigned want, unsigned have)
{
	__atomic_fetch_add(&steps_failed, 1, __ATOMIC_RELAXED);
	fprintf(stderr, "random: seed %llu: %s: byte %zu is %#x, not %#x\n",
		(unsigned long long)lane.seed, what, at, have, want);
}

static inline void check(Lane &lane, Out &out, const char *what)
{
	if (!out.pending)
		return;
	out.pending = false;
	lane.checks++;
	for (size_t i = 0; i < out.expected.size(); i++) {
		if (out.at[i] != out.expected[i]) {
			failed(lane, what, i, out.expected[i], out.at[i]);
			size_t end = i;
			while (end < out.expected.size() && out.at[end] != out.expected[end])
				end++;
			if (verbose)
				fprintf(stderr,
					"  ... to byte %zu of %zu, last written by operation %u\n",
					end, out.expected.size(),
					i < out.writers.size() ? out.writers[i] : 0);
			return;
		}
		if (i % 64 == 0)
			lane.checksum = (lane.checksum ^ out.at[i]) * 1099511628211ull;
	}
}

// What the operation does to the contents.
static inline void apply(const Op &op, const Noise &noise, const char *how)
{
	if (verbose) {
		uint32_t number = tell(op, how);
		if (op.dst)
			op.dst->writers.resize(op.dst->expected.size());
		if (op.kind == TO_HOST) {
			op.out->writers.resize(op.width * op.rows);
			op.src->writers.resize(op.src->expected.size());
		}
		for (size_t row = 0; row < op.rows; row++)
			if (op.dst)
				std::fill_n(
					op.dst->writers.begin() + op.dst_at + row * op.dst_pitch,
					op.width, number);
			else if (op.kind == TO_HOST)
				std::copy_n(
					op.src->writers.begin() + op.src_at + row * op.src_pitch,
					op.width, op.out->writers.begin() + row * op.width);
	}
	for (size_t row = 0; row < op.rows; row++) {
		size_t to = op.dst_at + row * op.dst_pitch, from = op.src_at + row * op.src_pitch;
		switch (op.kind) {
		case FILL:
			for (size_t i = 0; i < op.width; i++)
				op.dst->expected[to + i] =
					(unsigned char)(op.value >> 8 * (i % op.element));
			break;
		case FROM_HOST:
			memcpy(&op.dst->expected[to], &noise.pageable[from], op.width);
			break;
		case TO_HOST:
			op.out->expected.resize(op.width * op.rows);
			memcpy(&op.out->expected[row * op.width], &op.src->expected[from],
				op.width);
			op.out->pending = true;
			break;
		case COPY:
			memcpy(&op.dst->expected[to], &op.src->expected[from], op.width);
			break;
		default:
			break;
		}
	}
}

// The stream may use the buffer: it waits for whoever used it last.
static inline void claim(Buffer &buffer, Stream &stream)
{
	Stream *last = buffer.last;
	buffer.last = &stream;
	if (!last || last == &stream)
		return;
	hipEvent_t event;
	CHECK(hipSetDevice(last->device));
	CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
	CHECK(hipEventRecord(event, last->handle));
	CHECK(hipSetDevice(stream.device));
	CHECK(hipStreamWaitEvent(stream.handle, event, 0));
	CHECK(hipEventDestroy(event));
}

// Waits for a stream in one of the ways there are.
static inline void wait_for(Rng &rng, const Stream &stream)
{
	hipEvent_t event;
	hipError_t error;

	CHECK(hipSetDevice(stream.device));
	switch (rng.below(4)) {
	case 0:
		CHECK(hipEventCreateWithFlags(
			&event, rng.chance(50) ? hipEventBlockingSync : hipEventDefault));
		CHECK(hipEventRecord(event, stream.handle));
		CHECK(hipEventSynchronize(event));
		CHECK(hipEventDestroy(event));
		break;
	case 1:
		while ((error = hipStreamQuery(stream.handle)) == hipErrorNotReady)
			sched_yield();
		CHECK(error);
		break;
	case 2:
		CHECK(hipDeviceSynchronize());
		break;
	default:
		CHECK(hipStreamSynchronize(stream.handle));
	}
}

// Waits for all of a lane and checks what came back.
static inline void settle(Rng &rng, Lane &lane)
{
	wait_for(rng, lane.stream[0]);
	wait_for(rng, lane.stream[1]);
	wait_for(rng, *lane.null);
	for (Buffer &buffer : lane.buffer)
		if (buffer.last == &lane.stream[0] || buffer.last == &lane.stream[1] ||
			buffer.last == lane.null)
			buffer.last = nullptr;
	for (Out &out : lane.outs)
		check(lane, out, "copied to the host");
	for (Graph &graph : lane.graphs)
		for (Out &out : graph.outs)
			check(lane, out, "copied to the host by a graph");
	lane.outs.clear();
	lane.out_used = 0;
	if (lane.calls != lane.calls_expected)
		failed(lane, "host functions", 0, (unsigned)lane.calls_expected,
			(unsigned)lane.calls);
}

#endif
