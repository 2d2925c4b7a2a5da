// SPDX-License-Identifier: MIT
/*
 * What the packet processor refuses. The queue then stops at the packet, and its program is told
 * through the queue's error handler.
 */
#include "fault.h"
#include "vgpu.h"

#define MAX_WORKGROUP 1024 /* work-items, as the agent says */

static const char *wrong_dispatch(const struct abi_dispatch_packet *d)
{
	unsigned dimensions = d->setup & ABI_SETUP_DIMENSIONS;
	uint64_t items = (uint64_t)d->workgroup[0] * d->workgroup[1] * d->workgroup[2];

	if (!dimensions || dimensions > 3)
		return "invalid-dimension";
	if (!d->kernel_object)
		return "invalid-code";
	if (d->group_segment_size > vg_proc()->conf.model->lds_kib * 1024)
		return "invalid-group-memory";
	return !items || items > MAX_WORKGROUP ? "invalid-workgroup" : NULL;
}

const struct vg_fault_code *vg_packet__wrong(const union abi_packet *p)
{
	const char *wrong = NULL;

	switch (p->header & ABI_HEADER_TYPE_MASK) {
	case ABI_PACKET_DISPATCH:
		wrong = wrong_dispatch(&p->dispatch);
		break;
	case ABI_PACKET_AGENT:
	case ABI_PACKET_BARRIER_AND:
	case ABI_PACKET_BARRIER_OR:
		break;
	case ABI_PACKET_VENDOR:
		if (p->value.format != ABI_VENDOR_PM4_IB &&
			p->value.format != ABI_VENDOR_BARRIER_VALUE)
			wrong = "invalid-vendor-packet";
		break;
	default:
		wrong = "invalid-packet";
	}
	return wrong ? vg_fault__code(wrong) : NULL;
}
