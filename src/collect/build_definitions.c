// SPDX-License-Identifier: MIT
#include "collect/build_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No process has as many; a hostile number must not make the vectors grow for ever. */
#define MAX_DEVICES 1024u
#define MAX_QUEUES  65536u
#define BREAKS_TOLD 16u /* of a clock that breaks often, the first ones */

/* A copy of a fixed-size text field that ends in NUL. */
#define text_of(field, to) (memcpy((to), (field), sizeof(field)), (to)[sizeof(field)] = 0, (to))

struct wt_build_device *wt_build__device(
	struct wt_build *build, struct wt_build_process *process, uint32_t number)
{
	uint64_t *index = wt_map__find(&process->device_of, number);
	struct wt_build_device device = {.number = number};

	if (index)
		return &process->devices.data[*index];
	if (process->devices.cnt >= MAX_DEVICES)
		return NULL;
	device.id = ++build->next_device;
	if (wt_map__put(&process->device_of, number, process->devices.cnt) ||
		wt_vec__push(&process->devices, device))
		return NULL;
	return wt_vec__last(&process->devices);
}

struct wt_build_queue *wt_build__queue(
	struct wt_build *build, struct wt_build_process *process, uint32_t number, uint32_t device)
{
	uint64_t *index = wt_map__find(&process->queue_of, number);
	struct wt_build_queue queue = {
		.number = number,
		.device = device,
		.ended_ns = WT_ABSENT,
		.priority = UINT32_MAX,
	};

	if (index)
		return &process->queues.data[*index];
	if (process->queues.cnt >= MAX_QUEUES)
		return NULL;
	queue.id = ++build->next_queue;
	if (wt_map__put(&process->queue_of, number, process->queues.cnt) ||
		wt_vec__push(&process->queues, queue))
		return NULL;
	return wt_vec__last(&process->queues);
}

static int add_queue(
	struct wt_build *build, struct wt_build_process *process, const struct wt_rec *rec)
{
	const struct wt_rec_queue *q = (const void *)rec;
	struct wt_build_queue *queue = wt_build__queue(build, process, rec->id, q->device);

	if (!queue)
		return -ENOMEM;
	queue->rec = *q;
	queue->device = q->device;
	queue->defined = true;
	return 0;
}

static int end_queue(
	struct wt_build *build, struct wt_build_process *process, const struct wt_rec *rec)
{
	const struct wt_rec_queue_end *e = (const void *)rec;
	struct wt_build_queue *queue = wt_build__queue(build, process, rec->id, UINT32_MAX);

	if (!queue)
		return -ENOMEM;
	queue->ended_ns = e->ended_ns;
	return 0;
}

static int set_queue(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec *rec, uint32_t bytes)
{
	const struct wt_rec_queue_set *s = (const void *)rec;
	struct wt_build_queue *queue = wt_build__queue(build, process, rec->id, UINT32_MAX);
	uint32_t words = s->value / 32, word;

	if (!queue)
		return -ENOMEM;
	if (s->what == WT_QUEUE_PRIORITY) {
		queue->priority = s->value;
		return 0;
	}
	if (s->what != WT_QUEUE_CU_MASK || s->value > WT_QUEUE_CU_MASK_MAX ||
		words * sizeof(word) > bytes - sizeof(*s))
		return -EINVAL;
	for (uint32_t i = 0; i < words; i++) {
		memcpy(&word, (const char *)(s + 1) + (words - 1 - i) * sizeof(word), sizeof(word));
		snprintf(queue->cu_mask + 8 * i, 9, "%08x", word);
	}
	return 0;
}

int wt_build__write_queues(struct wt_build *build, struct wt_build_process *process)
{
	static const char *const modes[] = {
		[WT_QUEUE_SLOTS] = "slots",
		[WT_QUEUE_POOL] = "pool",
		[WT_QUEUE_INTERCEPT] = "intercept",
		[WT_QUEUE_UNTIMED] = "untimed",
	};
	int rc = 0;

	for (size_t i = 0; i < process->queues.cnt && !rc; i++) {
		const struct wt_build_queue *queue = &process->queues.data[i];
		struct wt_build_device *device =
			queue->device == UINT32_MAX
				? NULL
				: wt_build__device(build, process, queue->device);
		uint32_t mode = queue->rec.mode;
		struct wt_store_queue row = {
			.id = queue->id,
			.process_id = process->id,
			.device_id = device ? device->id : 0,
			.hsa_id = queue->rec.hsa_id,
			.size = queue->rec.size,
			.created_ns = queue->defined ? queue->rec.created_ns : WT_ABSENT,
			.ended_ns = queue->ended_ns,
			.mode = mode && mode < sizeof(modes) / sizeof(*modes) ? modes[mode]
									      : "slots",
			.type = queue->defined ? queue->rec.type : UINT32_MAX,
			.priority = queue->priority,
			.cu_mask = queue->cu_mask,
		};

		rc = wt_store__add_queue(build->store, &row);
	}
	return rc;
}

static int add_symbol(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec *rec, uint32_t bytes)
{
	const struct wt_rec_symbol *s = (const void *)rec;
	uint64_t older = wt_map__get(&process->symbol_of, s->kernel_object, UINT64_MAX);
	struct wt_build_device *device;
	struct wt_build_symbol symbol;
	struct wt_store_symbol row;
	char *name;
	int rc;

	if (s->name_bytes > bytes - sizeof(*s))
		return -EINVAL;
	/* the same symbol twice: an older one at that address ends where this one begins */
	if (older != UINT64_MAX && process->symbols.data[older].dead > rec->id)
		process->symbols.data[older].dead = rec->id;
	name = strndup((const char *)(s + 1), s->name_bytes);
	if (!name)
		return -ENOMEM;
	symbol = (struct wt_build_symbol){
		.id = ++build->next_symbol,
		.born = rec->id,
		.dead = UINT32_MAX,
		.executable = s->executable,
		.older = older == UINT64_MAX ? 0 : (uint32_t)older + 1,
		.blit = wt_blit__of_kernel(name),
	};
	device = s->device == UINT32_MAX ? NULL : wt_build__device(build, process, s->device);
	row = (struct wt_store_symbol){
		.id = symbol.id,
		.process_id = process->id,
		.device_id = device ? device->id : 0,
		.name = name,
		.kernel_object = s->kernel_object,
		.loaded_ns = WT_ABSENT,
		.unloaded_ns = WT_ABSENT,
		.group_bytes = s->group_bytes,
		.private_bytes = s->private_bytes,
		.kernarg_bytes = s->kernarg_bytes,
		.vgprs = s->vgprs,
		.agprs = s->agprs,
		.sgprs = s->sgprs,
		.vgpr_spills = s->vgpr_spills,
		.sgpr_spills = s->sgpr_spills,
		.workgroup_max = s->workgroup_max,
		.wavefront_size = s->wavefront_size,
		.dynamic_stack = s->dynamic_stack,
	};
	rc = wt_store__add_symbol(build->store, &row);
	free(name);
	if (rc)
		return rc;
	if (wt_map__put(&process->symbol_of, s->kernel_object, process->symbols.cnt))
		return -ENOMEM;
	return wt_vec__push(&process->symbols, symbol);
}

static int end_symbols(struct wt_build_process *process, const struct wt_rec *rec)
{
	const struct wt_rec_symbols_end *e = (const void *)rec;

	for (size_t i = 0; i < process->symbols.cnt; i++) {
		struct wt_build_symbol *symbol = &process->symbols.data[i];

		if (symbol->executable == e->executable && symbol->dead > rec->id)
			symbol->dead = rec->id;
	}
	return 0;
}

const struct wt_build_symbol *wt_build__symbol(
	const struct wt_build_process *process, uint64_t kernel_object, uint32_t generation)
{
	uint64_t newest = wt_map__get(&process->symbol_of, kernel_object, UINT64_MAX);
	uint32_t at = newest == UINT64_MAX ? 0 : (uint32_t)newest + 1;

	while (at) {
		const struct wt_build_symbol *symbol = &process->symbols.data[at - 1];

		if (symbol->born <= generation)
			return generation < symbol->dead ? symbol : NULL;
		at = symbol->older;
	}
	return NULL;
}

/* Says so once where the last pair does not follow from the ones before. */
static int tell_of_break(
	struct wt_build *build, struct wt_build_process *process, struct wt_build_device *device)
{
	const struct wt_clock_point *p;
	char text[200];

	if (device->clock.break_cnt == device->told_breaks || device->told_breaks >= BREAKS_TOLD)
		return 0;
	device->told_breaks = device->clock.break_cnt;
	p = wt_vec__last(&device->clock.points);
	snprintf(text, sizeof(text),
		"the clock of GPU %u %s in the %.3f s before it was read at %llu ns%s", device->number,
		p->anew ? "began anew" : "stood still or was set",
		(double)(p->ns - p[-1].ns) / 1e9, (unsigned long long)p->ns,
		p->gap_ns ? ": the machine was suspended" : "");
	return wt_store__add_status(
		build->store, &(struct wt_store_status){
				      .process_id = process->id,
				      .source = "clock",
				      .level = "info",
				      .text = text,
			      });
}

static int add_gpu_clock(
	struct wt_build *build, struct wt_build_process *process, const struct wt_rec *rec)
{
	const struct wt_rec_gpu_clock *c = (const void *)rec;
	struct wt_build_device *device = wt_build__device(build, process, rec->id);
	struct wt_store_clock row;
	int rc;

	if (!device || wt_clock_line__add(&device->clock, c->ticks, c->ns, c->gap_ns))
		return -ENOMEM;
	rc = tell_of_break(build, process, device);
	if (rc)
		return rc;
	row = (struct wt_store_clock){
		.process_id = process->id,
		.device_id = device->id,
		.taken_ns = c->taken_ns,
		.ticks = c->ticks,
		.ns = c->ns,
		.realtime_ns = WT_ABSENT,
		.monotonic_ns = WT_ABSENT,
		.width_ns = c->width_ns == UINT32_MAX ? WT_ABSENT : c->width_ns,
	};
	return wt_store__add_clock(build->store, &row);
}

static int add_status(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec *rec, uint32_t bytes)
{
	static const char *const levels[] = {"info", "degraded", "off"};
	const struct wt_rec_status *s = (const void *)rec;
	char source[sizeof(s->source) + 1], *text;
	int rc;

	if (s->text_bytes > bytes - sizeof(*s))
		return -EINVAL;
	text = strndup((const char *)(s + 1), s->text_bytes);
	if (!text)
		return -ENOMEM;
	rc = wt_store__add_status(build->store, &(struct wt_store_status){
							.process_id = process->id,
							.source = text_of(s->source, source),
							.level = levels[rec->id < 3 ? rec->id : 2],
							.text = text,
						});
	free(text);
	return rc;
}

static int begin_place(struct wt_build_process *process, const struct wt_rec *rec)
{
	const struct wt_rec_place *p = (const void *)rec;

	return wt_places__begin(&process->places, p->address, p->bytes, rec->id, p->from_ns);
}

static int end_place(struct wt_build_process *process, const struct wt_rec *rec)
{
	const struct wt_rec_place_end *p = (const void *)rec;

	wt_places__end(&process->places, p->address, p->end_ns);
	return 0;
}

/* Smallest size of each definition; 0: not one. */
static const uint16_t sizes[] = {
	[WT_REC_DEVICE] = sizeof(struct wt_rec_device),
	[WT_REC_QUEUE] = sizeof(struct wt_rec_queue),
	[WT_REC_QUEUE_SET] = sizeof(struct wt_rec_queue_set),
	[WT_REC_QUEUE_END] = sizeof(struct wt_rec_queue_end),
	[WT_REC_SYMBOL] = sizeof(struct wt_rec_symbol),
	[WT_REC_SYMBOLS_END] = sizeof(struct wt_rec_symbols_end),
	[WT_REC_GPU_CLOCK] = sizeof(struct wt_rec_gpu_clock),
	[WT_REC_STREAM] = sizeof(struct wt_rec_stream),
	[WT_REC_STREAM_END] = sizeof(struct wt_rec_stream_end),
	[WT_REC_STATUS] = sizeof(struct wt_rec_status),
	[WT_REC_SDMA] = sizeof(struct wt_rec_sdma),
	[WT_REC_SDMA_END] = sizeof(struct wt_rec_sdma_end),
	[WT_REC_SETTING] = sizeof(struct wt_rec_setting),
	[WT_REC_PLACE] = sizeof(struct wt_rec_place),
	[WT_REC_PLACE_END] = sizeof(struct wt_rec_place_end),
};

int wt_build__definition(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec *rec, uint32_t bytes)
{
	int rc = -EINVAL;

	if (rec->type >= sizeof(sizes) / sizeof(*sizes) || !sizes[rec->type] ||
		bytes < sizes[rec->type]) {
		process->unknown_records++;
		return 0;
	}
	switch (rec->type) {
	case WT_REC_DEVICE:
		rc = wt_build__add_device(build, process, rec);
		break;
	case WT_REC_QUEUE:
		rc = add_queue(build, process, rec);
		break;
	case WT_REC_QUEUE_SET:
		rc = set_queue(build, process, rec, bytes);
		break;
	case WT_REC_QUEUE_END:
		rc = end_queue(build, process, rec);
		break;
	case WT_REC_SYMBOL:
		rc = add_symbol(build, process, rec, bytes);
		break;
	case WT_REC_SYMBOLS_END:
		rc = end_symbols(process, rec);
		break;
	case WT_REC_GPU_CLOCK:
		rc = add_gpu_clock(build, process, rec);
		break;
	case WT_REC_STREAM:
		rc = wt_build__stream(build, process, (const void *)rec);
		break;
	case WT_REC_STREAM_END:
		rc = wt_build__stream_end(process, (const void *)rec);
		break;
	case WT_REC_STATUS:
		rc = add_status(build, process, rec, bytes);
		break;
	case WT_REC_SDMA:
		rc = wt_build__sdma(process, (const void *)rec);
		break;
	case WT_REC_SDMA_END:
		rc = wt_build__sdma_end(build, process, (const void *)rec);
		break;
	case WT_REC_SETTING:
		rc = wt_build__add_setting(build, process, rec, bytes);
		break;
	case WT_REC_PLACE:
		rc = begin_place(process, rec);
		break;
	case WT_REC_PLACE_END:
		rc = end_place(process, rec);
		break;
	}
	if (rc == -EINVAL) {
		process->unknown_records++;
		return 0;
	}
	return rc;
}
