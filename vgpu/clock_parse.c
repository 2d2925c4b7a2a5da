// SPDX-License-Identifier: MIT
/* --clock, for vgpu-run that checks it and for the library that obeys it. */
#include "clock.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* A decimal number with up to `decimals` places, as a whole number of the last place. */
static const char *number(const char *s, unsigned decimals, int64_t *value)
{
	bool minus = *s == '-', any = false;
	int64_t v = 0;

	s += *s == '-' || *s == '+';
	for (; *s >= '0' && *s <= '9' && v < INT64_MAX / 20; s++, any = true)
		v = v * 10 + (*s - '0');
	if (*s == '.' && decimals && any)
		for (s++; *s >= '0' && *s <= '9' && decimals && v < INT64_MAX / 20; s++, decimals--)
			v = v * 10 + (*s - '0');
	for (; decimals && v < INT64_MAX / 20; decimals--)
		v *= 10;
	*value = minus ? -v : v;
	return any && !decimals ? s : NULL;
}

static const char *time_ns(const char *s, int64_t *ns)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	int64_t v;

	s = number(s, 3, &v);
	for (unsigned i = 0; s && i < sizeof units / sizeof *units; i++) {
		size_t n = strlen(units[i].name);
		char after = strncmp(s, units[i].name, n) ? 'x' : s[n];

		if (after && after != ',' && after != '@')
			continue;
		/* thousandths: of a nanosecond there are none */
		if ((units[i].ns == 1 && v % 1000) || v / 1000 > VG_CLOCK_MAX_NS / units[i].ns ||
			v / 1000 < -VG_CLOCK_MAX_NS / units[i].ns)
			return NULL;
		*ns = units[i].ns == 1 ? v / 1000 : v * (units[i].ns / 1000);
		return s + n;
	}
	return NULL;
}

static const char *rate(const char *s, int64_t *ppb)
{
	s = number(s, 3, ppb);
	return s && *ppb <= VG_CLOCK_MAX_PPB && *ppb >= -VG_CLOCK_MAX_PPB ? s : NULL;
}

/* "30/10s" */
static const char *rate_in(const char *s, int64_t *ppb, uint64_t *period)
{
	int64_t ns = 0;

	s = rate(s, ppb);
	s = s && *s == '/' ? time_ns(s + 1, &ns) : NULL;
	if (ns < 1000000)
		return NULL;
	*period = (uint64_t)ns;
	return s;
}

/* ---- what an item sets; each returns where its value ends ---- */

static const char *offset(struct vg_clock_gpu *g, const char *s)
{
	return time_ns(s, &g->offset_ns);
}

static const char *ppm(struct vg_clock_gpu *g, const char *s)
{
	return rate(s, &g->ppb);
}

static const char *drift(struct vg_clock_gpu *g, const char *s)
{
	return rate_in(s, &g->drift_ppb, &g->drift_ns);
}

static const char *step(struct vg_clock_gpu *g, const char *s)
{
	return rate_in(s, &g->steps_ppb, &g->steps_ns);
}

static const char *mhz(struct vg_clock_gpu *g, const char *s)
{
	int64_t khz;

	s = number(s, 3, &khz);
	if (!s || khz < 1000 || khz > 1000000)
		return NULL;
	g->khz = (uint64_t)khz;
	return s;
}

static const char *jitter(struct vg_clock_gpu *g, const char *s)
{
	int64_t ns;

	s = time_ns(s, &ns);
	if (!s || ns < 0 || ns > 1000000)
		return NULL;
	g->jitter_ns = (uint64_t)ns;
	return s;
}

static const struct {
	const char *name;
	const char *(*set)(struct vg_clock_gpu *g, const char *s);
} gpu_items[] = {{"offset=", offset}, {"ppm=", ppm}, {"drift=", drift}, {"steps=", step},
	{"mhz=", mhz}, {"jitter=", jitter}};

/* "2s@5s", in order */
static const char *suspend(struct vg_clock *c, const char *s)
{
	uint64_t last = c->suspend_cnt ? c->suspends[c->suspend_cnt - 1].at_ns : 0;
	int64_t length = 0, at = 0;

	s = time_ns(s, &length);
	s = s && *s == '@' ? time_ns(s + 1, &at) : NULL;
	if (!s || length <= 0 || at < 0 || (uint64_t)at < last ||
		c->suspend_cnt == VG_CLOCK_SUSPENDS)
		return NULL;
	c->suspends[c->suspend_cnt].for_ns = (uint64_t)length;
	c->suspends[c->suspend_cnt++].at_ns = (uint64_t)at;
	return s;
}

static const char *counter(struct vg_clock *c, const char *s)
{
	static const char *const names[] = {[VG_COUNTER_RESETS] = "resets",
		[VG_COUNTER_STANDS] = "stands",
		[VG_COUNTER_CONTINUES] = "continues"};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (!strncmp(s, names[i], strlen(names[i]))) {
			c->counter = i;
			return s + strlen(names[i]);
		}
	return NULL;
}

static const char *epoch(struct vg_clock *c, const char *s)
{
	int64_t ns;

	s = number(s, 0, &ns);
	if (!s || ns < 0)
		return NULL;
	c->epoch_ns = (uint64_t)ns;
	return s;
}

static const struct {
	const char *name;
	const char *(*set)(struct vg_clock *c, const char *s);
} items[] = {{"suspend=", suspend}, {"counter=", counter}, {"epoch=", epoch}};

static const char *item(struct vg_clock *c, const char *s)
{
	unsigned first = 0, end = VG_CLOCK_GPUS;
	const char *after = NULL;

	if (*s >= '0' && *s < '0' + VG_CLOCK_GPUS && s[1] == ':') {
		first = (unsigned)(*s - '0');
		end = first + 1;
		s += 2;
	}
	for (unsigned i = 0; i < sizeof gpu_items / sizeof *gpu_items; i++) {
		size_t n = strlen(gpu_items[i].name);

		for (unsigned g = first; g < end && !strncmp(s, gpu_items[i].name, n); g++)
			after = gpu_items[i].set(&c->gpus[g], s + n);
	}
	for (unsigned i = 0; end == VG_CLOCK_GPUS && i < sizeof items / sizeof *items; i++)
		if (!strncmp(s, items[i].name, strlen(items[i].name)))
			after = items[i].set(c, s + strlen(items[i].name));
	return after;
}

int vg_clock__parse(struct vg_clock *clock, const char *text, const char **bad)
{
	while (*text) {
		const char *after = item(clock, text);

		*bad = text;
		if (!after || (*after && *after != ',') || (*after && !after[1]))
			return -EINVAL;
		text = after + (*after == ',');
	}
	return 0;
}
