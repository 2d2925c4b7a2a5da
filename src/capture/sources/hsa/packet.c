// SPDX-License-Identifier: MIT
/* What a packet is, written into its slot before the hardware gets it. */
#include "capture/sources/hsa/hsa.h"

/* The slot for this packet, made ready; NULL: its last use is not over (counted). */
static struct wt_slot *claim(struct wt_vq *vq, uint64_t index, union wt_slot_word *word)
{
	struct wt_slot *slot = &vq->slots[index & (vq->capacity - 1)];
	uint32_t lap = (uint32_t)(index >> vq->lap_shift);

	word->raw = atomic_load_explicit(&slot->word, memory_order_acquire);
	if (word->state == WT_SLOT_SUBMITTED) {
		wt_lost__count(WT_LOST_OP_SLOT_BUSY, 1);
		return NULL;
	}
	word->flags = 0;
	if (word->state != WT_SLOT_RESERVED || word->lap != lap) {
		slot->corr = 0;
		slot->stream = 0;
		slot->node = 0;
		word->lap = lap;
		word->untimed = WT_LOST_NONE;
		word->flags = WT_SLOT_NO_PRODUCER;
	}
	word->state = WT_SLOT_SUBMITTED;
	word->kind = WT_SLOT_DISPATCH;
	return slot;
}

static void arm(struct wt_signal *signal)
{
	signal->kind = 1;
	signal->event_mailbox_ptr = 0;
	signal->event_id = 0;
	signal->reserved3[0] = WT_LOST_NONE;
	atomic_store_explicit(&signal->start_ticks, 0, memory_order_relaxed);
	atomic_store_explicit(&signal->end_ticks, 0, memory_order_relaxed);
	atomic_store_explicit(&signal->value, 1, memory_order_relaxed);
}

static enum wt_lost follow_signal(struct wt_vq *vq, uint64_t index, uint64_t handle, bool ordered)
{
	struct wt_pending what = {
		.kind = WT_PENDING_OP, .vq = vq, .index = index, .ordered = ordered};
	enum wt_lost why = WT_LOST_NONE;

	return wt_pending__add(handle, &what, &why) ? WT_LOST_NONE : why;
}

/* A packet that is not timed may all the same stamp its signal. */
static void use_signal(struct wt_vq *vq, uint64_t index, const struct hsa_dispatch_packet *packet)
{
	uint8_t type = packet->header & 0xff;

	if (!packet->completion_signal.handle || !wt_hsa__recording())
		return;
	/* the signal has its place in each kind of packet that has one; others are not known */
	if (type == HSA_PACKET_DISPATCH || type == HSA_PACKET_BARRIER_AND ||
		type == HSA_PACKET_BARRIER_OR)
		wt_pending__use(packet->completion_signal.handle, vq, index);
}

/* Decides how the operation gets its times; may give the packet a signal. */
static void time_dispatch(struct wt_vq *vq, uint64_t index, struct hsa_dispatch_packet *packet,
	union wt_slot_word *word)
{
	uint64_t at = index & (vq->capacity - 1), own = packet->completion_signal.handle;
	bool ordered = !(word->flags & WT_SLOT_NO_BARRIER);

	arm(&vq->signals[at]);
	__builtin_prefetch(&vq->signals[(index + WT_SLOTS_AHEAD) & (vq->capacity - 1)], 1);
	if (own && wt_process.settings.depth == WT_DEPTH_LITE)
		word->untimed = WT_LOST_TIME_DEPTH;
	if (vq->mode == WT_QUEUE_UNTIMED && !word->untimed)
		word->untimed = WT_LOST_TIME_OTHER_TOOL;
	if (word->untimed) {
		use_signal(vq, index, packet);
	} else if (own) {
		word->flags |= WT_SLOT_OWN_SIGNAL;
		word->untimed = (uint8_t)follow_signal(vq, index, own, ordered);
	} else if (vq->mode == WT_QUEUE_SLOTS) {
		packet->completion_signal.handle =
			vq->signals_gpu + at * sizeof(struct wt_signal);
		/* release: who reads the mark finds the signal armed */
		if (ordered)
			atomic_store_explicit(&vq->marks[vq->mark_at++ % WT_VQ_MARKS], index,
				memory_order_release);
	} else if (vq->pool) {
		hsa_signal mine = vq->pool[index % WT_POOL_SIGNALS];

		wt_pending__look(mine.handle);
		CORE(hsa_signal_store_relaxed, hsa_signal_store_fn)(mine, 1);
		word->untimed = (uint8_t)follow_signal(vq, index, mine.handle, ordered);
		if (!word->untimed)
			packet->completion_signal = mine;
		word->flags |= WT_SLOT_OWN_SIGNAL;
	}
	if (!word->untimed)
		word->flags |= WT_SLOT_TIMED;
}

void wt_packet__free_slot(struct wt_vq *vq, uint64_t index)
{
	struct wt_slot *slot = vq->slots ? &vq->slots[index & (vq->capacity - 1)] : NULL;
	union wt_slot_word word = {
		.raw = slot ? atomic_load_explicit(&slot->word, memory_order_relaxed) : 0,
	};

	if (word.state == WT_SLOT_RESERVED)
		atomic_store_explicit(&slot->word, 0, memory_order_release);
}

/* Barriers and the like are no operations: their slot is free again. */
static void no_operation(struct wt_vq *vq, uint64_t index, const struct hsa_dispatch_packet *packet)
{
	use_signal(vq, index, packet);
	wt_packet__free_slot(vq, index);
}

static void describe_kernel(struct wt_slot *slot, const struct hsa_dispatch_packet *packet)
{
	for (int i = 0; i < 3; i++) {
		slot->grid[i] = packet->grid[i];
		slot->block[i] = packet->workgroup[i];
	}
	slot->private_dwords = packet->private_segment_size / 4 < WT_SLOT_PRIVATE_UNKNOWN &&
					       packet->private_segment_size % 4 == 0
				       ? (uint16_t)(packet->private_segment_size / 4)
				       : WT_SLOT_PRIVATE_UNKNOWN;
}

static void dispatch(struct wt_vq *vq, uint64_t index, struct hsa_dispatch_packet *packet)
{
	const struct wt_blit *blit;
	union wt_slot_word word;
	struct wt_moves moves;
	struct wt_slot *slot;

	if (!wt_hsa__recording()) {
		wt_lost__count(WT_LOST_COLLECTOR_GONE, 1);
		return;
	}
	if (wt_unlikely(wt_off())) {
		no_operation(vq, index, packet);
		/* one writer: whoever rings */
		if (vq->shared)
			atomic_store_explicit(&vq->shared->off_cnt,
				atomic_load_explicit(&vq->shared->off_cnt, memory_order_relaxed) + 1,
				memory_order_relaxed);
		return;
	}
	if (!(wt_process.settings.want & (WT_WANT_KERNEL | WT_WANT_COPY))) {
		no_operation(vq, index, packet);
		return;
	}
	if (!vq->slots) {
		wt_lost__count(WT_LOST_OP_NO_SLOTS, 1);
		return;
	}
	slot = claim(vq, index, &word);
	if (!slot) {
		use_signal(vq, index, packet);
		return;
	}
	slot->kernel_object = packet->kernel_object;
	blit = wt_blit__find(packet->kernel_object);
	if (wt_unlikely(blit != NULL) && wt_blit__read(blit, packet->kernarg_address, &moves)) {
		slot->moves = moves;
		word.flags |= WT_SLOT_MOVES;
	} else {
		describe_kernel(slot, packet);
	}
	slot->group_bytes = packet->group_segment_size;
	/* relaxed: whoever loaded the module made the kernel known to this producer */
	slot->code_generation =
		atomic_load_explicit(&wt_hsa.code_generation, memory_order_relaxed);
	if (!(packet->header >> HSA_HEADER_BARRIER_BIT & 1))
		word.flags |= WT_SLOT_NO_BARRIER;
	time_dispatch(vq, index, packet, &word);
	/* release: pairs with the collector's acquire */
	atomic_store_explicit(&slot->word, word.raw, memory_order_release);
}

void wt_packet__describe(struct wt_vq *vq, uint64_t index, struct hsa_dispatch_packet *packet)
{
	if ((packet->header & 0xff) == HSA_PACKET_DISPATCH)
		dispatch(vq, index, packet);
	else
		no_operation(vq, index, packet);
}
