// SPDX-License-Identifier: MIT
/*
 * Does for an HSA runtime that does not know of it what ROCr does since 6.1: gives its tables to
 * the library of $HSA_REGISTRAR, by way of being the first of its tools.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))
#define VERSION  60200

EXPORTED uint32_t rocprofiler_register_import_hsa(void);
EXPORTED bool OnLoad(void *table, uint64_t version, uint64_t failed_cnt, const char *const *failed);
EXPORTED void OnUnload(void);

uint32_t rocprofiler_register_import_hsa(void)
{
	return VERSION;
}

bool OnLoad(void *table, uint64_t version, uint64_t failed_cnt, const char *const *failed)
{
	const char *name = getenv("HSA_REGISTRAR");
	void *library = name ? dlopen(name, RTLD_NOW | RTLD_GLOBAL) : NULL;
	int (*give)(const char *, uint32_t (*)(void), uint32_t, void **, uint64_t, uint64_t *) =
		library ? (__typeof__(give))dlsym(library, "rocprofiler_register_library_api_table")
			: NULL;
	uint64_t id = 0;

	(void)version;
	(void)failed_cnt;
	(void)failed;
	if (!give) {
		fprintf(stderr, "hsa_registrar: %s\n", dlerror());
		abort();
	}
	fprintf(stderr, "hsa_registrar: %d\n",
		give("hsa", rocprofiler_register_import_hsa, VERSION, &table, 1, &id));
	return true;
}

void OnUnload(void)
{
}
