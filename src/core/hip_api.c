// SPDX-License-Identifier: MIT
#include "core/hip_api.h"

#include <string.h>

const struct wt_hip_function wt_hip_functions[WT_HIP_CNT] = {
#define ROW(name, class, record, error) \
	[WT_HIP_##name] = {#name, record, WT_API_CLASS_##class, error},
#define HIP(name, class, params, args, stream, record)		   ROW(name, class, #record, true)
#define HIP_VALUE(type, name, class, params, args, stream, record) ROW(name, class, #record, false)
#define HIP_VOID(name, class, params, args, stream, record)	   ROW(name, class, #record, false)
#include "core/hip_api.def"
#undef HIP
#undef HIP_VALUE
#undef HIP_VOID
#undef ROW
};

const char *wt_hip_api__name(unsigned id)
{
	return id < WT_HIP_CNT ? wt_hip_functions[id].name : NULL;
}

unsigned wt_hip_api__find(const char *name)
{
	for (unsigned id = 0; id < WT_HIP_CNT; id++)
		if (!strcmp(wt_hip_functions[id].name, name))
			return id;
	return WT_HIP_CNT;
}

/* "ARGS(OUT(memory), bytes)": position 0 is "memory", 1 is "bytes". */
bool wt_hip_api__arg_name(unsigned id, unsigned position, char name[64])
{
	const char *at = id < WT_HIP_CNT ? wt_hip_functions[id].record : "";
	size_t length;

	if (strncmp(at, "ARGS(", 5))
		return false;
	at += 5;
	while (position--) {
		at = strchr(at, ',');
		if (!at)
			return false;
		at += strspn(at, ", ");
	}
	if (!strncmp(at, "OUT(", 4))
		at += 4;
	length = strcspn(at, ",)");
	if (!length || length >= 64)
		return false;
	memcpy(name, at, length);
	name[length] = 0;
	return true;
}
