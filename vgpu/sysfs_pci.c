// SPDX-License-Identifier: MIT
/*
 * The PCI device of a GPU, as the amdgpu driver fills it, and the ways that lead to it: by its
 * class, its bus and its device numbers. What is a measurement on hardware is a constant here.
 */
#include "tree.h"

#include <string.h>
#include <sys/sysinfo.h>

void vg_pci_name(int gpu, char name[VG_BDF_MAX])
{
	snprintf(name, VG_BDF_MAX, "0000:%02x:00.0", VG_PCI_BUS(gpu));
}

/* Each on a root bus of its own, so that no real device's directory is hidden. */
void vg_pci_dir(int gpu, char *dir, size_t bytes)
{
	snprintf(dir, bytes, "/sys/devices/pci0000:%02x/0000:%02x:00.0", VG_PCI_BUS(gpu),
		VG_PCI_BUS(gpu));
}

static void put_identity(struct vg_tree *t, int i, const char *dir, const struct vg_model *m)
{
	char bdf[VG_BDF_MAX];

	vg_pci_name(i, bdf);
	vg_tree__in(t, dir, "uevent",
		"DRIVER=amdgpu\nPCI_CLASS=%X\nPCI_ID=1002:%04X\nPCI_SUBSYS_ID=1002:%04X\n"
		"PCI_SLOT_NAME=%s\n",
		m->pci_class, m->device_id, m->subsystem_id, bdf);
	vg_tree__in(t, dir, "vendor", "0x1002\n");
	vg_tree__in(t, dir, "device", "0x%04x\n", m->device_id);
	vg_tree__in(t, dir, "subsystem_vendor", "0x1002\n");
	vg_tree__in(t, dir, "subsystem_device", "0x%04x\n", m->subsystem_id);
	vg_tree__in(t, dir, "revision", "0x%02x\n", m->pci_rev);
	vg_tree__in(t, dir, "class", "0x%06x\n", m->pci_class);
	vg_tree__in(t, dir, "unique_id", "%016llx\n", VG_UNIQUE_ID(i));
	vg_tree__in(t, dir, "product_name", "%s\n", m->marketing);
	vg_tree__in(t, dir, "product_number", "EMULATED\n");
	vg_tree__in(t, dir, "vbios_version", "113-EMULATED-000\n");
}

static void put_bus(struct vg_tree *t, const char *dir, const struct vg_model *m)
{
	/* Gen 3: 8.0, 4: 16.0, 5: 32.0 GT/s */
	unsigned speed = 1u << m->pcie_gen;
	int cpus = get_nprocs_conf();

	vg_tree__in(t, dir, "current_link_speed", "%u.0 GT/s PCIe\n", speed);
	vg_tree__in(t, dir, "max_link_speed", "%u.0 GT/s PCIe\n", speed);
	vg_tree__in(t, dir, "current_link_width", "16\n");
	vg_tree__in(t, dir, "max_link_width", "16\n");
	vg_tree__in(t, dir, "pp_dpm_pcie", "0: %u.0GT/s, x16 *\n", speed);
	vg_tree__in(t, dir, "pcie_replay_count", "0\n");
	vg_tree__in(t, dir, "numa_node", "-1\n");
	vg_tree__in(t, dir, "local_cpulist", cpus > 1 ? "0-%d\n" : "%d\n", cpus - 1);
	vg_tree__in(t, dir, "enable", "1\n");
}

static void put_clock(
	struct vg_tree *t, const char *dir, const char *name, unsigned min, unsigned max)
{
	vg_tree__in(t, dir, name, "0: %uMhz\n1: %uMhz *\n", min, max);
}

static void put_state(struct vg_tree *t, const char *dir, const struct vg_model *m)
{
	static const char *const ras[] = {"umc", "sdma", "gfx"};
	bool ecc = m->capability >> 26 & 1;
	char name[32];

	put_clock(t, dir, "pp_dpm_sclk", m->sclk_min, m->sclk_max);
	put_clock(t, dir, "pp_dpm_mclk", m->mclk_min, m->mclk_max);
	vg_tree__in(t, dir, "power_dpm_force_performance_level", "auto\n");
	vg_tree__in(t, dir, "power_dpm_state", "performance\n");
	vg_tree__in(t, dir, "mem_busy_percent", "0\n");
	vg_tree__in(t, dir, "mem_info_vram_vendor", "unknown\n");
	for (unsigned k = 0; ecc && k < sizeof ras / sizeof *ras; k++) {
		snprintf(name, sizeof name, "ras/%s_err_count", ras[k]);
		vg_tree__in(t, dir, name, "ue: 0\nce: 0\n");
	}
	if (ecc) {
		vg_tree__in(t, dir, "ras/features", "feature mask: 0x7\n");
		vg_tree__in(t, dir, "ras/gpu_vram_bad_pages", "%s", "");
	}
	if (!m->partitions)
		return;
	vg_tree__in(t, dir, "available_compute_partition", "SPX\n");
	vg_tree__in(t, dir, "current_compute_partition", "SPX\n");
	vg_tree__in(t, dir, "available_memory_partition", "NPS1\n");
	vg_tree__in(t, dir, "current_memory_partition", "NPS1\n");
}

static void put_firmware(struct vg_tree *t, const char *dir, const struct vg_model *m)
{
	/* 0: not loaded */
	const struct {
		const char *name;
		uint32_t version;
	} fw[] = {{"asd", 0}, {"ce", 0}, {"dmcu", 0}, {"mc", 0}, {"me", 0}, {"mec", m->mec_fw},
		{"mec2", m->mec_fw}, {"mes", 0}, {"mes_kiq", 0}, {"pfp", 0}, {"rlc", 0},
		{"rlc_srlc", 0}, {"rlc_srlg", 0}, {"rlc_srls", 0}, {"sdma", m->sdma_fw},
		{"sdma2", m->sdma_fw}, {"smc", 0}, {"sos", 0}, {"ta_ras", 0}, {"ta_xgmi", 0},
		{"uvd", 0}, {"vce", 0}, {"vcn", 0}};
	char name[64];

	for (unsigned k = 0; k < sizeof fw / sizeof *fw; k++) {
		snprintf(name, sizeof name, "fw_version/%s_fw_version", fw[k].name);
		vg_tree__in(t, dir, name, "0x%08x\n", fw[k].version);
	}
}

/* What the IP discovery table of the card says about the two blocks that are emulated. */
static void put_discovery(struct vg_tree *t, const char *dir, const struct vg_model *m)
{
	const struct {
		const char *name;
		unsigned id, version;
	} ip[] = {{"GC", 11, m->gc}, {"SDMA0", 42, m->sdma}};

	for (unsigned k = 0; k < 2; k++) {
		char d[256];

		snprintf(d, sizeof d, "%s/ip_discovery/die/0/%u/0", dir, ip[k].id);
		vg_tree__in(t, d, "hw_id", "%u\n", ip[k].id);
		vg_tree__in(t, d, "num_instance", "0\n");
		vg_tree__in(t, d, "major", "%u\n", ip[k].version >> 16);
		vg_tree__in(t, d, "minor", "%u\n", ip[k].version >> 8 & 0xff);
		vg_tree__in(t, d, "revision", "%u\n", ip[k].version & 0xff);
		snprintf(d, sizeof d, "%s/ip_discovery/die/0/%s", dir, ip[k].name);
		vg_tree__link(t, d, ip[k].id == 11 ? "11" : "42");
	}
}

/* The two DRM nodes: their own directories, and the links by class and by number. */
static void put_node(struct vg_tree *t, int i, const char *dir, const char *name, int minor)
{
	const char *below_sys = dir + strlen("/sys/");
	char d[192], f[256], target[320];

	snprintf(d, sizeof d, "%s/drm/%s", dir, name);
	vg_tree__in(t, d, "dev", "226:%d\n", minor);
	vg_tree__in(t, d, "uevent", "MAJOR=226\nMINOR=%d\nDEVNAME=dri/%s\nDEVTYPE=drm_minor\n",
		minor, name);
	snprintf(f, sizeof f, "%s/device", d);
	snprintf(target, sizeof target, "../../../0000:%02x:00.0", VG_PCI_BUS(i));
	vg_tree__link(t, f, target);
	snprintf(f, sizeof f, "%s/subsystem", d);
	vg_tree__link(t, f, "../../../../../class/drm");
	snprintf(target, sizeof target, "../../%s/drm/%s", below_sys, name);
	snprintf(f, sizeof f, "/sys/class/drm/%s", name);
	vg_tree__link(t, f, target);
	snprintf(f, sizeof f, "/sys/dev/char/226:%d", minor);
	vg_tree__link(t, f, target);
	snprintf(f, sizeof f, "/dev/dri/%s", name);
	vg_tree__text(t, f, "");
}

static void put_ways(struct vg_tree *t, int i, const char *dir)
{
	char bdf[VG_BDF_MAX], f[256], target[320], name[32];

	vg_pci_name(i, bdf);
	snprintf(name, sizeof name, "card%d", i);
	put_node(t, i, dir, name, i);
	snprintf(name, sizeof name, "renderD%d", VG_MINOR0 + i);
	put_node(t, i, dir, name, VG_MINOR0 + i);
	snprintf(f, sizeof f, "/sys/bus/pci/devices/%s", bdf);
	snprintf(target, sizeof target, "../../../%s", dir + strlen("/sys/"));
	vg_tree__link(t, f, target);
	snprintf(f, sizeof f, "/sys/bus/pci/drivers/amdgpu/%s", bdf);
	snprintf(target, sizeof target, "../../../../%s", dir + strlen("/sys/"));
	vg_tree__link(t, f, target);
	snprintf(f, sizeof f, "/sys/class/pci_bus/0000:%02x", VG_PCI_BUS(i));
	snprintf(target, sizeof target, "../../devices/pci0000:%02x/pci_bus/0000:%02x",
		VG_PCI_BUS(i), VG_PCI_BUS(i));
	vg_tree__link(t, f, target);
	snprintf(f, sizeof f, "/sys/devices/pci0000:%02x/pci_bus/0000:%02x", VG_PCI_BUS(i),
		VG_PCI_BUS(i));
	vg_tree__dir(t, f);
	snprintf(f, sizeof f, "%s/driver", dir);
	vg_tree__link(t, f, "../../../bus/pci/drivers/amdgpu");
	snprintf(f, sizeof f, "%s/subsystem", dir);
	vg_tree__link(t, f, "../../../bus/pci");
}

void vg_sysfs__pci(struct vg_tree *t, int i, const struct vg_model *m)
{
	char dir[128];

	vg_pci_dir(i, dir, sizeof dir);
	put_identity(t, i, dir, m);
	put_bus(t, dir, m);
	put_state(t, dir, m);
	put_firmware(t, dir, m);
	put_discovery(t, dir, m);
	put_ways(t, i, dir);
	vg_sysfs__hwmon(t, i, dir, m);
}
