// SPDX-License-Identifier: MIT
#include "kernel_file.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <vgpu/kernels.h>

static bool is_complete(const struct vgpu_kernels *k)
{
	for (uint32_t i = 0; i < k->cnt; i++)
		if (!k->kernels || !k->kernels[i].name || !*k->kernels[i].name ||
			!k->kernels[i].run)
			return false;
	return true;
}

const struct vgpu_kernels *vg_kernels__open(const char *path, char *why, size_t why_size)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct vgpu_kernels *k;

	if (!lib) {
		snprintf(why, why_size, "%s", dlerror());
		return NULL;
	}
	k = dlsym(lib, "vgpu_kernels");
	if (!k)
		snprintf(why, why_size, "%s exports no vgpu_kernels", path);
	else if (k->abi != VGPU_KERNELS_ABI)
		snprintf(why, why_size, "%s was made for version %u of vgpu/kernels.h, this is %u",
			path, k->abi, VGPU_KERNELS_ABI);
	else if (!is_complete(k))
		snprintf(why, why_size, "%s: a row of its table has no name or no function", path);
	else
		return k;
	dlclose(lib);
	return NULL;
}
