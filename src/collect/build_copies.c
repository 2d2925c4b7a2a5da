// SPDX-License-Identifier: MIT
/*
 * Where copies and fills go: by whose memory their addresses are in, and where
 * that is not known, by the agents that a DMA copy was asked for with.
 */
#include "collect/build_private.h"

static uint32_t store_id(struct wt_build *build, struct wt_build_process *process, uint32_t owner)
{
	const struct wt_build_device *device;

	if (owner == WT_PLACE_HOST)
		return WT_STORE_HOST;
	device = wt_build__device(build, process, owner);
	return device ? device->id : 0;
}

/* `agent`: what the caller said it is; NULL: nothing. */
static uint32_t place_of(struct wt_build *build, struct wt_build_process *process, uint64_t address,
	uint64_t at_ns, const uint32_t *agent)
{
	uint32_t owner;

	if (address != WT_ABSENT && wt_places__owner(&process->places, address, at_ns, &owner))
		return store_id(build, process, owner);
	return agent ? store_id(build, process, *agent) : 0;
}

static uint32_t kind_of(uint32_t dst_id, uint32_t src_id)
{
	if (!dst_id || !src_id)
		return WT_COPY_UNKNOWN;
	if (src_id == WT_STORE_HOST)
		return dst_id == WT_STORE_HOST ? WT_COPY_HTOH : WT_COPY_HTOD;
	if (dst_id == WT_STORE_HOST)
		return WT_COPY_DTOH;
	return dst_id == src_id ? WT_COPY_DTOD : WT_COPY_PEER;
}

void wt_build__place_copy(struct wt_build *build, struct wt_build_process *process,
	struct wt_store_op *op, const struct wt_rec_sdma *asked)
{
	op->dst_device_id =
		place_of(build, process, op->dst, op->start_ns, asked ? &asked->dst_device : NULL);
	if (op->kind == WT_OP_FILL) {
		op->copy_kind = WT_COPY_FILL;
		return;
	}
	op->src_device_id =
		place_of(build, process, op->src, op->start_ns, asked ? &asked->src_device : NULL);
	op->copy_kind = kind_of(op->dst_device_id, op->src_device_id);
}
