// SPDX-License-Identifier: MIT
/* Stands for rocprofiler-sdk (TOOL: and for a tool of it): notes what it is given. */
#include <stddef.h>
#include <stdint.h>

#include "sdk.h"

static struct sdk_given last;

SHOWN const struct sdk_given *sdk_given(void)
{
	return &last;
}

SHOWN int rocprofiler_set_api_table(
	const char *name, uint64_t version, uint64_t instance, void **tables, uint64_t cnt)
{
	last = (struct sdk_given){last.cnt + 1, name, version, instance, tables, cnt,
		tables[0] ? ((void **)tables[0])[1] : NULL};
	return SDK_ANSWER;
}

#ifdef TOOL
SHOWN void *rocprofiler_configure(
	uint32_t version, const char *runtime_version, uint32_t priority, void *client_id)
{
	(void)version;
	(void)runtime_version;
	(void)priority;
	(void)client_id;
	return NULL;
}
#endif
