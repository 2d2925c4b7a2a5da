// SPDX-License-Identifier: MIT
/* The KFD topology: a node for the CPU, one for each GPU, each with its memory, caches and links.
 */
#include "tree.h"

#include <string.h>
#include <sys/sysinfo.h>

#define CPU_MHZ     3000
#define FIRST_SIMD  0x80001000u /* compute units are numbered from here, over all GPUs */
#define MAX_SIBLING 512

static void put_cpu(struct vg_tree *t, int gpu_cnt)
{
	int links = vg_sysfs__links(t, 0, gpu_cnt);
	struct sysinfo si = {0};

	sysinfo(&si);
	vg_tree__text(t, VG_NODES "/0/gpu_id", "0\n");
	vg_tree__text(t, VG_NODES "/0/name", "\n");
	vg_tree__put(t, VG_NODES "/0/properties",
		"cpu_cores_count %d\nsimd_count 0\nmem_banks_count 1\ncaches_count 0\n"
		"io_links_count %d\np2p_links_count 0\ncpu_core_id_base 0\nsimd_id_base 0\n"
		"max_waves_per_simd 0\nlds_size_in_kb 0\ngds_size_in_kb 0\nnum_gws 0\n"
		"wave_front_size 0\narray_count 0\nsimd_arrays_per_engine 0\ncu_per_simd_array 0\n"
		"simd_per_cu 0\nmax_slots_scratch_cu 0\ngfx_target_version 0\nvendor_id 0\n"
		"device_id 0\nlocation_id 0\ndomain 0\ndrm_render_minor 0\nhive_id 0\n"
		"num_sdma_engines 0\nnum_sdma_xgmi_engines 0\nnum_sdma_queues_per_engine 0\n"
		"num_cp_queues 0\nmax_engine_clk_ccompute %d\n",
		get_nprocs(), links, CPU_MHZ);
	vg_tree__put(t, VG_NODES "/0/mem_banks/0/properties",
		"heap_type 0\nsize_in_bytes %llu\nflags 0\nwidth 64\nmem_clk_max 3200\n",
		(unsigned long long)si.totalram * si.mem_unit);
}

/* ---- caches ---- */

struct cache_list {
	struct vg_tree *t;
	int node, cnt;
};

static char *put_mask(char *p, uint32_t mask, int bits)
{
	for (int i = 0; i < bits; i++) {
		*p++ = mask >> i & 1 ? '1' : '0';
		*p++ = ',';
	}
	return p;
}

/* The map of siblings, 32 bits for each shader array that it covers, ends without a comma. */
static void put_cache(
	struct cache_list *l, const struct vg_cache *c, uint32_t first_cu, const char *map)
{
	char f[128];

	snprintf(f, sizeof f, VG_NODES "/%d/caches/%d/properties", l->node, l->cnt++);
	/* type: 1 data, 2 instructions, 8 of a GPU */
	vg_tree__put(l->t, f,
		"processor_id_low %u\nlevel %d\nsize %u\ncache_line_size %u\n"
		"cache_lines_per_tag 0\nassociation 0\nlatency 0\ntype %d\nsibling_map %s\n",
		first_cu, c->level, c->kib, c->line, c->code ? 10 : 9, map);
}

static uint32_t low_bits(uint32_t n)
{
	return n < 32 ? (1u << n) - 1 : ~0u;
}

/* One entry for each `shared` units of an array in which any is active. */
static void put_array(struct cache_list *l, const struct vg_model *m, const struct vg_cache *c,
	uint32_t array, uint32_t first_cu)
{
	uint32_t active =
		low_bits(vg_model__array_cus(m, array % (m->engine_cnt * m->arrays_per_engine)));
	char map[2 * 32 + 1];

	for (uint32_t cu = 0; cu < m->cu_per_array; cu += c->shared) {
		uint32_t users = active >> cu & low_bits(c->shared);

		if (!users)
			continue;
		put_mask(map, users, 32)[-1] = 0;
		put_cache(l, c, first_cu + cu, map);
	}
}

static void put_shared(
	struct cache_list *l, const struct vg_model *m, const struct vg_cache *c, uint32_t first_cu)
{
	char map[2 * 32 * MAX_SIBLING / 8 + 1], *p = map;

	for (uint32_t a = 0; a < vg_model__array_cnt(m); a++)
		p = put_mask(p,
			low_bits(vg_model__array_cus(
				m, a % (m->engine_cnt * m->arrays_per_engine))) &
				low_bits(c->shared),
			32);
	p[-1] = 0;
	put_cache(l, c, first_cu, map);
}

static int put_caches(struct vg_tree *t, int node, const struct vg_model *m, uint32_t first_cu)
{
	struct cache_list l = {t, node, 0};

	for (const struct vg_cache *c = m->caches; c < m->caches + VG_MAX_CACHES && c->level; c++) {
		if (c->level > 1) {
			put_shared(&l, m, c, first_cu);
			continue;
		}
		for (uint32_t a = 0; a < vg_model__array_cnt(m); a++)
			put_array(&l, m, c, a, first_cu + a * m->cu_per_array);
	}
	return l.cnt;
}

/* ---- the GPU ---- */

static void put_gpu(struct vg_tree *t, int i, const struct vg_conf *conf)
{
	const struct vg_model *m = conf->model;
	int gpu_cnt = conf->gpu_cnt;
	uint32_t arrays = vg_model__array_cnt(m);
	uint32_t first_cu = FIRST_SIMD + (uint32_t)i * arrays * m->cu_per_array;
	int node = i + 1, caches = put_caches(t, node, m, first_cu);
	bool xgmi = m->sdma_xgmi_cnt > 0;
	int links = vg_sysfs__links(t, node, gpu_cnt);
	int peers = vg_sysfs__peer_links(t, node, gpu_cnt, xgmi);
	char dir[128];

	snprintf(dir, sizeof dir, VG_NODES "/%d", node);
	vg_tree__in(t, dir, "gpu_id", "%u\n", VG_GPU_ID(i));
	vg_tree__in(t, dir, "name", "%s\n", m->codename);
	vg_tree__in(t, dir, "properties",
		"cpu_cores_count 0\nsimd_count %u\nmem_banks_count 1\ncaches_count %d\n"
		"io_links_count %d\np2p_links_count %d\ncpu_core_id_base 0\n"
		"simd_id_base %u\nmax_waves_per_simd %u\nlds_size_in_kb %u\n"
		"gds_size_in_kb 0\nnum_gws 64\nwave_front_size %u\narray_count %u\n"
		"simd_arrays_per_engine %u\ncu_per_simd_array %u\nsimd_per_cu %u\n"
		"max_slots_scratch_cu 32\ngfx_target_version %u\nvendor_id 4098\ndevice_id %u\n"
		"location_id %u\ndomain 0\ndrm_render_minor %d\nhive_id %llu\nnum_sdma_engines %u\n"
		"num_sdma_xgmi_engines %u\nnum_sdma_queues_per_engine %u\nnum_cp_queues %u\n"
		"max_engine_clk_fcompute %u\nlocal_mem_size 0\nfw_version %u\ncapability %u\n"
		"debug_prop %u\nsdma_fw_version %u\nunique_id %llu\nnum_xcc %u\n"
		"max_engine_clk_ccompute %d\n",
		m->cu_cnt * m->simd_per_cu, caches, links + (xgmi ? peers : 0), xgmi ? 0 : peers,
		first_cu, m->simd_waves, m->lds_kib, m->wave_size, arrays, m->arrays_per_engine,
		m->cu_per_array, m->simd_per_cu, m->gfx_target_version, m->device_id,
		VG_PCI_BUS(i) << 8, VG_MINOR0 + i, xgmi && peers ? VG_HIVE_ID : 0, m->sdma_cnt,
		m->sdma_xgmi_cnt, m->sdma_queues, m->cp_queues, m->sclk_max, m->mec_fw,
		vg_model__capability(m, conf->svm), m->debug_prop, m->sdma_fw, VG_UNIQUE_ID(i),
		m->xcc_cnt, CPU_MHZ);
	/* heap_type 1: all of it visible to the host (large BAR) */
	vg_tree__in(t, dir, "mem_banks/0/properties",
		"heap_type 1\nsize_in_bytes %llu\nflags 0\nwidth %u\nmem_clk_max %u\n",
		(unsigned long long)m->vram_bytes, m->vram_width, m->mclk_max);
}

void vg_sysfs__kfd(struct vg_tree *t, const struct vg_conf *conf)
{
	vg_tree__text(t, "/sys/devices/virtual/kfd/kfd/topology/generation_id", "2\n");
	vg_tree__text(t, "/sys/devices/virtual/kfd/kfd/topology/system_properties",
		"platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
	vg_tree__put(t, "/sys/devices/virtual/kfd/kfd/dev", "%d:0\n", VG_KFD_MAJOR);
	vg_tree__dir(t, "/sys/devices/virtual/kfd/kfd/proc");
	vg_tree__link(t, "/sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd");
	put_cpu(t, conf->gpu_cnt);
	for (int i = 0; i < conf->gpu_cnt; i++)
		put_gpu(t, i, conf);
}
