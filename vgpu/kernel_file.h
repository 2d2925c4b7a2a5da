// SPDX-License-Identifier: MIT
/* A shared object with kernels, opened and checked: by the virtual GPU, and before by vgpu-run. */
#ifndef VGPU_KERNEL_FILE_H
#define VGPU_KERNEL_FILE_H

#include <stddef.h>

struct vgpu_kernels;

/* Its table, or NULL with the reason in `why`. It is never closed. */
const struct vgpu_kernels *vg_kernels__open(const char *path, char *why, size_t why_size);

#endif
