// SPDX-License-Identifier: MIT
#include "collect/api_name.h"

#include "core/hip_api.h"

const char *wt_api__name(uint32_t id)
{
	const char *name = wt_hip_api__name(id);

	return name ? name : "unknown";
}
