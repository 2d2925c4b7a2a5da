// SPDX-License-Identifier: MIT
/*
 * Copies and fills that the HIP runtime does with kernels of its own (CLR's
 * blit kernels, __amd_rocclr_*): on the queue they are dispatches, to the user
 * they are what he asked for.
 */
#ifndef WT_ATTRIBUTE_BLIT_H
#define WT_ATTRIBUTE_BLIT_H

enum wt_blit {
	WT_BLIT_NONE = 0, /* a kernel like any other */
	WT_BLIT_COPY,
	WT_BLIT_FILL,
};

/* By the kernel's name, as in the code object ("….kd" or not). */
enum wt_blit wt_blit__of_kernel(const char *name);

#endif
