// SPDX-License-Identifier: MIT
/* The GPU models that can be emulated: one row of facts each, in model.c. */
#ifndef VGPU_MODEL_H
#define VGPU_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define VG_MAX_CACHES 6

/* One kind of cache: the driver lists one entry for each `shared` compute units of level 1, and
 * one for the GPU of the other levels. */
struct vg_cache {
	uint8_t level;
	bool code; /* instructions, else data */
	uint8_t shared;
	uint32_t kib, line;
};

#define VG_IP(major, minor, revision) ((major) << 16 | (minor) << 8 | (revision))

struct vg_model {
	const char *name;    /* the architecture, as compilers spell it */
	const char *product; /* what --arch accepts too: mi210 */
	const char *marketing;
	const char *codename; /* of the driver */
	uint32_t gfx_target_version;
	uint32_t device_id, pci_rev, subsystem_id, pci_class;
	uint32_t family, external_rev; /* of the DRM interface */
	uint32_t gc, sdma;             /* versions of the graphics and the copy block: VG_IP */

	uint32_t xcc_cnt, engine_cnt, arrays_per_engine; /* the latter two of one XCC */
	uint32_t cu_per_array, cu_cnt;                   /* built; active in the whole GPU */
	uint32_t simd_per_cu, simd_waves, wave_size;
	uint32_t lds_kib;
	struct vg_cache caches[VG_MAX_CACHES];

	uint32_t sdma_cnt, sdma_xgmi_cnt, sdma_queues, cp_queues;
	uint32_t capability, debug_prop; /* of the KFD topology, as on the real card */
	uint32_t mec_fw, sdma_fw;

	uint32_t sclk_min, sclk_max, mclk_min, mclk_max; /* MHz */
	uint32_t counter_khz;                            /* of the time stamp counter */
	uint64_t vram_bytes;
	uint32_t vram_type, vram_width;
	uint32_t pcie_gen, power_w;
	bool fan, partitions; /* has a fan; can be divided into partitions (and is not) */
};

const struct vg_model *vg_model_find(const char *name); /* architecture or product */
const struct vg_model *vg_model_at(unsigned i);         /* NULL after the last */
uint32_t vg_model__array_cnt(const struct vg_model *m); /* shader arrays of the whole GPU */
/* Active compute units of shader array `array` of an XCC: the first `cnt` of cu_per_array. */
uint32_t vg_model__array_cus(const struct vg_model *m, uint32_t array);
/* Bits of the topology's capability word that the virtual GPU stands up to. */
uint32_t vg_model__capability(const struct vg_model *m, bool svm);

#endif
