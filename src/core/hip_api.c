// SPDX-License-Identifier: MIT
#include "core/hip_api.h"

#include <stddef.h>

const char *wt_hip_api__name(unsigned id)
{
	static const char *const names[] = {
#define WT_HIP_API(name, class) #name,
#include "core/hip_api.def"
#undef WT_HIP_API
	};

	return id < WT_HIP_CNT ? names[id] : NULL;
}
