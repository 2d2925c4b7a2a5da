// SPDX-License-Identifier: MIT
/* The sensors of a GPU. Nothing is measured: each value is a constant of this file. */
#include "tree.h"
#include "sensors.h"

#include <string.h>

static void put_sensors(struct vg_tree *t, const char *dir, const struct vg_model *m)
{
	/* MI300 and later have no edge sensor, and report momentary power. */
	const struct {
		int number;
		const char *label;
		unsigned c;
		bool there;
	} temps[] = {{1, "edge", VG_EDGE_C, !m->partitions}, {2, "junction", VG_JUNCTION_C, true},
		{3, "mem", VG_MEMORY_C, true}};
	char name[32];

	vg_tree__in(t, dir, "name", "amdgpu\n");
	for (unsigned k = 0; k < sizeof temps / sizeof *temps; k++) {
		if (!temps[k].there)
			continue;
		snprintf(name, sizeof name, "temp%d_input", temps[k].number);
		vg_tree__in(t, dir, name, "%u\n", temps[k].c * 1000);
		snprintf(name, sizeof name, "temp%d_label", temps[k].number);
		vg_tree__in(t, dir, name, "%s\n", temps[k].label);
		snprintf(name, sizeof name, "temp%d_crit", temps[k].number);
		vg_tree__in(t, dir, name, "%u\n", VG_CRITICAL_C * 1000);
	}
	vg_tree__in(t, dir, m->partitions ? "power1_input" : "power1_average", "%u\n",
		VG_POWER_W * 1000000);
	vg_tree__in(t, dir, "power1_label", "PPT\n");
	vg_tree__in(t, dir, "power1_cap", "%u\n", m->power_w * 1000000);
	vg_tree__in(t, dir, "power1_cap_default", "%u\n", m->power_w * 1000000);
	vg_tree__in(t, dir, "power1_cap_max", "%u\n", m->power_w * 1000000);
	vg_tree__in(t, dir, "power1_cap_min", "0\n");
	vg_tree__in(t, dir, "freq1_input", "%u000000\n", m->sclk_max);
	vg_tree__in(t, dir, "freq1_label", "sclk\n");
	vg_tree__in(t, dir, "freq2_input", "%u000000\n", m->mclk_max);
	vg_tree__in(t, dir, "freq2_label", "mclk\n");
	if (!m->partitions) {
		vg_tree__in(t, dir, "in0_input", "%u\n", VG_VOLTAGE_MV);
		vg_tree__in(t, dir, "in0_label", "vddgfx\n");
	}
	if (!m->fan)
		return;
	vg_tree__in(t, dir, "fan1_input", "%u\n", VG_FAN_RPM);
	vg_tree__in(t, dir, "fan1_min", "0\n");
	vg_tree__in(t, dir, "fan1_max", "%u\n", VG_FAN_MAX_RPM);
	vg_tree__in(t, dir, "pwm1", "%u\n", 255 * VG_FAN_RPM / VG_FAN_MAX_RPM);
	vg_tree__in(t, dir, "pwm1_min", "0\n");
	vg_tree__in(t, dir, "pwm1_max", "255\n");
	vg_tree__in(t, dir, "pwm1_enable", "2\n");
}

void vg_sysfs__hwmon(struct vg_tree *t, int gpu, const char *device, const struct vg_model *m)
{
	char dir[192], f[256], target[320];

	snprintf(dir, sizeof dir, "%s/hwmon/hwmon%d", device, VG_HWMON0 + gpu);
	put_sensors(t, dir, m);
	snprintf(f, sizeof f, "%s/device", dir);
	snprintf(target, sizeof target, "../../../0000:%02x:00.0", VG_PCI_BUS(gpu));
	vg_tree__link(t, f, target);
	snprintf(f, sizeof f, "/sys/class/hwmon/hwmon%d", VG_HWMON0 + gpu);
	snprintf(target, sizeof target, "../../%s", dir + strlen("/sys/"));
	vg_tree__link(t, f, target);
}
