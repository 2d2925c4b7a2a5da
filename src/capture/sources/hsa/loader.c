// SPDX-License-Identifier: MIT
/* What the runtime's loader knows of an executable's code. */
#include "capture/sources/hsa/hsa.h"

struct walk {
	struct hsa_loader loader;
	void (*take)(uint32_t device, uint64_t address, uint64_t bytes);
};

bool wt_loader__get(struct hsa_loader *loader)
{
	*loader = (struct hsa_loader){0};
	return CORE(hsa_system_get_major_extension_table, hsa_system_get_major_extension_table_fn)(
		       HSA_EXTENSION_LOADER, 1, sizeof(*loader), loader) == HSA_OK &&
	       loader->loaded_code_get_info;
}

static hsa_status on_code(hsa_executable executable, hsa_loaded_code code, void *arg)
{
	const struct walk *walk = arg;
	const struct wt_device *device;
	uint64_t address = 0, bytes = 0;
	hsa_agent agent = {0};

	(void)executable;
	walk->loader.loaded_code_get_info(code, HSA_LOADED_CODE_AGENT, &agent);
	walk->loader.loaded_code_get_info(code, HSA_LOADED_CODE_ADDRESS, &address);
	walk->loader.loaded_code_get_info(code, HSA_LOADED_CODE_BYTES, &bytes);
	device = wt_device__of(agent);
	if (device)
		walk->take(device->number, address, bytes);
	return HSA_OK;
}

void wt_loader__places(
	hsa_executable executable, void (*take)(uint32_t device, uint64_t address, uint64_t bytes))
{
	struct walk walk = {.take = take};

	if (wt_loader__get(&walk.loader) && walk.loader.each_loaded_code)
		walk.loader.each_loaded_code(executable, on_code, &walk);
}
