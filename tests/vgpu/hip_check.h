// SPDX-License-Identifier: MIT
/* What the HIP programs of this folder share. A failing call ends the program with exit code 2; failed
 * checks are printed and counted in `wrong`. */
#ifndef TESTS_VGPU_HIP_CHECK_H
#define TESTS_VGPU_HIP_CHECK_H

#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CK(x)                                                                                      \
	do {                                                                                       \
		hipError_t e_ = (x);                                                               \
		if (e_ != hipSuccess) {                                                            \
			fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, hipGetErrorString(e_)); \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

[[maybe_unused]] static int wrong;

[[maybe_unused]] static void check(const char *what, bool ok)
{
	if (!ok)
		printf("WRONG: %s\n", what);
	wrong += !ok;
}

#endif
