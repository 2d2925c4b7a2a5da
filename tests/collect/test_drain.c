// SPDX-License-Identifier: MIT
/*
 * A producer's threads and the drain at full speed, in one process, so that
 * ThreadSanitizer sees both sides: every record and operation arrives once.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/map.h"
#include "collect/drain.h"
#include "producer.h"

#define EVENTS   30000u
#define RING     16384u
#define CAPACITY 256u

static struct wt_ring ring;
static struct producer_slots slots;
static struct producer producer;
static struct wt_process_shared shared;
static _Atomic int running;
static uint64_t ring_kept, op_kept;

static void *write_ring(void *arg)
{
	struct producer_thread thread = {.ring = ring, .index = 1};

	(void)arg;
	for (uint32_t i = 0; i < EVENTS; i++)
		producer__call(&thread, i, i, i + 1);
	ring_kept = EVENTS - atomic_load(&ring.shared->dropped);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void *write_slots(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint64_t index;

		if (producer__dispatch(&slots, i, 0x100, 1, WT_SLOT_TIMED, &index)) {
			producer__complete(&slots, index, index + 1, index + 2);
			op_kept++;
		}
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void check_ring(const uint8_t *payload, uint32_t length, uint64_t *count)
{
	for (uint32_t at = 0; at < length; at += sizeof(struct wt_rec_call)) {
		const struct wt_rec_call *call = (const void *)(payload + at);

		assert_int_equal(call->rec.size8 * 8, sizeof(*call));
		/* in order; what is missing was dropped and counted */
		assert_true((call->corr & 0xffffffff) > *count >> 32);
		assert_int_equal(call->end_tsc, call->start_tsc + 1);
		*count = (call->corr << 32) | ((*count & 0xffffffff) + 1);
	}
}

static void check_segment(const char *path)
{
	struct wt_segment_reader reader;
	struct wt_frame frame;
	struct wt_map seen = {0};
	uint64_t calls = 0, ops = 0;

	assert_int_equal(wt_segment_reader__open(&reader, path, NULL), 0);
	while (wt_segment_reader__head(&reader, &frame) == 1) {
		const uint8_t *payload = wt_segment_reader__payload(&reader, &frame);

		assert_non_null(payload);
		if (frame.type == WT_FRAME_RING)
			check_ring(payload, frame.length, &calls);
		for (size_t at = sizeof(struct wt_frame_ops);
			frame.type == WT_FRAME_OPS && at < frame.length;
			at += sizeof(struct wt_op_raw)) {
			const struct wt_op_raw *op = (const void *)(payload + at);

			assert_null(wt_map__find(&seen, op->index));
			wt_map__put(&seen, op->index, 1);
			assert_int_equal(op->state, WT_OP_DONE);
			assert_int_equal(op->start_ticks, op->index + 1);
			ops++;
		}
	}
	assert_int_equal(calls & 0xffffffff, ring_kept);
	assert_int_equal(ops, op_kept);
	assert_int_equal(op_kept + slots.busy, EVENTS);
	wt_segment_reader__close(&reader);
	wt_map__free(&seen);
}

static void test_side_by_side(void **state)
{
	size_t slot_bytes = wt_slots__file_bytes(CAPACITY);
	char *ring_memory = aligned_alloc(4096, WT_RING_HEADER_BYTES + RING);
	char *slot_memory = aligned_alloc(4096, (slot_bytes + 4095) & ~4095ul);
	struct wt_slots_shared *head = (void *)slot_memory;
	struct wt_ring_source ring_source = {.number = 1};
	struct wt_slots_source slots_source = {.number = 1};
	struct wt_segment_writer writer;
	struct wt_drain drain = {.writer = &writer};
	pthread_t threads[2];
	char path[64];

	(void)state;
	memset(ring_memory, 0, WT_RING_HEADER_BYTES + RING);
	memset(slot_memory, 0, slot_bytes);
	wt_ring__init(&ring, ring_memory, RING, 0, 1);
	*head = (struct wt_slots_shared){.magic = WT_SLOTS_MAGIC,
		.version = 1,
		.capacity = CAPACITY,
		.slots_offset = 4096,
		.signals_offset = 4096 + CAPACITY * 64};
	producer.shared = &shared;
	slots = (struct producer_slots){.shared = head,
		.capacity = CAPACITY,
		.producer = &producer,
		.slots = (void *)(slot_memory + 4096),
		.signals = (void *)(slot_memory + 4096 + CAPACITY * 64)};
	snprintf(path, sizeof(path), "/tmp/wt-drain-%d.wtseg", (int)getpid());
	unlink(path);
	assert_int_equal(wt_segment__create(&writer, path, 1, 1, NULL), 0);
	assert_int_equal(
		wt_ring_reader__open(&ring_source.reader, ring_memory, WT_RING_HEADER_BYTES + RING),
		0);
	assert_int_equal(wt_slots_reader__open(&slots_source.reader, slot_memory, slot_bytes), 0);
	atomic_store(&running, 2);
	pthread_create(&threads[0], NULL, write_ring, NULL);
	pthread_create(&threads[1], NULL, write_slots, NULL);
	for (bool last = false;;) {
		last = !atomic_load(&running);
		assert_int_equal(wt_drain__slots(&drain, &slots_source, false), 0);
		assert_int_equal(wt_drain__ring(&drain, &ring_source), 0);
		assert_int_equal(wt_drain__commit(&drain), 0);
		if (last)
			break;
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_int_equal(wt_drain__slots(&drain, &slots_source, true), 0);
	assert_int_equal(wt_drain__commit(&drain), 0);
	wt_segment__close(&writer);
	check_segment(path);
	unlink(path);
	wt_slots_reader__close(&slots_source.reader);
	wt_drain__free(&drain);
	free(ring_memory);
	free(slot_memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
