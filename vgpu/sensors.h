// SPDX-License-Identifier: MIT
/* What the emulated sensors say: constants, the same for each model, load or not. */
#ifndef VGPU_SENSORS_H
#define VGPU_SENSORS_H

#define VG_EDGE_C      40
#define VG_JUNCTION_C  45
#define VG_MEMORY_C    42
#define VG_CRITICAL_C  100
#define VG_POWER_W     50
#define VG_VOLTAGE_MV  800
#define VG_FAN_RPM     660
#define VG_FAN_MAX_RPM 3300

#endif
