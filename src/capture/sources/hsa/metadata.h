// SPDX-License-Identifier: MIT
/*
 * What a code object says of its kernels: the note NT_AMDGPU_METADATA of its ELF file (code object
 * version 3 and later), written in MessagePack. No allocation, no state, any thread; the bytes are
 * trusted in nothing.
 */
#ifndef WT_HSA_METADATA_H
#define WT_HSA_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WT_NOT_SAID UINT32_MAX

/* As the compiler counted them; WT_NOT_SAID where the note has no word on it. */
struct wt_kernel_facts {
	uint32_t vgprs; /* vector registers; from gfx90a on those for accumulation, too */
	uint32_t agprs; /* of which for accumulation (gfx908: beside the others) */
	uint32_t sgprs;
	uint32_t vgpr_spills;
	uint32_t sgpr_spills;
	uint32_t workgroup_max; /* work-items of the largest work-group it was compiled for */
	uint32_t wavefront_size;
	uint32_t dynamic_stack; /* 1: its scratch is known only when it runs */
};

/* `name` has no NUL and lives as long as the file's bytes. False: no more. */
typedef bool wt_metadata_visitor(
	const char *name, size_t length, const struct wt_kernel_facts *facts, void *arg);

/*
 * Calls `visit` for each kernel. True: the note was read to its end. False: there is none, it makes
 * no sense from some place on, or the visitor stopped.
 */
bool wt_metadata__each(const void *elf, size_t bytes, wt_metadata_visitor *visit, void *arg);

#endif
