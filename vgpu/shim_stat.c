// SPDX-License-Identifier: MIT
/* Interposed libc calls that ask about files, and ioctl and mmap. */
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DRM_MAJOR 226

static unsigned device_minor(int kind)
{
	return kind == VG_FD_KFD ? 0 : (unsigned)(VG_MINOR0 + kind - 1);
}

/* The files behind the devices are memory; whoever asks sees a character device. */
static void disguise(struct stat *st, int kind)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_size = 0;
	st->st_blocks = 0;
	st->st_rdev = makedev(kind == VG_FD_KFD ? VG_KFD_MAJOR : DRM_MAJOR, device_minor(kind));
}

/* A null path is the caller's business; the headers' nonnull must not make it ours. */
__attribute__((noinline)) static bool names_fd(const char *path, int flags)
{
	return flags & AT_EMPTY_PATH && (!path || !path[0]);
}

/* Bytes of the buffer that this dma-buf is; 0: it is something else. */
static uint64_t dmabuf_bytes(int fd, const struct stat *st)
{
	struct vg_file_info info;

	return S_ISREG(st->st_mode) && !st->st_nlink && !vg_file__inspect(fd, &info) ? info.size
										     : 0;
}

static int do_fstat(int fd, struct stat *st)
{
	int r = (int)syscall(SYS_fstat, fd, st), saved = errno, kind;

	if (r)
		return r;
	kind = vg_device__fd_kind(fd);
	if (kind != VG_FD_NONE)
		disguise(st, kind);
	else if (dmabuf_bytes(fd, st))
		st->st_size = (off_t)dmabuf_bytes(fd, st);
	errno = saved;
	return 0;
}

static int do_stat(int dirfd, const char *path, struct stat *st, int flags)
{
	char buf[PATH_MAX];
	int r;

	if (names_fd(path, flags))
		return do_fstat(dirfd, st);
	r = (int)syscall(SYS_newfstatat, dirfd, vg_path(path, buf), st, flags);
	if (!r && vg_path_device(path) != VG_FD_NONE)
		disguise(st, vg_path_device(path));
	return r;
}

static_assert(sizeof(struct stat) == sizeof(struct stat64), "one layout on x86-64");

/* A prototype for each name, since not all are in the headers of every libc. */
#define STAT(name, type, params, call)                                                             \
	VG_EXPORT int name params;                                                                 \
	VG_EXPORT int name params                                                                  \
	{                                                                                          \
		return call;                                                                       \
	}

#define ST (struct stat *)st

STAT(fstat, stat, (int fd, struct stat *st), do_fstat(fd, st))
STAT(fstat64, stat64, (int fd, struct stat64 *st), do_fstat(fd, ST))
STAT(stat, stat, (const char *path, struct stat *st), do_stat(AT_FDCWD, path, st, 0))
STAT(stat64, stat64, (const char *path, struct stat64 *st), do_stat(AT_FDCWD, path, ST, 0))
STAT(lstat, stat, (const char *path, struct stat *st),
	do_stat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW))
STAT(lstat64, stat64, (const char *path, struct stat64 *st),
	do_stat(AT_FDCWD, path, ST, AT_SYMLINK_NOFOLLOW))
STAT(fstatat, stat, (int dirfd, const char *path, struct stat *st, int flags),
	do_stat(dirfd, path, st, flags))
STAT(fstatat64, stat64, (int dirfd, const char *path, struct stat64 *st, int flags),
	do_stat(dirfd, path, ST, flags))

/* What programs linked to a glibc before 2.33 call. */
STAT(__fxstat, stat, (int version, int fd, struct stat *st), ((void)version, do_fstat(fd, st)))
STAT(__fxstat64, stat64, (int version, int fd, struct stat64 *st),
	((void)version, do_fstat(fd, ST)))
STAT(__xstat, stat, (int version, const char *path, struct stat *st),
	((void)version, do_stat(AT_FDCWD, path, st, 0)))
STAT(__xstat64, stat64, (int version, const char *path, struct stat64 *st),
	((void)version, do_stat(AT_FDCWD, path, ST, 0)))
STAT(__lxstat, stat, (int version, const char *path, struct stat *st),
	((void)version, do_stat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW)))
STAT(__lxstat64, stat64, (int version, const char *path, struct stat64 *st),
	((void)version, do_stat(AT_FDCWD, path, ST, AT_SYMLINK_NOFOLLOW)))
STAT(__fxstatat, stat, (int version, int dirfd, const char *path, struct stat *st, int flags),
	((void)version, do_stat(dirfd, path, st, flags)))
STAT(__fxstatat64, stat64, (int version, int dirfd, const char *path, struct stat64 *st, int flags),
	((void)version, do_stat(dirfd, path, ST, flags)))

VG_EXPORT int statx(
	int dirfd, const char *restrict path, int flags, unsigned mask, struct statx *restrict out)
{
	char buf[PATH_MAX];
	int kind = names_fd(path, flags) ? vg_device__fd_kind(dirfd) : vg_path_device(path);
	int r = (int)syscall(SYS_statx, dirfd, vg_path(path, buf), flags, mask, out);

	if (!r && kind != VG_FD_NONE) {
		out->stx_mode = S_IFCHR | 0666;
		out->stx_size = 0;
		out->stx_blocks = 0;
		out->stx_rdev_major = kind == VG_FD_KFD ? VG_KFD_MAJOR : DRM_MAJOR;
		out->stx_rdev_minor = device_minor(kind);
	}
	return r;
}

/* libc emulates faccessat's flags; the system call with flags is new enough everywhere here. */
static int do_access(int dirfd, const char *path, int mode, int flags)
{
	char buf[PATH_MAX];

	path = vg_path(path, buf);
	if (!flags)
		return (int)syscall(SYS_faccessat, dirfd, path, mode);
	return (int)syscall(SYS_faccessat2, dirfd, path, mode, flags);
}

STAT(access, , (const char *path, int mode), do_access(AT_FDCWD, path, mode, 0))
STAT(faccessat, , (int dirfd, const char *path, int mode, int flags),
	do_access(dirfd, path, mode, flags))
STAT(euidaccess, , (const char *path, int mode), do_access(AT_FDCWD, path, mode, AT_EACCESS))
STAT(eaccess, , (const char *path, int mode), do_access(AT_FDCWD, path, mode, AT_EACCESS))

VG_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	unsigned type = _IOC_TYPE(request);
	int kind = VG_FD_NONE, saved = errno, r;
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (type == 'K' || type == 'd')
		kind = vg_device__fd_kind(fd);
	errno = saved;
	if (kind == VG_FD_NONE)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	r = kind == VG_FD_KFD ? vg_kfd__ioctl(request, arg) : vg_drm__ioctl(kind - 1, request, arg);
	errno = r < 0 ? -r : saved;
	return r < 0 ? -1 : r;
}

/* libdrm asks for a dma-buf's size by its end. */
static off_t do_lseek(int fd, off_t offset, int whence)
{
	int saved = errno;
	struct stat st;

	if (whence == SEEK_END && !syscall(SYS_fstat, fd, &st)) {
		uint64_t bytes = dmabuf_bytes(fd, &st);

		if (bytes) {
			whence = SEEK_SET;
			offset += (off_t)bytes;
		}
	}
	errno = saved;
	return syscall(SYS_lseek, fd, offset, whence);
}

VG_EXPORT off_t lseek(int fd, off_t offset, int whence)
{
	return do_lseek(fd, offset, whence);
}

VG_EXPORT off64_t lseek64(int fd, off64_t offset, int whence)
{
	return do_lseek(fd, offset, whence);
}

/*
 * An offset of a render node names a buffer. The thunk maps VRAM that the host must not touch
 * PROT_NONE (5.2: even MAP_PRIVATE). The virtual GPU lives in this address space and has to reach
 * it.
 */
static void *do_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	int saved = errno;
	int64_t r;

	if (fd < 0 || vg_device__fd_kind(fd) <= VG_FD_KFD) {
		errno = saved;
		return (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
	}
	if (prot == PROT_NONE) {
		prot = PROT_READ | PROT_WRITE;
		flags = (flags & ~MAP_PRIVATE) | MAP_SHARED;
	}
	r = vg_mem__mmap((uintptr_t)at, bytes, prot, flags, (uint64_t)offset);
	errno = r < 0 ? (int)-r : saved;
	return r < 0 ? MAP_FAILED : (void *)r;
}

VG_EXPORT void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return do_mmap(at, bytes, prot, flags, fd, offset);
}

VG_EXPORT void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off64_t offset)
{
	return do_mmap(at, bytes, prot, flags, fd, offset);
}
