// SPDX-License-Identifier: MIT
/*
 * Buffers. There is one address space: a buffer's GPU address is its CPU address, except for
 * registered host memory (alias.c). VRAM and GTT buffers are ranges of the GPU's memory file;
 * freeing punches a hole.
 */
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_BUFFERS (1u << 18) /* address space only */
#define FILE_BACKED (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_GTT)
#define ALIAS_BIT   (1ull << 63) /* handle of an imported buffer: freeing it does nothing */

struct buffer {
	struct vg_bo bo;
	bool used, aliased;
	uint32_t next_free; /* index + 1 */
};

struct vg_mem_state {
	struct vg_lock lock;
	struct vg_alias_map *alias;
	uint32_t cnt, first_free;
	uint64_t top[VG_MAX_GPUS], vram_used[VG_MAX_GPUS];
	struct buffer buffers[MAX_BUFFERS];
};

static struct vg_mem_state *state(void)
{
	struct vg_proc *p = vg_proc();
	struct vg_mem_state *s = __atomic_load_n(&p->mem, __ATOMIC_ACQUIRE), *none = NULL;

	if (!s) {
		s = vg_zalloc(sizeof *s);
		if (!s)
			return NULL;
		s->alias = vg_alias__new();
		if (!s->alias)
			return NULL;
		if (!__atomic_compare_exchange_n(
			    &p->mem, &none, s, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			vg_alias__free(s->alias);
			munmap(s, sizeof *s);
			s = none;
		}
	}
	return s;
}

static int gpu_index(uint32_t gpu_id)
{
	uint32_t i = gpu_id - VG_GPU_ID(0);

	return i < (uint32_t)vg_proc()->conf.gpu_cnt ? (int)i : -1;
}

static struct buffer *new_buffer(struct vg_mem_state *s)
{
	if (s->first_free) {
		struct buffer *b = &s->buffers[s->first_free - 1];

		s->first_free = b->next_free;
		return b;
	}
	return s->cnt < MAX_BUFFERS ? &s->buffers[s->cnt++] : NULL;
}

static void drop_buffer(struct vg_mem_state *s, struct buffer *b)
{
	b->used = false;
	b->next_free = s->first_free;
	s->first_free = (uint32_t)(b - s->buffers) + 1;
}

int vg_mem__alloc(struct kfd_ioctl_alloc_memory_of_gpu_args *a)
{
	int gpu = gpu_index(a->gpu_id), err = 0;
	struct vg_mem_state *s = state();
	struct buffer *b;

	if (gpu < 0 || !a->size)
		return -EINVAL;
	if (!s)
		return -ENOMEM;
	vg_lock(&s->lock);
	if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM &&
		a->size > vg_proc()->conf.model->vram_bytes - s->vram_used[gpu]) {
		vg_unlock(&s->lock);
		return -ENOMEM;
	}
	b = new_buffer(s);
	if (!b) {
		vg_unlock(&s->lock);
		return -ENOMEM;
	}
	*b = (struct buffer){.bo = {gpu, a->flags, a->va_addr, a->size, 0}, .used = true};
	if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) {
		a->mmap_offset = VG_MMIO_OFFSET(gpu);
	} else if (a->flags & FILE_BACKED) {
		b->bo.offset = a->mmap_offset = s->top[gpu];
		s->top[gpu] += (a->size + 0x1fffff) & ~0x1fffffull;
		if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM)
			s->vram_used[gpu] += a->size;
	} else if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) {
		/* The GPU address is a fresh range, mmap_offset the host address. Only for memory
		 * that the thunk allocates itself are the two the same. */
		b->bo.offset = a->mmap_offset;
		b->aliased = b->bo.offset != b->bo.va;
		if (b->aliased)
			err = vg_alias__add(s->alias, b->bo.va, b->bo.offset, b->bo.size);
	} /* DOORBELL: the thunk maps the device at the queue's doorbell offset */
	a->handle = (uint64_t)gpu << 32 | (uint64_t)(b - s->buffers + 1);
	if (err)
		drop_buffer(s, b);
	vg_unlock(&s->lock);
	return err;
}

static struct buffer *by_handle(struct vg_mem_state *s, uint64_t handle)
{
	uint32_t i = (uint32_t)handle;

	return i && i <= s->cnt && s->buffers[i - 1].used ? &s->buffers[i - 1] : NULL;
}

int vg_mem__free(uint64_t handle)
{
	struct vg_mem_state *s = state();
	struct buffer *b;
	struct vg_bo bo;

	if (handle & ALIAS_BIT)
		return 0;
	if (!s)
		return -EINVAL;
	vg_lock(&s->lock);
	b = by_handle(s, handle);
	if (!b) {
		vg_unlock(&s->lock);
		return -EINVAL;
	}
	bo = b->bo;
	if (bo.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM)
		s->vram_used[bo.gpu] -= bo.size;
	if (b->aliased)
		vg_alias__del(s->alias, bo.va);
	drop_buffer(s, b);
	vg_unlock(&s->lock);
	if (bo.flags & FILE_BACKED)
		fallocate(vg_proc()->drm_fd[bo.gpu], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)bo.offset, (off_t)bo.size);
	vg_kernel__forget(bo.va, bo.size);
	return 0;
}

bool vg_mem__bo(uint64_t handle, struct vg_bo *out)
{
	struct vg_mem_state *s = state();
	struct buffer *b;

	if (!s)
		return false;
	vg_lock(&s->lock);
	b = by_handle(s, handle);
	if (b)
		*out = b->bo;
	vg_unlock(&s->lock);
	return b != NULL;
}

bool vg_mem__range(uint64_t va, uint64_t *base, uint64_t *size)
{
	struct vg_mem_state *s = state();
	bool found = false;

	if (!s)
		return false;
	vg_lock(&s->lock);
	for (uint32_t i = 0; i < s->cnt && !found; i++) {
		const struct buffer *b = &s->buffers[i];

		if (b->used && va - b->bo.va < b->bo.size) {
			*base = b->bo.va;
			*size = b->bo.size;
			found = true;
		}
	}
	vg_unlock(&s->lock);
	return found;
}

bool vg_mem__covers(uint64_t va, uint64_t size)
{
	uint64_t base, room;

	return vg_mem__range(va, &base, &room) && size <= base + room - va;
}

int vg_mem__vram_gpu(uint64_t va)
{
	struct vg_mem_state *s = state();
	int gpu = -1;

	if (!s)
		return -1;
	vg_lock(&s->lock);
	for (uint32_t i = 0; i < s->cnt; i++) {
		const struct buffer *b = &s->buffers[i];

		if (!b->used || va - b->bo.va >= b->bo.size)
			continue;
		if (b->bo.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM)
			gpu = b->bo.gpu;
		break;
	}
	vg_unlock(&s->lock);
	return gpu;
}

uint64_t vg_mem__vram_used(int gpu)
{
	struct vg_mem_state *s = state();

	return s ? __atomic_load_n(&s->vram_used[gpu], __ATOMIC_RELAXED) : 0;
}

void *vg_va(uint64_t va, struct vg_va_cache *cache)
{
	struct vg_mem_state *s = __atomic_load_n(&vg_proc()->mem, __ATOMIC_ACQUIRE);

	return (void *)(uintptr_t)(s ? vg_alias__look(s->alias, va, cache) : va);
}

/*
 * A "dmabuf" is a memory file of the buffer's size (libdrm asks for the size with lseek) whose
 * first bytes name the buffer. It is a token: mapping it does not show the buffer, and it means
 * something in this process only.
 */
struct token {
	char magic[8];
	int64_t pid;
	uint64_t handle;
};
#define TOKEN_MAGIC "vgpudmb"

int vg_mem__export(uint64_t handle)
{
	struct token t = {TOKEN_MAGIC, getpid(), handle};
	struct vg_bo bo;
	int fd;

	if (!vg_mem__bo(handle, &bo))
		return -EINVAL;
	fd = (int)syscall(SYS_memfd_create, "vgpu-dmabuf", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bo.size) || pwrite(fd, &t, sizeof t, 0) != sizeof t) {
		close(fd);
		return -ENOMEM;
	}
	return fd;
}

int vg_mem__import(int fd, uint64_t *handle)
{
	struct token t;

	if (pread(fd, &t, sizeof t, 0) != sizeof t ||
		memcmp(t.magic, TOKEN_MAGIC, sizeof t.magic) || t.pid != getpid())
		return -EINVAL;
	*handle = t.handle;
	return 0;
}
