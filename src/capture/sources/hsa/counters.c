// SPDX-License-Identifier: MIT
/*
 * The GPU's counter and CLOCK_BOOTTIME as the kernel driver reads them together.
 *
 * The runtime's own conversion goes through the counter's reading at its start: it is off by
 * microseconds where the rate drifts, and by everything once the counter has begun anew after a
 * suspend. The driver's word is the same that the runtime gets.
 *
 * The file is open for the reading alone: a program may close all its files, or fork.
 */
#include "capture/sources/hsa/hsa.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "capture/files.h"

#define TRIES         5
#define TIGHT_NS      2000u        /* no better is to be had from a bus */
#define FOLLOWS_TICKS (1ull << 34) /* more than the self-test may take, at a GHz */

/* AMDKFD_IOC_GET_CLOCK_COUNTERS, linux/kfd_ioctl.h */
struct kfd_clock_counters {
	uint64_t gpu, cpu, system, frequency;
	uint32_t gpu_id, pad;
};
#define KFD_GET_CLOCK_COUNTERS _IOWR('K', 0x05, struct kfd_clock_counters)

uint32_t wt_counter__of_node(uint32_t node)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%u/gpu_id", node);
	wt_files__read(path, text, sizeof(text));
	return (uint32_t)strtoul(text, NULL, 10);
}

/* The counter was read between `before` and the driver's look at its own clock. */
static bool read_once(int fd, uint32_t gpu_id, struct wt_reading *reading)
{
	struct kfd_clock_counters c = {.gpu_id = gpu_id};
	uint64_t before = wt_clock__boottime_ns();

	if (ioctl(fd, KFD_GET_CLOCK_COUNTERS, &c) || !c.gpu || !c.system ||
		c.frequency != 1000000000u)
		return false;
	reading->ticks = c.gpu;
	reading->ns = c.system;
	reading->width_ns = c.system > before ? c.system - before : 0;
	return true;
}

bool wt_counter__read(uint32_t gpu_id, struct wt_reading *reading)
{
	int saved = errno, fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	struct wt_reading now;
	bool any = false;

	for (int i = 0; fd >= 0 && i < TRIES; i++) {
		if (!read_once(fd, gpu_id, &now))
			break;
		if (!any || now.width_ns < reading->width_ns)
			*reading = now;
		any = true;
		if (reading->width_ns < TIGHT_NS)
			break;
	}
	if (fd >= 0)
		close(fd);
	errno = saved;
	return any;
}

bool wt_counter__follows(const struct wt_reading *reading, uint64_t ticks)
{
	return reading->ticks >= ticks && reading->ticks - ticks < FOLLOWS_TICKS;
}
