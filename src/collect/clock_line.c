// SPDX-License-Identifier: MIT
#include "collect/clock_line.h"

/* Off by more than this from the rate before: no drift, the clock stood or was set. */
#define BREAK_NS 1000000
/* A rate is taken over at least this where there is as much: the readings themselves jitter. */
#define BASE_NS 50000000
/* So many points are searched for a rate: breaks are rare, and damage must not cost time. */
#define LOOK 16
/* Larger is no time but damage; it also keeps the products below inside 127 bits. */
#define MAX_NS ((uint64_t)1 << 62)

typedef __int128 wide;

/* The rate as a pair of points; NULL where there is none. */
struct rate {
	const struct wt_clock_point *a, *b;
};

static wide scale(struct rate rate, wide ticks)
{
	wide dt = (wide)rate.b->ticks - rate.a->ticks;
	wide dn = (wide)rate.b->ns - rate.a->ns;
	wide product = ticks * dn;

	/* to the nearest, also of negative numbers */
	return (product >= 0 ? product + dt / 2 : product - dt / 2) / dt;
}

/* Over the unbroken run around point `at`: as far back as needed, then forward. */
static struct rate rate_near(const struct wt_clock_line *line, size_t at)
{
	const struct wt_clock_point *p = line->points.data;
	size_t from = at, to = at;

	while (from > 0 && !p[from].breaks && p[to].ns - p[from].ns < BASE_NS)
		from--;
	while (to + 1 < line->points.cnt && !p[to + 1].breaks && p[to].ns - p[from].ns < BASE_NS)
		to++;
	return from == to ? (struct rate){NULL, NULL} : (struct rate){&p[from], &p[to]};
}

/* The rate at a point; where it stands alone between breaks, that of the ones before, or after. */
static struct rate rate_at(const struct wt_clock_line *line, size_t at)
{
	struct rate rate = rate_near(line, at);

	for (size_t n = 1; !rate.a && n <= LOOK && n <= at; n++)
		rate = rate_near(line, at - n);
	for (size_t n = 1; !rate.a && n <= LOOK && at + n < line->points.cnt; n++)
		rate = rate_near(line, at + n);
	return rate;
}

/* Would the clock have gone from the last point to this one at the rate it had? */
static bool breaks_here(const struct wt_clock_line *line, uint64_t ticks, uint64_t ns)
{
	const struct wt_clock_point *last = wt_vec__last(&line->points);
	struct rate rate = rate_at(line, line->points.cnt - 1);
	wide expected, off, base;

	if (!rate.a)
		return false;
	expected = scale(rate, (wide)ticks - last->ticks);
	base = (wide)rate.b->ns - rate.a->ns;
	if (base < expected / 10)
		return false; /* the rate is not known well enough to say */
	off = expected - (wide)(ns - last->ns);
	return off > BREAK_NS || off < -BREAK_NS;
}

int wt_clock_line__add(struct wt_clock_line *line, uint64_t ticks, uint64_t ns, uint32_t gap_ns)
{
	struct wt_clock_point point = {.ticks = ticks, .ns = ns, .gap_ns = gap_ns};
	const struct wt_clock_point *last;

	if (ns > MAX_NS) {
		line->refused++;
		return 0;
	}
	if (!line->points.cnt)
		return wt_vec__push(&line->points, point);
	last = wt_vec__last(&line->points);
	if (ns <= last->ns || ticks == last->ticks) {
		line->refused += ns < last->ns;
		return 0;
	}
	/* two readings at about the same time: each is only known to within its width */
	if (ticks < last->ticks && ns - last->ns < BREAK_NS)
		return 0;
	point.anew = ticks < last->ticks;
	if (point.anew && line->anew_cnt == WT_CLOCK_LINE_ANEW) {
		line->refused++;
		return 0;
	}
	point.breaks = point.anew || breaks_here(line, ticks, ns);
	if (point.anew)
		line->anew[line->anew_cnt++] = line->points.cnt;
	line->break_cnt += point.breaks;
	return wt_vec__push(&line->points, point);
}

/* By how much `ticks` lies outside of the points [first, end), which count up. */
static uint64_t outside(const struct wt_clock_line *line, size_t first, size_t end, uint64_t ticks)
{
	const struct wt_clock_point *p = line->points.data;

	if (ticks < p[first].ticks)
		return p[first].ticks - ticks;
	return ticks > p[end - 1].ticks ? ticks - p[end - 1].ticks : 0;
}

/*
 * Which count `ticks` are of, where the clock began anew: the one whose points
 * are nearest. False: two that have shown them. After a reset the count starts
 * at 0, so what lies below its first point is its own if no other has it.
 */
static bool find_count(struct wt_clock_line *line, uint64_t ticks)
{
	uint64_t best = UINT64_MAX;
	size_t first = 0, hits = 0;

	for (size_t i = 0; i <= line->anew_cnt; i++) {
		size_t end = i < line->anew_cnt ? line->anew[i] : line->points.cnt;
		uint64_t far = outside(line, first, end, ticks);

		hits += !far;
		if (far <= best) {
			best = far;
			line->first = first;
			line->end = end;
		}
		first = end;
	}
	return hits < 2;
}

bool wt_clock_line__covers(struct wt_clock_line *line, uint64_t ticks)
{
	const struct wt_clock_point *p = line->points.data;

	if (line->points.cnt < 2)
		return false;
	if (!find_count(line, ticks))
		return true;
	return ticks >= p[line->first].ticks &&
	       (line->end < line->points.cnt || ticks <= p[line->end - 1].ticks);
}

/* The last point of [first, end) with ticks <= `ticks`; first where all are above. */
static size_t find(const struct wt_clock_line *line, size_t first, size_t end, uint64_t ticks)
{
	const struct wt_clock_point *p = line->points.data;

	while (end - first > 1) {
		size_t middle = first + (end - first) / 2;

		if (p[middle].ticks <= ticks)
			first = middle;
		else
			end = middle;
	}
	return first;
}

static uint64_t across_break(const struct wt_clock_line *line, size_t at, uint64_t ticks)
{
	const struct wt_clock_point *a = &line->points.data[at], *b = a + 1;
	struct rate rate = rate_at(line, at), after = rate_at(line, at + 1);
	wide step = (wide)b->ns - a->ns;
	wide on = scale(rate, (wide)ticks - a->ticks);
	wide back = scale(after.a ? after : rate, (wide)b->ticks - ticks);
	bool before = b->gap_ns ? back > b->gap_ns : ticks - a->ticks <= b->ticks - ticks;

	if (before)
		return a->ns + (uint64_t)(on < step ? on : step);
	return b->ns - (uint64_t)(back < step ? back : step);
}

/* Carried on past the ends of a count, a time stays out of the counts before and after it. */
static uint64_t within(const struct wt_clock_line *line, wide ns)
{
	const struct wt_clock_point *p = line->points.data;
	wide low = line->first ? p[line->first - 1].ns : 0;
	wide high = line->end < line->points.cnt ? p[line->end].ns : (wide)UINT64_MAX;

	return (uint64_t)(ns < low ? low : ns > high ? high : ns);
}

bool wt_clock_line__convert(struct wt_clock_line *line, uint64_t ticks, uint64_t *ns)
{
	const struct wt_clock_point *p = line->points.data;
	size_t at = line->cache, end;
	struct rate rate;

	if (line->points.cnt < 2 || !find_count(line, ticks))
		return false;
	end = line->end;
	if (at < line->first || at + 1 >= end || p[at].ticks > ticks || p[at + 1].ticks <= ticks)
		line->cache = at = find(line, line->first, end, ticks);
	if (at + 1 < end && p[at + 1].breaks && ticks > p[at].ticks) {
		if (!rate_at(line, at).a)
			return false;
		*ns = across_break(line, at, ticks);
		return true;
	}
	if (at + 1 < end && ticks >= p[at].ticks)
		rate = (struct rate){&p[at], &p[at + 1]};
	else
		rate = rate_at(line, at);
	if (!rate.a)
		return false;
	*ns = within(line, (wide)p[at].ns + scale(rate, (wide)ticks - p[at].ticks));
	return true;
}

void wt_clock_line__free(struct wt_clock_line *line)
{
	wt_vec__free(&line->points);
	*line = (struct wt_clock_line){0};
}
