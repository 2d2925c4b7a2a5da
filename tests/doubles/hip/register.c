// SPDX-License-Identifier: MIT
/* What librocprofiler-register does for a library that registers its tables, and no more. */
#include <dlfcn.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
	uint32_t version, void **tables, uint64_t table_cnt, uint64_t *id);
int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
	uint32_t version, void **tables, uint64_t table_cnt, uint64_t *id)
{
	int (*set)(const char *, uint64_t, uint64_t, void **, uint64_t) =
		(__typeof__(set))dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table");

	*id = 0;
	if (import() != version)
		return 7;                                          /* invalid argument */
	return set ? set(name, version, 0, tables, table_cnt) : 1; /* no tools */
}
