// SPDX-License-Identifier: MIT
/*
 * Whose memory lies where: what the runtime gives out, maps and locks, and
 * takes back. Copies name addresses alone; that tells where they go.
 */
#include "capture/sources/hsa/hsa.h"

static bool wanted(void)
{
	if (!wt_hsa__recording() || !(wt_process.settings.want & WT_WANT_COPY))
		return false;
	wt_devices__find();
	return true;
}

void wt_place__begins(uint32_t device, uint64_t address, uint64_t bytes)
{
	struct wt_rec_place rec = {
		.rec = {.type = WT_REC_PLACE, .id = device},
		.address = address,
		.bytes = bytes,
		.from_ns = wt_clock__boottime_ns(),
	};

	if (address && bytes && wt_process.settings.want & WT_WANT_COPY)
		wt_define(&rec.rec, sizeof(rec), NULL, 0);
}

/* Before the runtime takes it back: afterwards the addresses may be somebody else's. */
void wt_place__ends(uint64_t address)
{
	struct wt_rec_place_end rec = {
		.rec = {.type = WT_REC_PLACE_END},
		.address = address,
		.end_ns = wt_clock__boottime_ns(),
	};

	if (wt_process.settings.want & WT_WANT_COPY)
		wt_define(&rec.rec, sizeof(rec), NULL, 0);
}

/* Asks the runtime whose memory this is; nothing is said where it does not know. */
static void look_up(void *memory)
{
	struct hsa_pointer_info info = {.size = sizeof(info)};
	const struct wt_device *device;
	uint32_t kind = HSA_DEVICE_GPU;

	if (!memory ||
		AMD(hsa_amd_pointer_info, hsa_amd_pointer_info_fn)(
			memory, &info, NULL, NULL, NULL) != HSA_OK ||
		info.type == HSA_POINTER_UNKNOWN || !info.owner.handle)
		return;
	device = wt_device__of(info.owner);
	if (!device)
		CORE(hsa_agent_get_info, hsa_agent_get_info_fn)
		(info.owner, HSA_AGENT_DEVICE, &kind);
	if (device)
		wt_place__begins(device->number, (uint64_t)info.gpu_base, info.bytes);
	else if (kind == HSA_DEVICE_CPU)
		wt_place__begins(WT_PLACE_HOST, (uint64_t)info.gpu_base, info.bytes);
}

static void given(hsa_status status, void **memory)
{
	if (status == HSA_OK && memory && wanted())
		look_up(*memory);
}

static bool taking(void *memory)
{
	bool tells = memory && wanted();

	if (tells)
		wt_place__ends((uint64_t)memory);
	return tells;
}

/* The runtime would not have it back. */
static void kept(hsa_status status, bool told, void *memory)
{
	if (told && status != HSA_OK)
		look_up(memory);
}

static hsa_status memory_allocate(struct hsa_handle region, size_t bytes, void **memory)
{
	hsa_status status =
		CORE(hsa_memory_allocate, hsa_memory_allocate_fn)(region, bytes, memory);

	given(status, memory);
	return status;
}

static hsa_status memory_free(void *memory)
{
	bool told = taking(memory);
	hsa_status status = CORE(hsa_memory_free, hsa_memory_free_fn)(memory);

	kept(status, told, memory);
	return status;
}

static hsa_status pool_allocate(struct hsa_handle pool, size_t bytes, uint32_t flags, void **memory)
{
	hsa_status status = AMD(hsa_amd_memory_pool_allocate, hsa_amd_memory_pool_allocate_fn)(
		pool, bytes, flags, memory);

	given(status, memory);
	return status;
}

static hsa_status pool_free(void *memory)
{
	bool told = taking(memory);
	hsa_status status = AMD(hsa_amd_memory_pool_free, hsa_memory_free_fn)(memory);

	kept(status, told, memory);
	return status;
}

static hsa_status ipc_attach(const void *handle, size_t bytes, uint32_t agent_cnt,
	const hsa_agent *agents, void **memory)
{
	hsa_status status = AMD(hsa_amd_ipc_memory_attach, hsa_amd_ipc_memory_attach_fn)(
		handle, bytes, agent_cnt, agents, memory);

	given(status, memory);
	return status;
}

static hsa_status ipc_detach(void *memory)
{
	bool told = taking(memory);
	hsa_status status = AMD(hsa_amd_ipc_memory_detach, hsa_memory_free_fn)(memory);

	kept(status, told, memory);
	return status;
}

static hsa_status vmem_map(
	void *memory, size_t bytes, size_t offset, struct hsa_handle handle, uint64_t flags)
{
	hsa_status status =
		AMD(hsa_amd_vmem_map, hsa_amd_vmem_map_fn)(memory, bytes, offset, handle, flags);

	given(status, &memory);
	return status;
}

static hsa_status vmem_unmap(void *memory, size_t bytes)
{
	bool told = taking(memory);
	hsa_status status = AMD(hsa_amd_vmem_unmap, hsa_amd_vmem_unmap_fn)(memory, bytes);

	kept(status, told, memory);
	return status;
}

/* ---- memory of the program's own that the GPU is let at ------------------------------ */

/* It has an address of its own for the GPU, mostly: copies name the one or the other. */
static void locked(hsa_status status, void *host, size_t bytes, void *const *gpu)
{
	if (status != HSA_OK || !host || !wanted())
		return;
	wt_place__begins(WT_PLACE_HOST, (uint64_t)host, bytes);
	if (gpu && *gpu && *gpu != host)
		wt_place__begins(WT_PLACE_HOST, (uint64_t)*gpu, bytes);
}

static hsa_status memory_lock(
	void *host, size_t bytes, const hsa_agent *agents, int agent_cnt, void **gpu)
{
	hsa_status status = AMD(hsa_amd_memory_lock, hsa_amd_memory_lock_fn)(
		host, bytes, agents, agent_cnt, gpu);

	locked(status, host, bytes, gpu);
	return status;
}

static hsa_status memory_lock_to_pool(void *host, size_t bytes, const hsa_agent *agents,
	int agent_cnt, struct hsa_handle pool, uint32_t flags, void **gpu)
{
	hsa_status status = AMD(hsa_amd_memory_lock_to_pool, hsa_amd_memory_lock_to_pool_fn)(
		host, bytes, agents, agent_cnt, pool, flags, gpu);

	locked(status, host, bytes, gpu);
	return status;
}

static hsa_status memory_unlock(void *host)
{
	struct hsa_pointer_info info = {.size = sizeof(info)};
	bool told = taking(host);

	if (told &&
		AMD(hsa_amd_pointer_info, hsa_amd_pointer_info_fn)(host, &info, NULL, NULL, NULL) ==
			HSA_OK &&
		info.type == HSA_POINTER_LOCKED && info.gpu_base && info.gpu_base != host)
		wt_place__ends((uint64_t)info.gpu_base);
	return AMD(hsa_amd_memory_unlock, hsa_memory_free_fn)(host);
}

void wt_places__install(struct hsa_table *core, struct hsa_table *amd)
{
	static const struct {
		unsigned index;
		void *fn;
	} replaced[] = {
		{HSA_AMD_hsa_amd_memory_pool_allocate, (void *)pool_allocate},
		{HSA_AMD_hsa_amd_memory_pool_free, (void *)pool_free},
		{HSA_AMD_hsa_amd_memory_lock, (void *)memory_lock},
		{HSA_AMD_hsa_amd_memory_unlock, (void *)memory_unlock},
		{HSA_AMD_hsa_amd_memory_lock_to_pool, (void *)memory_lock_to_pool},
		{HSA_AMD_hsa_amd_ipc_memory_attach, (void *)ipc_attach},
		{HSA_AMD_hsa_amd_ipc_memory_detach, (void *)ipc_detach},
		{HSA_AMD_hsa_amd_vmem_map, (void *)vmem_map},
		{HSA_AMD_hsa_amd_vmem_unmap, (void *)vmem_unmap},
	};

	core->fn[HSA_CORE_hsa_memory_allocate] = (void *)memory_allocate;
	core->fn[HSA_CORE_hsa_memory_free] = (void *)memory_free;
	for (size_t i = 0; i < sizeof(replaced) / sizeof(*replaced); i++)
		wt_hsa__replace_amd(amd, replaced[i].index, replaced[i].fn);
}
