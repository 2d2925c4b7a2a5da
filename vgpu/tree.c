// SPDX-License-Identifier: MIT
/* Files, directories and links below the private directory. */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Most files go where the one before went: only a miss makes the directories. */
static void make_parents(char *path, size_t root_len)
{
	for (char *p = path + root_len + 1; *p; p++)
		if (*p == '/') {
			*p = 0;
			mkdir(path, 0755);
			*p = '/';
		}
}

static bool full_path(struct vg_tree *t, const char *file, char *path, size_t bytes)
{
	if (t->err)
		return false;
	if ((size_t)snprintf(path, bytes, "%s%s", t->root, file) >= bytes)
		t->err = -ENAMETOOLONG;
	return !t->err;
}

static int create(const char *path)
{
	return (int)syscall(
		SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

void vg_tree__data(struct vg_tree *t, const char *file, const void *data, size_t bytes)
{
	char path[512];
	int fd;

	if (!full_path(t, file, path, sizeof path))
		return;
	fd = create(path);
	if (fd < 0 && errno == ENOENT) {
		make_parents(path, strlen(t->root));
		fd = create(path);
	}
	if (fd < 0) {
		t->err = -errno;
		return;
	}
	errno = 0;
	if (syscall(SYS_write, fd, data, bytes) != (long)bytes)
		t->err = errno ? -errno : -ENOSPC;
	syscall(SYS_close, fd);
}

void vg_tree__text(struct vg_tree *t, const char *file, const char *text)
{
	vg_tree__data(t, file, text, strlen(text));
}

static void put(struct vg_tree *t, const char *file, const char *fmt, va_list ap)
{
	char text[4096];

	vsnprintf(text, sizeof text, fmt, ap);
	vg_tree__text(t, file, text);
}

void vg_tree__put(struct vg_tree *t, const char *file, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(t, file, fmt, ap);
	va_end(ap);
}

void vg_tree__in(struct vg_tree *t, const char *dir, const char *name, const char *fmt, ...)
{
	char file[320];
	va_list ap;

	snprintf(file, sizeof file, "%s/%s", dir, name);
	va_start(ap, fmt);
	put(t, file, fmt, ap);
	va_end(ap);
}

void vg_tree__dir(struct vg_tree *t, const char *dir)
{
	char path[512];

	if (!full_path(t, dir, path, sizeof path))
		return;
	make_parents(path, strlen(t->root));
	if (mkdir(path, 0755) && errno != EEXIST)
		t->err = -errno;
}

void vg_tree__link(struct vg_tree *t, const char *file, const char *target)
{
	char path[512];

	if (!full_path(t, file, path, sizeof path))
		return;
	make_parents(path, strlen(t->root));
	if (symlink(target, path) && errno != EEXIST)
		t->err = -errno;
}
