// SPDX-License-Identifier: MIT
/*
 * The number that HIP gives a GPU. The HSA runtime shows a process some GPUs, in an order
 * (ROCR_VISIBLE_DEVICES has done its work before); HIP_VISIBLE_DEVICES, or where that is not set
 * CUDA_VISIBLE_DEVICES, picks of these and orders them. GPU_DEVICE_ORDINAL is OpenCL's.
 *
 * The rules are those of CLR's Device::init(): a list of indices between commas, plain decimal
 * numbers; the first item that is none, or is out of range, ends the list; an index that came
 * before is passed over. A GPU that HIP cannot use gets no number, and those behind it move up.
 * Newer versions take "GPU-" and hexadecimal digits, too, for the first GPU whose UUID has them in
 * it; and to them a variable that is set to nothing shows no GPU, where to older ones it is not
 * set.
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

enum wt_hip_rules { WT_HIP_RULES_UNKNOWN, WT_HIP_RULES_OLD, WT_HIP_RULES_NEW };

/* Of that version of HIP. */
enum wt_hip_rules wt_hip_ordinal__rules(unsigned major, unsigned minor);

/*
 * `gpus`: all that the runtime shows, in its order. `hip`, `cuda`: values of the variables;
 * NULL: not set.
 */
void wt_hip_ordinal__work_out(struct wt_hip_gpu *gpus, size_t cnt, const char *hip,
	const char *cuda, enum wt_hip_rules rules);

#endif
