/* SPDX-License-Identifier: MIT */
/*
 * Kernels with effect for the virtual GPU: a shared object provides a CPU function for a kernel's
 * name, and vgpu-run --kernels FILE.so calls it once a dispatch. tests/vgpu/effects.c is an
 * example that the tests compile; docs/VGPU.md, "Kernels with effect", says when and where it runs.
 *
 *	static void scale(const struct vgpu_dispatch *d)
 *	{
 *		float *a = vgpu_pointer(d, 0), f = VGPU_ARG(d, 1, float);
 *
 *		for (uint32_t i = 0; i < d->grid[0]; i++)
 *			a[i] *= f;
 *	}
 *	static const struct vgpu_kernel kernels[] = {{"_Z5scalePff", scale}};
 *	VGPU_KERNELS(kernels)
 *
 *	cc -shared -fPIC -o scale.so scale.c
 *	vgpu-run --kernels ./scale.so -- ./program
 */
#ifndef VGPU_KERNELS_H
#define VGPU_KERNELS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VGPU_KERNELS_ABI 1

struct vgpu_arg {
	uint32_t offset, size; /* bytes, in the kernarg block */
};

/* One dispatch. Everything belongs to the virtual GPU and is valid during the call only. */
struct vgpu_dispatch {
	const char *kernel;     /* mangled name */
	const void *kernarg;    /* the arguments, as the host can read them; NULL: none given */
	uint32_t kernarg_bytes; /* by the kernel's descriptor */
	uint32_t arg_cnt;       /* without those that the compiler adds; at most 64 */
	const struct vgpu_arg *args; /* by the code object's metadata */
	uint32_t dimensions;
	uint32_t grid[3];      /* work items */
	uint32_t workgroup[3]; /* work items */
	uint32_t group_bytes;  /* LDS of a workgroup, static and dynamic */
	uint32_t dynamic_group_bytes;
	uint32_t private_bytes; /* of a work item */
	uint32_t gpu;           /* from 0 */
	uint32_t queue;         /* its number in the log */
	uint64_t packet;        /* its index in the queue */
	/* The host's pointer to what the GPU calls `address`. Any thread. */
	void *(*translate)(const struct vgpu_dispatch *d, uint64_t address);
};

struct vgpu_kernel {
	const char *name; /* mangled, the whole; or a glob if it has one of *?[ */
	void (*run)(const struct vgpu_dispatch *d);
};

/* What the shared object exports under this name; VGPU_KERNELS(table) defines it. */
struct vgpu_kernels {
	uint32_t abi; /* VGPU_KERNELS_ABI */
	uint32_t cnt;
	const struct vgpu_kernel *kernels;
};
extern const struct vgpu_kernels vgpu_kernels __attribute__((visibility("default")));

#define VGPU_KERNELS(table)                                                                        \
	const struct vgpu_kernels vgpu_kernels = {                                                 \
		VGPU_KERNELS_ABI, (uint32_t)(sizeof(table) / sizeof *(table)), (table)};

#ifdef __cplusplus
}
#endif

/* ---- arguments ---- */

/* Argument i, which has this size, or a message and abort(): the test and the kernel disagree. */
static inline const void *vgpu_arg_of(const struct vgpu_dispatch *d, uint32_t i, uint32_t size)
{
	if (!d->kernarg || i >= d->arg_cnt || d->args[i].size != size) {
		fprintf(stderr,
			"vgpu: %s: argument %u is asked for with %u bytes, it has %u of %u\n",
			d->kernel, i, size, i < d->arg_cnt ? d->args[i].size : 0, d->arg_cnt);
		abort();
	}
	return (const char *)d->kernarg + d->args[i].offset;
}
#define VGPU_ARG(d, i, type) (*(const type *)vgpu_arg_of((d), (i), (uint32_t)sizeof(type)))

/* Argument i is a GPU address: the host's pointer to it. */
static inline void *vgpu_pointer(const struct vgpu_dispatch *d, uint32_t i)
{
	return d->translate(d, VGPU_ARG(d, i, uint64_t));
}

/* ---- workgroups and work items, in order, one after the other ---- */

struct vgpu_group {
	uint32_t id[3];
	uint32_t size[3]; /* the last one of a dimension may be smaller than the others */
	void *lds;        /* group_bytes, zeroed for each workgroup; NULL if it has none */
};

static inline void vgpu_each_group(const struct vgpu_dispatch *d,
	void (*run)(const struct vgpu_dispatch *d, const struct vgpu_group *g, void *with),
	void *with)
{
	struct vgpu_group g = {{0, 0, 0}, {0, 0, 0}, NULL};
	uint32_t cnt[3];
	int k;

	for (k = 0; k < 3; k++)
		cnt[k] = (uint32_t)(((uint64_t)d->grid[k] + d->workgroup[k] - 1) / d->workgroup[k]);
	for (g.id[2] = 0; g.id[2] < cnt[2]; g.id[2]++)
		for (g.id[1] = 0; g.id[1] < cnt[1]; g.id[1]++)
			for (g.id[0] = 0; g.id[0] < cnt[0]; g.id[0]++) {
				for (k = 0; k < 3; k++) {
					uint32_t left = d->grid[k] - g.id[k] * d->workgroup[k];

					g.size[k] = left < d->workgroup[k] ? left : d->workgroup[k];
				}
				g.lds = d->group_bytes ? calloc(1, d->group_bytes) : NULL;
				if (d->group_bytes && !g.lds)
					abort();
				run(d, &g, with);
				free(g.lds);
			}
}

#endif
