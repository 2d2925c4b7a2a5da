// SPDX-License-Identifier: MIT
/*
 * The contents of the private directory: KFD topology, DRM nodes, the signs of a loaded driver.
 * Which values matter, and to whom, is in docs/VGPU.md.
 */
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define NODES "/sys/devices/virtual/kfd/kfd/topology/nodes"
#define DRM   "/sys/dev/char/226:"

/* Writes files below one root; the first failure sticks. */
struct tree {
	const char *root;
	int err;
};

static void make_parents(char *path, size_t root_len)
{
	for (char *p = path + root_len + 1; *p; p++)
		if (*p == '/') {
			*p = 0;
			mkdir(path, 0755);
			*p = '/';
		}
}

static void put_text(struct tree *t, const char *file, const char *text)
{
	char path[512];
	size_t len = strlen(text);
	int fd;

	if (t->err)
		return;
	if ((size_t)snprintf(path, sizeof path, "%s%s", t->root, file) >= sizeof path) {
		t->err = -ENAMETOOLONG;
		return;
	}
	make_parents(path, strlen(t->root));
	fd = (int)syscall(
		SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0) {
		t->err = -errno;
		return;
	}
	if (syscall(SYS_write, fd, text, len) != (long)len)
		t->err = errno ? -errno : -ENOSPC;
	syscall(SYS_close, fd);
}

__attribute__((format(printf, 3, 4))) static void put(
	struct tree *t, const char *file, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	put_text(t, file, text);
}

static void put_symlink(struct tree *t, const char *file, const char *target)
{
	char path[512];

	if (t->err)
		return;
	snprintf(path, sizeof path, "%s%s", t->root, file);
	make_parents(path, strlen(t->root));
	if (symlink(target, path) && errno != EEXIST)
		t->err = -errno;
}

static void put_link(struct tree *t, int from, int index, int to)
{
	char f[160];

	snprintf(f, sizeof f, NODES "/%d/io_links/%d/properties", from, index);
	/* type 2: PCI Express. flags: bit 0 enabled, none of the "no atomics" bits, so that ROCr's
	 * SDMA completes signals with an atomic and not with a fence. */
	put(t, f,
		"type 2\nversion_major 0\nversion_minor 0\nnode_from %d\nnode_to %d\nweight 20\n"
		"min_latency 0\nmax_latency 0\nmin_bandwidth 312\nmax_bandwidth 31504\n"
		"recommended_transfer_size 0\nrecommended_sdma_engine_id_mask 0\nflags 1\n",
		from, to);
}

static void put_cpu(struct tree *t, int gpu_cnt)
{
	struct sysinfo si = {0};

	sysinfo(&si);
	put_text(t, NODES "/0/gpu_id", "0\n");
	put_text(t, NODES "/0/name", "\n");
	put(t, NODES "/0/properties",
		"cpu_cores_count %d\nsimd_count 0\nmem_banks_count 1\ncaches_count 0\n"
		"io_links_count %d\np2p_links_count 0\ncpu_core_id_base 0\nsimd_id_base 0\n"
		"max_waves_per_simd 0\nlds_size_in_kb 0\ngds_size_in_kb 0\nnum_gws 0\n"
		"wave_front_size 0\narray_count 0\nsimd_arrays_per_engine 0\ncu_per_simd_array 0\n"
		"simd_per_cu 0\nmax_slots_scratch_cu 0\ngfx_target_version 0\nvendor_id 0\n"
		"device_id 0\nlocation_id 0\ndomain 0\ndrm_render_minor 0\nhive_id 0\n"
		"num_sdma_engines 0\nnum_sdma_xgmi_engines 0\nnum_sdma_queues_per_engine 0\n"
		"num_cp_queues 0\nmax_engine_clk_ccompute 3000\n",
		get_nprocs(), gpu_cnt);
	put(t, NODES "/0/mem_banks/0/properties",
		"heap_type 0\nsize_in_bytes %llu\nflags 0\nwidth 64\nmem_clk_max 3200\n",
		(unsigned long long)si.totalram * si.mem_unit);
	for (int i = 0; i < gpu_cnt; i++)
		put_link(t, 0, i, i + 1);
}

/*
 * HSA_CAPABILITY: bit 7 watch points, 8 to 11 log2 of their number, 12 to 13 doorbell type (2: 64
 * bits, indices), 20 ECC, 21 RAS events, 22 to 25 revision, 26 SRAM ECC. Left out: SVM API (27)
 * and everything of the debugger.
 */
static unsigned capability(const struct vg_model *a)
{
	return 1u << 7 | 2u << 8 | 2u << 12 | 1u << 20 | 1u << 21 | 1u << 22 |
	       (a->sram_ecc ? 1u << 26 : 0);
}

static void put_gpu(struct tree *t, int i, const struct vg_model *a)
{
	int node = i + 1;
	char f[160];

	snprintf(f, sizeof f, NODES "/%d/gpu_id", node);
	put(t, f, "%u\n", VG_GPU_ID(i));
	snprintf(f, sizeof f, NODES "/%d/name", node);
	put(t, f, "%s\n", a->codename);
	snprintf(f, sizeof f, NODES "/%d/properties", node);
	put(t, f,
		"cpu_cores_count 0\nsimd_count %u\nmem_banks_count 1\ncaches_count 2\n"
		"io_links_count 1\np2p_links_count 0\ncpu_core_id_base 0\n"
		"simd_id_base 2147487744\nmax_waves_per_simd %u\nlds_size_in_kb 64\n"
		"gds_size_in_kb 0\nnum_gws 64\nwave_front_size 64\narray_count %u\n"
		"simd_arrays_per_engine 1\ncu_per_simd_array %u\nsimd_per_cu 4\n"
		"max_slots_scratch_cu 32\ngfx_target_version %u\nvendor_id 4098\ndevice_id %u\n"
		"location_id %d\ndomain 0\ndrm_render_minor %d\nhive_id 0\nnum_sdma_engines 2\n"
		"num_sdma_xgmi_engines 3\nnum_sdma_queues_per_engine 8\nnum_cp_queues 24\n"
		"max_engine_clk_fcompute 1700\nlocal_mem_size 0\nfw_version 78\ncapability %u\n"
		"debug_prop 1495\nsdma_fw_version 8\nunique_id %llu\nnum_xcc 1\n"
		"max_engine_clk_ccompute 3000\n",
		a->cu_cnt * 4, a->simd_waves, a->engine_cnt, a->cu_per_array, a->gfx_target_version,
		a->device_id, 0x300 + 0x100 * i, VG_MINOR0 + i, capability(a),
		0x5647505500000000ull + (unsigned)i);
	snprintf(f, sizeof f, NODES "/%d/mem_banks/0/properties", node);
	/* heap_type 1: all of it visible to the host (large BAR) */
	put(t, f, "heap_type 1\nsize_in_bytes %llu\nflags 0\nwidth 4096\nmem_clk_max 1600\n",
		(unsigned long long)a->vram_bytes);
	for (int c = 0; c < 2; c++) {
		snprintf(f, sizeof f, NODES "/%d/caches/%d/properties", node, c);
		/* type: bit 3 (HSACU) set and bit 1 clear, or ROCr 5.2.3 asserts */
		put(t, f,
			"processor_id_low 2147487744\nlevel %d\nsize %d\ncache_line_size %d\n"
			"cache_lines_per_tag 1\nassociation 16\nlatency 0\ntype 9\nsibling_map 1\n",
			c + 1, c ? 8192 : 16, c ? 128 : 64);
	}
	put_link(t, node, 0, 0);
}

static void put_drm(struct tree *t, int i, const struct vg_model *a)
{
	int minor = VG_MINOR0 + i;
	char f[160], text[320];
	struct {
		const char *name;
		unsigned value;
	} const ids[] = {
		{"vendor", 0x1002},
		{"device", a->device_id},
		{"subsystem_vendor", 0x1002},
		{"subsystem_device", 0x0c34},
		{"revision", a->pci_rev},
	};

	snprintf(f, sizeof f, "/dev/dri/renderD%d", minor);
	put_text(t, f, "");
	snprintf(f, sizeof f, "/dev/dri/card%d", i);
	put_text(t, f, "");
	snprintf(f, sizeof f, DRM "%d/device/drm/card%d/dev", minor, i);
	put(t, f, "226:%d\n", i);
	snprintf(f, sizeof f, DRM "%d/device/drm/renderD%d/dev", minor, minor);
	put(t, f, "226:%d\n", minor);
	snprintf(f, sizeof f, DRM "%d/device/uevent", minor);
	put(t, f,
		"DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:%04X\nPCI_SUBSYS_ID=1002:0C34\n"
		"PCI_SLOT_NAME=0000:%02x:00.0\n",
		a->device_id, 3 + i);
	for (unsigned k = 0; k < sizeof ids / sizeof *ids; k++) {
		snprintf(f, sizeof f, DRM "%d/device/%s", minor, ids[k].name);
		put(t, f, ids[k].value < 0x100 ? "0x%02x\n" : "0x%04x\n", ids[k].value);
	}
	snprintf(f, sizeof f, DRM "%d/device/subsystem", minor);
	put_symlink(t, f, "/sys/bus/pci");
	/* /sys/class/drm: what monitoring tools walk */
	snprintf(f, sizeof f, "/sys/class/drm/renderD%d", minor);
	snprintf(text, sizeof text, "../../dev/char/226:%d/device/drm/renderD%d", minor, minor);
	put_symlink(t, f, text);
	snprintf(f, sizeof f, "/sys/class/drm/card%d", i);
	snprintf(text, sizeof text, "../../dev/char/226:%d/device/drm/card%d", minor, i);
	put_symlink(t, f, text);
}

int vg_sysfs__build(const char *root, const struct vg_conf *conf)
{
	static const struct {
		const char *file, *text;
	} fixed[] = {
		{"/dev/kfd", ""},
		{"/dev/dri/.vgpu", ""}, /* the directory is there even with no GPU */
		/* rocminfo asks whether the driver is loaded: 5.x runs lsmod, 6.x reads initstate
		 */
		{"/proc/modules", "amdgpu 14041088 0 - Live 0x0000000000000000\n"},
		{"/sys/module/amdgpu/initstate", "live\n"},
		{"/sys/module/amdgpu/coresize", "14041088\n"},
		{"/sys/module/amdgpu/refcnt", "0\n"},
		{"/sys/module/amdgpu/version", "6.8.5\n"},
		{"/sys/module/amdgpu/holders/.vgpu", ""},
		{"/sys/devices/virtual/kfd/kfd/topology/generation_id", "2\n"},
		{"/sys/devices/virtual/kfd/kfd/topology/system_properties",
			"platform_oem 0\nplatform_id 0\nplatform_rev 0\n"},
	};
	struct tree t = {.root = root};

	for (unsigned i = 0; i < sizeof fixed / sizeof *fixed; i++)
		put_text(&t, fixed[i].file, fixed[i].text);
	put_symlink(&t, "/sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd");
	put_cpu(&t, conf->gpu_cnt);
	for (int i = 0; i < conf->gpu_cnt; i++) {
		put_gpu(&t, i, conf->model);
		put_drm(&t, i, conf->model);
	}
	return t.err;
}
