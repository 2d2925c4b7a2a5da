// SPDX-License-Identifier: MIT
/* The HIP functions of hip_api.def: ids, names, classes. */
#ifndef WT_CORE_HIP_API_H
#define WT_CORE_HIP_API_H

#include <stdbool.h>
#include <stddef.h>

enum wt_api_class {
	WT_API_CLASS_SUBMIT,
	WT_API_CLASS_WAIT,
	WT_API_CLASS_COPY,
	WT_API_CLASS_ALLOC,
	WT_API_CLASS_CREATE,
	WT_API_CLASS_DESTROY,
	WT_API_CLASS_QUERY,
	WT_API_CLASS_COMPILER,
};

enum wt_hip_api {
#define HIP(name, class, params, args, stream, record)		   WT_HIP_##name,
#define HIP_VALUE(type, name, class, params, args, stream, record) WT_HIP_##name,
#define HIP_VOID(name, class, params, args, stream, record)	   WT_HIP_##name,
#include "core/hip_api.def"
#undef HIP
#undef HIP_VALUE
#undef HIP_VOID
	WT_HIP_CNT
};

struct wt_hip_function {
	const char *name;
	const char *record;	/* the record column as it stands in the table */
	unsigned char class;	/* enum wt_api_class */
	bool returns_error;	/* hipError_t; else the call has no return code */
};

extern const struct wt_hip_function wt_hip_functions[WT_HIP_CNT];

/* "hipLaunchKernel"; a static string. NULL for an id that does not exist. */
const char *wt_hip_api__name(unsigned id);

/* The id of a function, WT_HIP_CNT if there is none of that name. */
unsigned wt_hip_api__find(const char *name);

/*
 * The name of recorded argument `position` (from 0) of a function that keeps
 * ARGS: copied to name[64]. False: it has no such argument.
 */
bool wt_hip_api__arg_name(unsigned id, unsigned position, char name[64]);

#endif
