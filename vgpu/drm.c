// SPDX-License-Identifier: MIT
/* The DRM and amdgpu ioctls that libdrm_amdgpu and ROCr's virtual memory calls issue. */
#include "vgpu.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	{ABI_DRM_AMDGPU_INFO, vg_drm__info},
	{ABI_DRM_AMDGPU_GEM_VA, gem_va},
};

int vg_drm__ioctl(int gpu, unsigned long request, void *arg)
{
	unsigned nr = _IOC_NR(request);

	if (vg_fault__gpu_lost(gpu))
		return -ENODEV; /* as after drm_dev_unplug() */
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i].nr == nr) {
			int err = calls[i].run(gpu, arg);

			TRACE(1, "drm[%d] ioctl 0x%02x = %d", gpu, nr, err);
			return err;
		}
	TRACE(1, "drm[%d]: ioctl 0x%02x is not emulated", gpu, nr);
	return -EINVAL;
}
