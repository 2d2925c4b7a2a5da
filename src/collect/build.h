// SPDX-License-Identifier: MIT
/*
 * Segment → store. The same code builds while the program runs (a thread of
 * the collector with the lowest priority follows the segment), after its end,
 * and in `wavetap recover`.
 *
 * wt_build__advance works in two steps up to a position: first the heads are
 * walked and everything that others refer to is taken in (clock samples and
 * definitions), then the events become rows. The positions are those behind a
 * CPU clock sample, so each CPU time has a sample on either side. What needs a
 * GPU clock pair that is still to come is held back, up to a bound.
 */
#ifndef WT_COLLECT_BUILD_H
#define WT_COLLECT_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

struct wt_build;
struct wt_err;

struct wt_build_options {
	const char *segment; /* path */
	const char *output;  /* path of the store to write */
	enum wt_schema schema;
	enum wt_store_exists exists;
};

struct wt_build_stats {
	uint64_t op_cnt, copy_cnt; /* kernels and copies/fills, timed or not */
	uint64_t untimed_cnt, in_flight_cnt;
	uint64_t attributed_cnt; /* ops that name the API call they came from */
	uint64_t call_cnt;
	uint64_t lost_cnt; /* events that are not in the trace */
	uint64_t process_cnt;
	uint64_t damaged_bytes;
	uint64_t held_max;          /* most operations held back at once */
	uint64_t origin_ns, end_ns; /* first clock sample; last event */
};

/* Opens the segment; the store is opened by the first advance that finds a clock sample. */
int wt_build__open(
	struct wt_build **build, const struct wt_build_options *options, struct wt_err **err);

/*
 * Takes in the frames up to byte `limit` of the segment (UINT64_MAX: it is
 * complete, all there are), `step_bytes` at most (0: no limit). Returns 1 when
 * there is more to do at once, 0 when not, or a negative errno.
 */
int wt_build__advance(
	struct wt_build *build, uint64_t limit, uint64_t step_bytes, struct wt_err **err);

/* The rest, the sums, and closes the store. Frees `build` in every case. */
int wt_build__close(struct wt_build *build, struct wt_build_stats *stats, struct wt_err **err);
/* Gives it up; what the store holds so far is of no use. */
void wt_build__abort(struct wt_build *build);

/* Bytes of the segment that were not turned into rows yet, up to `limit`. */
uint64_t wt_build__position(const struct wt_build *build);

#endif
