// SPDX-License-Identifier: MIT
/* The names of the API calls that records carry as numbers. */
#ifndef WT_COLLECT_API_NAME_H
#define WT_COLLECT_API_NAME_H

#include <stdint.h>

/* A static string, also for a number that this version does not know. */
const char *wt_api__name(uint32_t id);

#endif
