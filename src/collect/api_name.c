// SPDX-License-Identifier: MIT
#include "collect/api_name.h"

#include <stddef.h>

static const char *const hip_names[] = {
#define WT_HIP_API(name, class) #name,
#include "core/hip_api.def"
#undef WT_HIP_API
};

const char *wt_api__name(uint32_t id)
{
	return id < sizeof(hip_names) / sizeof(*hip_names) ? hip_names[id] : "unknown";
}
