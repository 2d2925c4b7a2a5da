// SPDX-License-Identifier: MIT
/* The arithmetic of the GPUs' clocks, and their option. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "vgpu.h"

#define S   1000000000ull
#define DAY (86400 * S)

static struct vg_clock make(const char *text, uint64_t khz)
{
	struct vg_clock c = {0};
	const char *bad = "";

	if (vg_clock__parse(&c, text, &bad))
		fail_msg("%s: cannot be read from here on: %s", text, bad);
	for (unsigned i = 0; i < VG_CLOCK_GPUS; i++)
		vg_clock__prepare(&c, i, khz);
	return c;
}

static void plain(void **state)
{
	struct vg_clock c = make("", 100000);

	(void)state;
	for (uint64_t m = 0; m < 9000 * DAY; m = m * 3 + 7) {
		assert_int_equal(vg_clock__system(&c, m), m);
		assert_int_equal(vg_clock__gpu(&c, 0, m), m);
		assert_int_equal(vg_clock__machine(&c, 7, m), m);
		assert_int_equal(vg_clock__ticks(&c, 0, m), m / 10);
		assert_int_equal(vg_clock__round(&c, 0, m), m - m % 10);
		assert_int_equal(vg_clock__jitter(&c, 0, m), 0);
	}
}

/* A second after the epoch, a day, a year: exactly so much fast or slow. */
static void rates(void **state)
{
	struct vg_clock c = make("ppm=20,1:ppm=-35.5,epoch=777000000000", 100000);
	uint64_t e = 777 * S;

	(void)state;
	assert_int_equal(vg_clock__gpu(&c, 0, e), e);
	assert_int_equal(vg_clock__gpu(&c, 0, e + S), e + S + 20000);
	assert_int_equal(vg_clock__gpu(&c, 0, e + DAY), e + DAY + 86400 * 20000ull);
	assert_int_equal(
		vg_clock__gpu(&c, 0, e + 365 * DAY), e + 365 * DAY + 365 * 86400 * 20000ull);
	assert_int_equal(vg_clock__gpu(&c, 1, e + S), e + S - 35500);
	assert_int_equal(vg_clock__gpu(&c, 2, e + S), e + S + 20000);
	assert_int_equal(vg_clock__gpu(&c, 0, e - S), e - S - 20000);
}

static void swings(void **state)
{
	struct vg_clock c = make("drift=30/10s,1:drift=0/1s,1:steps=50/2s,epoch=5", 100000);

	(void)state;
	/* a triangle of 30 ppm over 5 s gains 75 us, and gives them back */
	assert_int_equal(vg_clock__gpu(&c, 0, 5 + 5 * S / 2), 5 + 5 * S / 2 + 37500);
	assert_int_equal(vg_clock__gpu(&c, 0, 5 + 5 * S), 5 + 5 * S + 75000);
	assert_int_equal(vg_clock__gpu(&c, 0, 5 + 10 * S), 5 + 10 * S);
	assert_int_equal(vg_clock__gpu(&c, 0, 5 + 1000015 * S), 5 + 1000015 * S + 75000);
	assert_int_equal(vg_clock__gpu(&c, 1, 5 + S / 2), 5 + S / 2 + 25000);
	assert_int_equal(vg_clock__gpu(&c, 1, 5 + S), 5 + S + 50000);
	assert_int_equal(vg_clock__gpu(&c, 1, 5 + 2 * S), 5 + 2 * S);
}

static const char *const clocks[] = {
	"ppm=50,epoch=123",
	"ppm=-50,epoch=123",
	"ppm=1000,drift=1000/1s,steps=1000/7ms",
	"ppm=-1000,drift=-1000/1.001s,steps=-1000/7ms",
	"drift=30/10s,mhz=27,offset=-2s",
	"ppm=0.001,mhz=25,offset=3s",
	"ppm=-33.333,steps=12.5/999.999ms,mhz=33.333",
};

/* Never back; no tick twice begun; the inverse is the first moment; at uptimes of years. */
static void monotonic_and_inverse(void **state)
{
	static const uint64_t froms[] = {1000 * S, 40 * DAY + 17, 3650 * DAY - 3};

	(void)state;
	for (size_t k = 0; k < sizeof clocks / sizeof *clocks; k++) {
		struct vg_clock c = make(clocks[k], 100000);

		for (size_t f = 0; f < 3; f++) {
			uint64_t last = 0, ticks = 0, step = 1;

			for (uint64_t i = 0, m = froms[f]; i < 3000; i++, m += step) {
				uint64_t g = vg_clock__gpu(&c, 0, m), t = vg_clock__ticks(&c, 0, g);
				uint64_t r = vg_clock__round(&c, 0, g), back;

				if (i == 1500)
					step = 977777; /* first every nanosecond, then far */
				assert_true(g >= last && t >= ticks);
				assert_true(r <= g && g - r <= 1000);
				assert_int_equal(vg_clock__ticks(&c, 0, r), t);
				if (r)
					assert_true(vg_clock__ticks(&c, 0, r - 1) < t);
				back = vg_clock__machine(&c, 0, g);
				assert_true(back <= m && vg_clock__gpu(&c, 0, back) == g);
				assert_true(vg_clock__gpu(&c, 0, back - 1) < g);
				/* and of a time that the clock may have skipped */
				back = vg_clock__machine(&c, 0, g + 1);
				assert_true(vg_clock__gpu(&c, 0, back) > g);
				assert_true(vg_clock__gpu(&c, 0, back - 1) <= g);
				last = g;
				ticks = t;
			}
		}
	}
}

/* 5 us are 500 ticks, whenever they are. */
static void durations(void **state)
{
	struct vg_clock c = make("ppm=37.7,drift=50/1s,offset=-3.3s", 100000);

	(void)state;
	for (uint64_t m = 20 * DAY; m < 20 * DAY + 3 * S; m += 1234567) {
		uint64_t g = vg_clock__round(&c, 0, vg_clock__gpu(&c, 0, m));

		assert_int_equal(vg_clock__ticks(&c, 0, g + 5000) - vg_clock__ticks(&c, 0, g), 500);
	}
}

static void suspends(void **state)
{
	uint64_t e = 1000 * S, at = e + 5 * S;
	struct vg_clock c = make("suspend=2s@5s,suspend=1s@9s,epoch=1000000000000", 100000);
	struct vg_clock stands =
		make("suspend=2s@5s,counter=stands,offset=1s,epoch=1000000000000", 100000);
	struct vg_clock goes =
		make("suspend=2s@5s,counter=continues,ppm=10,epoch=1000000000000", 100000);

	(void)state;
	assert_int_equal(vg_clock__system(&c, at - 1), at - 1);
	assert_int_equal(vg_clock__system(&c, at), at + 2 * S);
	assert_int_equal(vg_clock__system(&c, at + 4 * S), at + 7 * S);
	/* the GPU's own time knows nothing of it, its counter begins anew, twice */
	assert_int_equal(vg_clock__gpu(&c, 0, at + 1), at + 1);
	assert_int_equal(vg_clock__ticks(&c, 0, at - 1), (at - 1) / 10);
	assert_int_equal(vg_clock__ticks(&c, 0, at), 0);
	assert_int_equal(vg_clock__ticks(&c, 0, at + 3 * S), 3 * S / 10);
	assert_int_equal(vg_clock__ticks(&c, 0, at + 4 * S + 10), 1);
	assert_int_equal(
		vg_clock__ticks(&stands, 0, at + 10) - vg_clock__ticks(&stands, 0, at - 10), 2);
	assert_int_equal(vg_clock__ticks(&stands, 0, at), (at + S) / 10);
	assert_int_equal(
		vg_clock__ticks(&goes, 0, vg_clock__gpu(&goes, 0, at)), (at + 50000 + 2 * S + 20000) / 10);
}

static void jitter(void **state)
{
	struct vg_clock c = make("jitter=800ns", 100000);
	uint64_t sum = 0, max = 0;

	(void)state;
	for (uint64_t m = DAY; m < DAY + 10000; m++) {
		uint64_t j = vg_clock__jitter(&c, 0, m);

		assert_true(j <= 800);
		assert_int_equal(j, vg_clock__jitter(&c, 0, m));
		sum += j;
		max = j > max ? j : max;
	}
	assert_true(sum / 10000 >= 380 && sum / 10000 <= 420);
	assert_true(max > 790);
}

static void option(void **state)
{
	static const char *const wrong[] = {"ppm", "ppm=", "ppm=x", "ppm=1001", "ppm=1.2345",
		"ppm=1,", ",", "9:ppm=1", "offset=3", "offset=3m", "offset=0.5ns",
		"offset=99999999s", "drift=30", "drift=30/", "drift=30/1us", "drift=/1s",
		"steps=5@1s", "mhz=0", "mhz=2000", "jitter=-1ns", "jitter=1s", "suspend=2s",
		"suspend=0s@1s", "suspend=1s@-1s", "suspend=1s@5s,suspend=1s@4s", "0:suspend=1s@5s",
		"counter=jumps", "nonsense=1",
		"suspend=1s@1s,suspend=1s@2s,suspend=1s@3s,suspend=1s@4s,suspend=1s@5s", "ppm=1 ",
		"offset=9999999999999999999999s"};
	struct vg_clock c = make("offset=-1.5ms,ppm=-0.5,3:offset=2us,3:mhz=27", 100000);
	const char *bad;

	(void)state;
	assert_int_equal(c.gpus[0].offset_ns, -1500000);
	assert_int_equal(c.gpus[3].offset_ns, 2000);
	assert_int_equal(c.gpus[3].ppb, -500);
	assert_int_equal(c.gpus[3].khz, 27000);
	assert_int_equal(c.gpus[4].khz, 100000);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct vg_clock d = {0};

		if (vg_clock__parse(&d, wrong[i], &bad) != -EINVAL)
			fail_msg("accepted: %s", wrong[i]);
	}
	assert_int_equal(vg_clock__parse(&c, "ppm=1,drift=2", &bad), -EINVAL);
	assert_string_equal(bad, "drift=2");
}

/* What the driver says fits together: the counter at that moment of the system's clock. */
static void readings(void **state)
{
	uint64_t last = 0, last_ticks = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		const struct vg_clock *c = &vg_proc()->conf.clock;
		struct vg_clock_reading r = vg_clock__read(0);

		assert_true(r.system >= last && r.ticks >= last_ticks);
		assert_int_equal(vg_clock__ticks(c, 0, vg_clock__gpu(c, 0, r.system)), r.ticks);
		assert_int_equal(vg_clock__read(-1).ticks, 0);
		last = r.system;
		last_ticks = r.ticks;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(rates),
		cmocka_unit_test(swings),
		cmocka_unit_test(monotonic_and_inverse),
		cmocka_unit_test(durations),
		cmocka_unit_test(suspends),
		cmocka_unit_test(jitter),
		cmocka_unit_test(option),
		cmocka_unit_test(readings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
