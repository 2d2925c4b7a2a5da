// SPDX-License-Identifier: MIT
/*
 * libwavetap_register.so: what librocprofiler-register calls.
 *
 * A library of its own, because its names change what a process does: with
 * rocprofiler_configure in sight there is a tool, and the tables go to the first
 * rocprofiler_set_api_table of the search order, which would be rocprofiler-sdk's
 * without us. So after we have had the tables the SDK gets them, where a tool
 * other than us is there to want it.
 */
#include <string.h>

#include "capture/capture.h"
#include "capture/register/sdk.h"

#define NOBODY_TOOK_IT 1

/* libwavetap.so's */
bool wavetap_take_tables(const char *name, void **tables, uint64_t table_cnt);

wt_export int rocprofiler_set_api_table(const char *name, uint64_t lib_version,
	uint64_t lib_instance, void **tables, uint64_t table_cnt);
wt_export void *rocprofiler_configure(
	uint32_t version, const char *runtime_version, uint32_t priority, void *client_id);

/* We are a tool, so that the tables are given away; but none of rocprofiler-sdk's. */
void *rocprofiler_configure(
	uint32_t version, const char *runtime_version, uint32_t priority, void *client_id)
{
	(void)version;
	(void)runtime_version;
	(void)priority;
	(void)client_id;
	return NULL;
}

int rocprofiler_set_api_table(const char *name, uint64_t lib_version, uint64_t lib_instance,
	void **tables, uint64_t table_cnt)
{
	int saved = errno;
	wt_set_api_table_fn *sdk = NULL;

	if (!name)
		return NOBODY_TOOK_IT;
	wavetap_take_tables(name, tables, table_cnt);
	if (wt_sdk__is_wanted())
		sdk = wt_sdk__set_api_table();
	errno = saved;
	if (sdk)
		return sdk(name, lib_version, lib_instance, tables, table_cnt);
	/*
	 * For HSA success would mean that a profiler is there, and the runtime would
	 * leave out the tools that HSA_TOOLS_LIB names. Others print an error.
	 */
	return strcmp(name, "hsa") ? 0 : NOBODY_TOOK_IT;
}
