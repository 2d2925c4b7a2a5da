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

struct wt_clock_point {
	uint64_t ticks, ns;
	bool breaks; /* the clock stood still, or was set, between its predecessor and it */
};

struct wt_clock_line {
	WT_VEC(struct wt_clock_point) points; /* by time */
	size_t epoch; /* where ticks last went backwards (a clock that began anew) */
	size_t cache;
	uint64_t refused; /* pairs that went backwards in time */
};

/* Pairs come in the order they were taken; equal and backward ones are left out. 0 or -ENOMEM. */
int wt_clock_line__add(struct wt_clock_line *line, uint64_t ticks, uint64_t ns);

/* True when a pair at or behind `ticks` is known: conversion can no longer change. */
bool wt_clock_line__covers(const struct wt_clock_line *line, uint64_t ticks);

/*
 * False: fewer than two pairs, so no rate is known. Before the first pair the
 * first rate holds, behind the last the last. Over a break (a suspended
 * machine) nothing is interpolated: the time is carried on from the nearer side.
 */
bool wt_clock_line__convert(struct wt_clock_line *line, uint64_t ticks, uint64_t *ns);

void wt_clock_line__free(struct wt_clock_line *line);

#endif
