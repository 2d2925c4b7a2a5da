// SPDX-License-Identifier: MIT
/*
 * The contents of the private directory: KFD topology, DRM nodes, the signs of a loaded driver.
 * Which values matter, and to whom, is in docs/VGPU.md.
 */
#include "tree.h"

int vg_sysfs__build(const char *root, const struct vg_conf *conf)
{
	static const struct {
		const char *file, *text;
	} fixed[] = {
		{"/dev/kfd", ""},
		/* rocminfo asks whether the driver is loaded: 5.x runs lsmod, 6.x reads initstate
		 */
		{"/proc/modules", "amdgpu 14041088 0 - Live 0x0000000000000000\n"},
		{"/sys/module/amdgpu/initstate", "live\n"},
		{"/sys/module/amdgpu/coresize", "14041088\n"},
		{"/sys/module/amdgpu/refcnt", "0\n"},
		{"/sys/module/amdgpu/version", "6.8.5\n"},
		{"/sys/class/drm/version", "drm 1.1.0 20060810\n"},
	};
	static const char *const dirs[] = {"/dev/dri", "/sys/module/amdgpu/holders",
		"/sys/module/amdgpu/parameters", "/sys/bus/pci/drivers/amdgpu"};
	struct vg_tree t = {.root = root};

	for (unsigned i = 0; i < sizeof fixed / sizeof *fixed; i++)
		vg_tree__text(&t, fixed[i].file, fixed[i].text);
	for (unsigned i = 0; i < sizeof dirs / sizeof *dirs; i++)
		vg_tree__dir(&t, dirs[i]); /* there even with no GPU */
	vg_sysfs__kfd(&t, conf);
	for (int i = 0; i < conf->gpu_cnt; i++)
		vg_sysfs__pci(&t, i, conf->model);
	vg_sysfs__live(&t, conf);
	if (conf->gpu_cnt) {
		vg_tree__overlay(&t, "/sys/bus/pci/devices");
		vg_tree__overlay(&t, "/sys/class/hwmon");
	}
	return t.err;
}
