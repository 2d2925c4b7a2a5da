// SPDX-License-Identifier: MIT
/* vgpu-run's options about time: read here as libvgpu.so will read them, so that it need not fail.
 */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

static int check_kernels(const char *value, struct vg_mistake *mistake)
{
	struct vg_kernel_times times;

	return vg_kernel_times__parse(&times, value, mistake);
}

static int check_packets(const char *value, struct vg_mistake *mistake)
{
	struct vg_costs costs;

	vg_costs__init(&costs);
	return vg_costs__parse_packets(&costs, value, mistake);
}

static int check_gbps(const char *value, struct vg_mistake *mistake)
{
	struct vg_costs costs;

	vg_costs__init(&costs);
	return vg_costs__parse_gbps(&costs, value, mistake);
}

static int check_latency(const char *value, struct vg_mistake *mistake)
{
	struct vg_costs costs;

	vg_costs__init(&costs);
	return vg_costs__parse_latency(&costs, value, mistake);
}

static int check_durations(const char *value, struct vg_mistake *mistake)
{
	static char at[40];
	struct vg_samples *samples;
	unsigned long line;
	int err = vg_samples__read(value, &samples, &line, &mistake->why);

	snprintf(at, sizeof at, line ? "line %lu" : "the file", line);
	mistake->at = at;
	vg_samples__free(samples);
	return err;
}

static int check_seed(const char *value, struct vg_mistake *mistake)
{
	uint64_t seed;

	*mistake = (struct vg_mistake){value, "a whole number of at most 15 digits is needed"};
	return vg_parse_ns(value, strlen(value), &seed) ? 0 : -1;
}

static int check_concurrency(const char *value, struct vg_mistake *mistake)
{
	uint64_t cnt;

	*mistake = (struct vg_mistake){value, "a whole number from 0 to 128 is needed"};
	return vg_parse_ns(value, strlen(value), &cnt) && cnt <= 128 ? 0 : -1;
}

static const struct {
	const char *name, *variable, *hint;
	int (*check)(const char *value, struct vg_mistake *mistake);
} options[] = {
	{"kernel-ns", "VGPU_KERNEL_NS", "--kernel-ns '5000,gemm*=20000~15%'", check_kernels},
	{"durations", "VGPU_DURATIONS", "scripts/durations TRACE > FILE makes one of a trace",
		check_durations},
	{"seed", "VGPU_SEED", "--seed 7", check_seed},
	{"concurrency", "VGPU_CONCURRENCY", "--concurrency 4", check_concurrency},
	{"packet-ns", "VGPU_PACKET_NS", "--packet-ns barrier=1000,dispatch=500", check_packets},
	{"copy-gbps", "VGPU_COPY_GBPS", "--copy-gbps 25,d2d=800,peer=50", check_gbps},
	{"copy-latency-ns", "VGPU_COPY_LATENCY_NS", "--copy-latency-ns 2000,d2d=500",
		check_latency},
};

int run_times__apply(const char *name, const char *value)
{
	if (!strcmp(name, "draw-durations"))
		return run_set("VGPU_DRAW_DURATIONS", "1");
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		struct vg_mistake mistake;

		if (strcmp(options[i].name, name))
			continue;
		if (options[i].check(value, &mistake))
			return run_fail(EXIT_OWN, options[i].hint, "--%s %s: \"%.*s\": %s", name,
				value, (int)strcspn(mistake.at, ","), mistake.at, mistake.why);
		return options[i].check == check_durations
			       ? run_set_path(options[i].variable, value)
			       : run_set(options[i].variable, value);
	}
	return run_fail(EXIT_OWN, "vgpu-run --help", "unknown option --%s", name);
}
