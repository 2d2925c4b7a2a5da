// SPDX-License-Identifier: MIT
/* Which paths are ours, and where they lead. */
#include "vgpu.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *prefix;
	bool open_end; /* more characters of the same component may follow */
} ours[] = {
	{"/sys/devices/virtual/kfd", false}, {"/sys/class/kfd", false}, {"/sys/class/drm", false},
	{"/sys/dev/char/226:", true}, {"/sys/module/amdgpu", false}, {"/dev/dri", false},
	{"/dev/kfd", false},
	{"/proc/modules", false}, /* rocminfo 5.x asks lsmod whether the driver is loaded */
};

bool vg_path_is_ours(const char *p)
{
	/* Nearly every path fails here: the preload rides in every process of a tree. */
	if (!p || p[0] != '/' || (p[1] != 's' && p[1] != 'd' && p[1] != 'p'))
		return false;
	for (unsigned i = 0; i < sizeof ours / sizeof *ours; i++) {
		size_t n = strlen(ours[i].prefix);

		if (!strncmp(p, ours[i].prefix, n) && (ours[i].open_end || !p[n] || p[n] == '/'))
			return true;
	}
	return false;
}

const char *vg_path(const char *path, char *buf)
{
	const char *root;

	if (!vg_path_is_ours(path))
		return path;
	root = vg_root();
	TRACE(3, "path %s", path);
	if (!root || (size_t)snprintf(buf, PATH_MAX, "%s%s", root, path) >= PATH_MAX)
		return path;
	return buf;
}

int vg_path_device(const char *p)
{
	const char *number;
	char *end;
	long minor;

	if (!p || strncmp(p, "/dev/", 5))
		return VG_FD_NONE;
	if (!strcmp(p, "/dev/kfd"))
		return VG_FD_KFD;
	if (strncmp(p, "/dev/dri/renderD", 16))
		return VG_FD_NONE;
	number = p + 16;
	minor = strtol(number, &end, 10);
	if (end == number || *end || minor < VG_MINOR0 || minor >= VG_MINOR0 + VG_MAX_GPUS)
		return VG_FD_NONE;
	return 1 + (int)(minor - VG_MINOR0);
}
