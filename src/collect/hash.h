// SPDX-License-Identifier: MIT
/* XXH3 of libxxhash, compiled in: the collector carries no library of its own. */
#ifndef WT_COLLECT_HASH_H
#define WT_COLLECT_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t wt_hash(const void *bytes, size_t length);

#endif
