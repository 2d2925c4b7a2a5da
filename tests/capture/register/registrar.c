// SPDX-License-Identifier: MIT
/* Stands for librocprofiler-register where only its presence matters. */
#include "sdk.h"

int rocprofiler_register_library_api_table(void)
{
	return 0;
}
