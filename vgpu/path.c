// SPDX-License-Identifier: MIT
/* Which paths are ours, and where they lead. */
#include "tree.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum reach {
	BELOW,   /* the path and all below it */
	LONGER,  /* and all whose component only begins so */
	ALONE,   /* the directory itself: a list with our devices and the machine's */
	OF_A_GPU /* below it what begins with the PCI address of one of our GPUs */
};

static const struct {
	const char *prefix;
	enum reach reach;
} ours[] = {
	{"/sys/devices/virtual/kfd", BELOW}, {"/sys/class/kfd", BELOW}, {"/sys/class/drm", BELOW},
	{"/sys/dev/char/226:", LONGER}, {"/sys/module/amdgpu", BELOW},
	{"/sys/bus/pci/drivers/amdgpu", BELOW}, {"/sys/bus/pci/devices", ALONE},
	{"/sys/bus/pci/devices/", OF_A_GPU}, {"/sys/devices/pci", OF_A_GPU},
	{"/sys/class/pci_bus/", OF_A_GPU}, {"/sys/class/hwmon", ALONE},
	{"/sys/class/hwmon/hwmon100", LONGER}, {"/dev/dri", BELOW}, {"/dev/kfd", BELOW},
	{"/proc/modules", BELOW}, /* rocminfo 5.x asks lsmod whether the driver is loaded */
};

/* "0000:03", "0000:03:00.0" and what is below: the address of one of our GPUs? */
static bool is_address(const char *p)
{
	unsigned long bus;
	char *end;

	if (strncmp(p, "0000:", 5))
		return false;
	bus = strtoul(p + 5, &end, 16);
	if (end != p + 7 || bus < VG_PCI_BUS(0) || bus >= VG_PCI_BUS(vg_proc()->conf.gpu_cnt))
		return false;
	if (!strncmp(end, ":00.0", 5))
		end += 5;
	return !*end || *end == '/';
}

static bool reaches(const char *rest, enum reach reach)
{
	switch (reach) {
	case BELOW:
		return !*rest || *rest == '/';
	case LONGER:
		return true;
	case ALONE:
		return vg_proc()->conf.gpu_cnt && !rest[strspn(rest, "/")];
	case OF_A_GPU:
		return is_address(rest);
	}
	return false;
}

bool vg_path_is_ours(const char *p)
{
	/* Nearly every path fails here: the preload rides in every process of a tree. */
	if (!p || p[0] != '/' || (p[1] != 's' && p[1] != 'd' && p[1] != 'p'))
		return false;
	for (unsigned i = 0; i < sizeof ours / sizeof *ours; i++) {
		size_t n = strlen(ours[i].prefix);

		if (!strncmp(p, ours[i].prefix, n) && reaches(p + n, ours[i].reach))
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

const char *vg_path_open(const char *path, char *buf)
{
	const char *p = vg_path(path, buf);

	if (p != path)
		vg_sysfs__refresh(path);
	return p;
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
