// SPDX-License-Identifier: MIT
/* rocprofiler-sdk, as librocprofiler-register would look for it if we were not there. */
#ifndef WT_REGISTER_SDK_H
#define WT_REGISTER_SDK_H

#include <stdbool.h>
#include <stdint.h>

/* 0: taken. The tables may be changed in place. */
typedef int wt_set_api_table_fn(const char *name, uint64_t lib_version, uint64_t lib_instance,
	void **tables, uint64_t table_cnt);

/* A tool other than us is in this process, or its environment asks for one. */
bool wt_sdk__is_wanted(void);

/* Its function; loads it if need be. NULL: there is none; said once. */
wt_set_api_table_fn *wt_sdk__set_api_table(void);

#endif
