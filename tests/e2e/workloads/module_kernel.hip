// SPDX-License-Identifier: MIT
// The one kernel of `modules` and `hsa_signals`: its name's digits are patched at run time.
#include <hip/hip_runtime.h>

extern "C" __global__ void module_kernel_000000(int *data)
{
	if (data)
		data[threadIdx.x] = 1;
}
