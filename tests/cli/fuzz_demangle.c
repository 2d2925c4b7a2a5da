// SPDX-License-Identifier: MIT
/* Names of any bytes: each becomes a string, in bounded time and memory. */
#include <string.h>

#include "cli/demangle.h"
#include "fuzz.h"

static const char *const seeds[] = {
	"_Z6vecAddPfS_S_i",
	("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE"
	 "St5arrayIPcLm3EEEEviT0_T1_.kd"),
	"_ZN7ck_tile6kentryILi256ELi2ENS_13FmhaFwdKernelINS_26FmhaFwdTilePartitioner_"
	"HBSEEEJEEEvDpT2_",
	"_ZZN4rocm4test3runEvENKUlPfiE_clES1_i",
	"_ZN12_GLOBAL__N_16kernelIDF16_EEvPT_S2_",
	"void (anonymous namespace)::f<a::b, c<d>::e>(int (*)(char))",
	"std::enable_if<(((8)>(0)))&&x<y>::z, void>::type n::k<h, 8>(p*, int)",
};

int main(int argc, char **argv)
{
	struct fuzz fuzz = {0};
	char name[20000];

	fuzz_start(&fuzz, argc, argv);
	do {
		const char *seed = seeds[fuzz_below(&fuzz, 7)];
		size_t length = strlen(seed),
		       repeat = 1 + (fuzz_below(&fuzz, 50) ? 0 : fuzz_below(&fuzz, 500));

		name[0] = '\0';
		for (size_t i = 0, at = 0; i < repeat && at + length < sizeof(name) - 1; i++) {
			/* a piece of a seed again and again makes deep nests and many references */
			size_t from = i ? fuzz_below(&fuzz, (uint32_t)length) : 0;

			memcpy(name + at, seed + from, length - from + 1);
			at += length - from;
		}
		length = strlen(name);
		for (uint32_t cnt = fuzz_below(&fuzz, 6); cnt; cnt--)
			name[2 + fuzz_below(&fuzz, (uint32_t)length - 2)] =
				"SI_EN0T12iPvJLZKcDp<>(){}: ~\xff"[fuzz_below(&fuzz, 29)];
		for (int names = 0; names < 3; names++) {
			char *text = wt_demangle(name, names);

			if (!text || (name[0] && !text[0]) || strlen(text) > 70000)
				abort();
			free(text);
		}
	} while (fuzz_goes_on(&fuzz));
	return 0;
}
