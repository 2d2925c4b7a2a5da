// SPDX-License-Identifier: MIT
// A code object for hsa_rules.c.
#include <hip/hip_runtime.h>

extern "C" __global__ void rules_long(unsigned long long a, unsigned long long b)
{
	(void)a;
	(void)b;
}

extern "C" __global__ void rules_short(unsigned long long a)
{
	(void)a;
}
