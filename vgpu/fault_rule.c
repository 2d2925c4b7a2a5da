// SPDX-License-Identifier: MIT
/* The words of --fault. */
#include "fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct vg_fault_kind_info vg_fault_kinds[VG_FAULT_KINDS] = {
	[VG_FAULT_STALL] = {"stall", VG_FAULT_AT_PACKET, "until"},
	[VG_FAULT_MEMORY] = {"memory", VG_FAULT_AT_PACKET, "address"},
	[VG_FAULT_QUEUE_ERROR] = {"queue-error", VG_FAULT_AT_PACKET, "code"},
	[VG_FAULT_RESET] = {"reset", VG_FAULT_AT_PACKET, NULL},
	[VG_FAULT_LOST] = {"lost", VG_FAULT_AT_PACKET, NULL},
	[VG_FAULT_LOST_INTERRUPT] = {"lost-interrupt", VG_FAULT_AT_INTERRUPT, "event"},
	[VG_FAULT_LATE_INTERRUPT] = {"late-interrupt", VG_FAULT_AT_INTERRUPT, "event"},
	[VG_FAULT_ALLOC] = {"alloc", VG_FAULT_AT_CALL, "bytes"},
	[VG_FAULT_MAP] = {"map", VG_FAULT_AT_CALL, NULL},
	[VG_FAULT_CREATE_QUEUE] = {"create-queue", VG_FAULT_AT_CALL, NULL},
	[VG_FAULT_CREATE_EVENT] = {"create-event", VG_FAULT_AT_CALL, NULL},
};

static const struct vg_fault_code codes[] = {
	{"illegal-instruction", 4, 0x40000000u},
	{"aperture-violation", 6, 0x20000000u},
	{"trap", 2, 0x80000000u},
	{"invalid-dimension", 16, 2},
	{"invalid-group-memory", 17, 4},
	{"invalid-code", 18, 8},
	{"invalid-packet", 20, 32},
	{"invalid-workgroup", 21, 64},
	{"out-of-registers", 22, 128},
	{"invalid-vendor-packet", 23, 256},
};

static const char *const reasons[] = {
	[VG_FAULT_NOT_PRESENT] = "not-present",
	[VG_FAULT_READ_ONLY] = "read-only",
	[VG_FAULT_NO_EXECUTE] = "no-execute",
};

/* ---- values ---- */

struct unit {
	const char *name;
	double factor;
};
static const struct unit time_units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {0}};
static const struct unit byte_units[] = {
	{"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {0}};

static bool read_with_unit(const char *s, const struct unit *units, uint64_t *to)
{
	char *end;
	double v = strtod(s, &end);

	if (*s < '0' || *s > '9')
		return false;
	for (; units->name; units++)
		if (!strcmp(end, units->name) && v * units->factor < 1e18) {
			*to = (uint64_t)(v * units->factor);
			return true;
		}
	return false;
}

static bool read_time(const char *s, struct vg_fault_rule *r, void *to)
{
	(void)r;
	return read_with_unit(s, time_units, to);
}

static bool read_bytes(const char *s, struct vg_fault_rule *r, void *to)
{
	(void)r;
	return read_with_unit(s, byte_units, to);
}

static bool read_number(const char *s, struct vg_fault_rule *r, void *to)
{
	char *end;

	(void)r;
	if (*s < '0' || *s > '9')
		return false;
	*(uint64_t *)to = strtoull(s, &end, 0);
	return !*end && *(uint64_t *)to != VG_FAULT_ANY;
}

static bool read_count(const char *s, struct vg_fault_rule *r, void *to)
{
	return read_number(s, r, to) && *(uint64_t *)to;
}

static bool read_pattern(const char *s, struct vg_fault_rule *r, void *to)
{
	size_t n = strlen(s);

	(void)to;
	if (!n || n >= sizeof r->kernel)
		return false;
	memcpy(r->kernel, s, n + 1);
	return true;
}

static bool read_reason(const char *s, struct vg_fault_rule *r, void *to)
{
	(void)to;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (!strcmp(s, reasons[i])) {
			r->reason = i;
			return true;
		}
	return false;
}

const struct vg_fault_code *vg_fault__code(const char *name)
{
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (!strcmp(name, codes[i].name))
			return &codes[i];
	return NULL;
}

static bool read_code(const char *s, struct vg_fault_rule *r, void *to)
{
	(void)to;
	r->code = vg_fault__code(s);
	return r->code != NULL;
}

/* ---- fields ---- */

#define PACKET    VG_FAULT_AT_PACKET
#define INTERRUPT VG_FAULT_AT_INTERRUPT
#define CALL      VG_FAULT_AT_CALL
#define ALL_KINDS VG_FAULT_KINDS

static const struct {
	const char *name, *wants;
	bool (*read)(const char *s, struct vg_fault_rule *r, void *to);
	size_t offset;
	unsigned at;            /* classes of faults that it applies to ... */
	enum vg_fault_kind one; /* ... or this kind alone */
} fields[] = {
	{"gpu", "a GPU's number", read_number, offsetof(struct vg_fault_rule, gpu),
		PACKET | INTERRUPT | CALL, ALL_KINDS},
	{"queue", "a queue's number in the log", read_number, offsetof(struct vg_fault_rule, queue),
		PACKET | INTERRUPT, ALL_KINDS},
	{"packet", "a packet's index in its queue", read_number,
		offsetof(struct vg_fault_rule, packet), PACKET | INTERRUPT, ALL_KINDS},
	{"kernel", "part of a kernel's name, or a pattern", read_pattern, 0, PACKET, ALL_KINDS},
	{"at", "a time, like 20ms", read_time, offsetof(struct vg_fault_rule, at_ns),
		PACKET | INTERRUPT | CALL, ALL_KINDS},
	{"nth", "a number from 1", read_count, offsetof(struct vg_fault_rule, nth),
		PACKET | INTERRUPT | CALL, ALL_KINDS},
	{"every", "a number from 1", read_count, offsetof(struct vg_fault_rule, every),
		PACKET | INTERRUPT | CALL, ALL_KINDS},
	{"for", "a time, like 20ms", read_time, offsetof(struct vg_fault_rule, for_ns), 0,
		VG_FAULT_STALL},
	{"by", "a time, like 20ms", read_time, offsetof(struct vg_fault_rule, by_ns), 0,
		VG_FAULT_LATE_INTERRUPT},
	{"above", "a size, like 64M", read_bytes, offsetof(struct vg_fault_rule, above), 0,
		VG_FAULT_ALLOC},
	{"address", "an address", read_number, offsetof(struct vg_fault_rule, address), 0,
		VG_FAULT_MEMORY},
	{"reason", "not-present, read-only or no-execute", read_reason, 0, 0, VG_FAULT_MEMORY},
	{"code", "an error like illegal-instruction or invalid-code", read_code, 0, 0,
		VG_FAULT_QUEUE_ERROR},
};

static bool set_field(struct vg_fault_rule *r, char *field, char *why, size_t why_size)
{
	const char *kind = vg_fault_kinds[r->kind].name;
	char *value = strchr(field, '=');
	size_t i = 0;

	if (value)
		*value++ = 0;
	while (i < sizeof fields / sizeof *fields && strcmp(field, fields[i].name))
		i++;
	if (i == sizeof fields / sizeof *fields)
		snprintf(why, why_size, "%s: there is no field %s", kind, field);
	else if (!(fields[i].at & vg_fault_kinds[r->kind].at) && fields[i].one != r->kind)
		snprintf(why, why_size, "%s does not apply to %s", field, kind);
	else if (!value || !fields[i].read(value, r, (char *)r + fields[i].offset))
		snprintf(why, why_size, "%s: %s= wants %s", kind, field, fields[i].wants);
	else
		return true;
	return false;
}

static bool parse_rule(char *text, struct vg_fault_rule *r, char *why, size_t why_size)
{
	char *save = NULL, *word;
	unsigned kind = 0;

	*r = (struct vg_fault_rule){.gpu = VG_FAULT_ANY,
		.queue = VG_FAULT_ANY,
		.packet = VG_FAULT_ANY,
		.for_ns = VG_FAULT_FOREVER,
		.code = &codes[0]};
	memcpy(r->text, text, strlen(text) + 1);
	word = strtok_r(text, ",", &save);
	while (word && kind < VG_FAULT_KINDS && strcmp(word, vg_fault_kinds[kind].name))
		kind++;
	if (!word || kind == VG_FAULT_KINDS) {
		int n = snprintf(why, why_size, "%s is no fault; there are", word ? word : "\"\"");

		for (kind = 0; kind < VG_FAULT_KINDS && n > 0 && (size_t)n < why_size; kind++)
			n += snprintf(
				why + n, why_size - (size_t)n, " %s", vg_fault_kinds[kind].name);
		return false;
	}
	r->kind = (enum vg_fault_kind)kind;
	while ((word = strtok_r(NULL, ",", &save)))
		if (!set_field(r, word, why, why_size))
			return false;
	if (r->nth && r->every)
		snprintf(why, why_size, "%s: nth and every exclude each other",
			vg_fault_kinds[kind].name);
	else if (r->kind == VG_FAULT_LATE_INTERRUPT && !r->by_ns)
		snprintf(why, why_size, "late-interrupt needs by=TIME, like by=20ms");
	else
		return true;
	return false;
}

int vg_fault__parse(
	const char *text, struct vg_fault_rule rules[VG_MAX_FAULTS], char *why, size_t why_size)
{
	char one[sizeof rules->text];
	int cnt = 0;

	while (*text) {
		size_t n = strcspn(text, ";");

		if (n >= sizeof one || cnt == VG_MAX_FAULTS) {
			snprintf(why, why_size,
				n >= sizeof one ? "too long" : "more than %d faults",
				VG_MAX_FAULTS);
			return -1;
		}
		memcpy(one, text, n);
		one[n] = 0;
		if (!parse_rule(one, &rules[cnt], why, why_size))
			return -1;
		cnt++;
		text += n + (text[n] == ';');
	}
	return cnt;
}
