// SPDX-License-Identifier: MIT
/* Ids and names of the HIP functions in hip_api.def. */
#ifndef WT_CORE_HIP_API_H
#define WT_CORE_HIP_API_H

enum wt_api_class {
	WT_API_CLASS_SUBMIT,
	WT_API_CLASS_WAIT,
	WT_API_CLASS_COPY,
	WT_API_CLASS_ALLOC,
	WT_API_CLASS_CREATE,
	WT_API_CLASS_DESTROY,
	WT_API_CLASS_QUERY,
};

enum wt_hip_api {
#define WT_HIP_API(name, class) WT_HIP_##name,
#include "core/hip_api.def"
#undef WT_HIP_API
	WT_HIP_CNT
};

/* "hipLaunchKernel"; a static string. NULL for an id that does not exist. */
const char *wt_hip_api__name(unsigned id);

#endif
