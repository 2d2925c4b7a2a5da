// SPDX-License-Identifier: MIT
/* Lists of visible devices → HIP's numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "attribute/hip_ordinal.h"

#define NO  WT_HIP_UUIDS_NO
#define YES WT_HIP_UUIDS_YES
#define MAY WT_HIP_UUIDS_UNKNOWN

static void test_lists(void **state)
{
	/* the numbers of four GPUs, '-': none */
	static const struct {
		const char *list;
		enum wt_hip_uuids uuids;
		const char *numbers;
	} cases[] = {
		{NULL, NO, "0123"},
		{"", NO, "0123"},
		{"0,1,2,3", NO, "0123"},
		{"3,1", NO, "-1-0"},
		{"2", NO, "--0-"},
		{"1,1,0", NO, "10--"},
		{"0,", NO, "0---"},
		{"0,9,1", NO, "0---"},
		{"4", NO, "----"},
		{"-1", NO, "----"},
		{"0,-1,1", NO, "0---"},
		{"01", NO, "----"},
		{"0, 1", NO, "0---"},
		{" 0", NO, "----"},
		{"1,,2", NO, "-0--"},
		{",1", NO, "----"},
		{"+1", NO, "----"},
		{"99999999999999999999999999999", NO, "----"},
		{"none", NO, "----"},
		{"1,GPU-00000000000000a0,2", NO, "-0--"},
		{"1,GPU-00000000000000a0,2", YES, "102-"},
		{"1,GPU-00000000000000a2,0", YES, "20-1"},
		{"GPU-00000000000000ff,1", YES, "----"},
		/* of several that it fits, the first */
		{"GPU-", YES, "0---"},
		/* what is before it is certain, what it is and all behind it are not */
		{"1,GPU-00000000000000a0,2", MAY, "-0--"},
	};
	struct wt_hip_gpu gpus[4] = {{"GPU-00000000000000a0", "gfx90a", 0},
		{"GPU-00000000000000a1", "gfx90a", 0}, {"GPU-00000000000000a3", "gfx90a", 0},
		{"GPU-00000000000000a2", "gfx90a", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char numbers[5] = "----";

		wt_hip_ordinal__work_out(gpus, 4, cases[i].list, cases[i].uuids);
		for (int k = 0; k < 4; k++)
			if (gpus[k].ordinal != WT_HIP_NO_ORDINAL)
				numbers[k] = (char)('0' + gpus[k].ordinal);
		if (strcmp(numbers, cases[i].numbers) != 0)
			fail_msg("%s: %s instead of %s", cases[i].list ? cases[i].list : "not set",
				numbers, cases[i].numbers);
	}
}

/* HIP may not support one of them: then the others move up. */
static void test_unlike(void **state)
{
	struct wt_hip_gpu gpus[3] = {{"", "gfx1100", 0}, {"", "gfx1036", 0}, {"", "gfx1100", 0}};

	(void)state;
	wt_hip_ordinal__work_out(gpus, 3, NULL, NO);
	assert_int_equal(gpus[0].ordinal, 0);
	assert_int_equal(gpus[1].ordinal, WT_HIP_NO_ORDINAL);
	assert_int_equal(gpus[2].ordinal, WT_HIP_NO_ORDINAL);
	wt_hip_ordinal__work_out(gpus, 3, "2,0,1", NO);
	assert_int_equal(gpus[2].ordinal, 0);
	assert_int_equal(gpus[0].ordinal, 1);
	assert_int_equal(gpus[1].ordinal, WT_HIP_NO_ORDINAL);
	gpus[0].isa = "";
	wt_hip_ordinal__work_out(gpus, 3, NULL, NO);
	assert_int_equal(gpus[0].ordinal, WT_HIP_NO_ORDINAL);
}

static void test_versions(void **state)
{
	(void)state;
	assert_int_equal(wt_hip_ordinal__uuids(5, 2), NO);
	assert_int_equal(wt_hip_ordinal__uuids(5, 7), MAY);
	assert_int_equal(wt_hip_ordinal__uuids(6, 4), YES);
	assert_int_equal(wt_hip_ordinal__uuids(7, 2), YES);
	assert_int_equal(wt_hip_ordinal__uuids(8, 0), YES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_unlike),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
