// SPDX-License-Identifier: MIT
// Streams that wait for words of memory, and a fill of one byte. Argument: values, batch, byte. Exits
// 0 if all is right.
#include "hip_check.h"
#include <cstdint>
#include <cstring>
#include <unistd.h>

static hipStream_t waiter, writer;
static char *mark, *ones; // host memory: 1 once the waiting stream has gone on; on the GPU

// What the waiting stream does next can be seen from the host.
static void then_mark()
{
	*(volatile char *)mark = 0;
	CK(hipMemcpyAsync(mark, ones, 8, hipMemcpyDeviceToHost, waiter));
}

static void must_still_wait(const char *what)
{
	usleep(20000);
	check(what, !*(volatile char *)mark && hipStreamQuery(waiter) == hipErrorNotReady);
}

static void must_be_done(const char *what)
{
	CK(hipStreamSynchronize(waiter));
	check(what, *(volatile char *)mark == 1);
}

static void values(uint64_t *word, const char *where)
{
	struct Case {
		unsigned flags;
		uint64_t value, before, after;
	} cases[] = {
		{hipStreamWaitValueGte, 5, 4, 6},
		{hipStreamWaitValueEq, 5, 4, 5},
		{hipStreamWaitValueAnd, 6, 8, 4},
	};
	for (const Case &c : cases) {
		for (int wide = 0; wide < 2; wide++) {
			for (int by_stream = 0; by_stream < 2; by_stream++) {
				*(volatile uint64_t *)word = c.before;
				if (wide)
					CK(hipStreamWaitValue64(waiter, word, c.value, c.flags, ~0ull));
				else
					CK(hipStreamWaitValue32(waiter, word, (uint32_t)c.value,
						c.flags, ~0u));
				then_mark();
				must_still_wait(where);
				if (!by_stream)
					*(volatile uint64_t *)word = c.after;
				else if (wide)
					CK(hipStreamWriteValue64(writer, word, c.after, 0));
				else
					CK(hipStreamWriteValue32(writer, word, (uint32_t)c.after, 0));
				must_be_done(where);
				CK(hipStreamSynchronize(writer));
			}
		}
	}
}

#if HIP_VERSION >= 60300000
using Batch = hipStreamBatchMemOpParams;

static bool as_call(Batch *ops, unsigned cnt)
{
	hipError_t error = hipStreamBatchMemOp(waiter, cnt, ops, 0);

	if (error == hipSuccess)
		return true;
	// HIP 7.2's check of the operations cannot be passed
	check("HIP 7.2 alone refuses batches",
		error == hipErrorInvalidValue && HIP_VERSION / 100000 == 702);
	puts("refused");
	return false;
}

static bool as_graph(Batch *ops, unsigned cnt)
{
	hipBatchMemOpNodeParams params = {};
	hipGraph_t graph;
	hipGraphNode_t node;
	hipGraphExec_t exec;

	params.count = cnt;
	params.paramArray = ops;
	CK(hipCtxGetCurrent(&params.ctx));
	CK(hipGraphCreate(&graph, 0));
	CK(hipGraphAddBatchMemOpNode(&node, graph, nullptr, 0, &params));
	CK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	CK(hipGraphLaunch(exec, waiter));
	return true;
}

static void batch(uint64_t *words, bool (*submit)(Batch *ops, unsigned cnt))
{
	Batch ops[4];

	memset(ops, 0, sizeof ops);
	memset(words, 0, 4 * sizeof *words);
	ops[0].writeValue.operation = hipStreamMemOpWriteValue32;
	ops[0].writeValue.address = &words[0];
	ops[0].writeValue.value = 17;
	ops[1].waitValue.operation = hipStreamMemOpWaitValue64;
	ops[1].waitValue.address = &words[1];
	ops[1].waitValue.value64 = 3;
	ops[1].waitValue.flags = hipStreamWaitValueEq;
	ops[2].writeValue.operation = hipStreamMemOpWriteValue64;
	ops[2].writeValue.address = &words[2];
	ops[2].writeValue.value64 = 1ull << 40;
	ops[3].waitValue.operation = hipStreamMemOpWaitValue32;
	ops[3].waitValue.address = &words[3];
	ops[3].waitValue.value = 4;
	ops[3].waitValue.flags = hipStreamWaitValueGte;
	if (!submit(ops, 4))
		return;
	then_mark();
	must_still_wait("a batch waits");
	check("its writes do not", words[0] == 17 && words[2] == 1ull << 40);
	*(volatile uint64_t *)&words[3] = 5;
	must_still_wait("for all that it waits for");
	*(volatile uint64_t *)&words[1] = 3;
	must_be_done("and goes on");
	check("no other word is written", words[1] == 3 && words[3] == 5);
}
#endif

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "values";
	uint64_t *words, *signal;
	CK(hipStreamCreateWithFlags(&waiter, hipStreamNonBlocking));
	CK(hipStreamCreateWithFlags(&writer, hipStreamNonBlocking));
	CK(hipHostMalloc((void **)&mark, 64, 0));
	CK(hipHostMalloc((void **)&words, 64, 0));
	CK(hipMalloc((void **)&ones, 64));
	CK(hipMemset(ones, 1, 64));
	if (!strcmp(what, "values")) {
		values(words, "host memory");
		CK(hipExtMallocWithFlags((void **)&signal, 8, hipMallocSignalMemory));
		values(signal, "signal memory");
	} else if (!strcmp(what, "batch")) {
#if HIP_VERSION >= 60300000
		batch(words, as_call);
		batch(words, as_graph);
#else
		puts("none");
#endif
	} else {
		unsigned char *bytes, seen[8];
		CK(hipMalloc((void **)&bytes, 64));
		CK(hipMemset(bytes, 0, 64));
		CK(hipMemset(bytes + 3, 0x5a, 1));
		CK(hipMemcpy(seen, bytes, 8, hipMemcpyDeviceToHost));
		check("one byte at an odd address", seen[2] == 0 && seen[3] == 0x5a && seen[4] == 0);
	}
	puts(wrong ? "WRONG" : "right");
	return wrong != 0;
}
