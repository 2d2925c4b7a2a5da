// SPDX-License-Identifier: MIT
/* Buffers, their memory files, dma-buf and memory between processes, without a runtime above. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vgpu.h"

#define VRAM ((uint32_t)(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC))
#define SIZE 65536u

static struct kfd_ioctl_alloc_memory_of_gpu_args allocate(uint64_t size, uint32_t flags, void *at)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args a = {
		.va_addr = (uintptr_t)at, .size = size, .gpu_id = VG_GPU_ID(0), .flags = flags};

	assert_int_equal(vg_mem__alloc(&a), 0);
	return a;
}

/* As the thunk maps it. */
static unsigned char *map(uint64_t offset, uint64_t size)
{
	int64_t at = vg_mem__mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, offset);

	assert_true(at > 0);
	return (unsigned char *)(uintptr_t)at;
}

static unsigned char *room(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static int descriptors(void)
{
	int cnt = 0;

	for (int fd = 0; fd < 512; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

static void a_buffer_takes_no_descriptor(void **state)
{
	int before = descriptors();
	struct kfd_ioctl_alloc_memory_of_gpu_args a = allocate(SIZE, VRAM, NULL);

	(void)state;
	assert_int_equal(descriptors(), before);
	assert_int_equal(vg_mem__vram_used(0), SIZE);
	assert_int_equal(vg_mem__free(a.handle), 0);
	assert_int_equal(vg_mem__vram_used(0), 0);
	assert_int_equal(vg_mem__free(a.handle), -EINVAL);
}

static void mappings(void **state)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args a = allocate(SIZE, VRAM, NULL);
	unsigned char *p = map(a.mmap_offset, SIZE), *q = map(a.mmap_offset + 4096, 4096);

	(void)state;
	p[4096] = 42;
	assert_int_equal(q[0], 42);
	assert_int_equal(
		vg_mem__mmap(0, SIZE + 4096, PROT_READ, MAP_SHARED, a.mmap_offset), -EINVAL);
	assert_int_equal(
		vg_mem__mmap(0, 4096, PROT_READ, MAP_SHARED, a.mmap_offset + SIZE), -EINVAL);
	assert_int_equal(vg_mem__mmap(0, 4096, PROT_READ, MAP_SHARED, 0), -EINVAL);
	assert_int_equal(vg_mem__free(a.handle), 0);
	assert_int_equal(p[4096], 42); /* mapped memory stays */
	assert_int_equal(vg_mem__mmap(0, 4096, PROT_READ, MAP_SHARED, a.mmap_offset), -EINVAL);
	munmap(p, SIZE);
	munmap(q, 4096);
}

/* More than the model has, and nonsense. */
static void limits(void **state)
{
	uint64_t all = vg_proc()->conf.model->vram_bytes;
	struct kfd_ioctl_alloc_memory_of_gpu_args a = allocate(all - SIZE, VRAM, NULL), b = a;

	(void)state;
	b.size = 2 * SIZE;
	assert_int_equal(vg_mem__alloc(&b), -ENOMEM);
	assert_int_equal(vg_mem__vram_used(0), all - SIZE);
	b.size = SIZE;
	assert_int_equal(vg_mem__alloc(&b), 0);
	assert_int_equal(vg_mem__vram_used(0), all);
	assert_int_equal(vg_mem__free(b.handle), 0);
	assert_int_equal(vg_mem__free(a.handle), 0);
	b.size = 0;
	assert_int_equal(vg_mem__alloc(&b), -EINVAL);
	b.size = ~0ull;
	assert_int_equal(vg_mem__alloc(&b), -EINVAL);
	b.size = SIZE;
	b.gpu_id = 1;
	assert_int_equal(vg_mem__alloc(&b), -EINVAL);
}

/* More buffers than one descriptor table holds. */
static void many(void **state)
{
	enum { CNT = 150 };
	struct kfd_ioctl_alloc_memory_of_gpu_args a[CNT];
	struct rlimit old, few;
	unsigned char *p;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 40;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < CNT; i++) {
		a[i] = allocate(4096, VRAM, NULL);
		p = map(a[i].mmap_offset, 4096);
		p[0] = (unsigned char)i;
		munmap(p, 4096);
	}
	for (int i = 0; i < CNT; i++) {
		p = map(a[i].mmap_offset, 4096);
		assert_int_equal(p[0], i);
		munmap(p, 4096);
		assert_int_equal(vg_mem__free(a[i].handle), 0);
	}
	for (int i = 0; i < CNT; i++) /* and again: the tables have room */
		a[i] = allocate(4096, VRAM, NULL);
	for (int i = 0; i < CNT; i++)
		assert_int_equal(vg_mem__free(a[i].handle), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

/* Against a look at each; they overlap more than buffers ever do. */
static void ranges(void **state)
{
	enum { N = 64, SPACE = 2000 };
	static struct vg_ranges r;
	struct {
		uint64_t start, size;
	} all[N + 1] = {0};
	uint64_t x = 88172645463325252u;

	(void)state;
	for (int turn = 0; turn < 2000; turn++) {
		uint32_t n, starts = 0;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		n = 1 + x % N;
		if (all[n].size) {
			vg_ranges__del(&r, all[n].start, n);
			all[n].size = 0;
		} else {
			all[n].start = x >> 8 & 1 ? x >> 16 & 0xff : x >> 16 & 0x3ff;
			all[n].size = 1 + (x >> 32) % (x >> 9 & 1 ? 40 : 700);
			assert_true(vg_ranges__add(&r, all[n].start, all[n].size, n));
		}
		for (uint64_t va = x >> 50 & 7; va < SPACE; va += 13) {
			uint32_t found = vg_ranges__find(&r, va), best = 0;

			for (uint32_t i = 1; i <= N; i++)
				if (va - all[i].start < all[i].size &&
					(!best || all[i].start > all[best].start))
					best = i;
			assert_int_equal(!found, !best);
			if (best)
				assert_int_equal(all[found].start, all[best].start);
			if (best)
				assert_true(va - all[found].start < all[found].size);
		}
		for (uint32_t i = 1; i <= N; i++)
			starts += all[i].size && all[i].start >= 100;
		for (uint32_t i = 0; i < starts; i++)
			assert_true(all[vg_ranges__from(&r, 100, i)].start >= 100);
		assert_int_equal(vg_ranges__from(&r, 100, starts), 0);
	}
	assert_false(vg_ranges__add(&r, 5, 0, 1));
	assert_false(vg_ranges__add(&r, UINT64_MAX, 5, 1));
	assert_int_equal(vg_ranges__find(&r, UINT64_MAX), 0);
}

/* The SVM call with so many attributes, {type, value} each; they are changed as it changes them. */
static int svm(uint32_t op, void *at, uint64_t size, uint32_t attr[][2], uint32_t cnt)
{
	uint32_t room[32] = {0};
	struct kfd_ioctl_svm_args *a = (struct kfd_ioctl_svm_args *)room;
	int err;

	a->start_addr = (uintptr_t)at;
	a->size = size;
	a->op = op;
	a->nattr = cnt;
	memcpy(a->attrs, attr, cnt * sizeof *a->attrs);
	err = vg_svm__call(a, (uint32_t)(sizeof *a + cnt * sizeof *a->attrs));
	memcpy(attr, a->attrs, cnt * sizeof *a->attrs);
	return err;
}

enum { SET = KFD_IOCTL_SVM_OP_SET_ATTR, GET = KFD_IOCTL_SVM_OP_GET_ATTR, PAGE = 4096 };
enum {
	PREFERRED = KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
	ACCESS = KFD_IOCTL_SVM_ATTR_ACCESS,
	IN_PLACE = KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE,
	NO_ACCESS = KFD_IOCTL_SVM_ATTR_NO_ACCESS,
	SET_FLAGS = KFD_IOCTL_SVM_ATTR_SET_FLAGS,
	CLR_FLAGS = KFD_IOCTL_SVM_ATTR_CLR_FLAGS,
	GRANULARITY = KFD_IOCTL_SVM_ATTR_GRANULARITY,
};

static void svm_attributes(void **state)
{
	unsigned char *p = room(16 * PAGE);
	uint32_t on[][2] = {{IN_PLACE, VG_GPU_ID(0)}, {CLR_FLAGS, KFD_IOCTL_SVM_FLAG_COHERENT}};
	uint32_t off[][2] = {{NO_ACCESS, VG_GPU_ID(0)}};
	uint32_t small[][2] = {{GRANULARITY, 3}, {PREFERRED, VG_GPU_ID(0)}};
	uint32_t ask[][2] = {{ACCESS, VG_GPU_ID(0)}, {SET_FLAGS, 0}, {CLR_FLAGS, 0},
		{GRANULARITY, 0}, {PREFERRED, 0}};
	uint32_t again[5][2];

	(void)state;
	memcpy(again, ask, sizeof ask);
	assert_int_equal(svm(GET, p, 16 * PAGE, ask, 5), 0); /* nothing was said of it */
	assert_int_equal(ask[0][0], NO_ACCESS);
	assert_int_equal(ask[1][1], KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT);
	assert_int_equal(ask[3][1], 9);
	assert_int_equal(ask[4][1], KFD_IOCTL_SVM_LOCATION_UNDEFINED);
	assert_false(vg_mem__covers((uintptr_t)p, 1));

	assert_int_equal(svm(SET, p + 2 * PAGE, 12 * PAGE, on, 2), 0);
	assert_true(vg_mem__covers((uintptr_t)p + 2 * PAGE + 5, 12 * PAGE - 5));
	assert_false(vg_mem__covers((uintptr_t)p + 2 * PAGE - 1, 2));
	assert_false(vg_mem__covers((uintptr_t)p + 14 * PAGE - 1, 2));
	assert_int_equal(svm(SET, p + 4 * PAGE, PAGE, small, 2), 0);
	assert_true(vg_mem__covers((uintptr_t)p + 2 * PAGE, 12 * PAGE));
	memcpy(ask, again, sizeof ask);
	assert_int_equal(svm(GET, p + 3 * PAGE, 3 * PAGE, ask, 5), 0); /* what is common */
	assert_int_equal(ask[0][0], IN_PLACE);
	assert_int_equal(ask[1][1], KFD_IOCTL_SVM_FLAG_HOST_ACCESS);
	assert_int_equal(ask[2][1], ~(uint32_t)KFD_IOCTL_SVM_FLAG_HOST_ACCESS);
	assert_int_equal(ask[3][1], 3);
	assert_int_equal(ask[4][1], KFD_IOCTL_SVM_LOCATION_UNDEFINED);
	memcpy(ask, again, sizeof ask);
	assert_int_equal(svm(GET, p + 4 * PAGE, PAGE, ask, 5), 0);
	assert_int_equal(ask[4][1], VG_GPU_ID(0));

	assert_int_equal(svm(SET, p + 8 * PAGE, PAGE, off, 1), 0);
	assert_true(vg_mem__covers((uintptr_t)p + 2 * PAGE, 6 * PAGE));
	assert_false(vg_mem__covers((uintptr_t)p + 2 * PAGE, 6 * PAGE + 1));
	assert_true(vg_mem__covers((uintptr_t)p + 9 * PAGE, 5 * PAGE));

	vg_svm__forget((uintptr_t)p + 10 * PAGE, PAGE); /* something else is there */
	assert_false(vg_mem__covers((uintptr_t)p + 10 * PAGE, 1));
	assert_true(vg_mem__covers((uintptr_t)p + 11 * PAGE, 3 * PAGE));
	munmap(p, 16 * PAGE);
	assert_false(vg_mem__covers((uintptr_t)p + 2 * PAGE, 1)); /* gone */
}

static void svm_refusals(void **state)
{
	unsigned char *p = room(4 * PAGE);
	struct kfd_ioctl_alloc_memory_of_gpu_args a;
	uint32_t attr[][2] = {{ACCESS, VG_GPU_ID(0)}};
	uint32_t nobody[][2] = {{ACCESS, 77}}, unknown[][2] = {{8, 0}};
	uint32_t nowhere[][2] = {{KFD_IOCTL_SVM_ATTR_PREFETCH_LOC, UINT32_MAX}};
	struct kfd_ioctl_svm_args cut = {(uintptr_t)p, PAGE, SET, 1};

	(void)state;
	assert_int_equal(svm(SET, p + 1, PAGE, attr, 1), -EINVAL);
	assert_int_equal(svm(SET, p, PAGE + 1, attr, 1), -EINVAL);
	assert_int_equal(svm(SET, p, 0, attr, 1), -EINVAL);
	assert_int_equal(svm(SET, NULL, PAGE, attr, 1), -EINVAL);
	assert_int_equal(svm(2, p, PAGE, attr, 1), -EINVAL);
	assert_int_equal(svm(SET, p, PAGE, nobody, 1), -EINVAL);
	assert_int_equal(svm(SET, p, PAGE, unknown, 1), -EINVAL);
	assert_int_equal(svm(SET, p, PAGE, nowhere, 1), -EINVAL);
	assert_int_equal(svm(GET, p, PAGE, unknown, 1), -EINVAL);
	assert_int_equal(vg_svm__call(&cut, sizeof cut), -EINVAL);
	a = allocate(PAGE, VRAM, p + PAGE);
	assert_int_equal(svm(SET, p, 4 * PAGE, attr, 1), -EADDRINUSE);
	assert_int_equal(svm(SET, p + PAGE, PAGE, attr, 1), -EADDRINUSE);
	assert_int_equal(svm(SET, p + 2 * PAGE, PAGE, attr, 1), 0);
	vg_mem__free(a.handle);
	munmap(p + 3 * PAGE, PAGE);
	assert_int_equal(svm(SET, p + 2 * PAGE, 2 * PAGE, attr, 1), -EFAULT);
	munmap(p, 3 * PAGE);
}

/* Against an attribute for each page. */
static void svm_pages(void **state)
{
	enum { PAGES = 48 };
	unsigned char *p = room(PAGES * PAGE);
	uint8_t value[PAGES];
	uint64_t x = 88172645463325252u;

	(void)state;
	memset(value, 9, sizeof value);
	for (int turn = 0; turn < 3000; turn++) {
		uint32_t first, cnt, least = 64, set[1][2] = {{GRANULARITY, 0}};
		uint32_t get[1][2] = {{GRANULARITY, 0}};

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		first = x % PAGES;
		cnt = 1 + (x >> 16) % (PAGES - first);
		set[0][1] = 1 + (x >> 32) % 3;
		if (x >> 40 & 1)
			cnt = cnt < 3 ? cnt : 3;
		assert_int_equal(svm(SET, p + first * PAGE, cnt * PAGE, set, 1), 0);
		memset(value + first, (int)set[0][1], cnt);
		first = (x >> 42) % PAGES;
		cnt = 1 + (x >> 50) % (PAGES - first);
		for (uint32_t i = first; i < first + cnt; i++)
			if (value[i] < least)
				least = value[i];
		assert_int_equal(svm(GET, p + first * PAGE, cnt * PAGE, get, 1), 0);
		assert_int_equal(get[0][1], least);
	}
	munmap(p, PAGES * PAGE);
}

static void dmabuf_is_the_memory(void **state)
{
	unsigned char *own = room(SIZE), *other = room(SIZE), *plain;
	struct kfd_ioctl_alloc_memory_of_gpu_args a = allocate(SIZE, VRAM, own);
	uint64_t base, size, handle;
	struct vg_file_info info;
	int fd;

	(void)state;
	assert_int_equal(vg_mem__mmap((uintptr_t)own, SIZE, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_FIXED, a.mmap_offset),
		(int64_t)(uintptr_t)own);
	strcpy((char *)own, "one");
	fd = vg_mem__export(a.handle);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(vg_file__inspect(fd, &info), 0);
	assert_int_equal(info.size, SIZE);
	assert_int_equal(info.gpu, 0);
	assert_int_equal(info.flags, VRAM);

	assert_int_equal(vg_mem__import(fd, (uintptr_t)other, &handle), 0);
	assert_string_equal((const char *)other, "one");
	strcpy((char *)other, "two");
	assert_string_equal((const char *)own, "two");
	assert_int_equal(vg_mem__vram_used(0), SIZE); /* counted once */
	assert_true(vg_mem__range((uintptr_t)other + 5, &base, &size));
	assert_int_equal(base, (uintptr_t)other);
	assert_int_equal(size, SIZE);
	assert_false(vg_mem__covers((uintptr_t)other + 5, 1ull << 46));

	assert_int_equal(vg_mem__free(a.handle), 0); /* who made it lets go first */
	munmap(own, SIZE);
	plain = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_string_equal((const char *)plain, "two");
	strcpy((char *)plain, "three");
	assert_string_equal((const char *)other, "three");
	assert_int_not_equal(ftruncate(fd, 4096), 0); /* nobody can take it away */
	assert_int_not_equal(ftruncate(fd, 1 << 20), 0);
	munmap(plain, SIZE);
	close(fd);
	assert_int_equal(vg_mem__free(handle), 0);
	assert_int_equal(vg_mem__free(handle), -EINVAL);
	munmap(other, SIZE);
}

/* A memory file as we make them, but for one thing. */
static int forgery(const char *name, int64_t size, int seals)
{
	int fd = (int)syscall(SYS_memfd_create, name, MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void refused(int fd, int with)
{
	uint64_t handle = 0;
	uint32_t gem = 0;

	assert_int_equal(vg_mem__import(fd, 0, &handle), with);
	assert_int_equal(vg_mem__import_gem(0, fd, &gem), with);
	assert_int_equal(handle, 0);
	assert_int_equal(gem, 0);
	if (fd >= 0)
		close(fd);
}

static void hostile_descriptors(void **state)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int pipes[2], good;
	uint64_t handle;

	(void)state;
	refused(forgery("vgpu-bo 0 1", SIZE, F_SEAL_SHRINK | F_SEAL_SEAL), -EINVAL);
	refused(forgery("vgpu-bo 0 1", SIZE, 0), -EINVAL);
	refused(forgery("vgpu-bo 0 1", SIZE, seals | F_SEAL_WRITE), -EINVAL);
	refused(forgery("vgpu-bo 0 1", 4096, seals), -EINVAL); /* the page behind it only */
	refused(forgery("vgpu-bo 0 1", 0, seals), -EINVAL);
	refused(forgery("vgpu-bo 0 1", SIZE + 1, seals), -EINVAL);
	refused(forgery("vgpu-bo 0 1 and more", SIZE, seals), -EINVAL);
	refused(forgery("vgpu-bo 77 1", SIZE, seals), -EINVAL);
	refused(forgery("vgpu-bo -1 1", SIZE, seals), -EINVAL);
	refused(forgery("something else", SIZE, seals), -EINVAL);
	refused(open("/dev/null", O_RDWR), -EINVAL);
	refused(open("/proc/self/exe", O_RDONLY), -EINVAL);
	assert_int_equal(pipe(pipes), 0);
	refused(pipes[0], -EINVAL);
	close(pipes[1]);
	refused(-1, -EBADF);
	refused(1000, -EBADF);
	/* What is left is a buffer, whoever made it. */
	good = forgery("vgpu-bo 0 1", SIZE, seals);
	assert_int_equal(vg_mem__import(good, 0, &handle), 0);
	assert_int_equal(vg_mem__free(handle), 0);
	close(good);
}

static void gem_handles(void **state)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args a = allocate(SIZE, VRAM, NULL);
	int fd = vg_mem__export(a.handle);
	unsigned char *va = room(SIZE), *p = map(a.mmap_offset, SIZE);
	uint64_t base, size;
	uint32_t one, two, far;
	struct vg_bo bo;

	(void)state;
	assert_int_equal(vg_mem__import_gem(0, fd, &one), 0);
	assert_int_equal(vg_mem__import_gem(0, fd, &two), 0);
	assert_int_equal(one, two); /* one handle for each buffer and render node */
	assert_int_equal(vg_mem__import_gem(1, fd, &far), 0);
	assert_int_not_equal(one, far);
	close(fd);
	assert_int_equal(vg_mem__map_gem(one, (uintptr_t)va + 4096, 8192, 8192), 0);
	p[8192] = 7;
	assert_int_equal(va[4096], 7);
	assert_true(vg_mem__range((uintptr_t)va + 5000, &base, &size));
	assert_int_equal(base, (uintptr_t)va + 4096);
	assert_int_equal(size, 8192);
	assert_int_equal(vg_mem__map_gem(one, (uintptr_t)va, SIZE, 4096), -EINVAL);
	assert_int_equal(vg_mem__map_gem(one, (uintptr_t)va, 100, 0), -EINVAL);
	assert_int_equal(vg_mem__map_gem(one, ~0xfffull, 4096, 0), -EINVAL);
	assert_int_equal(vg_mem__map_gem(9999, (uintptr_t)va, 4096, 0), -ENOENT);
	assert_int_equal(vg_mem__close_gem(one), 0);
	assert_int_equal(vg_mem__close_gem(one), -EINVAL);
	assert_int_equal(vg_mem__close_gem((uint32_t)a.handle), -EINVAL); /* KFD's own */
	assert_int_equal(va[4096], 7);
	assert_int_equal(vg_mem__unmap_gem((uintptr_t)va + 4096, 8192), 0);
	assert_false(vg_mem__range((uintptr_t)va + 5000, &base, &size));
	assert_true(vg_mem__gem(far, &bo));
	assert_int_equal(vg_mem__free(a.handle), 0);
	assert_true(vg_mem__gem(far, &bo)); /* keeps the memory */
	assert_int_equal(vg_mem__close_gem(far), 0);
	munmap(p, SIZE);
	munmap(va, SIZE);
}

static void metadata(void **state)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args a = allocate(SIZE, VRAM, NULL);
	struct vg_file_meta set = {.size = 5, .flags = 3, .tiling = 9, .data = "abcd"}, get;
	int fd = vg_mem__export(a.handle);
	struct vg_file_info info;
	struct vg_bo bo;

	(void)state;
	assert_true(vg_mem__bo(a.handle, &bo));
	assert_int_equal(vg_file__get_meta(bo.file, &get), 0);
	assert_int_equal(get.size, 0);
	assert_int_equal(vg_file__set_meta(bo.file, &set), 0);
	assert_int_equal(vg_file__inspect(fd, &info), 0);
	assert_int_equal(vg_file__read_meta(fd, &info, &get), 0); /* as another process would */
	assert_memory_equal(&get, &set, sizeof get);
	set.size = 100000; /* written by a stranger */
	assert_int_equal(pwrite(fd, &set, sizeof set, SIZE), sizeof set);
	assert_int_equal(vg_file__get_meta(bo.file, &get), 0);
	assert_int_equal(get.size, 0);
	close(fd);
	assert_int_equal(vg_mem__free(a.handle), 0);
}

/* ---- between processes ---- */

/* In a child: 0 if the memory is there and says what it should. */
static int import_in_child(const struct abi_kfd_ipc_export *e, const char *text, const char *answer)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		struct abi_kfd_ipc_import i = {.gpu_id = VG_GPU_ID(0)};
		unsigned char *at = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		i.va_addr = (uintptr_t)at;
		memcpy(i.share_handle, e->share_handle, sizeof i.share_handle);
		if (vg_mem__ipc_import(&i))
			_exit(1);
		if (strcmp((char *)at, text) || i.flags != 0xabcd)
			_exit(2);
		strcpy((char *)at, answer);
		if (vg_mem__mmap((uintptr_t)at, SIZE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED, i.mmap_offset) != (int64_t)(uintptr_t)at)
			_exit(3);
		_exit(strcmp((char *)at, answer) ? 4 : vg_mem__free(i.handle) ? 5 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void other_process(void **state)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args a = allocate(SIZE, VRAM, NULL);
	struct abi_kfd_ipc_export e = {.handle = a.handle, .gpu_id = VG_GPU_ID(0), .flags = 0xabcd};
	unsigned char *p = map(a.mmap_offset, SIZE);

	(void)state;
	strcpy((char *)p, "from the parent");
	assert_int_equal(vg_mem__ipc_export(&e), 0);
	assert_int_equal(import_in_child(&e, "from the parent", "from the child"), 0);
	assert_string_equal((const char *)p, "from the child");
	for (int i = 0; i < 3; i++) { /* each word matters */
		e.share_handle[i] ^= 1u << 21;
		assert_int_equal(import_in_child(&e, "from the child", ""), 1);
		e.share_handle[i] ^= 1u << 21;
	}
	assert_int_equal(vg_mem__free(a.handle), 0);
	assert_int_equal(import_in_child(&e, "from the child", ""), 1);
	/* the descriptor's number has another file now */
	a = allocate(SIZE, VRAM, NULL);
	assert_int_equal(import_in_child(&e, "", ""), 1);
	assert_int_equal(vg_mem__free(a.handle), 0);
	e.handle = a.handle;
	assert_int_equal(vg_mem__ipc_export(&e), -EINVAL);
	munmap(p, SIZE);
}

/* Registered host memory is nobody else's. */
static void host_memory_is_not_shared(void **state)
{
	void *host = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kfd_ioctl_alloc_memory_of_gpu_args a = {.va_addr = 0x70000000000,
		.size = 8192,
		.gpu_id = VG_GPU_ID(0),
		.flags = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR,
		.mmap_offset = (uintptr_t)host};
	struct abi_kfd_ipc_export e = {.gpu_id = VG_GPU_ID(0)};
	struct vg_va_cache c = {0};

	(void)state;
	assert_int_equal(vg_mem__alloc(&a), 0);
	assert_ptr_equal(vg_va(0x70000000010, &c), (char *)host + 16);
	assert_int_equal(vg_mem__export(a.handle), -EINVAL);
	e.handle = a.handle;
	assert_int_equal(vg_mem__ipc_export(&e), -EINVAL);
	assert_int_equal(vg_mem__free(a.handle), 0);
	munmap(host, 8192);
}

static void *come_and_go(void *arg)
{
	for (int i = 0; i < 200; i++) {
		struct kfd_ioctl_alloc_memory_of_gpu_args a = {
			.size = 4096, .gpu_id = VG_GPU_ID(0), .flags = VRAM};
		int64_t at;

		if (vg_mem__alloc(&a))
			return (void *)1;
		at = vg_mem__mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, a.mmap_offset);
		if (at <= 0 || *(int *)(uintptr_t)at)
			return (void *)2;
		*(int *)(uintptr_t)at = i + 1;
		munmap((void *)(uintptr_t)at, 4096);
		if (vg_mem__free(a.handle))
			return (void *)3;
	}
	return arg;
}

static void threads(void **state)
{
	pthread_t t[4];
	void *result;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, come_and_go, NULL), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &result);
		assert_null(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_takes_no_descriptor),
		cmocka_unit_test(mappings),
		cmocka_unit_test(limits),
		cmocka_unit_test(many),
		cmocka_unit_test(ranges),
		cmocka_unit_test(svm_attributes),
		cmocka_unit_test(svm_refusals),
		cmocka_unit_test(svm_pages),
		cmocka_unit_test(dmabuf_is_the_memory),
		cmocka_unit_test(hostile_descriptors),
		cmocka_unit_test(gem_handles),
		cmocka_unit_test(metadata),
		cmocka_unit_test(other_process),
		cmocka_unit_test(host_memory_is_not_shared),
		cmocka_unit_test(threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
