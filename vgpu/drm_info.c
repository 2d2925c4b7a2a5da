// SPDX-License-Identifier: MIT
/* What a GPU says about itself: the answers to the amdgpu INFO ioctl. */
#include "vgpu.h"

#include <errno.h>
#include <string.h>

union info_answer {
	struct abi_amdgpu_device device;
	struct abi_amdgpu_memory memory;
	struct abi_amdgpu_vram_gtt vram_gtt;
	struct abi_amdgpu_hw_ip hw_ip;
	struct abi_amdgpu_firmware firmware;
	uint64_t u64;
	uint32_t u32;
	unsigned char raw[512];
};

static uint32_t cache_kib(const struct vg_model *m, unsigned level, bool code, unsigned nth)
{
	for (const struct vg_cache *c = m->caches; c < m->caches + VG_MAX_CACHES && c->level; c++)
		if (c->level == level && c->code == code && !nth--)
			return c->kib;
	return 0;
}

static void device_info(int gpu, const uint32_t *params, union info_answer *u)
{
	const struct vg_model *m = vg_proc()->conf.model;
	struct abi_amdgpu_device *d = &u->device;

	(void)params;
	*d = (struct abi_amdgpu_device){
		.device_id = m->device_id,
		.chip_rev = m->capability >> 22 & 15,
		.external_rev = m->external_rev,
		.pci_rev = m->pci_rev,
		.family = m->family,
		.num_shader_engines = m->engine_cnt,
		.num_shader_arrays_per_engine = m->arrays_per_engine,
		.gpu_counter_freq = (uint32_t)vg_proc()->conf.clock.gpus[gpu].khz,
		.max_engine_clock = m->sclk_max * 1000,
		.max_memory_clock = m->mclk_max * 1000,
		.cu_active_number = m->cu_cnt,
		.num_cu_per_sh = m->cu_per_array,
		.virtual_address_offset = 1 << 21,
		.virtual_address_max = 0x800000000000ull,
		.virtual_address_alignment = 4096,
		.pte_fragment_size = 1 << 21,
		.gart_page_size = 4096,
		.high_va_offset = 0xffff800000000000ull,
		.high_va_max = 0xffffffffffe00000ull,
		.vram_type = m->vram_type,
		.vram_bit_width = m->vram_width,
		.wave_front_size = m->wave_size,
		.min_engine_clock = m->sclk_min * 1000,
		.min_memory_clock = m->mclk_min * 1000,
		.mall_size = (uint64_t)cache_kib(m, 3, false, 0) << 10,
	};
	/* The driver fills the map as [engine % 4][array + engine / 4 * arrays]. */
	for (uint32_t e = 0; e < m->engine_cnt; e++)
		for (uint32_t a = 0; a < m->arrays_per_engine; a++) {
			uint32_t cus = vg_model__array_cus(m, e * m->arrays_per_engine + a);

			d->cu_bitmap[e % 4][a + e / 4 * m->arrays_per_engine] = (1u << cus) - 1;
		}
	/* The driver tells the sizes of the caches from gfx11 on. */
	if (m->gc < VG_IP(11, 0, 0))
		return;
	d->tcp_cache_size = cache_kib(m, 1, false, 0);
	d->sqc_data_cache_size = cache_kib(m, 1, false, 1);
	d->sqc_inst_cache_size = cache_kib(m, 1, true, 0);
	d->gl1c_cache_size = cache_kib(m, 1, false, 2);
	d->gl2c_cache_size = cache_kib(m, 2, false, 0);
	d->num_sqc_per_wgp = 1;
}

static void memory_info(int gpu, const uint32_t *params, union info_answer *u)
{
	uint64_t n = vg_proc()->conf.model->vram_bytes;
	struct abi_amdgpu_heap heap = {n, n, 0, n};

	(void)gpu, (void)params;
	u->memory = (struct abi_amdgpu_memory){heap, heap, heap};
}

static void vram_gtt_info(int gpu, const uint32_t *params, union info_answer *u)
{
	uint64_t n = vg_proc()->conf.model->vram_bytes;

	(void)gpu, (void)params;
	u->vram_gtt = (struct abi_amdgpu_vram_gtt){n, n, n};
}

static void one_info(int gpu, const uint32_t *params, union info_answer *u)
{
	(void)gpu, (void)params;
	u->u32 = 1;
}

static void timestamp_info(int gpu, const uint32_t *params, union info_answer *u)
{
	(void)params;
	u->u64 = vg_clock__read(gpu).ticks;
}

/* Rings are the driver's own queues. Those of video and others are not there. */
static void hw_ip_info(int gpu, const uint32_t *params, union info_answer *u)
{
	const struct vg_model *m = vg_proc()->conf.model;
	bool dma = params[0] == ABI_HW_IP_DMA;
	uint32_t block = dma ? m->sdma : m->gc;
	/* the driver's code for gfx9 and sdma4 says minor 0 until MI300's */
	bool later = block >= (dma ? VG_IP(4, 4, 2) : VG_IP(9, 4, 3));
	/* compute cards from MI100 on have no graphics ring */
	bool graphics = m->gc <= VG_IP(9, 4, 0) || m->gc >= VG_IP(10, 0, 0);

	(void)gpu;
	if (params[0] > ABI_HW_IP_DMA || params[1])
		return;
	u->hw_ip = (struct abi_amdgpu_hw_ip){
		.major = block >> 16,
		.minor = later ? block >> 8 & 0xff : 0,
		.ib_start_alignment = dma ? 256 : 32,
		.ib_size_alignment = dma ? 4 : 32,
		.available_rings = dma ? (1u << (m->sdma_cnt + m->sdma_xgmi_cnt)) - 1
				   : params[0] == ABI_HW_IP_COMPUTE ? 0xff
								    : graphics,
		.discovery_version = block,
	};
}

static void firmware_info(int gpu, const uint32_t *params, union info_answer *u)
{
	const struct vg_model *m = vg_proc()->conf.model;

	(void)gpu;
	u->firmware.version = params[0] == ABI_FW_GFX_MEC ? m->mec_fw
			      : params[0] == ABI_FW_SDMA  ? m->sdma_fw
							  : 0;
}

static void zero_info(int gpu, const uint32_t *params, union info_answer *u)
{
	(void)gpu, (void)params;
	(void)u;
}

static const struct {
	uint32_t query;
	uint32_t bytes; /* 0: as many as the caller asks for */
	void (*answer)(int gpu, const uint32_t *params, union info_answer *u);
} infos[] = {
	{ABI_INFO_ACCEL_WORKING, 4, one_info},
	{ABI_INFO_HW_IP_INFO, sizeof(struct abi_amdgpu_hw_ip), hw_ip_info},
	{ABI_INFO_HW_IP_COUNT, 4, one_info},
	{ABI_INFO_TIMESTAMP, 8, timestamp_info},
	{ABI_INFO_FW_VERSION, sizeof(struct abi_amdgpu_firmware), firmware_info},
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
		infos[i].answer(gpu, a->params, &u);
		memcpy(out, &u, n < a->return_size ? n : a->return_size);
		return 0;
	}
	TRACE(1, "drm[%d]: AMDGPU_INFO query 0x%x is not emulated", gpu, a->query);
	return -EINVAL;
}
