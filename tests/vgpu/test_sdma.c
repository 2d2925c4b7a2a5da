// SPDX-License-Identifier: MIT
/* What DMA queues execute, on a queue without a thread: each step is one call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/kfd_ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "own_memory.h"
#include "vgpu.h"

static struct vg_queue *q;

static int tear_down(void **state)
{
	(void)state;
	free(q);
	return 0;
}

static uint32_t sdma_ring[64]; /* 256 bytes: packets wrap around its end */
static uint64_t sdma_rptr, sdma_bell;
static unsigned sdma_at;

static void sdma_put(const uint32_t *d, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++)
		sdma_ring[sdma_at++ % 64] = d[i];
	sdma_bell = sdma_at * 4ull;
}

static int set_up(void **state)
{
	(void)state;
	q = calloc(1, sizeof *q);
	memset(sdma_ring, 0, sizeof sdma_ring);
	q->type = KFD_IOC_QUEUE_TYPE_SDMA;
	q->aql = NULL;
	q->ring = (char *)sdma_ring;
	q->ring_bytes = sizeof sdma_ring;
	q->rptr = &sdma_rptr;
	q->bell = &sdma_bell;
	sdma_rptr = sdma_bell = sdma_at = 0;
	return 0;
}

#define LOW(p)  ((uint32_t)(uintptr_t)(p))
#define HIGH(p) ((uint32_t)((uint64_t)(uintptr_t)(p) >> 32))

static void sdma_run(void)
{
	while (sdma_rptr < sdma_bell) {
		enum vg_step step = vg_sdma__step(q);

		assert_true(step == VG_STEP_DONE || step == VG_STEP_LATER);
	}
}

static void sdma_copy_and_signal(void **state)
{
	static char from[5000], to[5000];
	struct abi_signal s = {.value = 1};
	uint64_t stamps[2];

	(void)state;
	for (int round = 0; round < 20; round++) {
		memset(from, round + 1, sizeof from);
		s.value = 1;
		sdma_put((uint32_t[]){13 | 2 << 8, LOW(&stamps[0]), HIGH(&stamps[0])}, 3);
		sdma_put((uint32_t[]){1, 2500 - 1, 0, LOW(from), HIGH(from), LOW(to), HIGH(to)}, 7);
		sdma_put((uint32_t[]){1, 2500 - 1, 0, LOW(from + 2500), HIGH(from), LOW(to + 2500),
				 HIGH(to)},
			7);
		sdma_put((uint32_t[]){13 | 2 << 8, LOW(&stamps[1]), HIGH(&stamps[1])}, 3);
		sdma_put((uint32_t[]){10 | 47u << 25, LOW(&s.value), HIGH(&s.value), UINT32_MAX,
				 UINT32_MAX, 0, 0, 0},
			8);
		sdma_run();
		assert_memory_equal(from, to, sizeof from);
		assert_int_equal(s.value, 0);
		/* 25 GB/s: 100 ns for each half */
		assert_int_equal(stamps[1] - stamps[0], 20);
	}
}

/* A latency once for a copy, however many packets it takes; each copy has its own. */
static void sdma_latency(void **state)
{
	static char from[5000], to[5000];
	struct vg_costs *c = &vg_proc()->conf.cost;
	struct abi_signal s = {.value = 3};
	uint64_t stamps[2];

	(void)state;
	c->latency_ns[VG_WAY_H2H] = 1500;
	c->latency_ns[VG_WAY_FILL] = 300;
	for (int round = 0; round < 3; round++) {
		sdma_put((uint32_t[]){13 | 2 << 8, LOW(&stamps[0]), HIGH(&stamps[0])}, 3);
		for (int half = 0; half < 2; half++)
			if (round == 2)
				sdma_put(
					(uint32_t[]){11 | 2u << 30, LOW(to), HIGH(to), 0, 2500 - 1},
					5);
			else
				sdma_put((uint32_t[]){1, 2500 - 1, 0, LOW(from), HIGH(from),
						 LOW(to), HIGH(to)},
					7);
		sdma_put((uint32_t[]){13 | 2 << 8, LOW(&stamps[1]), HIGH(&stamps[1])}, 3);
		sdma_put((uint32_t[]){10 | 47u << 25, LOW(&s.value), HIGH(&s.value), UINT32_MAX,
				 UINT32_MAX, 0, 0, 0},
			8);
		sdma_run();
		assert_int_equal(s.value, 2 - round);
		assert_int_equal(stamps[1] - stamps[0], round == 2 ? 20 + 30 : 20 + 150);
	}
	c->latency_ns[VG_WAY_H2H] = c->latency_ns[VG_WAY_FILL] = 0;
}

/* A doorbell in the middle of a copy: what it is for starts no earlier than that. */
static void sdma_doorbell_in_a_copy(void **state)
{
	static char from[64], to[64];
	struct abi_signal s = {.value = 2};
	uint64_t stamps[4], rung;

	(void)state;
	for (int copy = 0; copy < 2; copy++) {
		sdma_put((uint32_t[]){13 | 2 << 8, LOW(&stamps[2 * copy]), HIGH(&stamps[2 * copy])},
			3);
		sdma_put((uint32_t[]){1, 64 - 1, 0, LOW(from), HIGH(from), LOW(to), HIGH(to)}, 7);
		if (copy == 0) {
			assert_int_equal(vg_sdma__step(q), VG_STEP_DONE);
			assert_int_equal(vg_sdma__step(q), VG_STEP_DONE);
			usleep(1000);
			rung = vg_gpu_ticks(q->gpu, vg_gpu_now(q->gpu));
		}
		sdma_put((uint32_t[]){13 | 2 << 8, LOW(&stamps[2 * copy + 1]),
				 HIGH(&stamps[2 * copy + 1])},
			3);
		sdma_put((uint32_t[]){10 | 47u << 25, LOW(&s.value), HIGH(&s.value), UINT32_MAX,
				 UINT32_MAX, 0, 0, 0},
			8);
	}
	sdma_run();
	assert_int_equal(s.value, 0);
	assert_true(stamps[1] < rung);
	assert_true(stamps[2] >= rung);
}

static void sdma_faults(void **state)
{
	uint64_t word = 1;

	(void)state;
	sdma_put((uint32_t[]){1, 8 - 1, 0, LOW(&word), HIGH(&word), 0x1000, 0}, 7);
	assert_int_equal(vg_sdma__step(q), VG_STEP_DONE);
	sdma_put((uint32_t[]){11 | 2u << 30, 0x1000, 0, 0xabcd, 3}, 5);
	while (vg_sdma__step(q) == VG_STEP_LATER)
		;
	assert_int_equal(sdma_rptr, sdma_bell);
	assert_int_equal(word, 1);
}

static void sdma_poll_blocks(void **state)
{
	uint32_t word = 1, mark = 0;

	(void)state;
	sdma_put((uint32_t[]){8 | 3u << 28 | 1u << 31, LOW(&word), HIGH(&word), 0, UINT32_MAX, 0},
		6);
	sdma_put((uint32_t[]){5, LOW(&mark), HIGH(&mark), 77}, 4);
	assert_int_equal(vg_sdma__step(q), VG_STEP_BLOCKED);
	assert_false(vg_sdma__unblocked(q));
	word = 0;
	assert_true(vg_sdma__unblocked(q));
	sdma_run();
	assert_int_equal(mark, 77);
	/* a register poll flushes the host data path: nothing to wait for */
	word = 1;
	sdma_put((uint32_t[]){8 | 3u << 28, LOW(&word), HIGH(&word), 0, UINT32_MAX, 0}, 6);
	sdma_run();
	assert_int_equal(vg_sdma__step(q), VG_STEP_IDLE);
}

static void sdma_fill_and_rect(void **state)
{
	uint32_t words[64] = {0};
	char from[8 * 8], to[8 * 8] = {0};

	(void)state;
	sdma_put((uint32_t[]){11 | 2u << 30, LOW(words + 1), HIGH(words), 0xabcd, 62 * 4 - 1}, 5);
	sdma_run();
	assert_int_equal(words[0], 0);
	assert_int_equal(words[1], 0xabcd);
	assert_int_equal(words[62], 0xabcd);
	assert_int_equal(words[63], 0);
	for (unsigned i = 0; i < sizeof from; i++)
		from[i] = (char)i;
	/* 3 x 2 bytes from (1, 1) to (4, 5), both pitches 8 */
	sdma_put((uint32_t[]){1 | 4 << 8, LOW(from), HIGH(from), 1 | 1 << 16, 7 << 13, 63, LOW(to),
			 HIGH(to), 4 | 5 << 16, 7 << 13, 63, 2 | 1 << 16, 0},
		13);
	sdma_run();
	for (unsigned y = 0; y < 8; y++)
		for (unsigned x = 0; x < 8; x++) {
			bool in = x >= 4 && x < 7 && y >= 5 && y < 7;

			assert_int_equal(to[y * 8 + x], in ? (y - 4) * 8 + x - 3 : 0);
		}
}

static void sdma_words(void **state)
{
	(void)state;
	assert_int_equal(vg_sdma_length((uint32_t[]){0 | 5u << 16}), 6);
	assert_int_equal(vg_sdma_length((uint32_t[]){1 | 4u << 8}), 13);
	assert_int_equal(vg_sdma_length((uint32_t[]){99}), 0);
	assert_int_equal(vg_sdma_length((uint32_t[]){3}), 0);
	assert_true(vg_sdma_compare(1, 1, 2));
	assert_false(vg_sdma_compare(2, 1, 2));
	assert_true(vg_sdma_compare(2, 2, 2));
	assert_true(vg_sdma_compare(2, 3, 2));
	assert_true(vg_sdma_compare(1, 4, 2));
	assert_true(vg_sdma_compare(2, 5, 2));
	assert_false(vg_sdma_compare(2, 6, 2));
	assert_true(vg_sdma_compare(0, 0, 9));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sdma_copy_and_signal),
		TEST(sdma_latency),
		TEST(sdma_doorbell_in_a_copy),
		TEST(sdma_faults),
		TEST(sdma_poll_blocks),
		TEST(sdma_fill_and_rect),
		TEST(sdma_words),
	};

	own_all_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
