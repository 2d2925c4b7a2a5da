// SPDX-License-Identifier: MIT
/*
 * Recorded kernel times of this process, found by name. Traces show demangled names: the demangler
 * is the C++ library's, as in the tools that made them, and in every process of ROCm's. It is
 * looked up when the device is opened: later, on a queue's thread, the dynamic linker may be busy
 * with a library whose constructor waits for that queue.
 */
#include "vgpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define STACK_BYTES (8u << 20) /* the demangler recurses */

typedef char *demangle_fn(const char *mangled, char *buffer, size_t *length, int *status);

static demangle_fn *demangle;

void vg_recorded__load(struct vg_proc *p)
{
	unsigned long line;
	const char *why;
	void *library;

	if (!p->conf.durations)
		return;
	if (vg_samples__read(p->conf.durations, &p->samples, &line, &why)) {
		vg_trace("VGPU_DURATIONS: no recorded times: %s: line %lu: %s", p->conf.durations,
			line, why);
		return;
	}
	library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	if (library)
		demangle = (demangle_fn *)dlsym(library, "__cxa_demangle");
	if (!demangle)
		vg_trace("VGPU_DURATIONS: no demangler: only mangled names are found");
}

static void *run_demangle(void *mangled)
{
	int status;

	return demangle(mangled, NULL, NULL, &status);
}

/* In new memory; NULL: no mangled name, or one that the demangler refuses (over 1,024 bytes). */
static char *demangled(const char *name)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *text = NULL;

	if (!demangle || name[0] != '_' || name[1] != 'Z')
		return NULL;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!pthread_create(&thread, &attr, run_demangle, (void *)(uintptr_t)name))
		pthread_join(thread, &text);
	pthread_attr_destroy(&attr);
	return text;
}

const struct vg_sample_set *vg_recorded(const char *mangled)
{
	const struct vg_samples *samples = vg_proc()->samples;
	const struct vg_sample_set *set;
	char *full;

	if (!samples)
		return NULL;
	set = vg_samples__find(samples, mangled);
	if (set)
		return set;
	full = demangled(mangled);
	if (full)
		set = vg_samples__find(samples, full);
	free(full);
	return set;
}
