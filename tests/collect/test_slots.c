// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/slots.h"
#include "core/session.h"
#include "producer.h"

#define CAPACITY 64u

struct table {
	struct producer p;
	struct wt_process_shared shared;
	struct producer_slots s;
	struct wt_slots_reader reader;
	void *memory;
};

static int set_up(void **state)
{
	struct table *t = calloc(1, sizeof(*t));
	size_t bytes = wt_slots__file_bytes(CAPACITY);
	struct wt_slots_shared *shared;

	t->memory = aligned_alloc(4096, (bytes + 4095) & ~4095ul);
	memset(t->memory, 0, bytes);
	shared = t->memory;
	shared->magic = WT_SLOTS_MAGIC;
	shared->version = 1;
	shared->queue = 3;
	shared->capacity = CAPACITY;
	shared->slots_offset = WT_SLOTS_HEADER_BYTES;
	shared->signals_offset = WT_SLOTS_HEADER_BYTES + CAPACITY * 64;
	t->p.shared = &t->shared;
	t->s = (struct producer_slots){.shared = shared,
		.capacity = CAPACITY,
		.producer = &t->p,
		.slots = (void *)((char *)t->memory + WT_SLOTS_HEADER_BYTES),
		.signals = (void *)((char *)t->memory + WT_SLOTS_HEADER_BYTES + CAPACITY * 64)};
	assert_int_equal(wt_slots_reader__open(&t->reader, t->memory, bytes), 0);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct table *t = *state;

	wt_slots_reader__close(&t->reader);
	free(t->memory);
	free(t);
	return 0;
}

static uint64_t dispatch(struct table *t)
{
	uint64_t index;

	producer__dispatch(&t->s, 5, 0x100, 1, WT_SLOT_TIMED, &index);
	return index;
}

static void test_complete_only(void **state)
{
	struct table *t = *state;
	struct wt_op_raw ops[8];

	for (int i = 0; i < 4; i++)
		dispatch(t);
	assert_int_equal(wt_slots_reader__scan(&t->reader, ops, 8, false), 0);
	producer__complete(&t->s, 2, 100, 200);
	assert_int_equal(wt_slots_reader__scan(&t->reader, ops, 8, false), 1);
	assert_int_equal(ops[0].index, 2);
	assert_int_equal(ops[0].start_ticks, 100);
	assert_int_equal(ops[0].end_ticks, 200);
	assert_int_equal(ops[0].state, WT_OP_DONE);
	/* stored, but not free before the release */
	assert_int_equal(wt_slots_reader__scan(&t->reader, ops, 8, false), 0);
	assert_int_not_equal(((union wt_slot_word){.raw = t->s.slots[2].word}).state, WT_SLOT_FREE);
	wt_slots_reader__release(&t->reader);
	assert_int_equal(((union wt_slot_word){.raw = t->s.slots[2].word}).state, WT_SLOT_FREE);
	producer__complete(&t->s, 0, 1, 2);
	producer__complete(&t->s, 3, 3, 4);
	assert_int_equal(wt_slots_reader__scan(&t->reader, ops, 8, false), 2);
	assert_int_equal(ops[0].index, 0);
	assert_int_equal(ops[1].index, 3);
	wt_slots_reader__release(&t->reader);
	assert_int_equal(wt_slots_reader__scan(&t->reader, ops, 8, true), 1);
	assert_int_equal(ops[0].index, 1);
	assert_int_equal(ops[0].state, WT_OP_IN_FLIGHT);
}

static void test_stuck_kernel(void **state)
{
	struct table *t = *state;
	struct wt_op_raw ops[CAPACITY];
	uint64_t stuck = dispatch(t), found = 0, made = 0;

	/* everything else goes round many times; the stuck slot is found in use once a lap */
	for (int i = 0; i < 1000; i++) {
		uint64_t index;

		if (producer__dispatch(&t->s, 5, 0x100, 1, WT_SLOT_TIMED, &index)) {
			made++;
			producer__complete(&t->s, index, index, index + 1);
		}
		if (i % 7 == 0) {
			found += wt_slots_reader__scan(&t->reader, ops, CAPACITY, false);
			wt_slots_reader__release(&t->reader);
		}
	}
	found += wt_slots_reader__scan(&t->reader, ops, CAPACITY, false);
	wt_slots_reader__release(&t->reader);
	assert_int_equal(found, made);
	assert_int_equal(made + t->s.busy, 1000);
	assert_int_equal(t->s.busy, 1000 / CAPACITY);
	producer__complete(&t->s, stuck, 7, 8);
	assert_int_equal(wt_slots_reader__scan(&t->reader, ops, CAPACITY, false), 1);
	assert_int_equal(ops[0].index, stuck);
}

static void test_reader_sleeps_for_laps(void **state)
{
	struct table *t = *state;
	struct wt_op_raw ops[CAPACITY];
	uint64_t made = 0, found = 0;

	for (uint32_t i = 0; i < 5 * CAPACITY + 3; i++) {
		uint64_t index;

		if (producer__dispatch(&t->s, 5, 0x100, 1, WT_SLOT_TIMED, &index)) {
			made++;
			producer__complete(&t->s, index, index, index + 1);
		}
	}
	for (;;) {
		uint32_t n = wt_slots_reader__scan(&t->reader, ops, 10, false);

		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(ops[i].start_ticks, ops[i].index);
		found += n;
		if (!n)
			break;
	}
	wt_slots_reader__release(&t->reader);
	assert_int_equal(found, made);
	assert_int_equal(made + t->s.busy, 5 * CAPACITY + 3);
	/* and goes on as usual */
	producer__complete(&t->s, dispatch(t), 1, 2);
	assert_int_equal(wt_slots_reader__scan(&t->reader, ops, 10, false), 1);
}

static void set_kind(struct table *t, uint64_t index, uint8_t kind)
{
	union wt_slot_word word = {.raw = t->s.slots[index % CAPACITY].word};

	word.kind = kind;
	t->s.slots[index % CAPACITY].word = word.raw;
}

static void test_kinds(void **state)
{
	struct table *t = *state;
	struct wt_op_raw ops[8];
	uint64_t index;

	set_kind(t, dispatch(t), WT_SLOT_BARRIER);
	set_kind(t, dispatch(t), WT_SLOT_OTHER);
	producer__dispatch(&t->s, 5, 0x100, 1, 0, &index);
	producer__complete(&t->s, dispatch(t), 0, 0);
	producer__dispatch(&t->s, 5, 0x100, 1, WT_SLOT_TIMED | WT_SLOT_OWN_SIGNAL, &index);
	producer__complete(&t->s, index, 10, 20);
	assert_int_equal(wt_slots_reader__scan(&t->reader, ops, 8, false), 3);
	assert_int_equal(ops[0].index, 2);
	assert_int_equal(ops[0].state, WT_OP_UNTIMED);
	assert_int_equal(
		((union wt_slot_word){.raw = ops[0].slot.word}).untimed, WT_LOST_TIME_DEPTH);
	assert_int_equal(ops[1].index, 3);
	assert_int_equal(ops[1].state, WT_OP_UNTIMED);
	assert_int_equal(
		((union wt_slot_word){.raw = ops[1].slot.word}).untimed, WT_LOST_TIME_NOT_STAMPED);
	assert_int_equal(ops[2].index, 4);
	assert_int_equal(ops[2].state, WT_OP_DONE);
	assert_int_equal(((union wt_slot_word){.raw = t->s.slots[0].word}).state, WT_SLOT_FREE);
	assert_int_equal(((union wt_slot_word){.raw = t->s.slots[1].word}).state, WT_SLOT_FREE);
}

static void test_stored_before(void **state)
{
	struct table *t = *state;
	struct wt_op_raw ops[8];

	for (int i = 0; i < 3; i++)
		producer__complete(&t->s, dispatch(t), 1, 2);
	assert_int_equal(wt_slots_reader__mark_stored(&t->reader, 1), 0);
	assert_int_equal(wt_slots_reader__mark_stored(&t->reader, 2 + CAPACITY), 0);
	assert_int_equal(wt_slots_reader__scan(&t->reader, ops, 8, true), 2);
	assert_int_equal(ops[0].index, 0);
	assert_int_equal(ops[1].index, 2);
}

static void test_retired(void **state)
{
	struct table *t = *state;
	struct wt_op_raw ops[8];

	producer__complete(&t->s, dispatch(t), 1, 2);
	assert_false(wt_slots_reader__finished(&t->reader));
	t->s.shared->retired = 1;
	assert_false(wt_slots_reader__finished(&t->reader));
	assert_int_equal(wt_slots_reader__scan(&t->reader, ops, 8, true), 1);
	assert_false(wt_slots_reader__finished(&t->reader));
	wt_slots_reader__release(&t->reader);
	assert_true(wt_slots_reader__finished(&t->reader));
}

static void test_headers(void **state)
{
	struct table *t = *state;
	struct wt_slots_shared *shared = t->memory, good = *shared;
	size_t bytes = wt_slots__file_bytes(CAPACITY);
	struct wt_slots_reader reader;

#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		shared->field = (value);                                                           \
		assert_int_not_equal(wt_slots_reader__open(&reader, t->memory, bytes), 0);         \
		*shared = good;                                                                    \
	} while (0)
	REFUSED(magic, 1);
	REFUSED(version, 2);
	REFUSED(capacity, 0);
	REFUSED(capacity, 63);
	REFUSED(capacity, 128);
	REFUSED(capacity, 1u << 31);
	REFUSED(slots_offset, 0);
	REFUSED(slots_offset, 4097);
	REFUSED(slots_offset, UINT64_MAX - 63);
	REFUSED(signals_offset, bytes);
	REFUSED(signals_offset, UINT64_MAX / 64 * 64);
	assert_int_not_equal(wt_slots_reader__open(&reader, t->memory, 4095), 0);
	assert_int_not_equal(wt_slots_reader__open(&reader, t->memory, bytes - 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_complete_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stuck_kernel, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reader_sleeps_for_laps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stored_before, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_retired, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_headers, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
