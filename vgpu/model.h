// SPDX-License-Identifier: MIT
/* The GPU models that can be emulated: one row of facts each, in model.c. */
#ifndef VGPU_MODEL_H
#define VGPU_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct vg_model {
	const char *name; /* the architecture, as compilers spell it */
	uint32_t gfx_target_version;
	uint32_t device_id, pci_rev, external_rev;
	const char *codename;
	uint32_t cu_cnt, engine_cnt, cu_per_array;
	uint32_t simd_waves; /* wave slots of a SIMD */
	bool sram_ecc;
	uint32_t counter_khz; /* of the time stamp counter */
	uint64_t vram_bytes;
};

const struct vg_model *vg_model_find(const char *name);
const struct vg_model *vg_model_at(unsigned i); /* NULL after the last */

#endif
