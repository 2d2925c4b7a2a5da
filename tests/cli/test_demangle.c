// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/demangle.h"

static void test_names(void **state)
{
	static const struct {
		const char *name, *full, *brief;
	} cases[] = {
		{"_Z6vecAddPfS_S_i", "vecAdd(float*, float*, float*, int)", "vecAdd"},
		{"_Z6vecAddPfS_S_i.kd", "vecAdd(float*, float*, float*, int)", "vecAdd"},
		{"_ZN2ns4gemmILi16EfEEvPT0_", "void ns::gemm<16, float>(float*)",
			"gemm<16, float>"},
		{"Cijk_Ailk_Bljk_SB_MT64x64x16.kd", "Cijk_Ailk_Bljk_SB_MT64x64x16",
			"Cijk_Ailk_Bljk_SB_MT64x64x16"},
		{"_ZN12_GLOBAL__N_16kernelIfEEvPT_",
			"void (anonymous namespace)::kernel<float>(float*)", "kernel<float>"},
		{"_ZN2at6native1kINS0_3AddIfEESt5arrayIPcLm3EEEEvT0_",
			"void at::native::k<at::native::Add<float>, std::array<char*, 3ul> "
			">(std::array<char*, "
			"3ul>)",
			"k<Add<float>, array<char*, 3ul> >"},
		/* a lambda's call operator */
		{"_ZZN1n3runEvENKUlPfiE_clES0_i",
			"n::run()::{lambda(float*, int)#1}::operator()(float*, int)"
			" const",
			"operator()"},
		/* newer than the demangler: the name is still there */
		{"_ZN4vllm6kernelIN3c104HalfETnPFT_RKS3_EXadL_ZNS_1sIS2_EES3_S5_EEEEvPS4_",
			"_ZN4vllm6kernelIN3c104HalfETnPFT_RKS3_EXadL_ZNS_1sIS2_EES3_S5_EEEEvPS4_",
			"kernel<...>"},
		/* demangled by another tool */
		{"void a::b<c::d>(int (*)(e::f))", "void a::b<c::d>(int (*)(e::f))", "b<d>"},
		{"", "", ""},
		{"_Z", "_Z", "_Z"},
		{".kd", ".kd", ".kd"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *full = wt_demangle(cases[i].name, WT_NAMES_FULL);
		char *brief = wt_demangle(cases[i].name, WT_NAMES_SHORT);
		char *plain = wt_demangle(cases[i].name, WT_NAMES_MANGLED);

		assert_string_equal(full, cases[i].full);
		assert_string_equal(brief, cases[i].brief);
		assert_string_equal(plain, cases[i].name);
		free(full);
		free(brief);
		free(plain);
	}
}

/* Output that doubles with each reference; a nest of 16,000; a name past the limit. */
static void test_bounds(void **state)
{
	char name[40000] = "_Z1fI1AIiE";
	size_t length;
	char *text;

	(void)state;
	for (int i = 0; i < 60; i++)
		snprintf(name + strlen(name), 32, "1BIS%c_S%c_E",
			"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36],
			"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36]);
	strcat(name, "Evv");
	text = wt_demangle(name, WT_NAMES_FULL);
	assert_non_null(text);
	assert_true(strlen(text) < 70000);
	free(text);
	strcpy(name, "_Z1f");
	length = 4;
	while (length < 16000)
		name[length++] = 'P';
	strcpy(name + length, "i");
	text = wt_demangle(name, WT_NAMES_FULL);
	assert_non_null(text);
	free(text);
	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_Z1f", 4);
	name[sizeof(name) - 1] = '\0';
	text = wt_demangle(name, WT_NAMES_FULL);
	assert_string_equal(text, name);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
