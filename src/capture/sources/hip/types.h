// SPDX-License-Identifier: MIT
/* HIP's structures, as far as functions pass them by value or we read them. */
#ifndef WT_HIP_TYPES_H
#define WT_HIP_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int hip_error; /* hipError_t, hiprtcResult */

#define HIP_NOT_READY	  600 /* hipErrorNotReady: an answer, no failure */
#define HIP_NOT_SUPPORTED 801

struct hip_dim3 {
	uint32_t x, y, z;
};

struct hip_extent {
	size_t width, height, depth;
};

struct hip_position {
	size_t x, y, z;
};

struct hip_pitched_ptr {
	void *memory;
	size_t pitch, width, height;
};

struct hip_ipc_handle {
	char reserved[64];
};

struct hip_mem_location {
	int type;
	int id;
};

struct hip_channel_desc {
	int x, y, z, w;
	int format;
};

struct hip_launch_config { /* hipLaunchConfig_t */
	struct hip_dim3 grid, block;
	size_t shared;
	void *stream;
	void *attributes;
	unsigned int attribute_cnt;
};

struct hip_drv_launch_config { /* HIP_LAUNCH_CONFIG */
	unsigned int grid[3], block[3];
	unsigned int shared;
	void *stream;
	void *attributes;
	unsigned int attribute_cnt;
};

struct hip_copy_2d { /* hip_Memcpy2D */
	size_t src_x, src_y;
	int src_type;
	const void *src_host;
	void *src_device;
	void *src_array;
	size_t src_pitch;
	size_t dst_x, dst_y;
	int dst_type;
	void *dst_host;
	void *dst_device;
	void *dst_array;
	size_t dst_pitch;
	size_t width, height; /* width in bytes */
};

struct hip_copy_3d { /* hipMemcpy3DParms */
	void *src_array;
	struct hip_position src_at;
	struct hip_pitched_ptr src;
	void *dst_array;
	struct hip_position dst_at;
	struct hip_pitched_ptr dst;
	struct hip_extent extent; /* width in bytes; in elements where there is an array */
	int kind;
};

struct hip_copy_3d_peer { /* hipMemcpy3DPeerParms */
	void *src_array;
	struct hip_position src_at;
	struct hip_pitched_ptr src;
	int src_device;
	void *dst_array;
	struct hip_position dst_at;
	struct hip_pitched_ptr dst;
	int dst_device;
	struct hip_extent extent;
};

#endif
