// SPDX-License-Identifier: MIT
/* From a whole segment to a trace in its place; the collector's end and recover's. */
#ifndef WT_COLLECT_FINISH_H
#define WT_COLLECT_FINISH_H

#include "collect/build.h"
#include "collect/segment.h"

/*
 * Builds (or goes on building, with `build`, taken over) options->output from
 * the segment, notes its inode in the segment, and renames it to `output`:
 * readers see the old file or the whole new one. With WT_STORE_APPEND the rows
 * are added to a copy of `output`.
 */
int wt_finish__store(struct wt_build *build, const struct wt_build_options *options,
	struct wt_segment_writer *writer, const char *output, struct wt_build_stats *stats,
	struct wt_err **err);

int wt_finish__copy(const char *from, const char *to, struct wt_err **err);

#endif
