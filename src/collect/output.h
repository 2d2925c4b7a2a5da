// SPDX-License-Identifier: MIT
/* Where a trace goes: names with %h %p %r %j %q{VAR}, and whether it can be written there. */
#ifndef WT_COLLECT_OUTPUT_H
#define WT_COLLECT_OUTPUT_H

#include <stddef.h>
#include <sys/types.h>

#include "store/store.h"

struct wt_err;

#define WT_OUTPUT_DEFAULT      "wavetap-%h-%p.db"
#define WT_OUTPUT_DEFAULT_RANK "wavetap-%h-r%r.db"

/* The rank that a launcher gave us, "" without one. */
const char *wt_output__rank(void);

/*
 * Expands `pattern` (NULL: the default), puts it below `dir` (NULL: none) when
 * it is relative, and makes it absolute. `pid` is the program's.
 */
int wt_output__resolve(char *path, size_t bytes, const char *pattern, const char *dir, pid_t pid,
	struct wt_err **err);

/*
 * Found before the program starts: a file that is there and may not be
 * replaced, a directory that is not there or not writable. `make_dir`:
 * missing directories are made.
 */
int wt_output__check(
	const char *path, enum wt_store_exists exists, int make_dir, struct wt_err **err);

/* The segment's path: `path` with WT_SEGMENT_SUFFIX. */
int wt_output__segment(char *segment, size_t bytes, const char *path);

#endif
