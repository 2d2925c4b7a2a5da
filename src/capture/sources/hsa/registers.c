// SPDX-License-Identifier: MIT
/*
 * Registers and limits of kernels, from their code objects. The bytes of a code object are there
 * when it is loaded into an executable, and may be gone when that is frozen: what its metadata says
 * is read at the first moment and kept until the second. All of it under the code lock, except the
 * reading itself.
 */
#include "capture/sources/hsa/hsa.h"

#include <stdlib.h>

#include "base/strset.h"
#include "base/vec.h"

#define KERNELS_MAX 1000000u /* of code objects that wait for their freeze */

const struct wt_kernel_facts wt_no_facts = {
	.vgprs = WT_NOT_SAID,
	.agprs = WT_NOT_SAID,
	.sgprs = WT_NOT_SAID,
	.vgpr_spills = WT_NOT_SAID,
	.sgpr_spills = WT_NOT_SAID,
	.workgroup_max = WT_NOT_SAID,
	.wavefront_size = WT_NOT_SAID,
	.dynamic_stack = WT_NOT_SAID,
};

struct code {
	struct code *next;
	uint64_t executable, agent;
	struct wt_strset names;
	WT_VEC(struct wt_kernel_facts) facts; /* by id of the name - 1 */
};

static struct code *waiting;
static size_t kernel_cnt;

static void free_code(struct code *code)
{
	wt_strset__free(&code->names);
	wt_vec__free(&code->facts);
	free(code);
}

/* A name that comes twice says two things: neither is believed. */
static bool keep(const char *name, size_t length, const struct wt_kernel_facts *facts, void *arg)
{
	struct code *code = arg;
	uint32_t id = wt_strset__intern(&code->names, name, length);

	struct wt_kernel_facts kept = *facts;

	if (!id || code->facts.cnt == KERNELS_MAX)
		return false;
	kept.layout = wt_blits__layout(name, length, facts);
	kept.args = kept.args_end = NULL;
	kept.arg_cnt = 0;
	if (id <= code->facts.cnt) {
		code->facts.data[id - 1] = wt_no_facts;
		return true;
	}
	return !wt_vec__push(&code->facts, kept);
}

static bool find_bytes(hsa_loaded_code loaded, const void **bytes, uint64_t *size)
{
	struct hsa_loader loader;
	uint64_t base = 0;

	if (!wt_loader__get(&loader) ||
		loader.loaded_code_get_info(loaded, HSA_LOADED_CODE_BASE, &base) != HSA_OK ||
		loader.loaded_code_get_info(loaded, HSA_LOADED_CODE_SIZE, size) != HSA_OK)
		return false;
	*bytes = (const void *)base;
	return base && *size;
}

void wt_registers__loaded(hsa_executable executable, hsa_agent agent, hsa_loaded_code loaded)
{
	const void *bytes;
	uint64_t size = 0;
	struct code *code;
	struct wt_hold hold;
	bool kept;

	if (!find_bytes(loaded, &bytes, &size))
		return;
	code = calloc(1, sizeof(*code));
	if (!code)
		return;
	code->executable = executable.handle;
	code->agent = agent.handle;
	wt_metadata__each(bytes, size, keep, code);
	wt_lock__take(wt_code_lock(), &hold);
	kept = code->facts.cnt && code->facts.cnt <= KERNELS_MAX - kernel_cnt;
	if (kept) {
		code->next = waiting;
		waiting = code;
		kernel_cnt += code->facts.cnt;
	}
	wt_lock__drop(wt_code_lock(), &hold);
	if (!kept)
		free_code(code);
}

const struct wt_kernel_facts *wt_registers__of(
	hsa_executable executable, hsa_agent agent, const char *name, size_t length)
{
	for (const struct code *code = waiting; code; code = code->next) {
		uint32_t id;

		if (code->executable != executable.handle || code->agent != agent.handle)
			continue;
		id = wt_strset__find(&code->names, name, length);
		if (id && id <= code->facts.cnt)
			return &code->facts.data[id - 1];
	}
	return &wt_no_facts;
}

void wt_registers__forget(const hsa_executable *executable)
{
	struct code **at = &waiting, *code;

	while ((code = *at)) {
		if (executable && code->executable != executable->handle) {
			at = &code->next;
			continue;
		}
		*at = code->next;
		kernel_cnt -= code->facts.cnt;
		free_code(code);
	}
}
