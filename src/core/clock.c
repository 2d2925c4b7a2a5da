// SPDX-License-Identifier: MIT
#include "core/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool wt_clock__tsc_usable(void)
{
#if defined(__x86_64__)
	char text[32] = "";
	unsigned int eax, ebx, ecx, edx;
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 3)
		text[0] = 0;
	close(fd);
	if (strncmp(text, "tsc", 3) || (text[3] != '\n' && text[3] != 0))
		return false;
	/* Advanced power management, bit 8: the TSC runs at one rate in all states */
	if (!__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx))
		return false;
	return edx >> 8 & 1;
#else
	return false;
#endif
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

void wt_clock__sample(struct wt_clock_sample *sample)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 9; i++) {
		struct wt_clock_sample s;
		uint64_t t0 = clock_ns(CLOCK_MONOTONIC_RAW), t1;

		s.boottime_ns = clock_ns(CLOCK_BOOTTIME);
		s.tsc = wt_clock__read(true);
		s.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
		s.realtime_ns = clock_ns(CLOCK_REALTIME);
		t1 = clock_ns(CLOCK_MONOTONIC_RAW);
		s.width_ns = t1 - t0;
		if (s.width_ns < best) {
			best = s.width_ns;
			*sample = s;
		}
	}
}
