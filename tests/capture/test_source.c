// SPDX-License-Identifier: MIT
/* What the HIP source says of a runtime that has functions which are not in our table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/source.h"
#include "fake_session.h"

static bool is_told(const char *text)
{
	size_t bytes;
	char *file = fake_session__map(WT_FILE_PROCESS, 0, 0, &bytes);

	assert_non_null(file);
	return memmem(file + WT_PROCESS_RING_OFFSET, bytes - WT_PROCESS_RING_OFFSET, text,
		       strlen(text)) != NULL;
}

static void test_unknown_functions(void **state)
{
	(void)state;
	assert_true(wt_process__join());
	wt_source_hip.report();
	assert_false(is_told("hipOfNoPrototype"));
	assert_non_null(dlopen(RUNTIME, RTLD_NOW | RTLD_LOCAL));
	wt_source_hip.report();
	assert_true(is_told("not recorded, as their parameters are not known: "));
	assert_true(is_told(" hipOfNoPrototype"));
	assert_true(is_told(" hipLooksItselfUp"));
	assert_false(is_told("hipDeviceSynchronize"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_unknown_functions)};

	return cmocka_run_group_tests(tests, fake_session__set_up, fake_session__tear_down);
}
