// SPDX-License-Identifier: MIT
/*
 * What a process runs on: its GPUs, settings and versions. GPUs are written at the end, when all of
 * them and the variables that number them are known.
 */
#include "collect/build_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/hip_ordinal.h"
#include "base/utf8.h"

#define MAX_SETTINGS 8192u /* of a process; a hostile one could go on for ever */

int wt_build__add_device(
	struct wt_build *build, struct wt_build_process *process, const struct wt_rec *rec)
{
	struct wt_build_device *device = wt_build__device(build, process, rec->id);

	if (!device)
		return -ENOMEM;
	if (device->described)
		return -EINVAL; /* the first one counts */
	device->described = true;
	memcpy(&device->rec, rec, sizeof(device->rec));
	device->rec.arch[sizeof(device->rec.arch) - 1] = 0;
	device->rec.name[sizeof(device->rec.name) - 1] = 0;
	device->rec.isa[sizeof(device->rec.isa) - 1] = 0;
	device->rec.uuid_text[sizeof(device->rec.uuid_text) - 1] = 0;
	device->rec.compute_partition[sizeof(device->rec.compute_partition) - 1] = 0;
	device->rec.memory_partition[sizeof(device->rec.memory_partition) - 1] = 0;
	return 0;
}

/* ---- settings -------------------------------------------------------------------- */

static int keep(char **at, const char *value)
{
	free(*at);
	*at = strdup(value);
	return *at ? 0 : -ENOMEM;
}

/* "5.2.21153" */
static void note_hip(struct wt_build_process *process, const char *version)
{
	char *end;
	unsigned long major = strtoul(version, &end, 10);

	process->hip_loaded = true;
	if (end == version || *end != '.' || !isdigit((unsigned char)end[1]))
		return;
	process->hip_major = (unsigned)major;
	process->hip_minor = (unsigned)strtoul(end + 1, NULL, 10);
}

static int note_left_out(
	struct wt_build *build, const struct wt_build_process *process, uint32_t left_out)
{
	char text[96];

	if (!left_out)
		return 0;
	snprintf(text, sizeof(text), "environment variables too many to be kept: %u", left_out);
	return wt_store__add_status(build->store, &(struct wt_store_status){
							  .process_id = process->id,
							  .source = "settings",
							  .level = "degraded",
							  .text = text,
						  });
}

static int add_variable(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec_setting *s, const char *name, const char *value)
{
	int rc = 0;

	process->setting_cnt++;
	/* a part of such a list says nothing of the rest */
	if (s->whole_bytes <= s->value_bytes && !strcmp(name, "HIP_VISIBLE_DEVICES"))
		rc = keep(&process->hip_visible, value);
	if (s->whole_bytes <= s->value_bytes && !strcmp(name, "CUDA_VISIBLE_DEVICES"))
		rc = keep(&process->cuda_visible, value);
	if (rc)
		return rc;
	return wt_store__add_setting(build->store,
		&(struct wt_store_setting){
			.process_id = process->id,
			.name = name,
			.value = value,
			.whole_bytes = s->whole_bytes > s->value_bytes ? s->whole_bytes : WT_ABSENT,
		});
}

int wt_build__add_setting(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec *rec, uint32_t bytes)
{
	const struct wt_rec_setting *s = (const void *)rec;
	const char *text = (const char *)(s + 1);
	char *name, *value;
	int rc = -ENOMEM;

	if (rec->id == WT_SETTING_TOLD) {
		process->settings_told = s->number == process->setting_cnt && !s->left_out;
		return note_left_out(build, process, s->left_out);
	}
	if (rec->id > WT_SETTING_VERSION || !s->name_bytes ||
		(uint64_t)s->name_bytes + 1 + s->value_bytes > bytes - sizeof(*s) ||
		text[s->name_bytes] != '=' || process->setting_row_cnt >= MAX_SETTINGS)
		return -EINVAL;
	process->setting_row_cnt++;
	name = wt_utf8__escape(text, s->name_bytes);
	value = wt_utf8__escape(text + s->name_bytes + 1, s->value_bytes);
	if (name && value && rec->id == WT_SETTING_VARIABLE) {
		rc = add_variable(build, process, s, name, value);
	} else if (name && value) {
		if (!strcmp(name, "hip"))
			note_hip(process, value);
		rc = wt_store__add_version(build->store, &(struct wt_store_version){
								 .process_id = process->id,
								 .part = name,
								 .version = value,
							 });
	}
	free(name);
	free(value);
	return rc;
}

/* ---- GPUs ------------------------------------------------------------------------ */

/* The device that is number `index` of those that the runtime showed. */
static const struct wt_build_device *device_at(
	const struct wt_build_process *process, uint32_t index)
{
	for (size_t i = 0; i < process->devices.cnt; i++)
		if (process->devices.data[i].described &&
			process->devices.data[i].rec.index == index)
			return &process->devices.data[i];
	return NULL;
}

/*
 * By index in the runtime's order; NULL: nothing is certain. HIP must be there, all variables must
 * have come, and all GPUs.
 */
static struct wt_hip_gpu *hip_gpus(const struct wt_build_process *process, uint32_t *cnt)
{
	const struct wt_build_device *first = device_at(process, 0);
	struct wt_hip_gpu *gpus;

	*cnt = first ? first->rec.shown_cnt : 0;
	if (!*cnt || *cnt > process->devices.cnt || !process->settings_told || !process->hip_loaded)
		return NULL;
	gpus = calloc(*cnt, sizeof(*gpus));
	for (uint32_t i = 0; gpus && i < *cnt; i++) {
		const struct wt_build_device *device = device_at(process, i);

		if (!device || device->rec.shown_cnt != *cnt) {
			free(gpus);
			return NULL;
		}
		gpus[i].uuid = device->rec.uuid_text;
		gpus[i].isa = device->rec.isa;
	}
	if (gpus)
		wt_hip_ordinal__work_out(gpus, *cnt, process->hip_visible, process->cuda_visible,
			wt_hip_ordinal__rules(process->hip_major, process->hip_minor));
	return gpus;
}

/*
 * Drivers that do not number the parts of a divided GPU leave 0 there: 0 is a number only where the
 * GPU is whole, or where another of its parts has another one.
 */
static uint32_t partition_of(
	const struct wt_build_process *process, const struct wt_build_device *device)
{
	const struct wt_rec_device *rec = &device->rec;

	if (rec->partition || !strcmp(rec->compute_partition, "SPX"))
		return rec->partition;
	for (size_t i = 0; i < process->devices.cnt; i++) {
		const struct wt_build_device *other = &process->devices.data[i];

		if (other->described && other->rec.domain == rec->domain &&
			other->rec.bdf == rec->bdf && other->rec.partition &&
			other->rec.partition != UINT32_MAX)
			return 0;
	}
	return UINT32_MAX;
}

int wt_build__write_devices(struct wt_build *build, struct wt_build_process *process)
{
	uint32_t hip_cnt;
	struct wt_hip_gpu *hip = hip_gpus(process, &hip_cnt);
	int rc = 0;

	for (size_t i = 0; i < process->devices.cnt && !rc; i++) {
		const struct wt_build_device *device = &process->devices.data[i];
		const struct wt_rec_device *d = &device->rec;

		if (!device->described)
			continue;
		rc = wt_store__add_device(build->store,
			&(struct wt_store_device){
				.id = device->id,
				.process_id = process->id,
				.number = device->number,
				.uuid = d->uuid,
				.node = d->node,
				.bdf = d->bdf,
				.compute_units = d->compute_units,
				.clock_mhz = d->clock_mhz,
				.arch = d->arch,
				.name = d->name,
				.hip_ordinal = hip && d->index < hip_cnt ? hip[d->index].ordinal
									 : UINT32_MAX,
				.isa = d->isa,
				.uuid_text = d->uuid_text,
				.domain = d->domain,
				.partition = partition_of(process, device),
				.compute_partition = d->compute_partition,
				.memory_partition = d->memory_partition,
				.xccs = d->xcc_cnt,
				.memory_bytes = d->memory_bytes,
				.memory_clock_mhz = d->memory_clock_mhz,
				.memory_width_bits = d->memory_width_bits,
				.wavefront_size = d->wavefront_size,
				.lds_bytes = d->lds_bytes,
				.workgroup_max = d->workgroup_max,
				.waves_per_cu = d->waves_per_cu,
				.simds_per_cu = d->simds_per_cu,
				.shader_engines = d->shader_engines,
				.l2_bytes = d->l2_bytes,
				.chip_id = d->chip_id,
				.asic_revision = d->asic_revision,
			});
	}
	free(hip);
	return rc;
}
