// SPDX-License-Identifier: MIT
#include "attribute/hip_ordinal.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LATER   WT_HIP_NO_ORDINAL
#define ENDS    SIZE_MAX
#define UNKNOWN (SIZE_MAX - 1)

enum wt_hip_rules wt_hip_ordinal__rules(unsigned major, unsigned minor)
{
	/* seen to be so in 5.2, in 6.4 and 7.2; when they changed is not known */
	if (major < 5 || (major == 5 && minor <= 2))
		return WT_HIP_RULES_OLD;
	return major > 6 || (major == 6 && minor >= 4) ? WT_HIP_RULES_NEW : WT_HIP_RULES_UNKNOWN;
}

/* The index that an item names; ENDS: none, UNKNOWN: that depends on what is not known. */
static size_t find(const struct wt_hip_gpu *gpus, size_t cnt, const char *item, size_t length,
	enum wt_hip_rules rules)
{
	char number[24];
	size_t index = 0;

	if (memmem(item, length, "GPU-", 4)) {
		if (rules != WT_HIP_RULES_NEW)
			return rules == WT_HIP_RULES_OLD ? ENDS : UNKNOWN;
		for (size_t i = 0; i < cnt; i++)
			if (memmem(gpus[i].uuid, strlen(gpus[i].uuid), item, length))
				return i;
		return ENDS;
	}
	for (size_t i = 0; i < length && index < cnt; i++) {
		if (item[i] < '0' || item[i] > '9')
			return ENDS;
		index = index * 10 + (size_t)(item[i] - '0');
	}
	/* "01" and "" are no numbers to HIP */
	return index < cnt && snprintf(number, sizeof(number), "%zu", index) == (int)length ? index
											    : ENDS;
}

/*
 * HIP leaves out what it has no support for. It has for all of one architecture or for none: the
 * numbers are certain as far as no other one came before.
 */
static uint32_t number_of(
	const struct wt_hip_gpu *gpu, const struct wt_hip_gpu **first, uint32_t *next)
{
	if (!*first)
		*first = gpu;
	if (*next == LATER || !gpu->isa[0] || strcmp((*first)->isa, gpu->isa) != 0) {
		*next = LATER;
		return WT_HIP_NO_ORDINAL;
	}
	return (*next)++;
}

/* Does a variable count? With `*certain` false that is not known. */
static bool counts(const char *value, enum wt_hip_rules rules, bool *certain)
{
	if (value && !*value && rules == WT_HIP_RULES_UNKNOWN)
		*certain = false;
	return value && (*value || rules == WT_HIP_RULES_NEW);
}

void wt_hip_ordinal__work_out(struct wt_hip_gpu *gpus, size_t cnt, const char *hip,
	const char *cuda, enum wt_hip_rules rules)
{
	const struct wt_hip_gpu *first = NULL;
	const char *list = NULL;
	uint32_t next = 0;
	bool certain = true;

	for (size_t i = 0; i < cnt; i++)
		gpus[i].ordinal = WT_HIP_NO_ORDINAL;
	if (counts(hip, rules, &certain))
		list = hip;
	else if (counts(cuda, rules, &certain))
		list = cuda;
	if (!certain)
		return;
	for (size_t i = 0; !list && i < cnt; i++)
		gpus[i].ordinal = number_of(&gpus[i], &first, &next);
	while (list && *list && next != LATER) {
		size_t length = strcspn(list, ","), index = find(gpus, cnt, list, length, rules);

		if (index >= cnt)
			return;
		if (gpus[index].ordinal == WT_HIP_NO_ORDINAL)
			gpus[index].ordinal = number_of(&gpus[index], &first, &next);
		list += length;
		list += *list == ',';
	}
}
