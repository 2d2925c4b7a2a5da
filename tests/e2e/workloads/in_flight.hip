// SPDX-License-Identifier: MIT
// in_flight [OPERATIONS]: puts operations in flight, and while they are, counts how many signals
// of the application's own still get an interrupt event from the driver (4,096 a process).
#include "workload.h"
#include <hsa/hsa.h>
#include <hsa/amd_hsa_signal.h>
#include <vector>

__global__ void slow(int *data)
{
	if (data)
		data[0] = 1;
}

static int with_event(int count, bool stop_at_first_without)
{
	std::vector<hsa_signal_t> signals;
	int events = 0;
	for (int i = 0; i < count; i++) {
		hsa_signal_t signal;
		if (hsa_signal_create(1, 0, nullptr, &signal) != HSA_STATUS_SUCCESS)
			break;
		signals.push_back(signal);
		bool has = ((amd_signal_t *)signal.handle)->event_mailbox_ptr != 0;
		events += has;
		if (!has && stop_at_first_without)
			break;
	}
	for (hsa_signal_t signal : signals)
		hsa_signal_destroy(signal);
	return events;
}

int main(int argc, char **argv)
{
	int operations = argument(argc, argv, 1, 20000);
	constexpr int streams = 4;
	hipStream_t stream[streams];
	hipEvent_t last[streams];
	for (int s = 0; s < streams; s++) {
		CHECK(hipStreamCreate(&stream[s]));
		CHECK(hipEventCreateWithFlags(&last[s], hipEventDisableTiming));
	}
	for (int i = 0; i < operations; i++)
		slow<<<1, 64, 0, stream[i % streams]>>>(nullptr);
	CHECK(hipGetLastError());
	for (int s = 0; s < streams; s++)
		CHECK(hipEventRecord(last[s], stream[s]));
	int next_hundred = with_event(100, false), left = with_event(4200, true), in_flight = 0;
	for (int s = 0; s < streams; s++)
		in_flight += hipEventQuery(last[s]) == hipErrorNotReady;
	CHECK(hipDeviceSynchronize());
	for (int s = 0; s < streams; s++) {
		CHECK(hipEventDestroy(last[s]));
		CHECK(hipStreamDestroy(stream[s]));
	}
	printf("in_flight: next 100 signals: %d events; left: %d\n", next_hundred, left);
	if (in_flight != streams) {
		fprintf(stderr, "in_flight: the kernels are too short: %d of %d streams were still busy\n",
			in_flight, streams);
		return 3;
	}
	return 0;
}
