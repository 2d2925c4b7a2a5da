/* SPDX-License-Identifier: MIT */
/* What the kernels of hip_effects.hip do, for vgpu-run --kernels: an example that the tests run. */
#include <vgpu/kernels.h>

/* effect_add(const float *a, const float *b, float *c, int n) */
static void add(const struct vgpu_dispatch *d)
{
	const float *a = vgpu_pointer(d, 0), *b = vgpu_pointer(d, 1);
	float *c = vgpu_pointer(d, 2);
	int n = VGPU_ARG(d, 3, int);

	for (int i = 0; i < n; i++)
		c[i] = a[i] + b[i];
}

/* effect_sum(const int *in, long long *out, int n), workgroup by workgroup with its LDS */
static void sum_group(const struct vgpu_dispatch *d, const struct vgpu_group *g, void *with)
{
	const int *in = vgpu_pointer(d, 0);
	long long *out = vgpu_pointer(d, 1), sum = 0;
	int n = VGPU_ARG(d, 2, int), *part = g->lds;

	(void)with;
	for (uint32_t i = 0; i < g->size[0]; i++) {
		int at = (int)(g->id[0] * d->workgroup[0] + i);

		part[i] = at < n ? in[at] : 0;
	}
	for (uint32_t i = 0; i < g->size[0]; i++)
		sum += part[i];
	out[g->id[0]] = sum;
}

static void sum(const struct vgpu_dispatch *d)
{
	if (d->dynamic_group_bytes != d->workgroup[0] * sizeof(int)) {
		fprintf(stderr, "%s: %u bytes of dynamic LDS\n", d->kernel, d->dynamic_group_bytes);
		abort();
	}
	vgpu_each_group(d, sum_group, NULL);
}

/* effect_mark(unsigned *out, char c, struct place p, unsigned long long big) */
struct place {
	short x, y;
	double weight;
};

static void mark(const struct vgpu_dispatch *d)
{
	unsigned *out = vgpu_pointer(d, 0);
	struct place p = VGPU_ARG(d, 2, struct place);
	unsigned all = (unsigned)VGPU_ARG(d, 1, char) + (unsigned)p.x + (unsigned)p.weight +
		       (unsigned)VGPU_ARG(d, 3, unsigned long long);

	for (uint32_t z = 0; z < d->grid[2]; z++)
		for (uint32_t y = 0; y < d->grid[1]; y++)
			for (uint32_t x = 0; x < d->grid[0]; x++)
				*out++ = x + 100 * y + 10000 * z + all;
}

static void crash(const struct vgpu_dispatch *d)
{
	*(volatile int *)(uintptr_t)d->gpu = 1; /* GPU 0: address 0 */
}

static void disagree(const struct vgpu_dispatch *d)
{
	printf("%d\n", VGPU_ARG(d, 0, int)); /* a pointer, in truth */
}

static const struct vgpu_kernel kernels[] = {
	{"_Z10effect_addPKfS0_Pfi", add},
	{"*effect_sum*", sum},
	{"_Z11effect_mark*", mark},
	{"_Z12effect_crashv", crash},
	{"_Z11effect_nonePi", disagree},
};
VGPU_KERNELS(kernels)
