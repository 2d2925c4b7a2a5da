// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/hip_api.h"
#include "core/record.h"

static void test_names(void **state)
{
	(void)state;
	assert_true(WT_HIP_CNT > 500);
	for (unsigned id = 0; id < WT_HIP_CNT; id++)
		assert_int_equal(wt_hip_api__find(wt_hip_api__name(id)), id);
	assert_null(wt_hip_api__name(WT_HIP_CNT));
	assert_int_equal(wt_hip_api__find("hipNothing"), WT_HIP_CNT);
	assert_int_equal(wt_hip_api__find(""), WT_HIP_CNT);
}

static void test_argument_names(void **state)
{
	char name[64];

	(void)state;
	assert_true(wt_hip_api__arg_name(WT_HIP_hipEventCreateWithFlags, 0, name));
	assert_string_equal(name, "event");
	assert_true(wt_hip_api__arg_name(WT_HIP_hipEventCreateWithFlags, 1, name));
	assert_string_equal(name, "flags");
	assert_false(wt_hip_api__arg_name(WT_HIP_hipEventCreateWithFlags, 2, name));
	assert_false(wt_hip_api__arg_name(WT_HIP_hipMemcpy, 0, name));
	assert_false(wt_hip_api__arg_name(WT_HIP_CNT, 0, name));
}

/* What the preprocessor cannot see: each name is a word, none stands twice, none is left out. */
static void test_every_argument_has_a_name(void **state)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	char names[WT_REC_ARGS_MAX + 1][64];

	(void)state;
	for (unsigned id = 0; id < WT_HIP_CNT; id++) {
		const char *record = wt_hip_functions[id].record;
		unsigned commas = 0, cnt = 0;

		for (const char *c = record; *c; c++)
			commas += *c == ',';
		while (cnt <= WT_REC_ARGS_MAX && wt_hip_api__arg_name(id, cnt, names[cnt])) {
			assert_int_equal(strspn(names[cnt], letters), strlen(names[cnt]));
			for (unsigned i = 0; i < cnt; i++)
				assert_string_not_equal(names[i], names[cnt]);
			cnt++;
		}
		assert_true(cnt <= WT_REC_ARGS_MAX);
		if (!strncmp(record, "ARGS(", 5))
			assert_int_equal(cnt, commas + 1);
		else
			assert_int_equal(cnt, 0);
	}
}

static void test_classes(void **state)
{
	(void)state;
	assert_int_equal(wt_hip_functions[WT_HIP_hipLaunchKernel].class, WT_API_CLASS_SUBMIT);
	assert_int_equal(wt_hip_functions[WT_HIP_hipGetDevice].class, WT_API_CLASS_QUERY);
	assert_int_equal(
		wt_hip_functions[WT_HIP___hipRegisterFunction].class, WT_API_CLASS_COMPILER);
	assert_true(wt_hip_functions[WT_HIP_hipMalloc].returns_error);
	assert_false(wt_hip_functions[WT_HIP_hipGetErrorName].returns_error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_argument_names),
		cmocka_unit_test(test_every_argument_has_a_name),
		cmocka_unit_test(test_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
