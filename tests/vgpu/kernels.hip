// SPDX-License-Identifier: MIT
// A code object for hsa_rules.c, and, with OTHER, one like it in which the same place has another name.
#include <hip/hip_runtime.h>

#ifdef OTHER
#define rules_long  other_long
#define rules_short other_short
#endif

extern "C" __global__ void rules_long(unsigned long long a, unsigned long long b)
{
	(void)a;
	(void)b;
}

extern "C" __global__ void rules_short(unsigned long long a)
{
	(void)a;
}
