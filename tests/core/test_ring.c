// SPDX-License-Identifier: MIT
/* The ring: order, wrapping, being full, and a producer and a consumer at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>

#include "core/ring.h"

#define CAPACITY 4096u
#define BYTES	 (WT_RING_HEADER_BYTES + CAPACITY)

struct numbered {
	struct wt_rec rec;
	uint64_t number;
	uint64_t filler[8];
};

static void *make(struct wt_ring *ring)
{
	void *map = aligned_alloc(4096, BYTES);

	assert_non_null(map);
	memset(map, 0, BYTES);
	wt_ring__init(ring, map, CAPACITY, 1, 2);
	return map;
}

static uint32_t size_of(uint64_t number)
{
	return (uint32_t)(16 + number % 9 * 8);
}

static bool put(struct wt_ring *ring, uint64_t number)
{
	uint32_t bytes = size_of(number);
	struct numbered *rec = wt_ring__reserve(ring, bytes);

	if (!rec)
		return false;
	rec->rec = (struct wt_rec){WT_REC_CALL, (uint16_t)(bytes / 8), (uint32_t)number};
	rec->number = number;
	for (uint32_t i = 0; i < number % 9; i++)
		rec->filler[i] = number;
	wt_ring__commit(ring, bytes);
	return true;
}

/* Reads what is there, checks that the numbers go on from *next. */
static uint64_t take(struct wt_ring_reader *reader, uint64_t *next)
{
	struct wt_ring_run runs[2];
	uint64_t end, got = 0;

	wt_ring_reader__peek(reader, runs, &end);
	for (int i = 0; i < 2; i++)
		for (uint32_t at = 0; at < runs[i].length;) {
			struct numbered rec = {0};
			uint32_t bytes = size_of(*next);

			assert_true(at + bytes <= runs[i].length);
			memcpy(&rec, runs[i].bytes + at, bytes);
			assert_int_equal(rec.rec.size8 * 8, bytes);
			assert_int_equal(rec.number, *next);
			for (uint64_t k = 0; k < *next % 9; k++)
				assert_int_equal(rec.filler[k], *next);
			at += bytes;
			(*next)++;
			got++;
		}
	wt_ring_reader__release(reader, end);
	return got;
}

static void test_order_and_wrap(void **state)
{
	struct wt_ring ring;
	struct wt_ring_reader reader;
	uint64_t written = 0, read = 0;
	void *map = make(&ring);

	(void)state;
	assert_int_equal(wt_ring_reader__open(&reader, map, BYTES), 0);
	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < round % 70; i++)
			written += put(&ring, written);
		take(&reader, &read);
		assert_int_equal(read, written);
	}
	assert_true(ring.head > 50 * CAPACITY);
	assert_int_equal(reader.corrupt, 0);
	free(map);
}

static void test_full_counts_and_keeps(void **state)
{
	struct wt_ring ring;
	struct wt_ring_reader reader;
	uint64_t written = 0, read = 0;
	void *map = make(&ring);

	(void)state;
	assert_int_equal(wt_ring_reader__open(&reader, map, BYTES), 0);
	while (put(&ring, written))
		written++;
	assert_false(put(&ring, written));
	assert_int_equal(atomic_load(&ring.shared->dropped), 2);
	take(&reader, &read);
	assert_int_equal(read, written);
	assert_true(put(&ring, written));
	free(map);
}

static void test_refuses_what_is_no_ring(void **state)
{
	struct wt_ring ring;
	struct wt_ring_reader reader;
	void *map = make(&ring);

	(void)state;
	assert_int_equal(wt_ring_reader__open(&reader, map, BYTES - 1), -EINVAL);
	assert_int_equal(wt_ring_reader__open(&reader, map, 100), -EINVAL);
	ring.shared->capacity = 3000;
	assert_int_equal(wt_ring_reader__open(&reader, map, BYTES), -EINVAL);
	ring.shared->capacity = CAPACITY * 2;
	assert_int_equal(wt_ring_reader__open(&reader, map, BYTES), -EINVAL);
	ring.shared->capacity = CAPACITY;
	ring.shared->magic ^= 1;
	assert_int_equal(wt_ring_reader__open(&reader, map, BYTES), -EINVAL);
	free(map);
}

/* A tail that lies must not make the producer overwrite what was not read, nor run away. */
static void test_producer_ignores_lying_tail(void **state)
{
	struct wt_ring ring;
	uint64_t written = 0;
	void *map = make(&ring);

	(void)state;
	atomic_store(&ring.shared->tail, UINT64_MAX - 7);
	while (put(&ring, written))
		written++;
	assert_true(ring.head <= CAPACITY);
	free(map);
}

struct pair {
	struct wt_ring ring;
	uint64_t cnt;
};

static void *produce(void *arg)
{
	struct pair *pair = arg;

	for (uint64_t i = 0; i < pair->cnt;)
		if (put(&pair->ring, i))
			i++;
	return NULL;
}

static void test_two_threads(void **state)
{
	struct pair pair = {.cnt = 200000};
	struct wt_ring_reader reader;
	uint64_t read = 0;
	pthread_t thread;
	void *map = make(&pair.ring);

	(void)state;
	assert_int_equal(wt_ring_reader__open(&reader, map, BYTES), 0);
	assert_int_equal(pthread_create(&thread, NULL, produce, &pair), 0);
	while (read < pair.cnt)
		take(&reader, &read);
	pthread_join(thread, NULL);
	assert_int_equal(reader.corrupt, 0);
	free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_and_wrap),
		cmocka_unit_test(test_full_counts_and_keeps),
		cmocka_unit_test(test_refuses_what_is_no_ring),
		cmocka_unit_test(test_producer_ignores_lying_tail),
		cmocka_unit_test(test_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
