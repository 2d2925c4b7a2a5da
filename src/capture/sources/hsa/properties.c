// SPDX-License-Identifier: MIT
/*
 * What a queue is asked to be: its priority and compute units, and the second
 * way to make queues, hsa_amd_queue_create (ROCr of ROCm 10), with descriptors.
 * Error callbacks stay the application's: nothing is put in between.
 */
#include "capture/sources/hsa/hsa.h"

static void tell_priority(const struct wt_vq *vq, uint32_t priority)
{
	struct wt_rec_queue_set rec = {
		.rec = {.type = WT_REC_QUEUE_SET, .id = vq->number},
		.what = WT_QUEUE_PRIORITY,
		.value = priority,
	};

	wt_define(&rec.rec, sizeof(rec), NULL, 0);
}

static void tell_mask(const struct wt_vq *vq, uint32_t bits, const uint32_t *mask)
{
	struct wt_rec_queue_set rec = {
		.rec = {.type = WT_REC_QUEUE_SET, .id = vq->number},
		.what = WT_QUEUE_CU_MASK,
		.value = bits,
	};

	if (bits && bits % 32 == 0 && bits <= WT_QUEUE_CU_MASK_MAX)
		wt_define(&rec.rec, sizeof(rec), (const char *)mask, bits / 8);
}

static hsa_status set_priority(struct hsa_queue *queue, uint32_t priority)
{
	hsa_status status =
		AMD(hsa_amd_queue_set_priority, hsa_amd_queue_set_priority_fn)(queue, priority);
	struct wt_vq *vq = status == HSA_OK ? wt_vq__find(queue) : NULL;

	if (vq)
		tell_priority(vq, priority);
	return status;
}

static hsa_status cu_set_mask(const struct hsa_queue *queue, uint32_t bits, const uint32_t *mask)
{
	hsa_status status =
		AMD(hsa_amd_queue_cu_set_mask, hsa_amd_queue_cu_set_mask_fn)(queue, bits, mask);
	/* "reduced" is told as HSA_INFO_REDUCED: the mask was set all the same */
	struct wt_vq *vq = status < HSA_ERROR ? wt_vq__find(queue) : NULL;

	if (vq && mask)
		tell_mask(vq, bits, mask);
	return status;
}

static hsa_amd_queue_create_fn *original_create;

static void made(hsa_agent agent, const struct hsa_queue_desc *desc)
{
	struct wt_vq *vq;

	if (!desc->queue || desc->engine != HSA_QUEUE_ENGINE_COMPUTE || wt_vq__find(desc->queue))
		return;
	vq = wt_queue__adopt(desc->queue, agent, WT_QUEUE_SLOTS);
	if (!vq)
		return;
	tell_priority(vq, desc->priority);
	if (desc->cu_mask)
		tell_mask(vq, desc->cu_mask_bits, desc->cu_mask);
}

static hsa_status queue_create(hsa_agent agent, struct hsa_queue_desc *descs, uint32_t cnt)
{
	hsa_status status = original_create(agent, descs, cnt);

	/* also where some could not be made: the others were */
	if (!descs || !wt_hsa__recording())
		return status;
	if (cnt && descs[0].version != HSA_QUEUE_DESC_VERSION) {
		wt_define__status("hsa", 2,
			"queues are not followed: their descriptors are of a version not known");
		return status;
	}
	for (uint32_t i = 0; i < cnt; i++)
		made(agent, &descs[i]);
	return status;
}

void wt_properties__install(struct hsa_table *amd)
{
	const size_t end = sizeof(amd->version) + (HSA_AMD_QUEUE_CREATE + 1) * sizeof(void *);

	wt_hsa__replace_amd(amd, HSA_AMD_hsa_amd_queue_set_priority, (void *)set_priority);
	wt_hsa__replace_amd(amd, HSA_AMD_hsa_amd_queue_cu_set_mask, (void *)cu_set_mask);
	if (amd->version.minor < end || amd->version.step < HSA_AMD_QUEUE_CREATE_STEP ||
		!amd->fn[HSA_AMD_QUEUE_CREATE])
		return;
	original_create = (hsa_amd_queue_create_fn *)amd->fn[HSA_AMD_QUEUE_CREATE];
	amd->fn[HSA_AMD_QUEUE_CREATE] = (void *)queue_create;
}
