// SPDX-License-Identifier: MIT
/* What is known of a GPU: the runtime's attributes, and the driver's files for what it has none of. */
#include "capture/sources/hsa/hsa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/files.h"

/* An attribute that this runtime does not know leaves the value as it is. */
static void get(hsa_agent agent, uint32_t what, void *value)
{
	CORE(hsa_agent_get_info, hsa_agent_get_info_fn)(agent, what, value);
}

#define NUMBER(what, field) {what, offsetof(struct wt_rec_device, field)}
static const struct {
	uint32_t what;
	size_t offset;
} numbers[] = {
	NUMBER(HSA_AGENT_DRIVER_NODE, node),
	NUMBER(HSA_AGENT_BDFID, bdf),
	NUMBER(HSA_AGENT_COMPUTE_UNITS, compute_units),
	NUMBER(HSA_AGENT_CLOCK_MHZ, clock_mhz),
	NUMBER(HSA_AGENT_DOMAIN, domain),
	NUMBER(HSA_AGENT_XCC_CNT, xcc_cnt),
	NUMBER(HSA_AGENT_MEMORY_CLOCK_MHZ, memory_clock_mhz),
	NUMBER(HSA_AGENT_MEMORY_WIDTH, memory_width_bits),
	NUMBER(HSA_AGENT_WAVEFRONT_SIZE, wavefront_size),
	NUMBER(HSA_AGENT_WORKGROUP_MAX, workgroup_max),
	NUMBER(HSA_AGENT_WAVES_PER_CU, waves_per_cu),
	NUMBER(HSA_AGENT_SIMDS_PER_CU, simds_per_cu),
	NUMBER(HSA_AGENT_SHADER_ENGINES, shader_engines),
	NUMBER(HSA_AGENT_CHIP_ID, chip_id),
	NUMBER(HSA_AGENT_ASIC_REVISION, asic_revision),
};

static void get_numbers(hsa_agent agent, struct wt_rec_device *rec)
{
	uint32_t caches[4] = {0};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		uint32_t value = UINT32_MAX;

		get(agent, numbers[i].what, &value);
		memcpy((char *)rec + numbers[i].offset, &value, sizeof(value));
	}
	get(agent, HSA_AGENT_CACHES, caches);
	rec->l2_bytes = caches[1];
}

static void get_text(hsa_agent agent, uint32_t what, char *to, size_t bytes)
{
	char text[128] = "";

	get(agent, what, text);
	text[sizeof(text) - 1] = 0;
	snprintf(to, bytes, "%.*s", (int)bytes - 1, text);
}

/* Its own memory: the largest pool, which HIP takes, too. Of the kinds of one memory all are as large. */
static hsa_status on_pool(hsa_pool pool, void *arg)
{
	struct wt_rec_device *rec = arg;
	uint32_t segment = UINT32_MAX;
	size_t bytes = 0;
	hsa_amd_memory_pool_get_info_fn *info =
		AMD(hsa_amd_memory_pool_get_info, hsa_amd_memory_pool_get_info_fn);

	if (info(pool, HSA_POOL_SEGMENT, &segment) != HSA_OK ||
		info(pool, HSA_POOL_SIZE, &bytes) != HSA_OK)
		return HSA_OK;
	if (segment == HSA_SEGMENT_GLOBAL && bytes > rec->memory_bytes)
		rec->memory_bytes = bytes;
	if (segment == HSA_SEGMENT_GROUP && bytes < UINT32_MAX)
		rec->lds_bytes = (uint32_t)bytes;
	return HSA_OK;
}

/* The first one is the agent's own; newer runtimes name generic ones behind it. */
static hsa_status on_isa(hsa_isa isa, void *arg)
{
	struct wt_rec_device *rec = arg;
	char name[256] = "";
	const char *target;
	uint32_t length = 0;
	hsa_isa_get_info_alt_fn *info = CORE(hsa_isa_get_info_alt, hsa_isa_get_info_alt_fn);

	if (info(isa, HSA_ISA_NAME_LENGTH, &length) != HSA_OK || length >= sizeof(name) ||
		info(isa, HSA_ISA_NAME, name) != HSA_OK)
		return HSA_OK;
	target = strstr(name, "--");
	if (!target || strlen(target + 2) >= sizeof(rec->isa))
		return HSA_OK;
	strcpy(rec->isa, target + 2);
	return HSA_INFO_BREAK;
}

/* A word of the driver's about the PCI device. */
static void read_word(const struct wt_rec_device *rec, const char *file, char *to, size_t bytes)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.%x/%s", rec->domain,
		rec->bdf >> 8 & 0xff, rec->bdf >> 3 & 31, rec->bdf & 7, file);
	wt_files__read(path, text, sizeof(text));
	text[strcspn(text, " \n")] = 0;
	if (strlen(text) < bytes)
		strcpy(to, text);
}

/*
 * Of a PCI device that is divided, each part is an agent, and the driver's location has the part's
 * number in its highest four bits.
 */
static void split_location(struct wt_rec_device *rec)
{
	rec->partition = UINT32_MAX;
	if (rec->bdf == UINT32_MAX || rec->domain == UINT32_MAX)
		return;
	read_word(rec, "current_compute_partition", rec->compute_partition,
		sizeof(rec->compute_partition));
	read_word(rec, "current_memory_partition", rec->memory_partition,
		sizeof(rec->memory_partition));
	if (rec->compute_partition[0])
		rec->partition = rec->bdf >> 28;
	rec->bdf &= 0xffff;
}

void wt_device__describe(hsa_agent agent, struct wt_rec_device *rec)
{
	*rec = (struct wt_rec_device){
		.rec = {.type = WT_REC_DEVICE},
		.agent = agent.handle,
		.lds_bytes = UINT32_MAX,
	};
	get_numbers(agent, rec);
	get_text(agent, HSA_AGENT_NAME, rec->arch, sizeof(rec->arch));
	get_text(agent, HSA_AGENT_PRODUCT_NAME, rec->name, sizeof(rec->name));
	get_text(agent, HSA_AGENT_UUID, rec->uuid_text, sizeof(rec->uuid_text));
	/* "GPU-XX": it has none */
	if (!strncmp(rec->uuid_text, "GPU-", 4))
		rec->uuid = strtoull(rec->uuid_text + 4, NULL, 16);
	if (!rec->uuid)
		rec->uuid_text[0] = 0;
	AMD(hsa_amd_agent_iterate_memory_pools, hsa_amd_agent_iterate_memory_pools_fn)
	(agent, on_pool, rec);
	CORE(hsa_agent_iterate_isas, hsa_agent_iterate_isas_fn)(agent, on_isa, rec);
	split_location(rec);
}
