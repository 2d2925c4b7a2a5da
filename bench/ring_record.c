// SPDX-License-Identifier: MIT
/*
 * ns a record in a tight loop of the record path: reserve, fill, commit; the consumer's release is
 * done in the same thread each time the ring is half full, so that no second core is needed. The
 * peer is the same loop that only writes the bytes into a buffer, which is the memory's own cost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"
#include "core/ring.h"

enum { CAPACITY = 256 * 1024, RECORDS = 20 * 1000 * 1000, RUNS = 7 };

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void fill(struct wt_rec_call *call, uint64_t i, uint64_t start, uint64_t end)
{
	*call = (struct wt_rec_call){
		.rec = {.type = WT_REC_CALL, .size8 = sizeof(*call) / 8, .id = 7},
		.start_tsc = start,
		.end_tsc = end,
		.corr = WT_CORR(1, i),
		.stream = 3,
	};
}

static double ring_run(struct wt_ring *ring, struct wt_ring_reader *reader, bool clock, bool tsc)
{
	uint64_t start = now_ns(), full = 0;

	for (uint64_t i = 0; i < RECORDS; i++) {
		uint64_t entered = clock ? wt_clock__read(tsc) : i;
		struct wt_rec_call *call = wt_ring__reserve(ring, sizeof(*call));

		if (!call) {
			full++;
			continue;
		}
		fill(call, i, entered, clock ? wt_clock__read(tsc) : i);
		wt_ring__commit(ring, sizeof(*call));
		if ((ring->head & (CAPACITY / 2 - 1)) < sizeof(*call))
			wt_ring_reader__release(reader, ring->head);
	}
	if (full)
		fprintf(stderr, "ring_record: %llu records found no room\n",
			(unsigned long long)full);
	return (double)(now_ns() - start) / RECORDS;
}

static double copy_run(uint8_t *buffer)
{
	uint64_t start = now_ns();
	uint32_t at = 0;

	for (uint64_t i = 0; i < RECORDS; i++) {
		fill((struct wt_rec_call *)(void *)(buffer + at), i, i, i);
		__asm__ volatile("" : : "r"(buffer) : "memory"); /* each one is written */
		at += sizeof(struct wt_rec_call);
		if (at > CAPACITY - sizeof(struct wt_rec_call))
			at = 0;
	}
	return (double)(now_ns() - start) / RECORDS;
}

static double lowest(double a, double b)
{
	return a < b ? a : b;
}

int main(void)
{
	size_t bytes = WT_RING_HEADER_BYTES + CAPACITY;
	uint8_t *mapping = aligned_alloc(4096, bytes), *buffer = aligned_alloc(4096, CAPACITY);
	bool tsc = wt_clock__tsc_usable();
	double ring_ns = 1e9, clock_ns = 1e9, copy_ns = 1e9;
	struct wt_ring_reader reader;
	struct wt_ring ring;

	if (!mapping || !buffer)
		return 1;
	memset(mapping, 0, bytes);
	memset(buffer, 0, CAPACITY);
	wt_ring__init(&ring, mapping, CAPACITY, 0, 0);
	if (wt_ring_reader__open(&reader, mapping, bytes))
		return 1;
	for (int i = 0; i < RUNS; i++) {
		ring_ns = lowest(ring_ns, ring_run(&ring, &reader, false, tsc));
		clock_ns = lowest(clock_ns, ring_run(&ring, &reader, true, tsc));
		copy_ns = lowest(copy_ns, copy_run(buffer));
	}
	printf("{\"bench\":\"ring_record\",\"ns_per_record\":%.2f,\"ns_with_two_clock_reads\":%.2f,"
	       "\"ns_of_plain_writes\":%.2f,\"clock\":\"%s\",\"aim_ns\":15}\n",
		ring_ns, clock_ns, copy_ns, tsc ? "tsc" : "clock_gettime");
	free(mapping);
	free(buffer);
	return 0;
}
