// SPDX-License-Identifier: MIT
/* vgpu-run's option about clocks. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"

/*
 * Rates and suspends count from the start of the run, which is the same moment for all of its
 * processes.
 */
int run_clock__set(const char *list)
{
	struct vg_clock clock = {0};
	struct timespec now;
	const char *bad;
	char *text;
	int code;

	if (!*list)
		return run_fail(EXIT_OWN, "--clock ppm=20", "--clock: nothing is set");
	if (vg_clock__parse(&clock, list, &bad))
		return run_fail(EXIT_OWN,
			"--clock 'offset=3s,ppm=20,1:ppm=-35.5,drift=30/10s,steps=30/2s,mhz=25,"
			"jitter=800ns,suspend=2s@5s,counter=resets'",
			"--clock %s: cannot be read from here on: %s", list, bad);
	clock_gettime(CLOCK_BOOTTIME, &now);
	for (unsigned i = 0; i < VG_CLOCK_GPUS; i++)
		if (-clock.gpus[i].offset_ns > now.tv_sec * 1000000000ll)
			return run_fail(EXIT_OWN, "use a smaller offset",
				"--clock %s: the counter of GPU %u would be below 0: the machine "
				"has been up for %lld s",
				list, i, (long long)now.tv_sec);
	if (clock.epoch_ns)
		return run_set("VGPU_CLOCK", list); /* of a run around this one */
	if (asprintf(&text, "%s,epoch=%lld", list, now.tv_sec * 1000000000ll + now.tv_nsec) < 0)
		return run_fail(EXIT_OWN, "free some memory", "cannot set VGPU_CLOCK");
	code = run_set("VGPU_CLOCK", text);
	free(text);
	return code;
}
