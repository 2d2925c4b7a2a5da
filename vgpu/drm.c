// SPDX-License-Identifier: MIT
/* The DRM and amdgpu ioctls that libdrm_amdgpu and ROCr's virtual memory calls issue. */
#include "vgpu.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

union info_answer {
	struct abi_amdgpu_device device;
	struct abi_amdgpu_memory memory;
	struct abi_amdgpu_vram_gtt vram_gtt;
	uint64_t u64;
	uint32_t u32;
	unsigned char raw[512];
};

static void device_info(union info_answer *u)
{
	const struct vg_arch *a = vg_proc()->conf.arch;

	u->device = (struct abi_amdgpu_device){
		.device_id = a->device_id,
		.chip_rev = 1,
		.external_rev = a->external_rev,
		.pci_rev = a->pci_rev,
		.family = ABI_FAMILY_AI,
		.num_shader_engines = a->engine_cnt,
		.num_shader_arrays_per_engine = 1,
		.gpu_counter_freq = 1000000u / VG_TICK_NS, /* kHz */
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

static void memory_info(union info_answer *u)
{
	struct abi_amdgpu_heap heap = {VG_VRAM_BYTES, VG_VRAM_BYTES, 0, VG_VRAM_BYTES};

	u->memory = (struct abi_amdgpu_memory){heap, heap, heap};
}

static void vram_gtt_info(union info_answer *u)
{
	u->vram_gtt = (struct abi_amdgpu_vram_gtt){VG_VRAM_BYTES, VG_VRAM_BYTES, VG_VRAM_BYTES};
}

static void one_info(union info_answer *u)
{
	u->u32 = 1;
}

static void timestamp_info(union info_answer *u)
{
	u->u64 = vg_ticks(vg_now());
}

static void zero_info(union info_answer *u)
{
	(void)u;
}

static const struct {
	uint32_t query;
	uint32_t bytes; /* 0: as many as the caller asks for */
	void (*answer)(union info_answer *u);
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

static int info(int gpu, void *arg)
{
	const struct abi_amdgpu_info_args *a = arg;
	void *out = (void *)(uintptr_t)a->return_pointer;
	union info_answer u;

	for (unsigned i = 0; i < sizeof infos / sizeof *infos; i++) {
		uint32_t n = infos[i].bytes ? infos[i].bytes : sizeof u;

		if (infos[i].query != a->query)
			continue;
		memset(&u, 0, sizeof u);
		infos[i].answer(&u);
		memcpy(out, &u, n < a->return_size ? n : a->return_size);
		return 0;
	}
	TRACE(1, "drm[%d]: AMDGPU_INFO query 0x%x is not emulated", gpu, a->query);
	return -EINVAL;
}

static void put_string(char *to, size_t *len, const char *s)
{
	size_t n = strlen(s);

	if (to && *len)
		memcpy(to, s, n < *len ? n : *len);
	*len = n;
}

static int version(int gpu, void *arg)
{
	struct abi_drm_version *v = arg;

	(void)gpu;
	v->version_major = 3; /* libdrm_amdgpu accepts no other */
	v->version_minor = 54;
	v->version_patchlevel = 0;
	put_string(v->name, &v->name_len, "amdgpu");
	put_string(v->date, &v->date_len, "20150101");
	put_string(v->desc, &v->desc_len, "AMD GPU");
	return 0;
}

static int get_cap(int gpu, void *arg)
{
	struct abi_drm_get_cap *c = arg;

	(void)gpu;
	c->value = c->capability == ABI_DRM_CAP_PRIME ? 3 : 0;
	return 0;
}

static int get_client(int gpu, void *arg)
{
	(void)gpu;
	((struct abi_drm_client *)arg)->auth = 1;
	return 0;
}

static int nothing(int gpu, void *arg)
{
	(void)gpu;
	(void)arg;
	return 0;
}

/* A GEM handle is the low half of the KFD handle. */
static int prime_fd_to_handle(int gpu, void *arg)
{
	struct abi_drm_prime_handle *p = arg;
	uint64_t handle;
	int err = vg_mem__import(p->fd, &handle);

	(void)gpu;
	if (!err)
		p->handle = (uint32_t)handle;
	return err;
}

static int prime_handle_to_fd(int gpu, void *arg)
{
	struct abi_drm_prime_handle *p = arg;
	int fd = vg_mem__export(p->handle);

	(void)gpu;
	if (fd < 0)
		return fd;
	p->fd = fd;
	return 0;
}

static int gem_mmap(int gpu, void *arg)
{
	struct abi_amdgpu_gem_mmap *m = arg;
	struct vg_bo bo;

	/* The offset is one in this GPU's file: another GPU's buffer is reached by GEM_VA only. */
	if (!vg_mem__bo((uint32_t)m->handle_then_offset, &bo) || bo.gpu != gpu)
		return -ENOENT;
	m->handle_then_offset = bo.offset;
	return 0;
}

/* GPU address = CPU address, so mapping for the GPU maps for the host. */
static int gem_va(int gpu, void *arg)
{
	const struct abi_amdgpu_gem_va *v = arg;
	struct vg_bo bo;
	long r;

	(void)gpu;
	if (v->operation == ABI_VA_OP_UNMAP || v->operation == ABI_VA_OP_CLEAR) {
		r = syscall(SYS_mmap, v->va_address, v->map_size, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		return r < 0 && r > -4096 ? -ENOMEM : 0;
	}
	if (!vg_mem__bo(v->handle, &bo))
		return -ENOENT;
	if (v->offset_in_bo > bo.size || v->map_size > bo.size - v->offset_in_bo)
		return -EINVAL;
	r = syscall(SYS_mmap, v->va_address, v->map_size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_FIXED, vg_proc()->drm_fd[bo.gpu], bo.offset + v->offset_in_bo);
	return r < 0 && r > -4096 ? -ENOMEM : 0;
}

static const struct {
	unsigned nr;
	int (*run)(int gpu, void *arg);
} calls[] = {
	{ABI_DRM_VERSION, version},
	{ABI_DRM_GET_CLIENT, get_client},
	{ABI_DRM_GEM_CLOSE, nothing},
	{ABI_DRM_GET_CAP, get_cap},
	{ABI_DRM_PRIME_HANDLE_TO_FD, prime_handle_to_fd},
	{ABI_DRM_PRIME_FD_TO_HANDLE, prime_fd_to_handle},
	{ABI_DRM_AMDGPU_GEM_MMAP, gem_mmap},
	{ABI_DRM_AMDGPU_INFO, info},
	{ABI_DRM_AMDGPU_GEM_VA, gem_va},
};

int vg_drm__ioctl(int gpu, unsigned long request, void *arg)
{
	unsigned nr = _IOC_NR(request);

	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i].nr == nr) {
			int err = calls[i].run(gpu, arg);

			TRACE(1, "drm[%d] ioctl 0x%02x = %d", gpu, nr, err);
			return err;
		}
	TRACE(1, "drm[%d]: ioctl 0x%02x is not emulated", gpu, nr);
	return -EINVAL;
}
