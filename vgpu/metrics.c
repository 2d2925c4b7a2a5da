// SPDX-License-Identifier: MIT
/*
 * The binary gpu_metrics file: format 1, content 3 (until gfx90a, and gfx11) and 4 (gfx942 and
 * later). All bits set is the driver's "not there" in an integer.
 */
#include "tree.h"
#include "sensors.h"

#include <string.h>

struct header {
	uint16_t bytes;
	uint8_t format, content;
};

struct metrics_v1_3 {
	struct header head;
	uint16_t edge, hotspot, mem, vrgfx, vrsoc, vrmem;          /* C */
	uint16_t gfx_activity, umc_activity, mm_activity, power;   /* percent, W */
	uint64_t energy, system_clock;                             /* 15.3 uJ; ns */
	uint16_t average[7];                                       /* MHz */
	uint16_t gfxclk, socclk, uclk, vclk0, dclk0, vclk1, dclk1; /* MHz, now */
	uint32_t throttle;
	uint16_t fan, pcie_width, pcie_speed, pad; /* rpm, lanes, 0.1 GT/s */
	uint32_t gfx_acc, mem_acc;
	uint16_t hbm[4];
	uint64_t firmware_time;
	uint16_t voltage_soc, voltage_gfx, voltage_mem, pad1;
	uint64_t throttle64;
};
static_assert(sizeof(struct metrics_v1_3) == 120, "gpu_metrics 1.3");

struct metrics_v1_4 {
	struct header head;
	uint16_t hotspot, mem, vrsoc, power, gfx_activity, umc_activity, vcn[4];
	uint64_t energy, system_clock;
	uint32_t throttle, gfxclk_lock;
	uint16_t pcie_width, pcie_speed, xgmi_width, xgmi_speed;
	uint32_t gfx_acc, mem_acc;
	uint64_t pcie_bandwidth_acc, pcie_bandwidth, pcie_recoveries, pcie_replays, pcie_rollovers;
	uint64_t xgmi_read[8], xgmi_write[8];
	uint64_t firmware_time;
	uint16_t gfxclk[8], socclk[4], vclk0[4], dclk0[4], uclk, pad;
};
static_assert(sizeof(struct metrics_v1_4) == 288, "gpu_metrics 1.4");

/* What both have, by name; the rest is not there. */
#define PUT_COMMON(v, content, m, busy)                                                            \
	do {                                                                                       \
		memset(&(v), 0xff, sizeof(v));                                                     \
		(v).head = (struct header){sizeof(v), 1, content};                                 \
		(v).hotspot = VG_JUNCTION_C;                                                       \
		(v).mem = VG_MEMORY_C;                                                             \
		(v).power = VG_POWER_W;                                                            \
		(v).gfx_activity = (uint16_t)(busy);                                               \
		(v).umc_activity = 0;                                                              \
		(v).energy = 0;                                                                    \
		(v).system_clock = vg_clock__read(-1).system;                                      \
		(v).uclk = (uint16_t)(m)->mclk_max;                                                \
		(v).throttle = 0;                                                                  \
		(v).pcie_width = 16;                                                               \
		(v).pcie_speed = (uint16_t)(10u << (m)->pcie_gen);                                 \
		(v).gfx_acc = (v).mem_acc = 0;                                                     \
	} while (0)

static size_t put(const void *from, size_t bytes, void *out, size_t room)
{
	if (room < bytes)
		return 0;
	memcpy(out, from, bytes);
	return bytes;
}

static size_t put_v1_3(const struct vg_model *m, unsigned busy, void *out, size_t room)
{
	struct metrics_v1_3 v;

	PUT_COMMON(v, 3, m, busy);
	v.edge = VG_EDGE_C;
	v.mm_activity = 0;
	v.average[0] = v.gfxclk = (uint16_t)m->sclk_max;
	v.average[2] = v.uclk;
	v.throttle64 = 0;
	v.fan = m->fan ? VG_FAN_RPM : 0;
	v.voltage_gfx = VG_VOLTAGE_MV;
	return put(&v, sizeof v, out, room);
}

static size_t put_v1_4(const struct vg_model *m, unsigned busy, void *out, size_t room)
{
	struct metrics_v1_4 v;

	PUT_COMMON(v, 4, m, busy);
	v.gfxclk_lock = 0;
	v.pcie_bandwidth_acc = v.pcie_bandwidth = v.pcie_recoveries = 0;
	v.pcie_replays = v.pcie_rollovers = 0;
	for (uint32_t i = 0; i < m->xcc_cnt; i++)
		v.gfxclk[i] = (uint16_t)m->sclk_max;
	return put(&v, sizeof v, out, room);
}

size_t vg_metrics(const struct vg_model *m, unsigned busy_percent, void *out, size_t room)
{
	return (m->partitions ? put_v1_4 : put_v1_3)(m, busy_percent, out, room);
}
