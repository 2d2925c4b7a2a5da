// SPDX-License-Identifier: MIT
/*
 * Kernel symbols. A code object's kernels become callable at the freeze of its
 * executable and vanish with its destruction; their addresses are used again.
 * Each of these steps is a new code generation, and a dispatch notes the
 * generation of its submission. Where the code lies is memory of the GPU, with
 * its variables in it.
 */
#include "capture/sources/hsa/hsa.h"

#include <stdlib.h>

#define NAME_BYTES 32768u

struct walk {
	uint32_t generation;
	uint32_t device;
	char *name;	/* NAME_BYTES */
};

static void symbol_get(hsa_symbol symbol, uint32_t what, void *value)
{
	CORE(hsa_executable_symbol_get_info, hsa_executable_symbol_get_info_fn)(symbol, what, value);
}

static hsa_status on_symbol(hsa_executable executable, hsa_agent agent, hsa_symbol symbol,
	void *arg)
{
	struct walk *walk = arg;
	struct wt_rec_symbol rec = {
		.rec = {.type = WT_REC_SYMBOL, .id = walk->generation},
		.executable = executable.handle,
		.device = walk->device,
		.group_bytes = UINT32_MAX,
		.private_bytes = UINT32_MAX,
		.kernarg_bytes = UINT32_MAX,
	};
	const struct wt_kernel_facts *facts;
	uint32_t kind = 0;

	symbol_get(symbol, HSA_SYMBOL_TYPE, &kind);
	if (kind != HSA_SYMBOL_IS_KERNEL)
		return HSA_OK;
	symbol_get(symbol, HSA_SYMBOL_NAME_LENGTH, &rec.name_bytes);
	if (!rec.name_bytes || rec.name_bytes > NAME_BYTES)
		return HSA_OK;
	symbol_get(symbol, HSA_SYMBOL_NAME, walk->name);
	symbol_get(symbol, HSA_SYMBOL_KERNEL_OBJECT, &rec.kernel_object);
	symbol_get(symbol, HSA_SYMBOL_KERNARG_SIZE, &rec.kernarg_bytes);
	symbol_get(symbol, HSA_SYMBOL_GROUP_SIZE, &rec.group_bytes);
	symbol_get(symbol, HSA_SYMBOL_PRIVATE_SIZE, &rec.private_bytes);
	/* the symbol's name ends in ".kd", the kernel descriptor; the kernel's does not */
	if (rec.name_bytes > 3 && walk->name[rec.name_bytes - 3] == '.' &&
		walk->name[rec.name_bytes - 2] == 'k' && walk->name[rec.name_bytes - 1] == 'd')
		rec.name_bytes -= 3;
	facts = wt_registers__of(executable, agent, walk->name, rec.name_bytes);
	rec.vgprs = facts->vgprs;
	rec.agprs = facts->agprs;
	rec.sgprs = facts->sgprs;
	rec.vgpr_spills = facts->vgpr_spills;
	rec.sgpr_spills = facts->sgpr_spills;
	rec.workgroup_max = facts->workgroup_max;
	rec.wavefront_size = facts->wavefront_size;
	rec.dynamic_stack = facts->dynamic_stack;
	wt_define(&rec.rec, sizeof(rec), walk->name, rec.name_bytes);
	if (facts->layout)
		wt_blits__add(facts->layout, rec.kernel_object, executable.handle);
	return HSA_OK;
}

static void tell_symbols(hsa_executable executable, uint32_t generation)
{
	struct walk walk = {.generation = generation, .name = malloc(NAME_BYTES)};

	if (!walk.name) {
		wt_lost__count(WT_LOST_DEFINITION_RING_FULL, 1);
		return;
	}
	for (uint32_t i = 0; i < atomic_load_explicit(&wt_hsa.device_cnt, memory_order_acquire);
		i++) {
		walk.device = wt_hsa.devices[i].number;
		CORE(hsa_executable_iterate_agent_symbols,
			hsa_executable_iterate_agent_symbols_fn)
		(executable, wt_hsa.devices[i].agent, on_symbol, &walk);
	}
	free(walk.name);
}

static void end_place(uint32_t device, uint64_t address, uint64_t bytes)
{
	(void)device;
	(void)bytes;
	wt_place__ends(address);
}

struct wt_lock *wt_code_lock(void)
{
	return &wt_process.live->source_lock[2];
}

static hsa_status load_agent_code_object(hsa_executable executable, hsa_agent agent,
	hsa_code_reader reader, const char *options, hsa_loaded_code *loaded)
{
	hsa_loaded_code own = {0};
	hsa_status status = CORE(hsa_executable_load_agent_code_object,
		hsa_executable_load_agent_code_object_fn)(executable, agent, reader, options, &own);

	if (loaded && status == HSA_OK)
		*loaded = own;
	if (status == HSA_OK && wt_hsa__recording())
		wt_registers__loaded(executable, agent, own);
	return status;
}

static hsa_status executable_freeze(hsa_executable executable, const char *options)
{
	hsa_status status =
		CORE(hsa_executable_freeze, hsa_executable_freeze_fn)(executable, options);
	struct wt_hold hold;
	uint32_t generation;

	if (status != HSA_OK || !wt_hsa__recording())
		return status;
	wt_devices__find();
	wt_lock__take(wt_code_lock(), &hold);
	generation = atomic_load_explicit(&wt_hsa.code_generation, memory_order_relaxed) + 1;
	tell_symbols(executable, generation);
	wt_registers__forget(&executable);
	wt_loader__places(executable, wt_place__begins);
	atomic_store_explicit(&wt_hsa.code_generation, generation, memory_order_release);
	wt_lock__drop(wt_code_lock(), &hold);
	return status;
}

static hsa_status executable_destroy(hsa_executable executable)
{
	if (wt_hsa__recording()) {
		struct wt_rec_symbols_end rec = {
			.rec = {.type = WT_REC_SYMBOLS_END},
			.executable = executable.handle,
		};
		struct wt_hold hold;

		wt_lock__take(wt_code_lock(), &hold);
		rec.rec.id =
			atomic_load_explicit(&wt_hsa.code_generation, memory_order_relaxed) + 1;
		wt_registers__forget(&executable);
		wt_define(&rec.rec, sizeof(rec), NULL, 0);
		wt_blits__remove(executable.handle);
		wt_loader__places(executable, end_place);
		atomic_store_explicit(&wt_hsa.code_generation, rec.rec.id, memory_order_release);
		wt_lock__drop(wt_code_lock(), &hold);
	}
	return CORE(hsa_executable_destroy, hsa_executable_destroy_fn)(executable);
}

void wt_symbols__leave_all(void)
{
	struct wt_hold hold;

	wt_lock__take(wt_code_lock(), &hold);
	wt_registers__forget(NULL);
	wt_blits__remove_all();
	wt_lock__drop(wt_code_lock(), &hold);
}

void wt_symbols__install(struct hsa_table *core)
{
	core->fn[HSA_CORE_hsa_executable_load_agent_code_object] = (void *)load_agent_code_object;
	core->fn[HSA_CORE_hsa_executable_freeze] = (void *)executable_freeze;
	core->fn[HSA_CORE_hsa_executable_destroy] = (void *)executable_destroy;
}
