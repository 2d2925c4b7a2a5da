// SPDX-License-Identifier: MIT
/* A small trace with one of everything, whose contents the tests know. */
#ifndef WT_TESTS_STORE_SAMPLE_H
#define WT_TESTS_STORE_SAMPLE_H

#include "store/store.h"

#define SAMPLE_ORIGIN_NS 5000000000000ull

/* What sample__add writes. */
#define SAMPLE_API_CNT     12
#define SAMPLE_UNRETURNED  1
#define SAMPLE_OP_CNT      11
#define SAMPLE_UNTIMED_CNT 3 /* of the operations: two untimed, one in flight */
#define SAMPLE_KERNEL_CNT  8
#define SAMPLE_COPY_CNT    2
#define SAMPLE_FILL_CNT    1

struct wt_store_options sample__options(enum wt_schema schema, enum wt_store_exists exists);
/* Adds all rows; the failure, if there is one, is kept by the store. */
void sample__add(struct wt_store *store);
/* Opens, adds, closes. */
int sample__write(
	const char *path, enum wt_schema schema, enum wt_store_exists exists, struct wt_err **err);

#endif
