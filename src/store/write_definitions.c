// SPDX-License-Identifier: MIT
/* Who and what the events are about, and what the trace says about itself. */
#include <stddef.h>

#include "store/row.h"

int wt_store__add_process(struct wt_store *store, const struct wt_store_process *process)
{
	struct wt_row row = wt_row__begin(store, WT_T_PROCESS);

	if (store->failed)
		return store->failed;
	wt_row__put_id(&row, process->id, WT_T_PROCESS);
	wt_row__put_id(&row, process->parent_id, WT_T_PROCESS);
	wt_row__put_unless(&row, (uint64_t)process->pid, 0);
	wt_row__put_unless(&row, (uint64_t)process->parent_pid, 0);
	wt_row__put_unless(&row, process->start_ticks, 0);
	wt_row__put_time(&row, process->joined_ns);
	wt_row__put_time(&row, process->ended_ns);
	wt_row__put_unless(&row, (uint64_t)process->exit_kind, 0);
	wt_row__put(&row, process->forked);
	wt_row__put_text(&row, process->image);
	wt_row__put_text(&row, process->command);
	wt_row__put_text(&row, process->host);
	wt_row__put_text(&row, process->rank);
	return wt_row__end(&row);
}

int wt_store__add_thread(struct wt_store *store, const struct wt_store_thread *thread)
{
	struct wt_row row = wt_row__begin(store, WT_T_THREAD);

	if (store->failed)
		return store->failed;
	wt_row__put_id(&row, thread->id, WT_T_THREAD);
	wt_row__put_id(&row, thread->process_id, WT_T_PROCESS);
	wt_row__put_unless(&row, (uint64_t)thread->tid, 0);
	wt_row__put_text(&row, thread->name);
	return wt_row__end(&row);
}

/* What no GPU has none of. */
static void put_some(struct wt_row *row, uint32_t value)
{
	wt_row__put_unless(row, value ? value : UINT32_MAX, UINT32_MAX);
}

int wt_store__add_device(struct wt_store *store, const struct wt_store_device *device)
{
	struct wt_row row = wt_row__begin(store, WT_T_DEVICE);

	if (store->failed)
		return store->failed;
	wt_row__put_id(&row, device->id, WT_T_DEVICE);
	wt_row__put_id(&row, device->process_id, WT_T_PROCESS);
	wt_row__put(&row, device->number);
	wt_row__put_unless(&row, device->uuid, 0);
	wt_row__put_unless(&row, device->node, UINT32_MAX);
	wt_row__put_unless(&row, device->bdf, UINT32_MAX);
	put_some(&row, device->compute_units);
	put_some(&row, device->clock_mhz);
	wt_row__put_text(&row, device->arch);
	wt_row__put_text(&row, device->name);
	wt_row__put_unless(&row, device->hip_ordinal, UINT32_MAX);
	wt_row__put_text(&row, device->isa);
	wt_row__put_text(&row, device->uuid_text);
	wt_row__put_unless(&row, device->domain, UINT32_MAX);
	wt_row__put_unless(&row, device->partition, UINT32_MAX);
	wt_row__put_text(&row, device->compute_partition);
	wt_row__put_text(&row, device->memory_partition);
	put_some(&row, device->xccs);
	wt_row__put_unless(&row, device->memory_bytes, 0);
	put_some(&row, device->memory_clock_mhz);
	put_some(&row, device->memory_width_bits);
	put_some(&row, device->wavefront_size);
	put_some(&row, device->lds_bytes);
	put_some(&row, device->workgroup_max);
	put_some(&row, device->waves_per_cu);
	put_some(&row, device->simds_per_cu);
	put_some(&row, device->shader_engines);
	put_some(&row, device->l2_bytes);
	put_some(&row, device->chip_id);
	wt_row__put_unless(&row, device->asic_revision, UINT32_MAX);
	return wt_row__end(&row);
}

int wt_store__add_setting(struct wt_store *store, const struct wt_store_setting *setting)
{
	struct wt_row row = wt_row__begin(store, WT_T_SETTING);

	if (store->failed)
		return store->failed;
	wt_row__put_null(&row);
	wt_row__put_id(&row, setting->process_id, WT_T_PROCESS);
	wt_row__put_text(&row, setting->name);
	sqlite3_bind_text(row.stmt, ++row.at, setting->value, -1, SQLITE_STATIC);
	wt_row__put_unless(&row, setting->whole_bytes, WT_ABSENT);
	return wt_row__end(&row);
}

int wt_store__add_version(struct wt_store *store, const struct wt_store_version *version)
{
	struct wt_row row = wt_row__begin(store, WT_T_VERSION);

	if (store->failed)
		return store->failed;
	wt_row__put_null(&row);
	wt_row__put_id(&row, version->process_id, WT_T_PROCESS);
	wt_row__put_text(&row, version->part);
	wt_row__put_text(&row, version->version);
	return wt_row__end(&row);
}

int wt_store__add_queue(struct wt_store *store, const struct wt_store_queue *queue)
{
	struct wt_row row = wt_row__begin(store, WT_T_QUEUE);

	if (store->failed)
		return store->failed;
	wt_row__put_id(&row, queue->id, WT_T_QUEUE);
	wt_row__put_id(&row, queue->process_id, WT_T_PROCESS);
	wt_row__put_id(&row, queue->device_id, WT_T_DEVICE);
	wt_row__put_bits(&row, queue->hsa_id);
	wt_row__put_unless(&row, queue->size, 0);
	wt_row__put_time(&row, queue->created_ns);
	wt_row__put_time(&row, queue->ended_ns);
	wt_row__put_text(&row, queue->mode);
	wt_row__put_unless(&row, queue->type, UINT32_MAX);
	wt_row__put_unless(&row, queue->priority, UINT32_MAX);
	wt_row__put_text(&row, queue->cu_mask);
	return wt_row__end(&row);
}

int wt_store__add_stream(struct wt_store *store, const struct wt_store_stream *stream)
{
	struct wt_row row = wt_row__begin(store, WT_T_STREAM);

	if (store->failed)
		return store->failed;
	wt_row__put_id(&row, stream->id, WT_T_STREAM);
	wt_row__put_id(&row, stream->process_id, WT_T_PROCESS);
	wt_row__put_id(&row, stream->device_id, WT_T_DEVICE);
	wt_row__put_unless(&row, stream->number, 0);
	wt_row__put_bits(&row, stream->handle);
	wt_row__put_time(&row, stream->created_ns);
	wt_row__put_time(&row, stream->ended_ns);
	wt_row__put_text(&row, stream->kind);
	wt_row__put(&row, stream->priority);
	wt_row__put(&row, stream->flags);
	return wt_row__end(&row);
}

int wt_store__add_symbol(struct wt_store *store, const struct wt_store_symbol *symbol)
{
	struct wt_row row;
	int64_t name_id = 0;

	if (store->failed)
		return store->failed;
	if (symbol->name && symbol->name[0] &&
		!(name_id = wt_store_write__string(store, symbol->name)))
		return store->failed;
	row = wt_row__begin(store, WT_T_SYMBOL);
	wt_row__put_id(&row, symbol->id, WT_T_SYMBOL);
	wt_row__put_id(&row, symbol->process_id, WT_T_PROCESS);
	wt_row__put_id(&row, symbol->device_id, WT_T_DEVICE);
	wt_row__put_unless(&row, (uint64_t)name_id, 0);
	wt_row__put_unless(&row, symbol->kernel_object, 0);
	wt_row__put_time(&row, symbol->loaded_ns);
	wt_row__put_time(&row, symbol->unloaded_ns);
	wt_row__put_unless(&row, symbol->group_bytes, UINT32_MAX);
	wt_row__put_unless(&row, symbol->private_bytes, UINT32_MAX);
	wt_row__put_unless(&row, symbol->kernarg_bytes, UINT32_MAX);
	wt_row__put_unless(&row, symbol->vgprs, UINT32_MAX);
	wt_row__put_unless(&row, symbol->agprs, UINT32_MAX);
	wt_row__put_unless(&row, symbol->sgprs, UINT32_MAX);
	wt_row__put_unless(&row, symbol->vgpr_spills, UINT32_MAX);
	wt_row__put_unless(&row, symbol->sgpr_spills, UINT32_MAX);
	wt_row__put_unless(&row, symbol->workgroup_max, UINT32_MAX);
	wt_row__put_unless(&row, symbol->wavefront_size, UINT32_MAX);
	wt_row__put_unless(&row, symbol->dynamic_stack, UINT32_MAX);
	return wt_row__end(&row);
}

int wt_store__add_arg_name(
	struct wt_store *store, const char *function, uint32_t position, const char *name)
{
	int64_t function_id = wt_store_write__string(store, function);
	struct wt_row row = wt_row__begin(store, WT_T_ARG_NAME);

	if (store->failed)
		return store->failed;
	wt_row__put_null(&row);
	wt_row__put(&row, function_id);
	wt_row__put(&row, position);
	wt_row__put_text(&row, name);
	return wt_row__end(&row);
}

int wt_store__add_lost(struct wt_store *store, const struct wt_store_lost *lost)
{
	struct wt_row row = wt_row__begin(store, WT_T_LOST);

	if (store->failed)
		return store->failed;
	wt_row__put_null(&row);
	wt_row__put_id(&row, lost->process_id, WT_T_PROCESS);
	wt_row__put_text(&row, lost->cause);
	wt_row__put_bits(&row, lost->count);
	return wt_row__end(&row);
}

int wt_store__add_unrecorded(struct wt_store *store, const struct wt_store_unrecorded *calls)
{
	int64_t name_id = wt_store_write__string(store, calls->name);
	int64_t domain_id = wt_store_write__string(store, calls->domain);
	struct wt_row row = wt_row__begin(store, WT_T_UNRECORDED);

	if (store->failed)
		return store->failed;
	wt_row__put_null(&row);
	wt_row__put_id(&row, calls->process_id, WT_T_PROCESS);
	wt_row__put(&row, name_id);
	wt_row__put(&row, domain_id);
	wt_row__put_bits(&row, calls->count);
	return wt_row__end(&row);
}

int wt_store__add_clock(struct wt_store *store, const struct wt_store_clock *clock)
{
	struct wt_row row = wt_row__begin(store, WT_T_CLOCK);

	if (store->failed)
		return store->failed;
	wt_row__put_null(&row);
	wt_row__put_id(&row, clock->process_id, WT_T_PROCESS);
	wt_row__put_id(&row, clock->device_id, WT_T_DEVICE);
	wt_row__put_time(&row, clock->taken_ns);
	wt_row__put_bits(&row, clock->ticks);
	wt_row__put_time(&row, clock->ns);
	wt_row__put_unless(&row, clock->realtime_ns, WT_ABSENT);
	wt_row__put_unless(&row, clock->monotonic_ns, WT_ABSENT);
	wt_row__put_unless(&row, clock->width_ns, WT_ABSENT);
	return wt_row__end(&row);
}

int wt_store__add_status(struct wt_store *store, const struct wt_store_status *status)
{
	struct wt_row row = wt_row__begin(store, WT_T_STATUS);

	if (store->failed)
		return store->failed;
	wt_row__put_null(&row);
	wt_row__put_id(&row, status->process_id, WT_T_PROCESS);
	wt_row__put_text(&row, status->source);
	wt_row__put_text(&row, status->level);
	wt_row__put_text(&row, status->text);
	return wt_row__end(&row);
}

int wt_store__add_meta(struct wt_store *store, const char *key, const char *value)
{
	struct wt_row row = wt_row__begin(store, WT_T_META);

	if (store->failed)
		return store->failed;
	wt_row__put_null(&row);
	sqlite3_bind_text(row.stmt, ++row.at, key, -1, SQLITE_STATIC);
	sqlite3_bind_text(row.stmt, ++row.at, value ? value : "", -1, SQLITE_STATIC);
	return wt_row__end(&row);
}
