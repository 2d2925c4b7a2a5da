// SPDX-License-Identifier: MIT
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Three significant digits: 4.10, 50.0, 312. */
static void three_digits(char text[WT_UNITS_BYTES], double value, const char *unit)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(text, WT_UNITS_BYTES, "%.*f %s", decimals, value, unit);
}

char *wt_units__time(char text[WT_UNITS_BYTES], uint64_t ns)
{
	uint64_t seconds = ns / 1000000000;

	if (ns < 1000)
		snprintf(text, WT_UNITS_BYTES, "%" PRIu64 " ns", ns);
	else if (ns < 999500)
		three_digits(text, (double)ns / 1e3, "us");
	else if (ns < 999500000)
		three_digits(text, (double)ns / 1e6, "ms");
	else if (seconds < 600)
		three_digits(text, (double)ns / 1e9, "s");
	else if (seconds < 2 * 3600)
		snprintf(text, WT_UNITS_BYTES, "%" PRIu64 " m %02" PRIu64 " s", seconds / 60,
			seconds % 60);
	else
		snprintf(text, WT_UNITS_BYTES, "%" PRIu64 " h %02" PRIu64 " m", seconds / 3600,
			seconds / 60 % 60);
	return text;
}

char *wt_units__size(char text[WT_UNITS_BYTES], uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	unsigned unit = 0;

	if (bytes < 1024) {
		snprintf(text, WT_UNITS_BYTES, "%" PRIu64 " B", bytes);
		return text;
	}
	for (; value >= 1023.5 && unit < 5; unit++)
		value /= 1024;
	three_digits(text, value, units[unit]);
	return text;
}

char *wt_units__count(char text[WT_UNITS_BYTES], uint64_t count)
{
	char digits[WT_UNITS_BYTES];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count), out = 0;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text[out++] = ',';
		text[out++] = digits[i];
	}
	text[out] = '\0';
	return text;
}

char *wt_units__percent(char text[WT_UNITS_BYTES], double part, double whole)
{
	if (whole > 0)
		snprintf(text, WT_UNITS_BYTES, "%.1f %%", 100 * part / whole);
	else
		strcpy(text, "-");
	return text;
}

struct unit {
	const char *name;
	double factor;
};

static int parse(const char *text, const struct unit *units, uint64_t *result)
{
	double value;
	char *end;

	/* strtod also takes signs, "inf", "nan" and hexadecimal: not numbers people type here */
	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -EINVAL;
	if (text[0] == '0' && (text[1] | 32) == 'x')
		return -EINVAL;
	value = strtod(text, &end);
	if (end == text)
		return -EINVAL;
	while (*end == ' ')
		end++;
	for (; units->name; units++)
		if (!strcasecmp(end, units->name))
			break;
	if (!units->name)
		return -EINVAL;
	value = round(value * units->factor);
	if (!(value < 18446744073709549568.0))
		return -ERANGE;
	*result = (uint64_t)value;
	return 0;
}

#define KI 1024.0

int wt_units__parse_size(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
		{"", 1},
		{"B", 1},
		{"K", KI},
		{"KB", KI},
		{"KiB", KI},
		{"M", KI * KI},
		{"MB", KI * KI},
		{"MiB", KI * KI},
		{"G", KI * KI * KI},
		{"GB", KI * KI * KI},
		{"GiB", KI * KI * KI},
		{"T", KI * KI * KI * KI},
		{"TB", KI * KI * KI * KI},
		{"TiB", KI * KI * KI * KI},
		{NULL, 0},
	};

	return parse(text, units, bytes);
}

int wt_units__parse_duration(const char *text, uint64_t *ns)
{
	static const struct unit units[] = {
		{"", 1e9},
		{"s", 1e9},
		{"sec", 1e9},
		{"ms", 1e6},
		{"us", 1e3},
		{"\302\265s", 1e3},
		{"ns", 1},
		{"m", 60e9},
		{"min", 60e9},
		{"h", 3600e9},
		{NULL, 0},
	};

	return parse(text, units, ns);
}

int wt_units__parse_count(const char *text, uint64_t *count)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*count = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	return errno ? -ERANGE : 0;
}
