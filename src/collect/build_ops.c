// SPDX-License-Identifier: MIT
#include "collect/build_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wt_build__write_op(struct wt_build *build, const struct wt_store_op *op)
{
	struct wt_build_stats *stats = &build->stats;

	if (op->kind == WT_OP_KERNEL)
		stats->op_cnt++;
	else
		stats->copy_cnt++;
	stats->untimed_cnt += op->start_ns == WT_ABSENT && !op->in_flight;
	stats->in_flight_cnt += op->in_flight;
	stats->attributed_cnt += op->api_id != 0;
	if (op->end_ns != WT_ABSENT && op->end_ns > stats->end_ns)
		stats->end_ns = op->end_ns;
	return wt_store__add_op(build->store, op);
}

static void set_times(struct wt_build_process *process, struct wt_build_device *device,
	const struct wt_op_raw *raw, struct wt_store_op *op)
{
	union wt_slot_word word = {
		.raw = atomic_load_explicit(&raw->slot.word, memory_order_relaxed)};

	op->start_ns = op->end_ns = WT_ABSENT;
	op->in_flight = raw->state == WT_OP_IN_FLIGHT;
	if (op->in_flight)
		return;
	if (raw->state == WT_OP_DONE && raw->end_ticks) {
		/* a clock that began anew while it ran has less at its end */
		bool ordered = raw->end_ticks >= raw->start_ticks;

		if (device && (ordered || device->clock.anew_cnt) &&
			wt_clock_line__convert(&device->clock, raw->start_ticks, &op->start_ns) &&
			wt_clock_line__convert(&device->clock, raw->end_ticks, &op->end_ns) &&
			op->end_ns >= op->start_ns)
			return;
		op->start_ns = op->end_ns = WT_ABSENT;
		op->untimed = ordered ? WT_LOST_TIME_NO_CLOCK : WT_LOST_TIME_NOT_STAMPED;
	} else {
		op->untimed = word.untimed < WT_LOST_CNT ? word.untimed : WT_LOST_NONE;
	}
	process->by_row[op->untimed]++;
}

static void set_dimensions(const struct wt_slot *slot, struct wt_store_op *op)
{
	for (int i = 0; i < 3; i++) {
		op->grid[i] = slot->grid[i];
		op->block[i] = slot->block[i];
	}
	if (slot->private_dwords != WT_SLOT_PRIVATE_UNKNOWN)
		op->private_bytes = (uint32_t)slot->private_dwords * 4;
}

static void set_moves(
	const struct wt_slot *slot, const struct wt_build_symbol *symbol, struct wt_store_op *op)
{
	op->bytes = slot->moves.bytes;
	op->dst = slot->moves.dst;
	if (symbol && symbol->blit == WT_BLIT_COPY)
		op->src = slot->moves.src;
}

static int store_op(struct wt_build *build, struct wt_build_process *process,
	struct wt_build_device *device, const struct wt_build_queue *queue,
	const struct wt_op_raw *raw)
{
	const struct wt_slot *slot = &raw->slot;
	union wt_slot_word word = {.raw = atomic_load_explicit(&slot->word, memory_order_relaxed)};
	const struct wt_build_symbol *symbol =
		wt_build__symbol(process, slot->kernel_object, slot->code_generation);
	struct wt_store_op op = {
		.kind = WT_OP_KERNEL,
		.process_id = process->id,
		.device_id = device ? device->id : 0,
		.queue_id = queue->id,
		.stream_id = wt_build__stream_id(process, slot->stream),
		.packet = raw->index,
		.overlaps = word.flags & WT_SLOT_NO_BARRIER,
		.symbol_id = symbol ? symbol->id : 0,
		.kernel_object = slot->kernel_object,
		.group_bytes = slot->group_bytes,
		.private_bytes = UINT32_MAX,
		.copy_kind = WT_COPY_UNKNOWN,
		.bytes = WT_ABSENT,
		.dst = WT_ABSENT,
		.src = WT_ABSENT,
		.in_graph = word.flags & WT_SLOT_GRAPH,
		.node = slot->node,
	};

	if (slot->corr) {
		op.api_id = wt_build__dense(build, process, slot->corr);
		if (!op.api_id)
			return -ENOMEM;
	}
	/* what a dispatch is can only be told here, so -t leaves it out here */
	if (!(build->want &
		    (symbol && symbol->blit != WT_BLIT_NONE ? WT_WANT_COPY : WT_WANT_KERNEL)))
		return 0;
	set_times(process, device, raw, &op);
	wt_build__producer(build, process, slot->corr, slot->stream);
	if (symbol && symbol->blit == WT_BLIT_NONE)
		wt_build__stream_ran(process, slot->stream, op.device_id);
	if (word.flags & WT_SLOT_MOVES)
		set_moves(slot, symbol, &op);
	else
		set_dimensions(slot, &op);
	if (!symbol || symbol->blit == WT_BLIT_NONE)
		return wt_build__write_op(build, &op);
	op.kind = symbol->blit == WT_BLIT_FILL ? WT_OP_FILL : WT_OP_COPY;
	wt_build__place_copy(build, process, &op, NULL);
	return wt_build__write_op(build, &op);
}

int wt_build__ops(struct wt_build *build, struct wt_build_process *process,
	const struct wt_frame_ops *head, const struct wt_op_raw *ops, size_t cnt)
{
	struct wt_build_queue *queue = wt_build__queue(build, process, head->queue, head->device);
	struct wt_build_device *device = wt_build__device(build, process, head->device);
	struct wt_op_raw raw;
	int rc = 0;

	if (!queue || !device)
		return -ENOMEM;
	for (size_t i = 0; i < cnt && !rc; i++) {
		memcpy(&raw, &ops[i], sizeof(raw));
		if (raw.state == WT_OP_DONE && !build->all_known &&
			!wt_clock_line__covers(&device->clock, raw.end_ticks)) {
			if (wt_vec__push(&device->held,
				    (struct wt_build_held){.raw = raw,
					    .queue = (uint32_t)(queue - process->queues.data)}))
				return -ENOMEM;
			if (++build->held_cnt > build->stats.held_max)
				build->stats.held_max = build->held_cnt;
			continue;
		}
		rc = store_op(build, process, device, queue, &raw);
	}
	return rc;
}

int wt_build__release_held(struct wt_build *build, struct wt_build_process *process, bool all)
{
	for (size_t d = 0; d < process->devices.cnt; d++) {
		struct wt_build_device *device = &process->devices.data[d];
		size_t kept = 0, i;
		int rc = 0;

		if (!device->held.cnt)
			continue;
		/* the oldest decides cheaply: nothing new since the last look */
		if (!all &&
			!wt_clock_line__covers(&device->clock, device->held.data[0].raw.end_ticks))
			continue;
		for (i = 0; i < device->held.cnt && !rc; i++) {
			struct wt_build_held *held = &device->held.data[i];

			if (!all && !wt_clock_line__covers(&device->clock, held->raw.end_ticks)) {
				device->held.data[kept++] = *held;
				continue;
			}
			rc = store_op(build, process, device, &process->queues.data[held->queue],
				&held->raw);
			build->held_cnt--;
		}
		if (rc)
			return rc;
		device->held.cnt = kept;
	}
	return 0;
}
