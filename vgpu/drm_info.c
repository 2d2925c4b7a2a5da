// SPDX-License-Identifier: MIT
/* What a GPU says about itself: the answers to the amdgpu INFO ioctl. */
#include "vgpu.h"

#include <errno.h>
#include <string.h>

union info_answer {
	struct abi_amdgpu_device device;
	struct abi_amdgpu_memory memory;
	struct abi_amdgpu_vram_gtt vram_gtt;
	uint64_t u64;
	uint32_t u32;
	unsigned char raw[512];
};

static void device_info(int gpu, union info_answer *u)
{
	const struct vg_model *a = vg_proc()->conf.model;

	u->device = (struct abi_amdgpu_device){
		.device_id = a->device_id,
		.chip_rev = 1,
		.external_rev = a->external_rev,
		.pci_rev = a->pci_rev,
		.family = ABI_FAMILY_AI,
		.num_shader_engines = a->engine_cnt,
		.num_shader_arrays_per_engine = 1,
		.gpu_counter_freq = (uint32_t)vg_proc()->conf.clock.gpus[gpu].khz,
		.max_engine_clock = 1700000,
		.max_memory_clock = 1600000,
		.cu_active_number = a->cu_cnt,
		.num_cu_per_sh = a->cu_per_array,
		.virtual_address_offset = 1 << 21,
		.virtual_address_max = 0x800000000000ull,
		.virtual_address_alignment = 4096,
		.pte_fragment_size = 1 << 21,
		.gart_page_size = 4096,
		.high_va_offset = 0xffff800000000000ull,
		.high_va_max = 0xffffffffffe00000ull,
		.vram_type = ABI_VRAM_TYPE_HBM,
		.vram_bit_width = 4096,
		.wave_front_size = 64,
	};
}

static void memory_info(int gpu, union info_answer *u)
{
	uint64_t n = vg_proc()->conf.model->vram_bytes;
	struct abi_amdgpu_heap heap = {n, n, 0, n};

	(void)gpu;
	u->memory = (struct abi_amdgpu_memory){heap, heap, heap};
}

static void vram_gtt_info(int gpu, union info_answer *u)
{
	uint64_t n = vg_proc()->conf.model->vram_bytes;

	(void)gpu;
	u->vram_gtt = (struct abi_amdgpu_vram_gtt){n, n, n};
}

static void one_info(int gpu, union info_answer *u)
{
	(void)gpu;
	u->u32 = 1;
}

static void timestamp_info(int gpu, union info_answer *u)
{
	u->u64 = vg_clock__read(gpu).ticks;
}

static void zero_info(int gpu, union info_answer *u)
{
	(void)gpu;
	(void)u;
}

static const struct {
	uint32_t query;
	uint32_t bytes; /* 0: as many as the caller asks for */
	void (*answer)(int gpu, union info_answer *u);
} infos[] = {
	{ABI_INFO_ACCEL_WORKING, 4, one_info},
	{ABI_INFO_HW_IP_INFO, 32, zero_info},
	{ABI_INFO_HW_IP_COUNT, 4, one_info},
	{ABI_INFO_TIMESTAMP, 8, timestamp_info},
	{ABI_INFO_FW_VERSION, 8, zero_info},
	{ABI_INFO_VRAM_USAGE, 8, zero_info},
	{ABI_INFO_GTT_USAGE, 8, zero_info},
	{ABI_INFO_VRAM_GTT, sizeof(struct abi_amdgpu_vram_gtt), vram_gtt_info},
	{ABI_INFO_READ_MMR_REG, 0, zero_info}, /* GB_ADDR_CONFIG and such: libdrm stores them */
	{ABI_INFO_DEV_INFO, sizeof(struct abi_amdgpu_device), device_info},
	{ABI_INFO_MEMORY, sizeof(struct abi_amdgpu_memory), memory_info},
};

int vg_drm__info(int gpu, void *arg)
{
	const struct abi_amdgpu_info_args *a = arg;
	void *out = (void *)(uintptr_t)a->return_pointer;
	union info_answer u;

	for (unsigned i = 0; i < sizeof infos / sizeof *infos; i++) {
		uint32_t n = infos[i].bytes ? infos[i].bytes : sizeof u;

		if (infos[i].query != a->query)
			continue;
		memset(&u, 0, sizeof u);
		infos[i].answer(gpu, &u);
		memcpy(out, &u, n < a->return_size ? n : a->return_size);
		return 0;
	}
	TRACE(1, "drm[%d]: AMDGPU_INFO query 0x%x is not emulated", gpu, a->query);
	return -EINVAL;
}
