// SPDX-License-Identifier: MIT
#include "collect/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t wt_hash(const void *bytes, size_t length)
{
	return XXH3_64bits(bytes, length);
}
