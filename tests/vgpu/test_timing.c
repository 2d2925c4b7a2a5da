// SPDX-License-Identifier: MIT
/* How long things take: reading the options, chance, costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vgpu.h"

static uint64_t ns_of(const struct vg_kernel_times *t, const char *name, bool *named)
{
	return vg_kernel_times__find(t, name, named)->ns;
}

static void kernel_times(void **state)
{
	struct vg_kernel_times t = {.other = {.ns = 7}};
	struct vg_mistake m;
	bool named;

	(void)state;
	assert_int_equal(vg_kernel_times__parse(&t, "5000,gemm=20000,attn*=80001,x=0", &m), 0);
	assert_int_equal(t.pattern_cnt, 3);
	assert_int_equal(ns_of(&t, "foo", &named), 5000);
	assert_false(named);
	assert_int_equal(ns_of(&t, "my_gemm_kernel", &named), 20000);
	assert_true(named);
	/* whole ticks; a glob must match the whole name; the last match wins */
	assert_int_equal(ns_of(&t, "attn_fwd", &named), 80010);
	assert_int_equal(ns_of(&t, "flash_attn", &named), 5000);
	assert_int_equal(ns_of(&t, "gemm_x", &named), 0);
	assert_int_equal(vg_kernel_times__parse(&t, "x=1", &m), 0);
	assert_int_equal(t.other.ns, 5000);
}

static void spreads(void **state)
{
	static const struct {
		const char *text;
		enum vg_shape shape;
		double spread;
	} right[] = {
		{"20000", VG_FIXED, 0},
		{"20000~15%", VG_NORMAL, 3000},
		{"20000~3000", VG_NORMAL, 3000},
		{"20000~normal:2.5%", VG_NORMAL, 500},
		{"20000~uniform:100%", VG_UNIFORM, 20000},
		{"20000~lognormal:40%", VG_LOGNORMAL, 8000},
		{"20000~lognormal:30000", VG_LOGNORMAL, 30000},
		{"20000~0%", VG_FIXED, 0},
		{"0~10%", VG_FIXED, 0},
	};
	struct vg_kernel_times t;
	struct vg_mistake m;

	(void)state;
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		assert_int_equal(vg_kernel_times__parse(&t, right[i].text, &m), 0);
		assert_int_equal(t.other.shape, right[i].shape);
		assert_true(fabs(t.other.spread_ns - right[i].spread) < 1e-6);
	}
}

static void wrong_times(void **state)
{
	static const struct {
		const char *text, *at, *why;
	} wrong[] = {
		{"abc", "abc", "a time in ns"},
		{"5000,", "", "between or after commas"},
		{"", "", "between or after commas"},
		{"1,,2", ",2", "between or after commas"},
		{"1,=3", "=3", "pattern is missing"},
		{"x=", "x=", "a time in ns"},
		{"y=2,x=1y,z=3", "x=1y,z=3", "a time in ns"},
		{"-1", "-1", "a time in ns"},
		{"9999999999999999", "9999999999999999", "15 digits"},
		{"100~", "100~", "after ~"},
		{"100~%", "100~%", "after ~"},
		{"100~5%%", "100~5%%", "after ~"},
		{"100~1e3", "100~1e3", "after ~"},
		{"100~poisson:3", "100~poisson:3", "after ~"},
		{"100~26%", "100~26%", "at most 25%"},
		{"100~uniform:101", "100~uniform:101", "at most 100%"},
		{"100~lognormal:1001", "100~lognormal:1001", "at most 1000%"},
		{"0~10", "0~10", "at most 25%"},
	};
	struct vg_kernel_times t = {0};
	struct vg_mistake m;
	char many[200] = "1", longest[110];

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(vg_kernel_times__parse(&t, wrong[i].text, &m), -EINVAL);
		assert_string_equal(m.at, wrong[i].at);
		assert_non_null(strstr(m.why, wrong[i].why));
	}
	for (int i = 0; i < VG_MAX_PATTERNS; i++)
		strcat(many, ",a=1");
	assert_int_equal(vg_kernel_times__parse(&t, many, &m), 0);
	strcat(many, ",b=1");
	assert_int_equal(vg_kernel_times__parse(&t, many, &m), -EINVAL);
	assert_string_equal(m.at, "b=1");
	memset(longest, 'x', sizeof longest);
	strcpy(longest + 95, "=1");
	assert_int_equal(vg_kernel_times__parse(&t, longest, &m), 0);
	strcpy(longest + 96, "=1");
	longest[95] = 'x';
	assert_int_equal(vg_kernel_times__parse(&t, longest, &m), -EINVAL);
}

/* Of many draws: the mean, the deviation, and how many lie within one deviation of the mean. */
static void look_at(const char *text, double *mean, double *deviation, double *within)
{
	const unsigned cnt = 200000;
	struct vg_kernel_times t;
	struct vg_mistake m;
	double sum = 0, squares = 0;
	unsigned inside = 0;

	assert_int_equal(vg_kernel_times__parse(&t, text, &m), 0);
	for (unsigned i = 0; i < cnt; i++) {
		uint64_t ns = vg_duration__draw(&t.other, vg_key(7, i));

		assert_int_equal(ns % VG_STEP_NS, 0);
		sum += (double)ns;
		squares += (double)ns * (double)ns;
		inside += fabs((double)ns - (double)t.other.ns) <= t.other.spread_ns;
	}
	*mean = sum / cnt;
	*deviation = sqrt(squares / cnt - *mean * *mean);
	*within = (double)inside / cnt;
}

/* The keys are fixed numbers: these draws are the same ones on every machine. */
static void distributions(void **state)
{
	double mean, deviation, within;

	(void)state;
	look_at("20000~15%", &mean, &deviation, &within);
	assert_true(fabs(mean - 20000) < 30);
	assert_true(fabs(deviation - 3000) < 30);
	assert_true(fabs(within - 0.683) < 0.005);
	look_at("20000~uniform:15%", &mean, &deviation, &within);
	assert_true(fabs(mean - 20000) < 20);
	assert_true(fabs(deviation - 3000 / sqrt(3)) < 20);
	assert_true(within == 1);
	look_at("20000~lognormal:60%", &mean, &deviation, &within);
	assert_true(fabs(mean - 20000) < 120);
	assert_true(fabs(deviation - 12000) < 200);
	assert_true(within > 0.7 && within < 0.9);
	look_at("20000", &mean, &deviation, &within);
	assert_true(mean == 20000 && deviation == 0);
}

static void keys(void **state)
{
	struct vg_duration d = {VG_NORMAL, 20000, 3000};
	uint64_t first[50], same = 0;

	(void)state;
	/* in any order the same; another seed, GPU, queue or kernel: others */
	for (uint64_t i = 0; i < 50; i++)
		first[i] = vg_duration__draw(&d, vg_key(vg_key_of_text(1, "k"), i));
	for (uint64_t i = 50; i--;) {
		uint64_t key = vg_key_of_text(1, "k");

		assert_int_equal(vg_duration__draw(&d, vg_key(key, i)), first[i]);
		same += vg_duration__draw(&d, vg_key(vg_key_of_text(2, "k"), i)) == first[i];
		same += vg_duration__draw(&d, vg_key(vg_key_of_text(1, "l"), i)) == first[i];
		same += vg_duration__draw(&d, vg_key(vg_key(key, 0), i)) == first[i];
		same += i && first[i] == first[i - 1];
	}
	assert_true(same < 10);
}

static void costs(void **state)
{
	struct vg_mistake m;
	struct vg_costs c;

	(void)state;
	vg_costs__init(&c);
	assert_int_equal(c.packet_ns[VG_COST_DISPATCH], 0);
	assert_int_equal(c.packet_ns[VG_COST_BARRIER], 1000);
	assert_int_equal(vg_costs__parse_packets(&c, "pm4=101,dispatch=20", &m), 0);
	assert_int_equal(c.packet_ns[VG_COST_PM4], 110);
	assert_int_equal(c.packet_ns[VG_COST_DISPATCH], 20);
	assert_int_equal(c.packet_ns[VG_COST_BARRIER], 1000);
	assert_int_equal(vg_costs__parse_packets(&c, "0,agent=7", &m), 0);
	assert_int_equal(c.packet_ns[VG_COST_BARRIER], 0);
	assert_int_equal(c.packet_ns[VG_COST_AGENT], 10);
	assert_int_equal(vg_costs__parse_packets(&c, "barrier=1,bar=2", &m), -EINVAL);
	assert_string_equal(m.at, "bar=2");
	assert_int_equal(vg_costs__parse_packets(&c, "barrier", &m), -EINVAL);
	assert_int_equal(vg_costs__parse_packets(&c, "barrier=", &m), -EINVAL);
	assert_int_equal(vg_costs__parse_packets(&c, "=1", &m), -EINVAL);
	assert_int_equal(vg_costs__parse_packets(&c, "1,", &m), -EINVAL);
	assert_int_equal(vg_costs__parse_packets(&c, "", &m), -EINVAL);
	assert_int_equal(c.packet_ns[VG_COST_BARRIER], 0);
}

static void copy_times(void **state)
{
	struct vg_mistake m;
	struct vg_costs c;

	(void)state;
	vg_costs__init(&c);
	assert_int_equal(vg_costs__bytes_ns(&c, VG_WAY_H2D, 0), 0);
	assert_int_equal(vg_costs__bytes_ns(&c, VG_WAY_H2D, 1), 0);
	assert_int_equal(vg_costs__bytes_ns(&c, VG_WAY_D2D, 25), 10);
	assert_int_equal(vg_costs__bytes_ns(&c, VG_WAY_FILL, 25000000), 1000000);
	assert_int_equal(vg_costs__bytes_ns(&c, VG_WAY_PEER, 4194304), 167780);
	assert_int_equal(vg_costs__parse_gbps(&c, "10,d2d=800,peer=12.5", &m), 0);
	assert_int_equal(vg_costs__bytes_ns(&c, VG_WAY_D2H, 1000000), 100000);
	assert_int_equal(vg_costs__bytes_ns(&c, VG_WAY_D2D, 1000000), 1250);
	assert_int_equal(vg_costs__bytes_ns(&c, VG_WAY_PEER, 1000000), 80000);
	assert_int_equal(vg_costs__parse_gbps(&c, "0", &m), 0);
	assert_int_equal(vg_costs__bytes_ns(&c, VG_WAY_D2D, 1 << 30), 0);
	assert_int_equal(vg_costs__parse_gbps(&c, "h2d=fast", &m), -EINVAL);
	assert_int_equal(vg_costs__parse_gbps(&c, "1000001", &m), -EINVAL);
	assert_int_equal(vg_costs__parse_gbps(&c, "d2x=1", &m), -EINVAL);
	assert_string_equal(m.at, "d2x=1");
	assert_int_equal(vg_costs__parse_latency(&c, "1500,d2d=201", &m), 0);
	assert_int_equal(c.latency_ns[VG_WAY_H2D], 1500);
	assert_int_equal(c.latency_ns[VG_WAY_D2D], 210);
	assert_int_equal(vg_costs__parse_latency(&c, "1.5", &m), -EINVAL);
}

static void ways(void **state)
{
	(void)state;
	assert_int_equal(vg_way_of(-1, 0), VG_WAY_H2D);
	assert_int_equal(vg_way_of(3, -1), VG_WAY_D2H);
	assert_int_equal(vg_way_of(3, 3), VG_WAY_D2D);
	assert_int_equal(vg_way_of(3, 0), VG_WAY_PEER);
	assert_int_equal(vg_way_of(-1, -1), VG_WAY_H2H);
	assert_string_equal(vg_way_name(VG_WAY_PEER), "peer");
}

/* ---- recorded times ---- */

static char file[] = "/tmp/vgpu-samples-XXXXXX";

static void write_file(const char *text)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static struct vg_samples *read_file(const char *text)
{
	struct vg_samples *s;
	unsigned long line;
	const char *why;

	write_file(text);
	assert_int_equal(vg_samples__read(file, &s, &line, &why), 0);
	return s;
}

static void check_set(const struct vg_samples *s, const char *name, unsigned cnt, ...)
{
	const struct vg_sample_set *set = vg_samples__find(s, name);
	va_list list;

	assert_non_null(set);
	assert_int_equal(set->cnt, cnt);
	va_start(list, cnt);
	for (unsigned i = 0; i < cnt; i++)
		assert_int_equal(set->ns[i], va_arg(list, int));
	va_end(list);
}

static void samples(void **state)
{
	struct vg_samples *s = read_file("# a comment\n"
					 "\n"
					 "_Z3fooi.kd\t100 200  305\t0\r\n"
					 "void bar<int, (long)3>(int const*) [clone .kd]\t7\n"
					 "bare_name 40\n"
					 "a name of blanks 50\n"
					 "_Z3fooi\t90\n"
					 "last\t1");

	(void)state;
	check_set(s, "_Z3fooi", 5, 100, 200, 310, 0, 90);
	check_set(s, "void bar<int,(long)3>( int const* )", 1, 10);
	check_set(s, "bare_name", 1, 40);
	check_set(s, "a name of blanks", 1, 50);
	check_set(s, "last", 1, 10);
	assert_null(vg_samples__find(s, "foo"));
	assert_null(vg_samples__find(s, ""));
	vg_samples__free(s);
}

static void many_samples(void **state)
{
	struct vg_samples *s;
	FILE *f = fopen(file, "w");
	unsigned long line;
	const char *why;
	char name[32];

	(void)state;
	for (int i = 0; i < 30000; i++)
		fprintf(f, "kernel_%d\t%d %d\n", i % 3000, i * 10, i * 10 + 10);
	fclose(f);
	assert_int_equal(vg_samples__read(file, &s, &line, &why), 0);
	for (int i = 0; i < 3000; i++) {
		const struct vg_sample_set *set;

		snprintf(name, sizeof name, "kernel_%d", i);
		set = vg_samples__find(s, name);
		assert_non_null(set);
		assert_int_equal(set->cnt, 20);
		for (int k = 0; k < 20; k++)
			assert_int_equal(set->ns[k], (i + k / 2 * 3000) * 10 + k % 2 * 10);
	}
	vg_samples__free(s);
}

static void wrong_samples(void **state)
{
	static const struct {
		const char *text;
		unsigned long line;
		const char *why;
	} wrong[] = {
		{"", 0, "no durations"},
		{"# nothing\n\n", 0, "no durations"},
		{"a\t1\nname\n", 2, "a name, a tab and durations"},
		{"a\t1\n\t5\n", 2, "a name, a tab and durations"},
		{"a\t1\na\t\n", 2, "a name, a tab and durations"},
		{"a\t1.5\n", 1, "whole number"},
		{"a\t1 -2\n", 1, "whole number"},
		{"a b\n", 1, "whole number"},
		{"a\t1234567890123456\n", 1, "whole number"},
	};
	struct vg_samples *s;
	unsigned long line;
	const char *why;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		write_file(wrong[i].text);
		assert_int_equal(vg_samples__read(file, &s, &line, &why), -EINVAL);
		assert_null(s);
		assert_int_equal(line, wrong[i].line);
		assert_non_null(strstr(why, wrong[i].why));
	}
	assert_int_equal(vg_samples__read("/nonexistent", &s, &line, &why), -ENOENT);
	assert_int_equal(vg_samples__read("/", &s, &line, &why), -EISDIR);
}

/* A kernel is known by its mangled name; the file may have either. */
static void names(void **state)
{
	struct vg_proc *p = vg_proc();
	char mangled[2048] = "_ZN", text[8192] = "";

	(void)state;
	for (int i = 0; i < 80; i++) {
		strcat(mangled, "10abcdefghij");
		strcat(text, "abcdefghij::");
	}
	strcat(mangled, "1fEv");
	strcat(text, "f()\t120\n_Z5exactv\t10\nvoid typed<float>( float )\t30\nplain\t40\n");
	write_file(text);
	p->conf.durations = file;
	vg_recorded__load(p);
	assert_int_equal(vg_recorded(mangled)->ns[0], 120);
	assert_int_equal(vg_recorded("_Z5exactv")->ns[0], 10);
	assert_int_equal(vg_recorded("_Z5typedIfEvT_")->ns[0], 30);
	assert_int_equal(vg_recorded("plain")->ns[0], 40);
	assert_null(vg_recorded("_Z5typedIiEvT_"));
	assert_null(vg_recorded("_Z"));
	vg_samples__free(p->samples);
	p->samples = NULL;
	p->conf.durations = NULL;
	assert_null(vg_recorded("plain"));
}

static int make_file(void **state)
{
	int fd = mkstemp(file);

	(void)state;
	return fd < 0 || close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_times),
		cmocka_unit_test(spreads),
		cmocka_unit_test(wrong_times),
		cmocka_unit_test(distributions),
		cmocka_unit_test(keys),
		cmocka_unit_test(costs),
		cmocka_unit_test(copy_times),
		cmocka_unit_test(ways),
		cmocka_unit_test(samples),
		cmocka_unit_test(many_samples),
		cmocka_unit_test(wrong_samples),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
