// SPDX-License-Identifier: MIT
#include "collect/clock_line.h"

/* Off by more than this from the rate before: no drift, the clock stood or was set. */
#define BREAK_NS 1000000
/* A rate is taken over at least this where there is as much: the readings themselves jitter. */
#define BASE_NS 50000000
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

/* Would the clock have gone from the last point to this one at the rate it had? */
static bool breaks_here(const struct wt_clock_line *line, uint64_t ticks, uint64_t ns)
{
	const struct wt_clock_point *last = wt_vec__last(&line->points);
	struct rate rate = rate_near(line, line->points.cnt - 1);
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

int wt_clock_line__add(struct wt_clock_line *line, uint64_t ticks, uint64_t ns)
{
	struct wt_clock_point point = {.ticks = ticks, .ns = ns};
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
	if (ticks < last->ticks) {
		point.breaks = true;
		line->epoch = line->points.cnt;
		return wt_vec__push(&line->points, point);
	}
	point.breaks = breaks_here(line, ticks, ns);
	return wt_vec__push(&line->points, point);
}

bool wt_clock_line__covers(const struct wt_clock_line *line, uint64_t ticks)
{
	return line->points.cnt > 1 && wt_vec__last(&line->points)->ticks >= ticks;
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

static uint64_t across_break(struct wt_clock_line *line, size_t at, uint64_t ticks)
{
	const struct wt_clock_point *a = &line->points.data[at], *b = a + 1;
	struct rate before = rate_near(line, at), after = rate_near(line, at + 1);
	wide step = (wide)b->ns - a->ns;
	wide on = before.a ? scale(before, (wide)ticks - a->ticks) : 0;
	wide back = after.a ? scale(after, (wide)b->ticks - ticks) : 0;

	if (ticks - a->ticks <= b->ticks - ticks)
		return a->ns + (uint64_t)(on < step ? on : step);
	return b->ns - (uint64_t)(back < step ? back : step);
}

bool wt_clock_line__convert(struct wt_clock_line *line, uint64_t ticks, uint64_t *ns)
{
	const struct wt_clock_point *p = line->points.data;
	size_t cnt = line->points.cnt, at = line->cache, first = line->epoch, end = cnt;
	struct rate rate;
	wide value;

	if (cnt < 2)
		return false;
	if (at + 1 >= cnt || p[at].ticks > ticks || p[at + 1].ticks <= ticks || at < first) {
		/* from before the clock began anew? */
		if (first && (ticks < p[first].ticks || ticks > p[cnt - 1].ticks) &&
			ticks >= p[0].ticks && ticks <= p[first - 1].ticks) {
			end = first;
			first = 0;
		}
		at = find(line, first, end, ticks);
		line->cache = at;
	}
	if (at + 1 < end && p[at + 1].breaks && ticks > p[at].ticks) {
		*ns = across_break(line, at, ticks);
		return true;
	}
	if (at + 1 < end && p[at + 1].ticks > p[at].ticks && ticks >= p[at].ticks)
		rate = (struct rate){&p[at], &p[at + 1]};
	else
		rate = rate_near(line, at);
	if (!rate.a)
		return false;
	value = (wide)p[at].ns + scale(rate, (wide)ticks - p[at].ticks);
	*ns = value < 0 ? 0 : (uint64_t)value;
	return true;
}

void wt_clock_line__free(struct wt_clock_line *line)
{
	wt_vec__free(&line->points);
	*line = (struct wt_clock_line){0};
}
