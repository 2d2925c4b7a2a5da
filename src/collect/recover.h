// SPDX-License-Identifier: MIT
/* Finishing a trace whose collector died: from the segment and what is left in shared memory. */
#ifndef WT_COLLECT_RECOVER_H
#define WT_COLLECT_RECOVER_H

#include <limits.h>
#include <stdbool.h>

#include "collect/build.h"

struct wt_recover_result {
	char output[PATH_MAX]; /* "" where that is not known any more */
	bool was_complete;     /* the trace was in its place already */
	struct wt_build_stats stats;
};

/*
 * `what`: a session directory or a segment file. `output`: NULL for the one
 * that was asked for. `replace`: an existing output may go. Can be repeated
 * after it was interrupted: an event that is in both places counts once.
 * Refuses (-EBUSY) while the collector lives.
 */
int wt_recover__run(const char *what, const char *output, bool replace,
	struct wt_recover_result *result, struct wt_err **err);

#endif
