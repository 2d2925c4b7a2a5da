// SPDX-License-Identifier: MIT
/*
 * Interposed libc calls that open files. They go straight to the system call where that is all
 * libc does, and to libc's own function where it does more. errno is as the call leaves it.
 */
#include "vgpu.h"
#include "shim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The test's own kernels are loaded here, on a thread of the program: no queue runs yet. */
static void load_extras(struct vg_proc *p)
{
	p->extras_error = p->conf.kernels ? vg_effect__load(p->conf.kernels) : 0;
	vg_fault__open(p);
}

static int open_device(int kind, int flags)
{
	struct vg_proc *p = vg_proc();
	int saved = errno, fd;

	vg_once(&p->extras_ready, load_extras);
	if (p->extras_error)
		fd = p->extras_error;
	else if (kind != VG_FD_KFD && vg_fault__gpu_lost(kind - 1))
		fd = -ENODEV;
	else
		fd = vg_device__open(kind, flags & O_CLOEXEC);
	if (fd < 0) {
		errno = -fd;
		return -1;
	}
	if (kind == VG_FD_KFD) {
		vg_once(&p->spool.ready, vg_queue__log_open);
		vg_once(&p->samples_ready, vg_recorded__load);
	}
	TRACE(1, "open %s %d = %d", kind == VG_FD_KFD ? "kfd" : "render node of GPU", kind - 1, fd);
	errno = saved;
	return fd;
}

static int do_open(int dirfd, const char *path, int flags, mode_t mode)
{
	int kind = vg_path_device(path);
	char buf[PATH_MAX];

	if (kind != VG_FD_NONE)
		return open_device(kind, flags);
	return (int)syscall(SYS_openat, dirfd, vg_path_open(path, buf), flags, mode);
}

static mode_t mode_of(int flags, va_list ap)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

#define OPEN(name, params, dirfd, extra)                                                           \
	VG_EXPORT int name params;                                                                 \
	VG_EXPORT int name params                                                                  \
	{                                                                                          \
		va_list ap;                                                                        \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(ap, flags);                                                               \
		mode = mode_of(flags, ap);                                                         \
		va_end(ap);                                                                        \
		return do_open(dirfd, path, flags | (extra), mode);                                \
	}

OPEN(open, (const char *path, int flags, ...), AT_FDCWD, 0)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, O_LARGEFILE)
OPEN(openat, (int dirfd, const char *path, int flags, ...), dirfd, 0)
OPEN(openat64, (int dirfd, const char *path, int flags, ...), dirfd, O_LARGEFILE)

/* What fortified callers use. */
#define OPEN_2(name, params, dirfd, extra)                                                         \
	VG_EXPORT int name params;                                                                 \
	VG_EXPORT int name params                                                                  \
	{                                                                                          \
		return do_open(dirfd, path, flags | (extra), 0);                                   \
	}

OPEN_2(__open_2, (const char *path, int flags), AT_FDCWD, 0)
OPEN_2(__open64_2, (const char *path, int flags), AT_FDCWD, O_LARGEFILE)
OPEN_2(__openat_2, (int dirfd, const char *path, int flags), dirfd, 0)
OPEN_2(__openat64_2, (int dirfd, const char *path, int flags), dirfd, O_LARGEFILE)

#define FOPEN(name)                                                                                \
	VG_EXPORT FILE *name(const char *path, const char *mode)                                   \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return NEXT(FILE * (*)(const char *, const char *), #name)(                        \
			vg_path_open(path, buf), mode);                                            \
	}

FOPEN(fopen)
FOPEN(fopen64)

VG_EXPORT DIR *opendir(const char *path)
{
	char buf[PATH_MAX];

	return NEXT(DIR * (*)(const char *), "opendir")(vg_path_open(path, buf));
}

/* scandir calls opendir inside libc, past any interposition. */
#define SCANDIR(name, entry)                                                                       \
	VG_EXPORT int name(const char *path, struct entry ***list,                                 \
		int (*filter)(const struct entry *),                                               \
		int (*compare)(const struct entry **, const struct entry **))                      \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
                                                                                                   \
		return NEXT(int (*)(const char *, struct entry ***, int (*)(const struct entry *), \
				    int (*)(const struct entry **, const struct entry **)),        \
			#name)(vg_path_open(path, buf), list, filter, compare);                    \
	}

SCANDIR(scandir, dirent)
SCANDIR(scandir64, dirent64)

char *vg_strip_root(char *resolved)
{
	const char *root = vg_root();
	size_t n = root ? strlen(root) : 0;

	if (resolved && n && !strncmp(resolved, root, n) && resolved[n] == '/')
		memmove(resolved, resolved + n, strlen(resolved + n) + 1);
	return resolved;
}

VG_EXPORT char *realpath(const char *path, char *resolved)
{
	char buf[PATH_MAX];
	const char *p = vg_path(path, buf);
	char *r = NEXT(char *(*)(const char *, char *), "realpath")(p, resolved);

	return p == path ? r : vg_strip_root(r);
}

VG_EXPORT char *__realpath_chk(const char *path, char *resolved, size_t size);
VG_EXPORT char *__realpath_chk(const char *path, char *resolved, size_t size)
{
	char buf[PATH_MAX];
	const char *p = vg_path(path, buf);
	char *r =
		NEXT(char *(*)(const char *, char *, size_t), "__realpath_chk")(p, resolved, size);

	return p == path ? r : vg_strip_root(r);
}

VG_EXPORT char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

VG_EXPORT ssize_t readlink(const char *path, char *out, size_t size)
{
	char buf[PATH_MAX];

	return syscall(SYS_readlinkat, AT_FDCWD, vg_path(path, buf), out, size);
}

VG_EXPORT ssize_t readlinkat(int dirfd, const char *path, char *out, size_t size)
{
	char buf[PATH_MAX];

	return syscall(SYS_readlinkat, dirfd, vg_path(path, buf), out, size);
}

static void finish(void)
{
	struct vg_spool_header *h = vg_proc()->spool.header;

	/* The number is for a vfork child, which sees its parent's state. */
	if (h && h->pid == (uint64_t)getpid() && !atomic_load(&h->ended)) {
		vg_queue__account_all();
		atomic_store(&h->ended, 1);
	}
	vg_root__remove();
}

/* _exit runs no destructor. */
VG_EXPORT void _exit(int status)
{
	finish();
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

VG_EXPORT void _Exit(int status)
{
	_exit(status);
}

/*
 * An image that calls exec leaves its directory behind, and its successor has the same process
 * number and start time: it removes what it finds of its own at once, the GPU or not.
 */
__attribute__((constructor)) static void vg_begin(void)
{
	if (getenv("VGPU_NO_SWEEP"))
		return;
	vg_root__clean_own();
}

__attribute__((destructor)) static void vg_end(void)
{
	finish();
}
