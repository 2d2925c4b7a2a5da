// SPDX-License-Identifier: MIT
/* Directories in which our devices stand beside those of the machine. */
#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The machine's entries are links to devices: each becomes a link to the same device, absolute,
 * since a relative one would stay within the private directory. An entry of ours wins.
 */
void vg_tree__overlay(struct vg_tree *t, const char *dir)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char f[320], target[PATH_MAX], absolute[PATH_MAX];
	struct dirent *e;

	if (!d && fd >= 0)
		syscall(SYS_close, fd);
	while (d && (e = readdir(d))) {
		long n = syscall(SYS_readlinkat, fd, e->d_name, target, sizeof target - 1);
		const char *below = target;

		if (e->d_name[0] == '.' || n <= 0)
			continue;
		target[n] = 0;
		while (!strncmp(below, "../", 3))
			below += 3;
		snprintf(f, sizeof f, "%s/%s", dir, e->d_name);
		if ((size_t)snprintf(absolute, sizeof absolute, "/sys/%s", below) < sizeof absolute)
			vg_tree__link(t, f, absolute);
	}
	if (d)
		closedir(d);
}
