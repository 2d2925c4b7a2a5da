// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/clock_line.h"

#define MS 1000000ull
#define S  1000000000ull

static uint64_t convert(struct wt_clock_line *line, uint64_t ticks)
{
	uint64_t ns;

	assert_true(wt_clock_line__convert(line, ticks, &ns));
	return ns;
}

static void near(uint64_t a, uint64_t b, uint64_t within)
{
	uint64_t off = a > b ? a - b : b - a;

	if (off > within)
		fail_msg("%llu and %llu are %llu apart", (unsigned long long)a,
			(unsigned long long)b, (unsigned long long)off);
}

/* A clock of 2.4 GHz whose rate drifts by 50 ppm over a minute, read ten times a second. */
static void test_drift(void **state)
{
	struct wt_clock_line line = {0};
	uint64_t ticks = 1ull << 62, ns = 5 * S;
	WT_VEC(struct wt_clock_point) truth = {0};

	(void)state;
	for (int i = 0; i < 600; i++) {
		double rate = 2.4 * (1 + 50e-6 * i / 600);

		assert_int_equal(wt_clock_line__add(&line, ticks, ns, 0), 0);
		assert_int_equal(
			wt_vec__push(&truth, (struct wt_clock_point){ticks, ns, false}), 0);
		ns += 100 * MS;
		ticks += (uint64_t)(100 * MS * rate);
	}
	for (int i = 0; i < 599; i++) {
		struct wt_clock_point *p = &truth.data[i];

		assert_int_equal(convert(&line, p->ticks), p->ns);
		for (int part = 1; part < 7; part++) {
			uint64_t at = p->ticks + (p[1].ticks - p->ticks) * part / 7;

			near(convert(&line, at), p->ns + 100 * MS * part / 7, 1);
		}
	}
	/* before the first and behind the last: at the rate there */
	near(convert(&line, truth.data[0].ticks - 2400000), truth.data[0].ns - 1 * MS, 2);
	near(convert(&line, truth.data[599].ticks + 2400000), truth.data[599].ns + 1 * MS, 60);
	wt_vec__free(&truth);
	wt_clock_line__free(&line);
}

/* No nanosecond lost to large numbers: a clock of 1 GHz is itself. */
static void test_exact(void **state)
{
	struct wt_clock_line line = {0};
	uint64_t base = 400 * 24 * 3600 * S;

	(void)state;
	for (int i = 0; i < 10; i++)
		wt_clock_line__add(&line, base * 3 + i * 333333333ull, base + i * 333333333ull, 0);
	for (uint64_t i = 0; i < 4 * S; i += 12345677)
		assert_int_equal(convert(&line, base * 3 + i), base + i);
	wt_clock_line__free(&line);
}

/* The clock stands still for an hour while CLOCK_BOOTTIME goes on. */
static void test_suspend(void **state)
{
	struct wt_clock_line line = {0};
	uint64_t ticks = 1000 * S, ns = 50 * S;

	(void)state;
	for (int i = 0; i < 20; i++) {
		wt_clock_line__add(&line, ticks, ns, 0);
		ticks += 100 * MS;
		ns += 100 * MS;
	}
	ns += 3600 * S; /* between the last pair and the next */
	for (int i = 0; i < 20; i++) {
		wt_clock_line__add(&line, ticks, ns, 0);
		ticks += 100 * MS;
		ns += 100 * MS;
	}
	/* just before: with what was before; just after: with what was after; no time between */
	assert_int_equal(convert(&line, 1000 * S + 1900 * MS + 10 * MS), 50 * S + 1910 * MS);
	assert_int_equal(convert(&line, 1000 * S + 2000 * MS - 10 * MS), 3652 * S - 10 * MS);
	assert_int_equal(convert(&line, 1000 * S + 500 * MS), 50 * S + 500 * MS);
	assert_int_equal(convert(&line, 1000 * S + 2500 * MS), 3652 * S + 500 * MS);
	wt_clock_line__free(&line);
}

/* The clock begins anew at 0 (deep sleep resets a TSC). */
static void test_reset(void **state)
{
	struct wt_clock_line line = {0};

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		wt_clock_line__add(&line, 900 * S + i * 100 * MS, 10 * S + i * 100 * MS, 0);
	for (uint64_t i = 0; i < 10; i++)
		wt_clock_line__add(&line, 1 * S + i * 100 * MS, 100 * S + i * 100 * MS, 0);
	assert_int_equal(convert(&line, 900 * S + 250 * MS), 10 * S + 250 * MS);
	assert_int_equal(convert(&line, 1 * S + 250 * MS), 100 * S + 250 * MS);
	assert_int_equal(convert(&line, 1 * S + 1000 * MS), 101 * S);
	wt_clock_line__free(&line);
}

/* The GPU was without power: what ran between the last pair and the suspend is of before. */
static void test_reset_edges(void **state)
{
	struct wt_clock_line line = {0};

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		wt_clock_line__add(&line, 90 * S + i * 10 * MS, 10 * S + i * 100 * MS, 0);
	/* not yet: the next pair may be one that began anew */
	assert_false(wt_clock_line__covers(&line, 90 * S + 92 * MS));
	assert_false(wt_clock_line__covers(&line, 5 * MS));
	wt_clock_line__add(&line, 6 * MS, 100 * S, 20 * MS);
	assert_int_equal(line.anew_cnt, 1);
	assert_int_equal(line.break_cnt, 1);
	assert_true(wt_clock_line__covers(&line, 90 * S + 92 * MS));
	/* at the rate of before, for there is none of its own yet */
	assert_int_equal(convert(&line, 90 * S + 92 * MS), 10 * S + 920 * MS);
	assert_int_equal(convert(&line, 2 * MS), 100 * S - 40 * MS);
	wt_clock_line__add(&line, 16 * MS, 100 * S + 100 * MS, 0);
	assert_int_equal(convert(&line, 10 * MS), 100 * S + 40 * MS);
	assert_int_equal(convert(&line, 18 * MS), 100 * S + 120 * MS);
	/* never past what came after, nor before what came before */
	assert_int_equal(convert(&line, 101 * S), 100 * S);
	assert_int_equal(convert(&line, 0), 100 * S - 60 * MS);
	wt_clock_line__free(&line);
}

/* Two counts that show the same ticks: no time rather than a wrong one. */
static void test_ambiguous(void **state)
{
	struct wt_clock_line line = {0};
	uint64_t ns;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		wt_clock_line__add(&line, i * 100 * MS, 10 * S + i * 100 * MS, 0);
	for (uint64_t i = 0; i < 5; i++)
		wt_clock_line__add(&line, i * 100 * MS, 90 * S + i * 100 * MS, 0);
	assert_false(wt_clock_line__convert(&line, 250 * MS, &ns));
	assert_int_equal(convert(&line, 750 * MS), 10 * S + 750 * MS);
	wt_clock_line__free(&line);
}

/* The pair after a suspend was taken soon after it: the suspend lies in that short time. */
static void test_gap(void **state)
{
	struct wt_clock_line line = {0};

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		wt_clock_line__add(&line, 7 * S + i * 100 * MS, 50 * S + i * 100 * MS, 0);
	wt_clock_line__add(&line, 7 * S + 500 * MS, 90 * S, 20 * MS);
	assert_int_equal(line.break_cnt, 1);
	assert_int_equal(convert(&line, 7 * S + 470 * MS), 50 * S + 470 * MS);
	assert_int_equal(convert(&line, 7 * S + 490 * MS), 90 * S - 10 * MS);
	wt_clock_line__free(&line);
}

/* Two threads read at about the same time: the counter is only known to within its width. */
static void test_back_by_jitter(void **state)
{
	struct wt_clock_line line = {0};

	(void)state;
	wt_clock_line__add(&line, 100 * S, 1 * S, 0);
	wt_clock_line__add(&line, 101 * S, 2 * S, 0);
	wt_clock_line__add(&line, 101 * S - 900, 2 * S + 100, 0);
	wt_clock_line__add(&line, 102 * S, 3 * S, 0);
	assert_int_equal(line.points.cnt, 3);
	assert_int_equal(line.break_cnt, 0);
	wt_clock_line__free(&line);
}

/* Two readings close together with jitter do not make the third a break, nor a wild rate. */
static void test_jitter(void **state)
{
	struct wt_clock_line line = {0};

	(void)state;
	wt_clock_line__add(&line, 1 * S, 1 * S + 20000, 0);
	wt_clock_line__add(&line, 1 * S + 1 * MS, 1 * S + 1 * MS, 0);
	wt_clock_line__add(&line, 1 * S + 100 * MS, 1 * S + 100 * MS, 0);
	wt_clock_line__add(&line, 1 * S + 200 * MS, 1 * S + 200 * MS, 0);
	wt_clock_line__add(&line, 1 * S + 200 * MS + 10, 1 * S + 200 * MS + 5000, 0);
	for (size_t i = 0; i < line.points.cnt; i++)
		assert_false(line.points.data[i].breaks);
	near(convert(&line, 1 * S + 50 * MS), 1 * S + 50 * MS, 20000);
	near(convert(&line, 2 * S), 2 * S, 100000);
	wt_clock_line__free(&line);
}

static void test_too_few(void **state)
{
	struct wt_clock_line line = {0};
	uint64_t ns;

	(void)state;
	assert_false(wt_clock_line__convert(&line, 5, &ns));
	wt_clock_line__add(&line, 100, 1000, 0);
	assert_false(wt_clock_line__convert(&line, 100, &ns));
	/* the same again, and one that goes back in time, say nothing new */
	wt_clock_line__add(&line, 100, 1000, 0);
	wt_clock_line__add(&line, 200, 900, 0);
	assert_false(wt_clock_line__convert(&line, 100, &ns));
	wt_clock_line__add(&line, 200, 2000, 0);
	assert_int_equal(convert(&line, 150), 1500);
	assert_true(wt_clock_line__covers(&line, 200));
	assert_false(wt_clock_line__covers(&line, 201));
	wt_clock_line__free(&line);
}

/* Anything may come from a hostile process: no crash, no undefined arithmetic. */
static void test_garbage(void **state)
{
	uint64_t seed = 88172645463325252ull, ns;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct wt_clock_line line = {0};

		for (int i = 0; i < 20; i++) {
			uint64_t words[2];

			for (int w = 0; w < 2; w++) {
				seed ^= seed << 13;
				seed ^= seed >> 7;
				seed ^= seed << 17;
				words[w] = seed >> (seed % 64);
			}
			wt_clock_line__add(&line, words[0], words[1], 0);
			wt_clock_line__convert(&line, words[1], &ns);
			wt_clock_line__convert(&line, UINT64_MAX - words[0], &ns);
		}
		wt_clock_line__free(&line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_suspend),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_reset_edges),
		cmocka_unit_test(test_ambiguous),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_back_by_jitter),
		cmocka_unit_test(test_jitter),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
