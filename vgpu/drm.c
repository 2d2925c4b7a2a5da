// SPDX-License-Identifier: MIT
/* The DRM and amdgpu ioctls that libdrm_amdgpu and ROCr's virtual memory calls issue. */
#include "vgpu.h"

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <string.h>
#include <sys/ioctl.h>

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

static int gem_close(int gpu, void *arg)
{
	(void)gpu;
	return vg_mem__close_gem(((const struct abi_drm_gem_close *)arg)->handle);
}

static int prime_fd_to_handle(int gpu, void *arg)
{
	struct abi_drm_prime_handle *p = arg;

	return vg_mem__import_gem(gpu, p->fd, &p->handle);
}

static int prime_handle_to_fd(int gpu, void *arg)
{
	struct abi_drm_prime_handle *p = arg;
	int fd = vg_mem__export_gem(p->handle);

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

	(void)gpu;
	if (!vg_mem__gem((uint32_t)m->handle_then_offset, &bo))
		return -ENOENT;
	m->handle_then_offset = bo.offset;
	return 0;
}

static int gem_va(int gpu, void *arg)
{
	const struct abi_amdgpu_gem_va *v = arg;

	(void)gpu;
	if (v->operation == ABI_VA_OP_UNMAP || v->operation == ABI_VA_OP_CLEAR)
		return vg_mem__unmap_gem(v->va_address, v->map_size);
	return vg_mem__map_gem(v->handle, v->va_address, v->map_size, v->offset_in_bo);
}

static int gem_metadata(int gpu, void *arg)
{
	struct abi_amdgpu_gem_metadata *m = arg;
	struct vg_file_meta meta = {0};
	struct vg_bo bo;
	int err;

	(void)gpu;
	if (!vg_mem__gem(m->handle, &bo))
		return -ENOENT;
	if (m->op == ABI_METADATA_GET) {
		err = vg_file__get_meta(bo.file, &meta);
		m->flags = meta.flags;
		m->tiling_info = meta.tiling;
		m->data_size_bytes = meta.size;
		memcpy(m->data, meta.data, sizeof m->data);
		return err;
	}
	if (m->op != ABI_METADATA_SET || m->data_size_bytes > sizeof m->data)
		return -EINVAL;
	meta = (struct vg_file_meta){
		.size = m->data_size_bytes, .flags = m->flags, .tiling = m->tiling_info};
	memcpy(meta.data, m->data, m->data_size_bytes);
	return vg_file__set_meta(bo.file, &meta);
}

static int gem_op(int gpu, void *arg)
{
	const struct abi_amdgpu_gem_op *o = arg;
	struct abi_amdgpu_gem_create_info *info = (void *)(uintptr_t)o->value;
	struct vg_bo bo;

	(void)gpu;
	if (!vg_mem__gem(o->handle, &bo))
		return -ENOENT;
	if (o->op != ABI_GEM_OP_GET_CREATE_INFO)
		return -EINVAL; /* KFD's buffers do not move either */
	*info = (struct abi_amdgpu_gem_create_info){
		.bo_size = bo.size,
		.alignment = 4096,
		.domains =
			bo.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM ? ABI_DOMAIN_VRAM : ABI_DOMAIN_GTT,
	};
	return 0;
}

static const struct {
	unsigned nr;
	int (*run)(int gpu, void *arg);
} calls[] = {
	{ABI_DRM_VERSION, version},
	{ABI_DRM_GET_CLIENT, get_client},
	{ABI_DRM_GEM_CLOSE, gem_close},
	{ABI_DRM_GET_CAP, get_cap},
	{ABI_DRM_PRIME_HANDLE_TO_FD, prime_handle_to_fd},
	{ABI_DRM_PRIME_FD_TO_HANDLE, prime_fd_to_handle},
	{ABI_DRM_AMDGPU_GEM_MMAP, gem_mmap},
	{ABI_DRM_AMDGPU_INFO, vg_drm__info},
	{ABI_DRM_AMDGPU_GEM_METADATA, gem_metadata},
	{ABI_DRM_AMDGPU_GEM_VA, gem_va},
	{ABI_DRM_AMDGPU_GEM_OP, gem_op},
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
