// SPDX-License-Identifier: MIT
// `random`: graphs, captured from streams or made by hand, launched again and again, updated.
//
// All operations of a graph are in one or two branches, and each branch has buffers of its own.
#ifndef RANDOM_GRAPH_H
#define RANDOM_GRAPH_H

#include "random_ops.h"

static inline hipGraph_t capture(Rng &rng, Lane &lane, Graph &graph, const Noise &noise)
{
	hipStream_t main = lane.stream[0].handle, side = lane.stream[1].handle;
	hipEvent_t fork = nullptr, join = nullptr;
	hipGraph_t out = nullptr;

	CHECK(hipStreamBeginCapture(main, hipStreamCaptureModeThreadLocal));
	if (graph.forks) {
		CHECK(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
		CHECK(hipEventCreateWithFlags(&join, hipEventDisableTiming));
		CHECK(hipEventRecord(fork, main));
		CHECK(hipStreamWaitEvent(side, fork, 0));
	}
	for (const Op &op : graph.ops)
		submit(rng, lane, op, noise, op.branch ? side : main, false, true);
	if (graph.forks) {
		CHECK(hipEventRecord(join, side));
		CHECK(hipStreamWaitEvent(main, join, 0));
	}
	CHECK(hipStreamEndCapture(main, &out));
	if (graph.forks) {
		CHECK(hipEventDestroy(fork));
		CHECK(hipEventDestroy(join));
	}
	return out;
}

static inline hipGraphNode_t add_node(
	Lane &lane, const Op &op, const Noise &noise, hipGraph_t graph, const hipGraphNode_t *after)
{
	hipGraphNode_t node = nullptr;
	size_t cnt = after ? 1 : 0;

	if (op.kind == KERNEL) {
		const unsigned *in = (const unsigned *)lane.scratch;
		unsigned *out = lane.scratch, n = scratch_words;
		void *args[] = {&in, &out, &n};
		hipKernelNodeParams params = {};
		params.func = (void *)kernels[op.kernel];
		params.gridDim = dim3(op.blocks);
		params.blockDim = dim3(op.threads);
		params.kernelParams = args;
		CHECK(hipGraphAddKernelNode(&node, graph, after, cnt, &params));
	} else if (op.kind == FILL) {
		hipMemsetParams params = {};
		params.dst = op.dst->gpu + op.dst_at;
		params.elementSize = op.element;
		params.height = op.rows;
		params.pitch = op.dst_pitch;
		params.value = op.element == 4   ? op.value
			       : op.element == 2 ? op.value & 0xffff
						 : op.value & 0xff;
		params.width = op.width / op.element;
		CHECK(hipGraphAddMemsetNode(&node, graph, after, cnt, &params));
	} else if (op.kind == HOST_CALL) {
		hipHostNodeParams params = {};
		params.fn = count_call;
		params.userData = &lane;
		CHECK(hipGraphAddHostNode(&node, graph, after, cnt, &params));
	} else {
		const unsigned char *src = op.kind != FROM_HOST ? op.src->gpu
					   : op.pinned          ? noise.pinned
								: noise.pageable.data();
		CHECK(hipGraphAddMemcpyNode1D(&node, graph, after, cnt,
			op.kind == TO_HOST ? op.out->at : op.dst->gpu + op.dst_at, src + op.src_at,
			op.width,
			op.kind == FROM_HOST ? hipMemcpyHostToDevice
			: op.kind == TO_HOST ? hipMemcpyDeviceToHost
					     : hipMemcpyDeviceToDevice));
	}
	return node;
}

static inline hipGraph_t by_hand(Lane &lane, Graph &graph, const Noise &noise)
{
	hipGraph_t out;
	hipGraphNode_t root, last[2], join;

	CHECK(hipGraphCreate(&out, 0));
	CHECK(hipGraphAddEmptyNode(&root, out, nullptr, 0));
	last[0] = last[1] = root;
	for (const Op &op : graph.ops)
		last[op.branch] = add_node(lane, op, noise, out, &last[op.branch]);
	if (graph.forks && last[0] != last[1])
		CHECK(hipGraphAddEmptyNode(&join, out, last, 2));
	return out;
}

static inline hipGraph_t build(Rng &rng, Lane &lane, Graph &graph, const Noise &noise)
{
	return graph.by_hand ? by_hand(lane, graph, noise) : capture(rng, lane, graph, noise);
}

static inline void new_graph(Rng &rng, Lane &lane, const Noise &noise)
{
	lane.graphs.emplace_back();
	Graph &graph = lane.graphs.back();
	bool can_capture = lane.stream[0].captures && lane.stream[1].captures;

	graph.by_hand = !can_capture || rng.chance(50);
	// HIP 5.2 calls a side joined only if something follows (hipErrorStreamCaptureUnjoined),
	// and a stream may stay captured
	graph.forks = rng.chance(40) && (graph.by_hand || !is_hip5);
	for (unsigned i = 0, n = 1 + rng.below(10); i < n; i++) {
		Kind kind = some_kind(rng);
		int branch = graph.forks && rng.chance(50);
		Buffer *one = &lane.buffer[branch], *two = &lane.buffer[2];
		Op op = kind == KERNEL ? make_kernel(rng) : Op{};

		if (kind == COPY && branch)
			kind = FILL; // its branch has one buffer
		if (is_hip5 && kind == HOST_CALL && !graph.by_hand)
			kind = FILL; // cannot be captured
		if (kind == FILL && !graph_fills)
			kind = FROM_HOST;
		if (kind == FILL || kind == FROM_HOST)
			// HIP 5.2's nodes fill rows with the size of an element instead of its
			// value
			op = make_op(
				rng, kind, one, nullptr, kind == FILL ? is_hip5 : graph.by_hand);
		else if (kind == TO_HOST)
			op = make_op(rng, kind, nullptr, one, graph.by_hand);
		else if (kind == COPY)
			op = rng.chance(50) ? make_op(rng, kind, one, two, graph.by_hand)
					    : make_op(rng, kind, two, one, graph.by_hand);
		// HIP copies rows out of managed memory while they are captured, instead of
		// capturing them
		if (kind == COPY && op.rows > 1 && (op.src->managed || op.dst->managed))
			op = make_op(rng, kind, op.dst, op.src, true);
		op.kind = kind;
		op.branch = branch;
		if (kind == TO_HOST) {
			graph.outs.push_back({nullptr, {}, false, {}});
			op.out = &graph.outs.back();
			CHECK(hipHostMalloc((void **)&op.out->at, op.width * op.rows));
		}
		graph.ops.push_back(op);
	}
	for (Buffer &buffer : lane.buffer)
		claim(buffer, lane.stream[0]);
	CHECK(hipSetDevice(lane.device));
	hipGraph_t made = build(rng, lane, graph, noise);
	CHECK(hipGraphInstantiate(&graph.exec, made, nullptr, nullptr, 0));
	CHECK(hipGraphDestroy(made));
}

static inline void launch_graph(Rng &rng, Lane &lane, Graph &graph, const Noise &noise)
{
	for (unsigned i = 0, n = 1 + rng.below(4); i < n; i++) {
		Stream &stream = lane.stream[rng.below(2)];
		for (Buffer &buffer : lane.buffer)
			claim(buffer, stream);
		CHECK(hipSetDevice(lane.device));
		if (is_hip5) // a graph launched again while it runs corrupts the heap
			CHECK(hipDeviceSynchronize());
		CHECK(hipGraphLaunch(graph.exec, stream.handle));
		for (const Op &op : graph.ops) {
			apply(op, noise, graph.by_hand ? "graph by hand" : "captured graph");
			lane.calls_expected += op.kind == HOST_CALL;
		}
	}
}

// Other values, same shape: the exec takes them over in place, or is made anew.
static inline void update_graph(Rng &rng, Lane &lane, Graph &graph, const Noise &noise)
{
	hipGraphNode_t node = nullptr;
	hipGraphExecUpdateResult result;

	if (!graph.by_hand && !(lane.stream[0].captures && lane.stream[1].captures))
		return;
	for (Op &op : graph.ops) {
		op.value ^= rng.next();
		if (op.kind == KERNEL)
			op.blocks = 1 + rng.below(64);
	}
	for (Buffer &buffer : lane.buffer)
		claim(buffer, lane.stream[0]);
	CHECK(hipSetDevice(lane.device));
	if (is_hip5)
		CHECK(hipDeviceSynchronize());
	hipGraph_t made = build(rng, lane, graph, noise);
	if (hipGraphExecUpdate(graph.exec, made, &node, &result) != hipSuccess) {
		(void)hipGetLastError();
		// HIP deletes an exec that runs when it has ended: on the thread that also runs
		// host callbacks, and there waits for the exec's own streams (7.2: seed 6090).
		// Where these share a queue with a stream that waits for a callback, that is for
		// ever.
		CHECK(hipDeviceSynchronize());
		CHECK(hipGraphExecDestroy(graph.exec));
		CHECK(hipGraphInstantiate(&graph.exec, made, nullptr, nullptr, 0));
	}
	CHECK(hipGraphDestroy(made));
}

// After settle(): nothing of it is in flight.
static inline void drop_graphs(Lane &lane)
{
	for (Graph &graph : lane.graphs) {
		CHECK(hipGraphExecDestroy(graph.exec));
		for (Out &out : graph.outs)
			CHECK(hipHostFree(out.at));
	}
	lane.graphs.clear();
}

#endif
