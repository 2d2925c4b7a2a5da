// SPDX-License-Identifier: MIT
#ifndef SDK_H
#define SDK_H

#include <stdint.h>

#define SHOWN      __attribute__((visibility("default")))
#define SDK_ANSWER 42

struct sdk_given {
	int cnt;
	const char *name;
	uint64_t version, instance;
	void **tables;
	uint64_t table_cnt;
	void *first_entry; /* of the first table, at that moment */
};

SHOWN const struct sdk_given *sdk_given(void);
SHOWN int rocprofiler_set_api_table(
	const char *name, uint64_t version, uint64_t instance, void **tables, uint64_t cnt);
SHOWN void *rocprofiler_configure(
	uint32_t version, const char *runtime_version, uint32_t priority, void *client_id);
SHOWN int rocprofiler_register_library_api_table(void);

#endif
