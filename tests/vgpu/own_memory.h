// SPDX-License-Identifier: MIT
/* Makes all of the test's memory a buffer of the program's, as the engines want it. */
#ifndef TESTS_VGPU_OWN_MEMORY_H
#define TESTS_VGPU_OWN_MEMORY_H

#include <linux/kfd_ioctl.h>
#include <stdlib.h>

#include "vgpu.h"

static inline void own_all_memory(void)
{
	const uint64_t piece = 1ull << 39, end = 1ull << 47; /* one behind the other: one range */

	for (uint64_t at = 1 << 20; at < end; at += piece) {
		struct kfd_ioctl_alloc_memory_of_gpu_args a = {
			.va_addr = at,
			.mmap_offset = at,
			.size = piece,
			.gpu_id = VG_GPU_ID(0),
			.flags = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR,
		};

		if (vg_mem__alloc(&a))
			abort();
	}
}

#endif
