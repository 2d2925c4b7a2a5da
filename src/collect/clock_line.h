// SPDX-License-Identifier: MIT
/*
 * Ticks of a clock → CLOCK_BOOTTIME, piecewise linear between pairs that were
 * measured. Whole-number arithmetic: no nanosecond is lost to rounding of
 * large numbers.
 */
#ifndef WT_COLLECT_CLOCK_LINE_H
#define WT_COLLECT_CLOCK_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define WT_CLOCK_LINE_ANEW 32 /* a machine is not suspended that often in a recording */

struct wt_clock_point {
	uint64_t ticks, ns;
	uint32_t gap_ns; /* a suspend before it was no longer ago than that; 0: not known */
	bool breaks;     /* the clock stood still, or was set, between its predecessor and it */
	bool anew;       /* it began anew: fewer ticks than its predecessor's. Also a break */
};

struct wt_clock_line {
	WT_VEC(struct wt_clock_point) points; /* by time */
	/* Where the clock began anew: counts without a step back, from one of these to the next. */
	size_t anew[WT_CLOCK_LINE_ANEW];
	size_t anew_cnt;
	size_t break_cnt;
	size_t first, end; /* the count that was asked for last */
	size_t cache;
	uint64_t refused; /* pairs that went backwards in time, or began anew too often */
};

/* Pairs come in the order they were taken; equal and backward ones are left out. 0 or -ENOMEM. */
int wt_clock_line__add(struct wt_clock_line *line, uint64_t ticks, uint64_t ns, uint32_t gap_ns);

/*
 * True when a pair at or behind `ticks` is known, and one before: conversion can no longer change.
 */
bool wt_clock_line__covers(struct wt_clock_line *line, uint64_t ticks);

/*
 * False: fewer than two pairs, so no rate is known; or a clock that began anew
 * has shown these ticks twice. Before the first pair the first rate holds,
 * behind the last the last. Over a break (a suspended machine) nothing is
 * interpolated: the time is carried on from one side, from before where the
 * tick is older than the gap allows, else from the nearer one. Later ticks of
 * one count never get an earlier time.
 */
bool wt_clock_line__convert(struct wt_clock_line *line, uint64_t ticks, uint64_t *ns);

void wt_clock_line__free(struct wt_clock_line *line);

#endif
