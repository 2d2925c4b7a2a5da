// SPDX-License-Identifier: MIT
/* Settings from the environment. vgpu-run checks them; here a bad value means the default. */
#include "vgpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *env(const char *name)
{
	const char *s = getenv(name);

	return s && *s ? s : NULL;
}

static long env_long(const char *name, long min, long max, long otherwise)
{
	const char *s = env(name);
	char *end;
	long v;

	if (!s)
		return otherwise;
	v = strtol(s, &end, 0);
	return *end || v < min || v > max ? otherwise : v;
}

static void load_costs(struct vg_costs *costs)
{
	static const struct {
		const char *variable;
		int (*parse)(struct vg_costs *costs, const char *text, struct vg_mistake *mistake);
	} lists[] = {
		{"VGPU_PACKET_NS", vg_costs__parse_packets},
		{"VGPU_COPY_GBPS", vg_costs__parse_gbps},
		{"VGPU_COPY_LATENCY_NS", vg_costs__parse_latency},
	};

	vg_costs__init(costs);
	for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++) {
		const char *s = env(lists[i].variable);
		struct vg_mistake bad;

		if (s && lists[i].parse(costs, s, &bad))
			vg_trace("%s: cannot be read from here on: %s (%s)", lists[i].variable,
				bad.at, bad.why);
	}
}

static void load_clock(struct vg_conf *conf)
{
	const char *s = env("VGPU_CLOCK"), *bad;

	if (s && vg_clock__parse(&conf->clock, s, &bad))
		vg_trace("VGPU_CLOCK: cannot be read from here on: %s", bad);
	for (unsigned gpu = 0; gpu < VG_CLOCK_GPUS; gpu++)
		vg_clock__prepare(&conf->clock, gpu, conf->model->counter_khz);
}

void vg_conf__load(struct vg_conf *conf)
{
	struct vg_mistake bad;
	const char *s;

	conf->gpu_cnt = (int)env_long("VGPU_GPUS", 0, VG_MAX_GPUS, 1);
	s = env("VGPU_ARCH");
	conf->model = s ? vg_model_find(s) : NULL;
	if (!conf->model)
		conf->model = vg_model_at(0);
	conf->kernel.other.ns = 5000;
	s = env("VGPU_KERNEL_NS");
	if (s && vg_kernel_times__parse(&conf->kernel, s, &bad))
		vg_trace("VGPU_KERNEL_NS: cannot be read from here on: %s (%s)", bad.at, bad.why);
	s = env("VGPU_SEED");
	conf->kernel.seed = s ? strtoull(s, NULL, 0) : 0;
	load_costs(&conf->cost);
	load_clock(conf);
	conf->durations = env("VGPU_DURATIONS");
	conf->concurrency = (int)env_long("VGPU_CONCURRENCY", 0, VG_MAX_CONCURRENCY, 0);
	conf->draw_durations = env_long("VGPU_DRAW_DURATIONS", 0, 1, 0);
	conf->trace = (int)env_long("VGPU_TRACE", 0, 9, 0);
	conf->kfd_minor = (int)env_long("VGPU_KFD_MINOR", 0, 99, 17);
	conf->always_stamp = env_long("VGPU_ALWAYS_STAMP", 0, 1, 0);
	conf->strict_doorbell = env_long("VGPU_STRICT_DOORBELL", 0, 1, 0);
	conf->svm = env_long("VGPU_SVM", 0, 1, 1);
	conf->log = env("VGPU_LOG");
	conf->fault = env("VGPU_FAULT");
	conf->kernels = env("VGPU_KERNELS");
}
