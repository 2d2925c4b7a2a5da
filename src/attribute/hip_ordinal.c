// SPDX-License-Identifier: MIT
#include "attribute/hip_ordinal.h"

#include <stdio.h>
#include <string.h>

#define LATER   WT_HIP_NO_ORDINAL
#define ENDS    SIZE_MAX
#define UNKNOWN (SIZE_MAX - 1)

enum wt_hip_uuids wt_hip_ordinal__uuids(unsigned major, unsigned minor)
{
	/* seen to be so: not in 5.2, but in 6.4 and 7.2; nothing is known of what lies between */
	if (major < 5 || (major == 5 && minor <= 2))
		return WT_HIP_UUIDS_NO;
	return major > 6 || (major == 6 && minor >= 4) ? WT_HIP_UUIDS_YES : WT_HIP_UUIDS_UNKNOWN;
}

/* The index that an item names; ENDS: none, UNKNOWN: that depends on what is not known. */
static size_t find(const struct wt_hip_gpu *gpus, size_t cnt, const char *item, size_t length,
	enum wt_hip_uuids uuids)
{
	char number[24];
	size_t index = 0;

	if (memmem(item, length, "GPU-", 4)) {
		if (uuids != WT_HIP_UUIDS_YES)
			return uuids == WT_HIP_UUIDS_NO ? ENDS : UNKNOWN;
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

void wt_hip_ordinal__work_out(
	struct wt_hip_gpu *gpus, size_t cnt, const char *list, enum wt_hip_uuids uuids)
{
	const struct wt_hip_gpu *first = NULL;
	uint32_t next = 0;

	for (size_t i = 0; i < cnt; i++)
		gpus[i].ordinal = WT_HIP_NO_ORDINAL;
	if (!list || !*list) {
		for (size_t i = 0; i < cnt; i++)
			gpus[i].ordinal = number_of(&gpus[i], &first, &next);
		return;
	}
	while (*list && next != LATER) {
		size_t length = strcspn(list, ","), index = find(gpus, cnt, list, length, uuids);

		if (index >= cnt)
			return;
		if (gpus[index].ordinal == WT_HIP_NO_ORDINAL)
			gpus[index].ordinal = number_of(&gpus[index], &first, &next);
		list += length;
		list += *list == ',';
	}
}
