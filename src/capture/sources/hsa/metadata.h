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
	uint32_t layout; /* for whoever reads the arguments: blits.c; 0 */
	/* its arguments, for wt_metadata__arguments; they live as long as the file's bytes */
	const uint8_t *args, *args_end;
	uint64_t arg_cnt;
};

/* `name` has no NUL and lives as long as the file's bytes. False: no more. */
typedef bool wt_metadata_visitor(
	const char *name, size_t length, const struct wt_kernel_facts *facts, void *arg);

/*
 * Calls `visit` for each kernel. True: the note was read to its end. False: there is none, it makes
 * no sense from some place on, or the visitor stopped.
 */
bool wt_metadata__each(const void *elf, size_t bytes, wt_metadata_visitor *visit, void *arg);

/*
 * "name@offset:bytes " of each of the kernel's own arguments (not what the compiler added), in their
 * order, as much of it as there is room for. False: they make no sense.
 */
bool wt_metadata__arguments(const struct wt_kernel_facts *facts, char *to, size_t to_bytes);

#endif
