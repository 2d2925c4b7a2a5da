// SPDX-License-Identifier: MIT
/* What the command processor takes for a packet, and what copies take. */
#include "timing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const packet_names[] = {
	[VG_COST_DISPATCH] = "dispatch",
	[VG_COST_BARRIER] = "barrier",
	[VG_COST_PM4] = "pm4",
	[VG_COST_AGENT] = "agent",
};
static const char *const way_names[] = {
	[VG_WAY_H2D] = "h2d",
	[VG_WAY_D2H] = "d2h",
	[VG_WAY_D2D] = "d2d",
	[VG_WAY_PEER] = "peer",
	[VG_WAY_H2H] = "h2h",
	[VG_WAY_FILL] = "fill",
};

const char *vg_way_name(enum vg_way way)
{
	return way_names[way];
}

void vg_costs__init(struct vg_costs *c)
{
	*c = (struct vg_costs){.packet_ns = {[VG_COST_BARRIER] = 1000}};
	for (unsigned i = 0; i < VG_WAY_CNT; i++)
		c->copy_gbps[i] = 25;
}

static bool parse_ns(const char *text, size_t len, double *value)
{
	uint64_t ns;
	bool ok = vg_parse_ns(text, len, &ns);

	*value = (double)ns;
	return ok;
}

static bool parse_gbps(const char *text, size_t len, double *value)
{
	char copy[32], *end;

	if (!len || len >= sizeof copy || strspn(text, "0123456789.") < len)
		return false;
	memcpy(copy, text, len);
	copy[len] = 0;
	*value = strtod(copy, &end);
	return end != copy && !*end && *value <= 1e6;
}

/* What a list of costs consists of. */
struct list {
	const char *const *names;
	unsigned cnt;
	bool (*parse)(const char *text, size_t len, double *value);
	const char *bad_name, *bad_value;
};

static const struct list packet_list = {packet_names, VG_COST_CNT, parse_ns,
	"the kinds of packets are dispatch, barrier, pm4 and agent",
	"a time in ns is needed, of at most 15 digits"};
static const struct list speed_list = {way_names, VG_WAY_CNT, parse_gbps,
	"the directions are h2d, d2h, d2d, peer, h2h and fill",
	"a speed in GB/s is needed, at most 1000000"};
static const struct list latency_list = {way_names, VG_WAY_CNT, parse_ns,
	"the directions are h2d, d2h, d2d, peer, h2h and fill",
	"a time in ns is needed, of at most 15 digits"};

struct reading {
	const struct list *list;
	double *values;
};

/* VALUE or NAME=VALUE; a value alone is for all names. */
static const char *parse_item(void *reading, const char *text, size_t len)
{
	const struct reading *r = reading;
	const struct list *list = r->list;
	const char *eq = memchr(text, '=', len), *number = eq ? eq + 1 : text;
	size_t name = eq ? (size_t)(eq - text) : 0;
	bool known = !eq;
	double value;

	if (!list->parse(number, (size_t)(text + len - number), &value))
		return list->bad_value;
	for (unsigned i = 0; i < list->cnt; i++) {
		if (eq && (strlen(list->names[i]) != name || strncmp(list->names[i], text, name)))
			continue;
		r->values[i] = value;
		known = true;
	}
	return known ? NULL : list->bad_name;
}

static int parse(
	const struct list *list, const char *text, double *values, struct vg_mistake *mistake)
{
	struct reading r = {list, values};

	return vg_list__parse(text, parse_item, &r, mistake);
}

static int parse_times(
	const struct list *list, const char *text, uint64_t *ns, struct vg_mistake *mistake)
{
	double values[VG_WAY_CNT];
	int err;

	for (unsigned i = 0; i < list->cnt; i++)
		values[i] = (double)ns[i];
	err = parse(list, text, values, mistake);
	for (unsigned i = 0; i < list->cnt && !err; i++)
		ns[i] = vg_whole_ticks((uint64_t)values[i]);
	return err;
}

int vg_costs__parse_packets(struct vg_costs *c, const char *text, struct vg_mistake *mistake)
{
	return parse_times(&packet_list, text, c->packet_ns, mistake);
}

int vg_costs__parse_gbps(struct vg_costs *c, const char *text, struct vg_mistake *mistake)
{
	return parse(&speed_list, text, c->copy_gbps, mistake);
}

int vg_costs__parse_latency(struct vg_costs *c, const char *text, struct vg_mistake *mistake)
{
	return parse_times(&latency_list, text, c->latency_ns, mistake);
}

uint64_t vg_costs__bytes_ns(const struct vg_costs *c, enum vg_way way, uint64_t bytes)
{
	if (c->copy_gbps[way] <= 0)
		return 0;
	return vg_whole_ticks((uint64_t)((double)bytes / c->copy_gbps[way]));
}

enum vg_way vg_way_of(int source_gpu, int target_gpu)
{
	if (source_gpu < 0)
		return target_gpu < 0 ? VG_WAY_H2H : VG_WAY_H2D;
	if (target_gpu < 0)
		return VG_WAY_D2H;
	return source_gpu == target_gpu ? VG_WAY_D2D : VG_WAY_PEER;
}
