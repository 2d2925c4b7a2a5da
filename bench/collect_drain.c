// SPDX-License-Identifier: MIT
/*
 * Ring and slots → segment: events a second of one core. An event is one
 * launch record or one operation, half each. Making them is not timed.
 * collect_drain [EVENTS] [SEGMENT]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/drain.h"

#define RING_BYTES (256u << 10)
#define CAPACITY   8192u

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint32_t fill_ring(struct wt_ring *ring, uint64_t *corr)
{
	uint32_t cnt = 0;
	struct wt_rec_launch *rec;

	while ((rec = wt_ring__reserve(ring, sizeof(*rec)))) {
		*rec = (struct wt_rec_launch){
			.call = {.rec = {WT_REC_CALL_LAUNCH, sizeof(*rec) / 8, 0}, .corr = ++*corr},
		};
		wt_ring__commit(ring, sizeof(*rec));
		cnt++;
	}
	return cnt;
}

static void fill_slots(struct wt_slots_shared *shared, struct wt_slot *slots,
	struct wt_signal *signals, uint32_t cnt)
{
	uint64_t index = atomic_load(&shared->submitted);

	for (uint32_t i = 0; i < cnt; i++, index++) {
		union wt_slot_word word = {.lap = (uint32_t)(index / CAPACITY),
			.state = WT_SLOT_SUBMITTED,
			.kind = WT_SLOT_DISPATCH,
			.flags = WT_SLOT_TIMED};

		slots[index % CAPACITY].corr = index;
		signals[index % CAPACITY].start_ticks = index;
		signals[index % CAPACITY].end_ticks = index + 1;
		signals[index % CAPACITY].value = 0;
		atomic_store_explicit(
			&slots[index % CAPACITY].word, word.raw, memory_order_release);
	}
	atomic_store_explicit(&shared->submitted, index, memory_order_release);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000000, done = 0, corr = 0;
	const char *path = argc > 2 ? argv[2] : "/tmp/wavetap-bench.wtseg";
	size_t slot_bytes = wt_slots__file_bytes(CAPACITY);
	void *ring_memory = aligned_alloc(4096, WT_RING_HEADER_BYTES + RING_BYTES);
	char *slot_memory = aligned_alloc(4096, slot_bytes);
	struct wt_slots_shared *shared = (void *)slot_memory;
	struct wt_ring_source ring_source = {.number = 0};
	struct wt_slots_source slots_source = {.number = 0};
	struct wt_segment_writer writer;
	struct wt_drain drain = {.writer = &writer};
	struct wt_ring ring;
	WT_ERR_AUTO err = NULL;
	double wall = 0, cpu = 0;

	if (!ring_memory || !slot_memory)
		return 1;
	memset(ring_memory, 0, WT_RING_HEADER_BYTES + RING_BYTES);
	memset(slot_memory, 0, slot_bytes);
	wt_ring__init(&ring, ring_memory, RING_BYTES, 0, 0);
	*shared = (struct wt_slots_shared){.magic = WT_SLOTS_MAGIC,
		.version = 1,
		.capacity = CAPACITY,
		.slots_offset = WT_SLOTS_HEADER_BYTES,
		.signals_offset = WT_SLOTS_HEADER_BYTES + CAPACITY * 64};
	unlink(path);
	if (wt_segment__create(&writer, path, 1, 1, &err) ||
		wt_ring_reader__open(
			&ring_source.reader, ring_memory, WT_RING_HEADER_BYTES + RING_BYTES) ||
		wt_slots_reader__open(&slots_source.reader, slot_memory, slot_bytes)) {
		wt_err__print(stderr, err);
		return 1;
	}
	while (done < events) {
		uint32_t cnt = fill_ring(&ring, &corr);
		double wall_start, cpu_start;

		fill_slots(shared, (void *)(slot_memory + WT_SLOTS_HEADER_BYTES),
			(void *)(slot_memory + WT_SLOTS_HEADER_BYTES + CAPACITY * 64), cnt);
		wall_start = now(CLOCK_MONOTONIC);
		cpu_start = now(CLOCK_PROCESS_CPUTIME_ID);
		if (wt_drain__slots(&drain, &slots_source, false) ||
			wt_drain__ring(&drain, &ring_source) || wt_drain__commit(&drain))
			return 1;
		wall += now(CLOCK_MONOTONIC) - wall_start;
		cpu += now(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
		done += 2 * cnt;
		/* the disk is not what is measured: the page cache must not fill up */
		if (writer.written > 256u << 20 && !ftruncate(writer.fd, 0)) {
			lseek(writer.fd, 0, SEEK_SET);
			writer.written = 0;
		}
	}
	if (drain.op_cnt * 2 != done)
		return 1;
	printf("{\"bench\":\"collect_drain\",\"events\":%llu,\"events_per_s\":%.0f,"
	       "\"events_per_cpu_s\":%.0f,\"bytes_per_event\":%.1f}\n",
		(unsigned long long)done, (double)done / wall, (double)done / cpu,
		(80.0 + 96.0) / 2);
	wt_segment__close(&writer);
	unlink(path);
	return 0;
}
