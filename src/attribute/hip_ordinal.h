// SPDX-License-Identifier: MIT
/*
 * The number that HIP gives a GPU. The HSA runtime shows a process some GPUs, in an order
 * (ROCR_VISIBLE_DEVICES has done its work before); HIP_VISIBLE_DEVICES, or where that is not set or
 * empty CUDA_VISIBLE_DEVICES, picks of these and orders them. GPU_DEVICE_ORDINAL is OpenCL's.
 *
 * The rules are those of CLR's Device::init(): a list of indices between commas, plain decimal
 * numbers; the first item that is none, or is out of range, ends the list; an index that came
 * before is passed over. Newer versions take "GPU-" and hexadecimal digits for the first GPU whose
 * UUID has them in it, too. A GPU that HIP cannot use gets no number, and those behind it move up.
 */
#ifndef WT_ATTRIBUTE_HIP_ORDINAL_H
#define WT_ATTRIBUTE_HIP_ORDINAL_H

#include <stddef.h>
#include <stdint.h>

#define WT_HIP_NO_ORDINAL UINT32_MAX

struct wt_hip_gpu {
	const char *uuid; /* "GPU-0123456789abcdef", or whatever the runtime says; never NULL */
	const char *isa;  /* never NULL */
	uint32_t ordinal; /* the answer; WT_HIP_NO_ORDINAL: HIP does not see it, or it is not
			     certain */
};

enum wt_hip_uuids { WT_HIP_UUIDS_UNKNOWN, WT_HIP_UUIDS_NO, WT_HIP_UUIDS_YES };

/* Whether that version of HIP takes UUIDs. */
enum wt_hip_uuids wt_hip_ordinal__uuids(unsigned major, unsigned minor);

/* `gpus`: all that the runtime shows, in its order. `list`: the variable's value; NULL: not set. */
void wt_hip_ordinal__work_out(
	struct wt_hip_gpu *gpus, size_t cnt, const char *list, enum wt_hip_uuids uuids);

#endif
