// SPDX-License-Identifier: MIT
/*
 * Compute units, engines and names as in the driver's tables; device and revision numbers select
 * the marketing name in libdrm's amdgpu.ids. Only gfx9: later chips have other SDMA packets.
 */
#include "model.h"

#include <stddef.h>
#include <string.h>

#define GIB (1ull << 30)

static const struct vg_model models[] = {
	{"gfx90a", 90010, 0x740f, 2, 0x3d, "aldebaran", 104, 8, 14, 8, true, 100000, 64 * GIB},
	{"gfx908", 90008, 0x738c, 1, 0x32, "arcturus", 120, 8, 16, 10, true, 25000, 64 * GIB},
	{"gfx906", 90006, 0x66a1, 2, 0x28, "vega20", 60, 4, 16, 10, true, 25000, 64 * GIB},
	{"gfx900", 90000, 0x6860, 0, 0x01, "vega10", 64, 4, 16, 10, false, 27000, 64 * GIB},
};

const struct vg_model *vg_model_at(unsigned i)
{
	return i < sizeof models / sizeof *models ? &models[i] : NULL;
}

const struct vg_model *vg_model_find(const char *name)
{
	for (unsigned i = 0; vg_model_at(i); i++)
		if (!strcmp(models[i].name, name))
			return &models[i];
	return NULL;
}
