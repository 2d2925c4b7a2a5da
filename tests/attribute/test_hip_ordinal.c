// SPDX-License-Identifier: MIT
/* Lists of visible devices → HIP's numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "attribute/hip_ordinal.h"

#define OLD WT_HIP_RULES_OLD
#define NEW WT_HIP_RULES_NEW
#define MAY WT_HIP_RULES_UNKNOWN

static void test_lists(void **state)
{
	/* the numbers of four GPUs, '-': none */
	static const struct {
		const char *list;
		enum wt_hip_rules rules;
		const char *numbers;
	} cases[] = {
		{NULL, OLD, "0123"},
		{"", OLD, "0123"},
		{"", NEW, "----"},
		{"", MAY, "----"},
		{NULL, MAY, "0123"},
		{"0,1,2,3", OLD, "0123"},
		{"3,1", OLD, "-1-0"},
		{"2", OLD, "--0-"},
		{"1,1,0", OLD, "10--"},
		{"0,", OLD, "0---"},
		{"0,9,1", OLD, "0---"},
		{"4", OLD, "----"},
		{"-1", OLD, "----"},
		{"0,-1,1", OLD, "0---"},
		{"01", OLD, "----"},
		{"0, 1", OLD, "0---"},
		{" 0", OLD, "----"},
		{"1,,2", OLD, "-0--"},
		{",1", OLD, "----"},
		{"+1", OLD, "----"},
		{"99999999999999999999999999999", OLD, "----"},
		{"none", OLD, "----"},
		{"1,GPU-00000000000000a0,2", OLD, "-0--"},
		{"1,GPU-00000000000000a0,2", NEW, "102-"},
		{"1,GPU-00000000000000a2,0", NEW, "20-1"},
		{"GPU-00000000000000ff,1", NEW, "----"},
		/* of several that it fits, the first */
		{"GPU-", NEW, "0---"},
		/* what is before it is certain, what it is and all behind it are not */
		{"1,GPU-00000000000000a0,2", MAY, "-0--"},
	};
	struct wt_hip_gpu gpus[4] = {{"GPU-00000000000000a0", "gfx90a", 0},
		{"GPU-00000000000000a1", "gfx90a", 0}, {"GPU-00000000000000a3", "gfx90a", 0},
		{"GPU-00000000000000a2", "gfx90a", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char numbers[5] = "----";

		wt_hip_ordinal__work_out(gpus, 4, cases[i].list, NULL, cases[i].rules);
		for (int k = 0; k < 4; k++)
			if (gpus[k].ordinal != WT_HIP_NO_ORDINAL)
				numbers[k] = (char)('0' + gpus[k].ordinal);
		if (strcmp(numbers, cases[i].numbers) != 0)
			fail_msg("%s: %s instead of %s", cases[i].list ? cases[i].list : "not set",
				numbers, cases[i].numbers);
	}
}

/* Which of the two variables counts. */
static void test_variables(void **state)
{
	static const struct {
		const char *hip, *cuda;
		enum wt_hip_rules rules;
		uint32_t first, second;
	} cases[] = {
		{NULL, "1", OLD, WT_HIP_NO_ORDINAL, 0},
		{NULL, "1", MAY, WT_HIP_NO_ORDINAL, 0},
		{"0", "1", NEW, 0, WT_HIP_NO_ORDINAL},
		{"0", "", NEW, 0, WT_HIP_NO_ORDINAL},
		{"", "1", OLD, WT_HIP_NO_ORDINAL, 0},
		{"", "1", NEW, WT_HIP_NO_ORDINAL, WT_HIP_NO_ORDINAL},
		{"", "1", MAY, WT_HIP_NO_ORDINAL, WT_HIP_NO_ORDINAL},
		{NULL, "", OLD, 0, 1},
		{NULL, "", NEW, WT_HIP_NO_ORDINAL, WT_HIP_NO_ORDINAL},
		{NULL, "", MAY, WT_HIP_NO_ORDINAL, WT_HIP_NO_ORDINAL},
	};
	struct wt_hip_gpu gpus[2] = {{"", "gfx90a", 0}, {"", "gfx90a", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		wt_hip_ordinal__work_out(gpus, 2, cases[i].hip, cases[i].cuda, cases[i].rules);
		if (gpus[0].ordinal != cases[i].first || gpus[1].ordinal != cases[i].second)
			fail_msg("case %zu", i);
	}
}

/* HIP may not support one of them: then the others move up. */
static void test_unlike(void **state)
{
	struct wt_hip_gpu gpus[3] = {{"", "gfx1100", 0}, {"", "gfx1036", 0}, {"", "gfx1100", 0}};

	(void)state;
	wt_hip_ordinal__work_out(gpus, 3, NULL, NULL, OLD);
	assert_int_equal(gpus[0].ordinal, 0);
	assert_int_equal(gpus[1].ordinal, WT_HIP_NO_ORDINAL);
	assert_int_equal(gpus[2].ordinal, WT_HIP_NO_ORDINAL);
	wt_hip_ordinal__work_out(gpus, 3, "2,0,1", NULL, OLD);
	assert_int_equal(gpus[2].ordinal, 0);
	assert_int_equal(gpus[0].ordinal, 1);
	assert_int_equal(gpus[1].ordinal, WT_HIP_NO_ORDINAL);
	gpus[0].isa = "";
	wt_hip_ordinal__work_out(gpus, 3, NULL, NULL, OLD);
	assert_int_equal(gpus[0].ordinal, WT_HIP_NO_ORDINAL);
}

static void test_versions(void **state)
{
	(void)state;
	assert_int_equal(wt_hip_ordinal__rules(5, 2), OLD);
	assert_int_equal(wt_hip_ordinal__rules(5, 7), MAY);
	assert_int_equal(wt_hip_ordinal__rules(6, 4), NEW);
	assert_int_equal(wt_hip_ordinal__rules(7, 2), NEW);
	assert_int_equal(wt_hip_ordinal__rules(8, 0), NEW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_unlike),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
