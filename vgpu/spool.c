// SPDX-License-Identifier: MIT
/* The writing side of the log, in the traced process. See spool.h. */
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLOT sizeof(struct vg_rec)

static void *map_at(int fd, uint64_t offset, size_t bytes)
{
	long p = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		fd, offset);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

static void process_name(char *to, size_t size)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/comm", O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : syscall(SYS_read, fd, to, size - 1);

	if (fd >= 0)
		syscall(SYS_close, fd);
	to[n > 0 ? n : 0] = 0;
	to[strcspn(to, "\n")] = 0;
}

/* A process that used the GPU, called exec and uses it again has one file an image. */
static int create_file(const char *dir, uint64_t start, uint64_t *image)
{
	char path[4400];
	int fd = -1;

	for (*image = 0; *image < 1000; ++*image) {
		snprintf(path, sizeof path, "%s/%d-%llu-%llu", dir, (int)getpid(),
			(unsigned long long)start, (unsigned long long)*image);
		fd = (int)syscall(
			SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

int vg_spool__open(struct vg_spool *spool, const char *dir, uint32_t gpu_cnt, const char *arch,
	const struct vg_clock *clock)
{
	uint64_t start = vg_start_time(getpid()), image;
	struct vg_spool_header *h;
	int err;

	spool->header = NULL;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	spool->fd = create_file(dir, start, &image);
	if (spool->fd < 0)
		return spool->fd;
	/* Allocated, not just sized: a full disk is an error here and not a SIGBUS later. */
	err = -posix_fallocate(spool->fd, 0, VG_SPOOL_HEADER_BYTES);
	h = err ? NULL : map_at(spool->fd, 0, VG_SPOOL_HEADER_BYTES);
	if (!h) {
		close(spool->fd);
		return err ? err : -ENOMEM;
	}
	h->version = 2;
	h->record_bytes = SLOT;
	h->block_bytes = VG_SPOOL_BLOCK_BYTES;
	h->gpu_cnt = gpu_cnt;
	h->pid = (uint64_t)getpid();
	h->pid_start = start;
	h->opened_ns = vg_now();
	h->image = image;
	h->clock = *clock;
	snprintf(h->arch, sizeof h->arch, "%s", arch);
	process_name(h->name, sizeof h->name);
	__atomic_store_n(&h->magic, VG_SPOOL_MAGIC, __ATOMIC_RELEASE);
	spool->header = h;
	return 0;
}

void vg_spool__close(struct vg_spool *spool)
{
	if (!spool->header)
		return;
	munmap(spool->header, VG_SPOOL_HEADER_BYTES);
	spool->header = NULL;
	close(spool->fd);
}

static void release_block(struct vg_spool_cursor *c, struct vg_spool_block *b)
{
	if (b == c->current)
		c->current = NULL;
	munmap(b->map, VG_SPOOL_BLOCK_BYTES);
	*b = (struct vg_spool_block){0};
}

static struct vg_spool_block *new_block(struct vg_spool *s, struct vg_spool_cursor *c)
{
	struct vg_spool_block *b = NULL;
	uint64_t offset;
	uint32_t i;

	for (i = 0; i < VG_CURSOR_BLOCKS && !b; i++)
		if (!c->blocks[i].map)
			b = &c->blocks[i];
	if (!b)
		return NULL;
	i = atomic_fetch_add(&s->header->blocks, 1);
	if (i >= VG_SPOOL_MAX_BLOCKS)
		return NULL;
	offset = VG_SPOOL_HEADER_BYTES + (uint64_t)i * VG_SPOOL_BLOCK_BYTES;
	if (posix_fallocate(s->fd, (off_t)offset, VG_SPOOL_BLOCK_BYTES))
		return NULL;
	b->map = map_at(s->fd, offset, VG_SPOOL_BLOCK_BYTES);
	if (!b->map)
		return NULL;
	b->used = b->pending = 0;
	b->full = false;
	c->current = b;
	return b;
}

void *vg_spool__slots(struct vg_spool *s, struct vg_spool_cursor *c, uint32_t slots)
{
	struct vg_spool_block *b = c->current;
	uint32_t bytes = slots * (uint32_t)SLOT;
	char *p;

	if (!s->header)
		return NULL;
	if (bytes > VG_SPOOL_BLOCK_BYTES)
		return NULL;
	if (b && b->used + bytes > VG_SPOOL_BLOCK_BYTES) {
		b->full = true;
		c->current = NULL;
		if (!b->pending)
			release_block(c, b);
		b = NULL;
	}
	if (!b)
		b = new_block(s, c);
	if (!b)
		return NULL;
	p = b->map + b->used;
	b->used += bytes;
	return p;
}

struct vg_rec *vg_spool__reserve(
	struct vg_spool *s, struct vg_spool_cursor *c, struct vg_spool_block **block)
{
	struct vg_rec *r;

	if (!s->header)
		return NULL;
	r = vg_spool__slots(s, c, 1);
	if (!r) {
		atomic_fetch_add_explicit(&s->header->lost, 1, memory_order_relaxed);
		return NULL;
	}
	*block = c->current;
	c->current->pending++;
	return r;
}

void vg_spool__done(struct vg_spool_cursor *c, struct vg_spool_block *b)
{
	b->pending--;
	if (b->full && !b->pending)
		release_block(c, b);
}

void vg_spool__name(struct vg_spool *s, struct vg_spool_cursor *c, uint32_t id, const char *name)
{
	size_t len = strlen(name), first = sizeof(((struct vg_rec_name *)0)->text);
	uint32_t slots = 1 + (uint32_t)(len > first ? (len - first + SLOT - 1) / SLOT : 0);
	struct vg_rec_name *r = vg_spool__slots(s, c, slots);

	if (!r)
		return;
	r->id = id;
	r->length = (uint32_t)len;
	r->slots = slots;
	memcpy((char *)r + offsetof(struct vg_rec_name, text), name, len);
	__atomic_store_n(&r->kind, VG_REC_KERNEL, __ATOMIC_RELEASE);
}

void vg_spool__release(struct vg_spool_cursor *c)
{
	for (unsigned i = 0; i < VG_CURSOR_BLOCKS; i++)
		if (c->blocks[i].map)
			release_block(c, &c->blocks[i]);
}
