// SPDX-License-Identifier: MIT
/* From a whole segment to a trace in its place; the collector's end and recover's. */
#ifndef WT_COLLECT_FINISH_H
#define WT_COLLECT_FINISH_H

#include "collect/build.h"
#include "collect/segment.h"

/* What is built: `output` with ".part", or itself where the run is added to it. */
int wt_finish__part(char *part, size_t bytes, const char *output, enum wt_store_exists exists);

/*
 * Builds (or goes on building, with `build`, taken over) options->output from
 * the segment, notes in the segment what is about to happen, and moves it to
 * `output`: readers see the old file or the whole new one.
 */
int wt_finish__store(struct wt_build *build, const struct wt_build_options *options,
	struct wt_segment_writer *writer, const char *output, bool replace,
	struct wt_build_stats *stats, struct wt_err **err);

/* True when the move that `stored` announced has happened. */
bool wt_finish__is_in_place(const struct wt_frame_stored *stored, const char *output);

#endif
