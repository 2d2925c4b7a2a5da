// SPDX-License-Identifier: MIT
/*
 * Buffers. There is one address space: a buffer's GPU address is its CPU address, except for
 * registered host memory (alias.c). VRAM and GTT buffers have a memory file each (file.c); an
 * offset for mmap of the render node names the buffer.
 */
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_BUFFERS VG_MAX_RANGES /* address space only */
#define FILE_BACKED (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_GTT)
#define OFFSET_BITS 40 /* of a place in a buffer; above: the buffer's number + 1 */
#define USER_SPACE  (1ull << 47)

enum kind {
	FREE,
	OWN,      /* ALLOC_MEMORY_OF_GPU */
	IMPORTED, /* IMPORT_DMABUF, IPC_IMPORT_HANDLE: not counted as this process's VRAM */
	GEM,      /* PRIME_FD_TO_HANDLE: no address of its own */
	MAPPED,   /* GEM_VA: an address, no file of its own */
};

struct buffer {
	struct vg_bo bo;
	enum kind kind;
	bool aliased;
	int node;           /* GEM: the render node that it was imported through */
	uint32_t next_free; /* index + 1 */
};

struct vg_mem_state {
	struct vg_lock lock;
	struct vg_alias_map *alias;
	uint32_t cnt, first_free;
	uint64_t vram_used[VG_MAX_GPUS];
	struct vg_ranges ranges; /* of those that have an address */
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

/* ---- the table; its lock is held ---- */

static uint32_t number_of(const struct vg_mem_state *s, const struct buffer *b)
{
	return (uint32_t)(b - s->buffers) + 1;
}

static struct buffer *new_buffer(struct vg_mem_state *s, enum kind kind, const struct vg_bo *bo)
{
	struct buffer *b;

	if (s->first_free) {
		b = &s->buffers[s->first_free - 1];
		s->first_free = b->next_free;
	} else if (s->cnt < MAX_BUFFERS) {
		b = &s->buffers[s->cnt++];
	} else {
		return NULL;
	}
	*b = (struct buffer){.bo = *bo, .kind = kind};
	if (bo->file >= 0 && kind != MAPPED)
		b->bo.offset = (uint64_t)number_of(s, b) << OFFSET_BITS;
	/* Handles of memory without an address lie above the address space. */
	if (kind != GEM && bo->va && bo->va < USER_SPACE) {
		vg_ranges__add(&s->ranges, bo->va, bo->size, number_of(s, b));
		vg_svm__forget(bo->va, bo->size);
	}
	return b;
}

static void drop_buffer(struct vg_mem_state *s, struct buffer *b)
{
	if (b->kind == OWN && b->bo.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM)
		s->vram_used[b->bo.gpu] -= b->bo.size;
	if (b->aliased)
		vg_alias__del(s->alias, b->bo.va);
	vg_ranges__del(&s->ranges, b->bo.va, number_of(s, b));
	b->kind = FREE;
	b->next_free = s->first_free;
	s->first_free = number_of(s, b);
}

static uint64_t kfd_handle(const struct vg_mem_state *s, const struct buffer *b)
{
	return (uint64_t)b->bo.gpu << 32 | number_of(s, b);
}

static struct buffer *by_number(struct vg_mem_state *s, uint32_t i)
{
	return i && i <= s->cnt && s->buffers[i - 1].kind != FREE ? &s->buffers[i - 1] : NULL;
}

static struct buffer *by_handle(struct vg_mem_state *s, uint64_t handle)
{
	struct buffer *b = by_number(s, (uint32_t)handle);

	return b && (b->kind == OWN || b->kind == IMPORTED) && kfd_handle(s, b) == handle ? b
											  : NULL;
}

/* A GEM handle, or the low half of a KFD handle: the driver gives those GEM handles too. */
static struct buffer *by_gem(struct vg_mem_state *s, uint32_t handle)
{
	struct buffer *b = by_number(s, handle);

	return b && b->kind != MAPPED && b->bo.file >= 0 ? b : NULL;
}

/* ---- what it is asked ---- */

static bool copy_bo(struct buffer *(*find)(struct vg_mem_state *s, uint64_t key), uint64_t key,
	struct vg_bo *out)
{
	struct vg_mem_state *s = state();
	struct buffer *b;

	if (!s)
		return false;
	vg_lock(&s->lock);
	b = find(s, key);
	if (b)
		*out = b->bo;
	vg_unlock(&s->lock);
	return b != NULL;
}

static struct buffer *find_gem(struct vg_mem_state *s, uint64_t handle)
{
	return by_gem(s, (uint32_t)handle);
}

static struct buffer *find_offset(struct vg_mem_state *s, uint64_t offset)
{
	return by_gem(s, (uint32_t)(offset >> OFFSET_BITS));
}

bool vg_mem__bo(uint64_t handle, struct vg_bo *out)
{
	return copy_bo(by_handle, handle, out);
}

bool vg_mem__gem(uint32_t handle, struct vg_bo *out)
{
	return copy_bo(find_gem, handle, out);
}

static struct buffer *find_range(struct vg_mem_state *s, uint64_t va)
{
	return by_number(s, vg_ranges__find(&s->ranges, va));
}

bool vg_mem__range(uint64_t va, uint64_t *base, uint64_t *size)
{
	struct vg_bo bo;

	if (!copy_bo(find_range, va, &bo))
		return false;
	*base = bo.va;
	*size = bo.size;
	return true;
}

bool vg_mem__covers(uint64_t va, uint64_t size)
{
	uint64_t base, room;

	/* mapped one behind the other, several buffers are one range */
	for (;;) {
		if (vg_mem__range(va, &base, &room))
			room -= va - base;
		else if (!(room = vg_svm__room(va, size)))
			return false;
		if (size <= room)
			return true;
		va += room;
		size -= room;
	}
}

bool vg_mem__overlaps(uint64_t va, uint64_t size)
{
	struct vg_mem_state *s = state();
	struct buffer *b;
	bool found;

	if (!s)
		return false;
	vg_lock(&s->lock);
	b = by_number(s, vg_ranges__from(&s->ranges, va, 0));
	found = vg_ranges__find(&s->ranges, va) || (b && b->bo.va - va < size);
	vg_unlock(&s->lock);
	return found;
}

int vg_mem__vram_gpu(uint64_t va)
{
	struct vg_bo bo;

	return copy_bo(find_range, va, &bo) && bo.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM ? bo.gpu
										       : -1;
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

/* ---- allocation ---- */

/* Reserves VRAM: false if there is not so much of it. */
static bool reserve(struct vg_mem_state *s, const struct vg_bo *bo)
{
	bool room = true;

	if (!(bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM))
		return true;
	vg_lock(&s->lock);
	if (bo->size > vg_proc()->conf.model->vram_bytes - s->vram_used[bo->gpu])
		room = false;
	else
		s->vram_used[bo->gpu] += bo->size;
	vg_unlock(&s->lock);
	return room;
}

static void unreserve(struct vg_mem_state *s, const struct vg_bo *bo)
{
	vg_lock(&s->lock);
	if (bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM)
		s->vram_used[bo->gpu] -= bo->size;
	vg_unlock(&s->lock);
}

static int make_file(struct vg_bo *bo)
{
	struct vg_file_info info = {.gpu = bo->gpu, .flags = bo->flags, .size = bo->size};

	bo->file = vg_file__create(&info);
	bo->ino = info.ino;
	bo->dev = info.dev;
	return bo->file < 0 ? bo->file : 0;
}

int vg_mem__alloc(struct kfd_ioctl_alloc_memory_of_gpu_args *a)
{
	struct vg_bo bo = {vg_gpu_index(a->gpu_id), a->flags, a->va_addr, a->size, 0, -1, 0, 0};
	struct vg_mem_state *s = state();
	struct buffer *b;
	int err = 0;

	if (bo.gpu < 0 || !a->size || a->size >> OFFSET_BITS)
		return -EINVAL;
	if (!s || !reserve(s, &bo))
		return -ENOMEM;
	if (a->flags & FILE_BACKED && !(a->flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP))
		err = make_file(&bo);
	if (err) {
		unreserve(s, &bo);
		return -ENOMEM;
	}
	if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)
		bo.offset = a->mmap_offset;
	vg_lock(&s->lock);
	b = new_buffer(s, OWN, &bo);
	if (b && a->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR && bo.offset != bo.va) {
		/* The GPU address is a fresh range, mmap_offset the host address. Only for memory
		 * that the thunk allocates itself are the two the same. */
		b->aliased = !vg_alias__add(s->alias, bo.va, bo.offset, bo.size);
		if (!b->aliased) {
			drop_buffer(s, b);
			b = NULL;
		}
	} else if (b && a->flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) {
		a->mmap_offset = VG_MMIO_OFFSET(bo.gpu);
	} else if (b && bo.file >= 0) {
		a->mmap_offset = b->bo.offset;
	} /* DOORBELL: the thunk maps the device at the queue's doorbell offset */
	if (b)
		a->handle = kfd_handle(s, b);
	vg_unlock(&s->lock);
	if (b)
		return 0;
	vg_file__drop(bo.file);
	if (bo.file >= 0)
		unreserve(s, &bo);
	return -ENOMEM;
}

/* Takes out what `find` finds; the caller drops the file. */
static bool take_out(struct buffer *(*find)(struct vg_mem_state *s, uint64_t key), uint64_t key,
	struct vg_bo *out)
{
	struct vg_mem_state *s = state();
	struct buffer *b;

	if (!s)
		return false;
	vg_lock(&s->lock);
	b = find(s, key);
	if (b) {
		*out = b->bo;
		drop_buffer(s, b);
	}
	vg_unlock(&s->lock);
	return b != NULL;
}

int vg_mem__free(uint64_t handle)
{
	struct vg_bo bo;

	if (!take_out(by_handle, handle, &bo))
		return -EINVAL;
	vg_file__drop(bo.file);
	vg_kernel__forget(bo.va, bo.size);
	return 0;
}

int64_t vg_mem__mmap(uint64_t at, uint64_t size, int prot, int flags, uint64_t offset)
{
	uint64_t inside = offset & ((1ull << OFFSET_BITS) - 1);
	struct vg_bo bo;
	int err;

	if (!copy_bo(find_offset, offset, &bo))
		return -EINVAL;
	/* A page more than the buffer has is the driver's EINVAL too. */
	if (inside >= bo.size || size > ((bo.size - inside + 4095) & ~4095ull))
		return -EINVAL;
	err = vg_file__map(bo.file, &at, size, prot, flags, inside);
	return err ? err : (int64_t)at;
}

/* ---- dma-buf ---- */

static int export(const struct vg_bo *bo)
{
	return bo->file < 0 ? -EINVAL : vg_file__open(bo->file); /* registered host memory: no */
}

int vg_mem__export(uint64_t handle)
{
	struct vg_bo bo;

	return vg_mem__bo(handle, &bo) ? export(&bo) : -EINVAL;
}

int vg_mem__export_gem(uint32_t handle)
{
	struct vg_bo bo;

	return vg_mem__gem(handle, &bo) ? export(&bo) : -ENOENT;
}

/* Where the GPU sees it, this process must be able to. */
static int map_at(uint64_t va, uint64_t size, int file, uint64_t offset)
{
	int err = vg_file__map(
		file, &va, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, offset);

	if (!err)
		madvise((void *)(uintptr_t)va, size, MADV_DONTFORK);
	return err;
}

/* Enters an adopted file, which is dropped if that fails. */
static int enter_import(
	int file, const struct vg_file_info *info, uint64_t va, struct vg_bo *bo, uint64_t *handle)
{
	struct vg_mem_state *s = state();
	struct buffer *b = NULL;
	int err = -ENOMEM;

	*bo = (struct vg_bo){info->gpu, info->flags, va, info->size, 0, file, info->dev, info->ino};
	if (info->gpu < 0 || info->gpu >= vg_proc()->conf.gpu_cnt || info->size >> OFFSET_BITS)
		err = -EINVAL; /* of a GPU that this process does not have */
	else if (s && !(va && va < USER_SPACE && (err = map_at(va, info->size, file, 0)))) {
		vg_lock(&s->lock);
		b = new_buffer(s, IMPORTED, bo);
		if (b) {
			*bo = b->bo;
			*handle = kfd_handle(s, b);
		}
		vg_unlock(&s->lock);
	}
	if (b)
		return 0;
	vg_file__drop(file);
	return err;
}

int vg_mem__import(int fd, uint64_t va, uint64_t *handle)
{
	struct vg_file_info info;
	int file = vg_file__adopt(fd, &info);
	struct vg_bo bo;

	return file < 0 ? file : enter_import(file, &info, va, &bo, handle);
}

/* One handle for each buffer and render node, however often it is imported. */
int vg_mem__import_gem(int gpu, int fd, uint32_t *handle)
{
	struct vg_mem_state *s = state();
	struct vg_file_info info;
	struct buffer *b = NULL;
	struct vg_bo bo;
	int file;

	if (!s)
		return -ENOMEM;
	file = vg_file__adopt(fd, &info);
	if (file < 0)
		return file;
	bo = (struct vg_bo){info.gpu, info.flags, 0, info.size, 0, file, info.dev, info.ino};
	vg_lock(&s->lock);
	for (uint32_t i = 0; i < s->cnt && !b; i++) {
		struct buffer *c = &s->buffers[i];

		if (c->kind == GEM && c->node == gpu && c->bo.ino == info.ino &&
			c->bo.dev == info.dev)
			b = c;
	}
	if (!b && (b = new_buffer(s, GEM, &bo))) {
		b->node = gpu;
		file = -1; /* now the buffer's */
	}
	if (b)
		*handle = number_of(s, b);
	vg_unlock(&s->lock);
	vg_file__drop(file);
	return b ? 0 : -ENOMEM;
}

static struct buffer *find_closable(struct vg_mem_state *s, uint64_t handle)
{
	struct buffer *b = by_gem(s, (uint32_t)handle);

	return b && b->kind == GEM ? b : NULL;
}

int vg_mem__close_gem(uint32_t handle)
{
	struct vg_bo bo;

	if (!take_out(find_closable, handle, &bo))
		return -EINVAL;
	vg_file__drop(bo.file);
	return 0;
}

static bool in_user_space(uint64_t va, uint64_t size)
{
	return va < USER_SPACE && size <= USER_SPACE - va;
}

/* GPU address = CPU address, so mapping for the GPU maps for the host. */
int vg_mem__map_gem(uint32_t handle, uint64_t va, uint64_t size, uint64_t offset)
{
	struct vg_mem_state *s = state();
	struct buffer *b;
	struct vg_bo bo;
	int err;

	if (!vg_mem__gem(handle, &bo))
		return -ENOENT;
	if (!size || (va | size | offset) & 4095 || !in_user_space(va, size) || offset > bo.size ||
		size > bo.size - offset)
		return -EINVAL;
	err = map_at(va, size, bo.file, offset);
	if (err)
		return err;
	bo.va = va;
	bo.size = size;
	bo.file = -1;
	vg_lock(&s->lock);
	b = new_buffer(s, MAPPED, &bo);
	vg_unlock(&s->lock);
	return b ? 0 : -ENOMEM;
}

/* The address range stays reserved, as it is on the GPU. */
int vg_mem__unmap_gem(uint64_t va, uint64_t size)
{
	struct vg_mem_state *s = state();
	uint32_t others = 0;
	struct buffer *b;

	if (!s || !size || (va | size) & 4095 || !in_user_space(va, size))
		return -EINVAL;
	if (syscall(SYS_mmap, va, size, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == -1)
		return -ENOMEM;
	vg_lock(&s->lock);
	while ((b = by_number(s, vg_ranges__from(&s->ranges, va, others))) && b->bo.va - va < size)
		if (b->kind == MAPPED)
			drop_buffer(s, b);
		else
			others++;
	vg_unlock(&s->lock);
	vg_kernel__forget(va, size);
	return 0;
}

/* ---- memory between processes, the way of AMD's own driver ---- */

/*
 * The 128 bits that travel: process (22 bits) and the low 10 of the descriptor, thread (22) and the
 * high 10, inode, the exporter's flags. A handle whose buffer is gone leads to no file, or to one
 * with another inode.
 */
#define PID_BITS 22
#define FD_LOW   10
#define PID_MASK ((1u << PID_BITS) - 1)

int vg_mem__ipc_export(struct abi_kfd_ipc_export *a)
{
	struct vg_file_place place;
	struct vg_bo bo;
	int err;

	if (!vg_mem__bo(a->handle, &bo) || bo.file < 0 || vg_gpu_index(a->gpu_id) < 0)
		return -EINVAL;
	err = vg_file__tell(bo.file, (uint32_t)bo.ino, &place);
	if (err)
		return err;
	if ((uint32_t)place.pid > PID_MASK || (uint32_t)place.tid > PID_MASK)
		return -EOVERFLOW; /* the kernel's own limit is 2^22 */
	a->share_handle[0] = (uint32_t)place.pid | (uint32_t)place.fd << PID_BITS;
	a->share_handle[1] = (uint32_t)place.tid | (uint32_t)place.fd >> FD_LOW << PID_BITS;
	a->share_handle[2] = place.low_ino;
	a->share_handle[3] = a->flags;
	return 0;
}

int vg_mem__ipc_import(struct abi_kfd_ipc_import *a)
{
	const uint32_t *h = a->share_handle;
	struct vg_file_place place = {(pid_t)(h[0] & PID_MASK), (pid_t)(h[1] & PID_MASK),
		(int)(h[0] >> PID_BITS | h[1] >> PID_BITS << FD_LOW), h[2]};
	struct vg_file_info info;
	struct vg_bo bo;
	int file, err;

	if (vg_gpu_index(a->gpu_id) < 0)
		return -EINVAL;
	file = vg_file__adopt_from(&place, &info);
	if (file < 0)
		return file;
	err = enter_import(file, &info, a->va_addr, &bo, &a->handle);
	if (err)
		return err;
	a->mmap_offset = bo.offset;
	a->flags = h[3];
	return 0;
}
