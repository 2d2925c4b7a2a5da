// SPDX-License-Identifier: MIT
/* Settings from the environment. vgpu-run checks them; here a bad value means the default. */
#include "vgpu.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool parse_ns(const char *text, size_t len, uint64_t *ns)
{
	uint64_t v = 0;

	if (!len || len > 15)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(text[i] - '0');
	}
	/* Simulated times are whole ticks, so that stamps and log agree exactly. */
	*ns = (v + VG_TICK_NS - 1) / VG_TICK_NS * VG_TICK_NS;
	return true;
}

int vg_conf__parse_kernel_ns(struct vg_conf *conf, const char *text, const char **bad)
{
	conf->pattern_cnt = 0;
	while (*text) {
		size_t len = strcspn(text, ",");
		const char *eq = memchr(text, '=', len);

		*bad = text;
		if (!eq) {
			if (!parse_ns(text, len, &conf->kernel_ns))
				return -EINVAL;
		} else {
			struct vg_pattern *p = &conf->patterns[conf->pattern_cnt];
			size_t n = (size_t)(eq - text);

			if (!n || n >= sizeof p->text || conf->pattern_cnt == VG_MAX_PATTERNS ||
				!parse_ns(eq + 1, len - n - 1, &p->ns))
				return -EINVAL;
			memcpy(p->text, text, n);
			p->text[n] = 0;
			conf->pattern_cnt++;
		}
		text += len;
		if (*text == ',' && !*++text)
			return -EINVAL;
	}
	return 0;
}

uint64_t vg_conf__kernel_ns(const struct vg_conf *conf, const char *name, bool *named)
{
	uint64_t ns = conf->kernel_ns;

	*named = false;
	for (unsigned i = 0; i < conf->pattern_cnt; i++) {
		const struct vg_pattern *p = &conf->patterns[i];
		bool glob = strpbrk(p->text, "*?[") != NULL;

		if (glob ? !fnmatch(p->text, name, 0) : strstr(name, p->text) != NULL) {
			ns = p->ns;
			*named = true;
		}
	}
	return ns;
}

uint64_t vg_conf__copy_ns(const struct vg_conf *conf, uint64_t bytes)
{
	uint64_t ns;

	if (conf->copy_gbps <= 0)
		return 0;
	ns = (uint64_t)((double)bytes / conf->copy_gbps);
	return (ns + VG_TICK_NS - 1) / VG_TICK_NS * VG_TICK_NS;
}

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

void vg_conf__load(struct vg_conf *conf)
{
	const char *s, *bad;

	conf->gpu_cnt = (int)env_long("VGPU_GPUS", 0, VG_MAX_GPUS, 1);
	s = env("VGPU_ARCH");
	conf->model = s ? vg_model_find(s) : NULL;
	if (!conf->model)
		conf->model = vg_model_at(0);
	conf->kernel_ns = 5000;
	s = env("VGPU_KERNEL_NS");
	if (s && vg_conf__parse_kernel_ns(conf, s, &bad))
		vg_trace("VGPU_KERNEL_NS: cannot be read from here on: %s", bad);
	s = env("VGPU_COPY_GBPS");
	conf->copy_gbps = s ? strtod(s, NULL) : 25;
	conf->trace = (int)env_long("VGPU_TRACE", 0, 9, 0);
	conf->kfd_minor = (int)env_long("VGPU_KFD_MINOR", 0, 99, 17);
	conf->always_stamp = env_long("VGPU_ALWAYS_STAMP", 0, 1, 0);
	conf->strict_doorbell = env_long("VGPU_STRICT_DOORBELL", 0, 1, 0);
	conf->log = env("VGPU_LOG");
}
