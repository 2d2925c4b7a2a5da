// SPDX-License-Identifier: MIT
/*
 * How long kernels take: fixed or spread, for all or by name. A random time is a function of its
 * key alone (seed, GPU, queue, kernel, which of its runs), never of the order in which threads ask.
 */
#include "timing.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 15

uint64_t vg_whole_ticks(uint64_t ns)
{
	return (ns + VG_STEP_NS - 1) / VG_STEP_NS * VG_STEP_NS;
}

int vg_list__parse(const char *text, const char *(*item)(void *with, const char *text, size_t len),
	void *with, struct vg_mistake *mistake)
{
	for (;; text++) {
		size_t len = strcspn(text, ",");

		*mistake = (struct vg_mistake){text, item(with, text, len)};
		if (mistake->why)
			return -EINVAL;
		text += len;
		if (!*text)
			return 0;
	}
}

bool vg_parse_ns(const char *text, size_t len, uint64_t *ns)
{
	uint64_t v = 0;

	if (!len || len > MAX_DIGITS)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(text[i] - '0');
	}
	*ns = v;
	return true;
}

/* ---- options ---- */

/* Wider ones than these would have to be cut at 0, which would move the mean. */
static const struct {
	const char *name;
	enum vg_shape shape;
	double most;
	const char *why;
} shapes[] = {
	{"normal:", VG_NORMAL, 0.25,
		"normal: at most 25% of the time; what is wider can be lognormal:"},
	{"uniform:", VG_UNIFORM, 1, "uniform: at most 100% of the time"},
	{"lognormal:", VG_LOGNORMAL, 10, "lognormal: at most 1000% of the time"},
};

/* "15%", "3000": of the time, or in ns. */
static bool parse_spread(const char *text, size_t len, uint64_t ns, double *spread)
{
	char copy[32], *end;

	if (!len || len >= sizeof copy || strspn(text, "0123456789.%") < len)
		return false;
	memcpy(copy, text, len);
	copy[len] = 0;
	*spread = strtod(copy, &end);
	if (*end == '%') {
		*spread *= (double)ns / 100;
		end++;
	}
	return end != copy && !*end && copy[0] != '%';
}

/* NS or NS~SPREAD or NS~SHAPE:SPREAD */
static const char *parse_duration(const char *text, size_t len, struct vg_duration *d)
{
	const char *tilde = memchr(text, '~', len);
	size_t number = tilde ? (size_t)(tilde - text) : len, i = 0;

	*d = (struct vg_duration){0};
	if (!vg_parse_ns(text, number, &d->ns))
		return "a time in ns is needed, of at most 15 digits";
	d->ns = vg_whole_ticks(d->ns);
	if (!tilde)
		return NULL;
	text = tilde + 1;
	len -= number + 1;
	for (unsigned n = 0; n < sizeof shapes / sizeof *shapes; n++) {
		size_t name = strlen(shapes[n].name);

		if (len < name || strncmp(text, shapes[n].name, name))
			continue;
		i = n;
		text += name;
		len -= name;
		break;
	}
	d->shape = shapes[i].shape;
	if (!parse_spread(text, len, d->ns, &d->spread_ns))
		return "after ~ comes a spread, 15% or ns, or normal:, uniform: or lognormal: and "
		       "a spread";
	if (d->spread_ns > shapes[i].most * (double)d->ns)
		return shapes[i].why;
	if (d->spread_ns <= 0)
		d->shape = VG_FIXED;
	return NULL;
}

static const char *parse_item(void *times, const char *text, size_t len)
{
	struct vg_kernel_times *t = times;
	const char *eq = memchr(text, '=', len), *why;
	struct vg_pattern *p = &t->patterns[t->pattern_cnt];
	size_t n;

	if (!len)
		return "nothing between or after commas";
	if (!eq)
		return parse_duration(text, len, &t->other);
	n = (size_t)(eq - text);
	if (!n)
		return "a pattern is missing before =";
	if (n >= sizeof p->text)
		return "a pattern has at most 95 characters";
	if (t->pattern_cnt == VG_MAX_PATTERNS)
		return "at most 32 patterns";
	why = parse_duration(eq + 1, len - n - 1, &p->time);
	if (why)
		return why;
	memcpy(p->text, text, n);
	p->text[n] = 0;
	t->pattern_cnt++;
	return NULL;
}

int vg_kernel_times__parse(struct vg_kernel_times *t, const char *text, struct vg_mistake *mistake)
{
	t->pattern_cnt = 0;
	return vg_list__parse(text, parse_item, t, mistake);
}

bool vg_name_fits(const char *pattern, const char *name)
{
	return strpbrk(pattern, "*?[") ? !fnmatch(pattern, name, 0) : strstr(name, pattern) != NULL;
}

const struct vg_duration *vg_kernel_times__find(
	const struct vg_kernel_times *t, const char *name, bool *named)
{
	const struct vg_duration *found = &t->other;

	*named = false;
	for (unsigned i = 0; i < t->pattern_cnt; i++) {
		const struct vg_pattern *p = &t->patterns[i];

		if (vg_name_fits(p->text, name)) {
			found = &p->time;
			*named = true;
		}
	}
	return found;
}

/* ---- chance ---- */

/* SplitMix64's step: each bit of the result depends on each bit of x. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t vg_key(uint64_t key, uint64_t number)
{
	return mix(mix(key) ^ number);
}

uint64_t vg_key_of_text(uint64_t key, const char *text)
{
	while (*text)
		key = vg_key(key, (unsigned char)*text++);
	return key;
}

/* In (0, 1), neither end. */
static double part(uint64_t key, unsigned which)
{
	return ((double)(vg_key(key, which) >> 12) + 0.5) * 0x1p-52;
}

/* Mean 0, deviation 1 (Box and Muller). */
static double normal(uint64_t key)
{
	return sqrt(-2 * log(part(key, 0))) * cos(2 * 3.14159265358979323846 * part(key, 1));
}

uint64_t vg_duration__draw(const struct vg_duration *d, uint64_t key)
{
	double mean = (double)d->ns, spread = d->spread_ns, ns = mean, s;

	switch (d->shape) {
	case VG_FIXED:
		return d->ns;
	case VG_UNIFORM:
		ns += spread * (2 * part(key, 0) - 1);
		break;
	case VG_NORMAL:
		ns += spread * normal(key);
		break;
	case VG_LOGNORMAL:
		s = log(1 + spread * spread / (mean * mean));
		ns = exp(log(mean) - s / 2 + sqrt(s) * normal(key));
		break;
	}
	/* To the nearest tick; normal: one draw in 30,000 is cut at 0 where the spread is 25%. */
	return ns < VG_STEP_NS / 2.0 ? 0 : (uint64_t)(ns / VG_STEP_NS + 0.5) * VG_STEP_NS;
}
