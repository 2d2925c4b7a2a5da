// SPDX-License-Identifier: MIT
/* Allocations and frees: calls, and whose memory it was. */
#include "collect/build_private.h"

/*
 * By the addresses, where they are known; else by the device of the thread,
 * which is where HIP allocates. Handles and memory of other processes have no
 * device that is certain.
 */
static uint32_t device_of(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec_memory *rec, uint64_t at_ns)
{
	const struct wt_build_device *device;
	uint32_t owner = UINT32_MAX;

	switch (rec->kind) {
	case WT_MEMORY_FREE:
	case WT_MEMORY_RESERVED:
	case WT_MEMORY_PHYSICAL:
		return 0;
	case WT_MEMORY_HOST:
	case WT_MEMORY_REGISTERED:
		return WT_STORE_HOST;
	case WT_MEMORY_RESET:
	case WT_MEMORY_ARRAY:
		owner = rec->device;
		break;
	default:
		if (wt_places__owner(&process->places, rec->address, at_ns, &owner)) {
			if (owner == WT_PLACE_HOST)
				return WT_STORE_HOST;
		} else if (rec->kind == WT_MEMORY_DEVICE || rec->kind == WT_MEMORY_ASYNC) {
			owner = rec->device;
		}
	}
	device = owner == UINT32_MAX ? NULL : wt_build__device(build, process, owner);
	return device ? device->id : 0;
}

int wt_build__memory(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec_memory *rec, const struct wt_store_api *call, bool in_trace)
{
	bool ends = rec->kind == WT_MEMORY_FREE || rec->kind == WT_MEMORY_RESET;
	uint64_t time = ends ? call->start_ns : call->end_ns;

	/* nothing came of it */
	if (rec->call.ret || (!rec->address && rec->kind != WT_MEMORY_RESET) ||
		rec->kind > WT_MEMORY_RESET)
		return 0;
	return wt_store__add_memory(
		build->store, &(struct wt_store_memory){
				      .process_id = process->id,
				      .address = rec->address,
				      .bytes = ends ? WT_ABSENT : rec->bytes,
				      .kind = rec->kind,
				      .device_id = device_of(build, process, rec, time),
				      .stream_id = call->stream_id,
				      .api_id = in_trace ? call->id : 0,
				      .time_ns = time,
			      });
}
