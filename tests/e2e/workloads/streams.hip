// SPDX-License-Identifier: MIT
// streams TRUTH [THREADS] [STREAMS] [EACH]: every thread mixes kernels, copies, fills and events on
// streams of its own. Each operation says by itself whose it is: a kernel's grid is
// (1 + n % 1024, 1 + n / 1024, 1 + thread * STREAMS + stream) blocks, and what a copy or a fill
// touches lies in memory of that stream alone, at 4096 * (n / 256) and 16 * (1 + n % 256) bytes of
// it. TRUTH gets a line for each such memory: thread, stream, address, bytes.
#include "workload.h"
#include <thread>
#include <vector>

__global__ void even(int *data, int tag)
{
	if (data)
		data[threadIdx.x] = tag;
}

__global__ void odd(int *data, int tag)
{
	if (data)
		data[threadIdx.x] = -tag;
}

static int thread_cnt, stream_cnt, each;
static const int unsynced = 256; // operations that a stream is ahead of its thread

enum action { LAUNCH_EVEN, LAUNCH_ODD, LAUNCH_EXT, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE,
	FILL_BYTES, FILL_WORDS, EVENT, ACTIONS };

static action action_of(int stream, int n)
{
	return (action)((n * 7 + stream * 3 + n / ACTIONS) % ACTIONS);
}

struct lane {
	hipStream_t stream;
	hipEvent_t event;
	char *host, *device, *other; // each of `bytes`
};

static size_t region_bytes()
{
	return 4096 * ((size_t)each / 256 + 2);
}

static void work(int thread, std::vector<lane> &lanes)
{
	for (int n = 0; n < each; n++) {
		for (int s = 0; s < stream_cnt; s++) {
			lane &l = lanes[s];
			size_t at = 4096 * (size_t)(n / 256), bytes = 16 * (1 + n % 256);
			dim3 grid(1 + n % 1024, 1 + n / 1024, 1 + thread * stream_cnt + s), block(64);
			void *args[] = {&l.other, &n};

			switch (action_of(s, n)) {
			case LAUNCH_EVEN:
				even<<<grid, block, 0, l.stream>>>(nullptr, n);
				break;
			case LAUNCH_ODD:
				odd<<<grid, block, 0, l.stream>>>(nullptr, n);
				break;
			case LAUNCH_EXT:
				CHECK(hipExtLaunchKernel((const void *)even, grid, block, args, 0,
					l.stream, nullptr, nullptr, 0));
				break;
			case HOST_TO_DEVICE:
				CHECK(hipMemcpyAsync(l.device + at, l.host + at, bytes,
					hipMemcpyHostToDevice, l.stream));
				break;
			case DEVICE_TO_HOST:
				CHECK(hipMemcpyAsync(l.host + at, l.device + at, bytes,
					hipMemcpyDeviceToHost, l.stream));
				break;
			case DEVICE_TO_DEVICE:
				CHECK(hipMemcpyDtoDAsync(l.other + at, l.device + at, bytes, l.stream));
				break;
			case FILL_BYTES:
				CHECK(hipMemsetAsync(l.other + at, n, bytes, l.stream));
				break;
			case FILL_WORDS:
				CHECK(hipMemsetD32Async(l.other + at, n, bytes / 4, l.stream));
				break;
			default:
				CHECK(hipEventRecord(l.event, l.stream));
				CHECK(hipStreamWaitEvent(lanes[(s + 1) % stream_cnt].stream, l.event, 0));
			}
			CHECK(hipGetLastError());
			if (n % unsynced == unsynced - 1)
				CHECK(hipStreamSynchronize(l.stream));
		}
	}
	for (lane &l : lanes)
		CHECK(hipStreamSynchronize(l.stream));
}

static void prepare(FILE *truth, int thread, std::vector<lane> &lanes)
{
	for (int s = 0; s < stream_cnt; s++) {
		lane &l = lanes[s];
		CHECK(hipStreamCreateWithFlags(&l.stream, s % 2 ? hipStreamNonBlocking : 0));
		CHECK(hipEventCreateWithFlags(&l.event, hipEventDisableTiming));
		CHECK(hipHostMalloc((void **)&l.host, region_bytes()));
		CHECK(hipMalloc((void **)&l.device, region_bytes()));
		CHECK(hipMalloc((void **)&l.other, region_bytes()));
		for (char *memory : {l.host, l.device, l.other})
			fprintf(truth, "%d %d %lu %zu\n", thread, s, (unsigned long)memory,
				region_bytes());
	}
}

int main(int argc, char **argv)
{
	FILE *truth = argc > 1 ? fopen(argv[1], "w") : nullptr;
	thread_cnt = argument(argc, argv, 2, 8);
	stream_cnt = argument(argc, argv, 3, 4);
	each = argument(argc, argv, 4, 100);
	if (!truth) {
		fprintf(stderr, "usage: streams TRUTH [THREADS] [STREAMS] [EACH]\n");
		return 2;
	}
	std::vector<std::vector<lane>> lanes(thread_cnt, std::vector<lane>(stream_cnt));
	for (int t = 0; t < thread_cnt; t++)
		prepare(truth, t, lanes[t]);
	fclose(truth);
	std::vector<std::thread> all;
	for (int t = 0; t < thread_cnt; t++)
		all.emplace_back(work, t, std::ref(lanes[t]));
	for (std::thread &thread : all)
		thread.join();
	for (auto &of_thread : lanes)
		for (lane &l : of_thread) {
			CHECK(hipStreamDestroy(l.stream));
			CHECK(hipEventDestroy(l.event));
			CHECK(hipFree(l.other));
			CHECK(hipFree(l.device));
			CHECK(hipHostFree(l.host));
		}
	printf("streams: %d threads, %d streams each, %d operations each\n", thread_cnt, stream_cnt,
		each);
	return 0;
}
