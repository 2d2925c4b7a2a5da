// SPDX-License-Identifier: MIT
/*
 * What an AQL queue executes. Time is simulated: a packet's start follows from when it was seen and
 * from the packets before it, its end from its duration, and its completion is delivered when real
 * time has passed that end. So stamps are exact, however late this thread got the CPU.
 */
#include "fault.h"
#include "vgpu.h"

#include <linux/kfd_ioctl.h>
#include <string.h>

#define PUBLISH_EVERY 16 /* packets; smaller than the smallest ring by far */

/* ---- packets in flight: a heap, earliest end first, then lowest index ---- */

static bool before(const struct vg_flight *a, const struct vg_flight *b)
{
	return a->end != b->end ? a->end < b->end : a->index < b->index;
}

void vg_flight__push(struct vg_queue *q, const struct vg_flight *f)
{
	unsigned i = q->flight_cnt++;

	while (i && before(f, &q->flight[(i - 1) / 2])) {
		q->flight[i] = q->flight[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	q->flight[i] = *f;
}

struct vg_flight vg_flight__pop(struct vg_queue *q)
{
	struct vg_flight top = q->flight[0], last = q->flight[--q->flight_cnt];
	unsigned i = 0, child;

	while ((child = 2 * i + 1) < q->flight_cnt) {
		if (child + 1 < q->flight_cnt && before(&q->flight[child + 1], &q->flight[child]))
			child++;
		if (!before(&q->flight[child], &last))
			break;
		q->flight[i] = q->flight[child];
		i = child;
	}
	q->flight[i] = last;
	return top;
}

/* ---- completion ---- */

/*
 * The producer reads the read index at every launch, so it is not written at every packet but in
 * good time: before anybody can see a completion, before waiting, and every few packets.
 */
static void publish(struct vg_queue *q)
{
	if (q->read != q->published)
		__atomic_store_n(q->rptr, q->read, __ATOMIC_RELEASE);
	q->published = q->read;
}

static bool stamping(const struct vg_queue *q)
{
	return (__atomic_load_n(&q->aql->queue_properties, __ATOMIC_RELAXED) &
		       ABI_QUEUE_PROFILING) ||
	       vg_proc()->conf.always_stamp;
}

/*
 * Record, stamps, decrement, mailbox, interrupt, in this order: whoever sees the decrement finds
 * the record and the stamps, and may free the signal, so everything else is read from it before.
 */
static void complete(struct vg_queue *q, const struct vg_flight *f)
{
	struct abi_signal *s = f->signal;
	bool stamp = s && stamping(q);
	uint64_t mailbox = s ? s->event_mailbox_ptr : 0;
	uint32_t id = s ? s->event_id : 0;

	if (f->rec) {
		f->rec->end = f->end;
		f->rec->flags |= (mailbox ? VG_REC_INTERRUPT : 0) | (stamp ? VG_REC_STAMPED : 0);
		atomic_store_explicit(&f->rec->done, 1, memory_order_release);
		vg_spool__done(&q->spool, f->block);
	}
	if (!s)
		return;
	publish(q);
	if (stamp) {
		s->start_ts = vg_gpu_ticks(q->gpu, f->start);
		s->end_ts = vg_gpu_ticks(q->gpu, f->end);
	}
	/* Sequentially consistent: pairs with the parking of a thread that waits for this signal.
	 */
	__atomic_fetch_sub(&s->value, 1, __ATOMIC_SEQ_CST);
	vg_queue__signal_changed();
	if (mailbox) {
		__atomic_store_n(
			(uint64_t *)vg_va(mailbox, &q->va_data), (uint64_t)id, __ATOMIC_RELEASE);
		vg_fault__interrupt(q, f->index, id);
	}
}

void vg_aql__complete_due(struct vg_queue *q)
{
	if (!q->flight_cnt)
		return;
	q->now = vg_gpu_now(q->gpu);
	while (q->flight_cnt && q->flight[0].end <= q->now) {
		struct vg_flight f = vg_flight__pop(q);

		complete(q, &f);
	}
}

/* ---- which packet is next ---- */

static char *slot_of(const struct vg_queue *q, uint64_t index)
{
	return q->ring +
	       index % (q->ring_bytes / sizeof(union abi_packet)) * sizeof(union abi_packet);
}

static bool is_valid(const struct vg_queue *q, uint64_t index)
{
	uint16_t header = __atomic_load_n((uint16_t *)slot_of(q, index), __ATOMIC_ACQUIRE);

	return (header & ABI_HEADER_TYPE_MASK) != ABI_PACKET_INVALID;
}

bool vg_aql__ready(const struct vg_queue *q)
{
	uint64_t i = q->read;

	return ((int64_t)i <= q->bell_seen ||
		       (int64_t)i <= (int64_t)__atomic_load_n(q->bell, __ATOMIC_ACQUIRE)) &&
	       is_valid(q, i);
}

/*
 * Memory shows the last doorbell store only, hardware sees every one: with several producers an
 * older index may overwrite a newer one before it was seen. So a valid packet below the write index
 * runs after a while even if nothing seems to cover it.
 */
bool vg_aql__bare(const struct vg_queue *q)
{
	uint64_t i = q->read;

	return !vg_proc()->conf.strict_doorbell && i < __atomic_load_n(q->wptr, __ATOMIC_ACQUIRE) &&
	       is_valid(q, i);
}

static bool covered(struct vg_queue *q, uint64_t i)
{
	int64_t bell;

	if ((int64_t)i <= q->bell_seen)
		return true;
	bell = (int64_t)__atomic_load_n(q->bell, __ATOMIC_ACQUIRE);
	if ((int64_t)i > bell) {
		if (!vg_aql__bare(q)) {
			q->bare_since = 0;
			return false;
		}
		q->now = vg_gpu_now(q->gpu);
		if (!q->bare_since)
			q->bare_since = q->now;
		if (q->now - q->bare_since < VG_BARE_NS)
			return false;
		q->bare = true;
		bell = (int64_t)i;
		TRACE(1, "queue %u: packet %llu runs without a doorbell", q->id,
			(unsigned long long)i);
	}
	q->bare_since = 0;
	q->bell_seen = bell;
	q->seen_at = q->now = vg_gpu_now(q->gpu);
	return true;
}

/* ---- the head packet's signals ---- */

bool vg_condition_holds(int64_t value, uint32_t condition, int64_t reference)
{
	switch (condition) {
	case ABI_CONDITION_EQ:
		return value == reference;
	case ABI_CONDITION_NE:
		return value != reference;
	case ABI_CONDITION_LT:
		return value < reference;
	default:
		return value >= reference;
	}
}

static int64_t signal_value(struct vg_queue *q, uint64_t handle)
{
	const struct abi_signal *s = vg_va(handle, &q->va_signal);

	return __atomic_load_n(&s->value, __ATOMIC_SEQ_CST);
}

static bool any_dependency(const union abi_packet *p, unsigned type)
{
	if (type == ABI_PACKET_VENDOR)
		return p->value.format == ABI_VENDOR_BARRIER_VALUE && p->value.signal;
	if (type != ABI_PACKET_BARRIER_AND && type != ABI_PACKET_BARRIER_OR)
		return false;
	for (int i = 0; i < ABI_BARRIER_DEPS; i++)
		if (p->barrier.dep_signal[i])
			return true;
	return false;
}

bool vg_aql__unblocked(struct vg_queue *q)
{
	const union abi_packet *p = &q->head;
	unsigned type = p->header & ABI_HEADER_TYPE_MASK;

	if (type == ABI_PACKET_DISPATCH)
		return vg_stream_op__unblocked(q);
	if (type == ABI_PACKET_VENDOR)
		return vg_condition_holds(signal_value(q, p->value.signal) & p->value.mask,
			p->value.cond, p->value.value);
	for (int i = 0; i < ABI_BARRIER_DEPS; i++) {
		bool zero;

		if (!p->barrier.dep_signal[i])
			continue;
		zero = signal_value(q, p->barrier.dep_signal[i]) == 0;
		if (zero && type == ABI_PACKET_BARRIER_OR)
			return true;
		if (!zero && type == ABI_PACKET_BARRIER_AND)
			return false;
	}
	return type == ABI_PACKET_BARRIER_AND;
}

/* ---- execution ---- */

static uint8_t record_kind(const union abi_packet *p, unsigned type)
{
	static const uint8_t kinds[] = {
		[ABI_PACKET_DISPATCH] = VG_REC_DISPATCH,
		[ABI_PACKET_BARRIER_AND] = VG_REC_BARRIER_AND,
		[ABI_PACKET_AGENT] = VG_REC_AGENT,
		[ABI_PACKET_BARRIER_OR] = VG_REC_BARRIER_OR,
	};

	if (type == ABI_PACKET_VENDOR)
		return p->value.format == ABI_VENDOR_BARRIER_VALUE ? VG_REC_BARRIER_VALUE
		       : p->value.format == ABI_VENDOR_PM4_IB      ? VG_REC_PM4
								   : VG_REC_UNKNOWN;
	return type < sizeof kinds && kinds[type] ? kinds[type] : VG_REC_UNKNOWN;
}

/* What the command processor takes for a packet that is no dispatch. */
static uint64_t packet_ns(uint8_t kind)
{
	static const uint8_t costs[] = {
		[VG_REC_BARRIER_AND] = 1 + VG_COST_BARRIER,
		[VG_REC_BARRIER_OR] = 1 + VG_COST_BARRIER,
		[VG_REC_BARRIER_VALUE] = 1 + VG_COST_BARRIER,
		[VG_REC_PM4] = 1 + VG_COST_PM4,
		[VG_REC_AGENT] = 1 + VG_COST_AGENT,
	};
	uint8_t cost = kind < sizeof costs ? costs[kind] : 0;

	return cost ? vg_proc()->conf.cost.packet_ns[cost - 1] : 0;
}

/* The arguments are copied only from memory that is known: a kernel need not read its arguments. */
static bool is_readable(struct vg_queue *q, uint64_t va, uint64_t bytes)
{
	if (va - q->args_base < q->args_size && bytes <= q->args_base + q->args_size - va)
		return true;
	if (!vg_mem__range(va, &q->args_base, &q->args_size)) {
		q->args_size = 0;
		return vg_mem__covers(va, bytes); /* asked each time: it may be gone soon */
	}
	return bytes <= q->args_base + q->args_size - va;
}

static void describe_dispatch(struct vg_queue *q, struct vg_rec *r,
	const struct abi_dispatch_packet *d, const struct vg_kernel *k)
{
	r->kernel = k->name ? k->id : 0;
	r->kernel_object = d->kernel_object;
	memcpy(r->grid, d->grid, sizeof r->grid);
	memcpy(r->workgroup, d->workgroup, sizeof r->workgroup);
	r->group_segment = d->group_segment_size;
	r->private_segment = d->private_segment_size;
	if (d->kernarg_address && is_readable(q, d->kernarg_address, sizeof r->kernarg)) {
		memcpy(r->kernarg, vg_va(d->kernarg_address, &q->va_data), sizeof r->kernarg);
		r->kernarg_bytes = sizeof r->kernarg;
	}
}

/* Reserves and fills the record: from here on a kill leaves a packet without an end in the log. */
static void record(struct vg_queue *q, struct vg_flight *f, const union abi_packet *p,
	const struct vg_blit_result *did, enum vg_way way, const struct vg_kernel *k)
{
	struct vg_spool *spool = &vg_proc()->spool;
	struct vg_rec *r;

	if (q->bare && spool->header)
		atomic_fetch_add_explicit(&spool->header->bare, 1, memory_order_relaxed);
	vg_queue__announce(q);
	r = f->rec = vg_spool__reserve(spool, &q->spool, &f->block);
	if (!r)
		return;
	r->gpu = (uint8_t)q->gpu;
	r->flags = (p->header & ABI_HEADER_BARRIER_BIT ? VG_REC_BARRIER_BIT : 0) |
		   (q->bare ? VG_REC_BARE : 0);
	r->queue = q->seq;
	r->index = f->index;
	r->start = f->start;
	r->signal = p->barrier.completion_signal;
	r->bytes = did->bytes;
	if (did->kind == VG_REC_COPY || did->kind == VG_REC_FILL)
		vg_queue__places(r, did->from, did->to);
	r->way = (uint8_t)way;
	if (k)
		describe_dispatch(q, r, &p->dispatch, k);
	__atomic_store_n(&r->kind, did->kind, __ATOMIC_RELEASE);
}

/* Moves the data that the kernel is there to move, or runs the function that stands in for it. */
static void take_effect(struct vg_queue *q, const struct abi_dispatch_packet *d, uint64_t index,
	const struct vg_kernel *k, struct vg_blit_result *did)
{
	const char *args = NULL;

	if (k->user && !q->fault_strikes) {
		vg_effect__run(q, k, index, d);
	} else if (k->effect != VG_EFFECT_NONE && !vg_stream_op__is(k)) {
		if (d->kernarg_address)
			args = vg_va(d->kernarg_address, &q->va_data);
		*did = vg_blit__run(k, args, d->grid[0], &q->va_data);
	}
}

/* `k`: of a dispatch; `did`: what it has done already. */
static void run(struct vg_queue *q, const union abi_packet *p, unsigned type, struct vg_flight *f,
	const struct vg_kernel *k, struct vg_blit_result *result)
{
	const struct vg_costs *c = &vg_proc()->conf.cost;
	struct vg_blit_result did = *result;
	enum vg_way way = VG_WAY_FILL;
	uint64_t ns;

	did.kind = record_kind(p, type);
	f->end = f->start;
	if (k) {
		if (!did.faults)
			take_effect(q, &p->dispatch, f->index, k, &did);
		if (did.kind == VG_REC_COPY)
			way = vg_way_of(vg_mem__vram_gpu(did.from), vg_mem__vram_gpu(did.to));
		ns = did.kind == VG_REC_DISPATCH || k->own_time
			     ? vg_kernel__ns(q, k)
			     : c->latency_ns[way] + vg_costs__bytes_ns(c, way, did.bytes);
		f->start = vg_slots__take(vg_proc(), q->gpu, f->start, ns);
		f->end = f->start + ns;
		if (q->waiting_since) { /* what it waited for came in real time */
			q->now = vg_gpu_now(q->gpu);
			if (q->now > f->end)
				f->end = q->now;
		}
	} else {
		if (any_dependency(p, type)) {
			/* A dependency is met in real time. */
			q->now = vg_gpu_now(q->gpu);
			if (q->now > f->end)
				f->end = q->now;
		}
		f->end += packet_ns(did.kind);
	}
	if (did.kind == VG_REC_PM4)
		vg_kernel__invalidate();
	if (vg_proc()->spool.header)
		record(q, f, p, &did, way, k);
	/* Launches are in order; a barrier packet also holds up whatever follows. */
	q->floor = k ? f->start : f->end;
	if (f->end > q->last_end)
		q->last_end = f->end;
	*result = did;
}

static void consume(struct vg_queue *q, uint64_t i)
{
	__atomic_store_n((uint16_t *)slot_of(q, i), ABI_PACKET_INVALID, __ATOMIC_RELEASE);
	q->read = i + 1;
	if (q->read - q->published >= PUBLISH_EVERY)
		publish(q);
	q->waiting_since = 0;
	q->bare = q->fault_strikes = false;
}

static uint64_t start_of(const struct vg_queue *q, const union abi_packet *p)
{
	uint64_t start = q->seen_at > q->floor ? q->seen_at : q->floor;

	if (p->header & ABI_HEADER_BARRIER_BIT && q->last_end > start)
		start = q->last_end;
	return q->waiting_since ? q->waiting_since : start;
}

/* True while a fault keeps the packet from being taken; another kind strikes when it is launched.
 */
static bool is_stalled(struct vg_queue *q, const union abi_packet *p, unsigned type, uint64_t i)
{
	enum vg_fault_act act;

	if (q->stall_until)
		return vg_fault__stalled(q);
	if (!vg_proc()->fault || q->fault_next > i)
		return false;
	q->fault_next = i + 1;
	act = vg_fault__packet(
		q, i, start_of(q, p), type == ABI_PACKET_DISPATCH ? p->dispatch.kernel_object : 0);
	q->fault_strikes = act == VG_FAULT_STRIKES;
	return act == VG_FAULT_STALLS && vg_fault__stalled(q);
}

/* The queue stops at a packet that the packet processor refuses: it stays where it is. */
static void refuse(
	struct vg_queue *q, struct vg_flight *f, unsigned type, const struct vg_fault_code *why)
{
	struct vg_blit_result did = {.kind = record_kind(&q->head, type)};

	TRACE(1, "queue %u packet %llu is refused: %s", q->id, (unsigned long long)f->index,
		why->name);
	if (vg_proc()->spool.header)
		record(q, f, &q->head, &did, 0, NULL);
	vg_fault__queue_error(q, why);
}

static enum vg_step step(struct vg_queue *q)
{
	const struct vg_fault_code *wrong;
	uint64_t i = q->read;
	struct vg_flight f = {.index = i};
	union abi_packet *p = &q->head;
	struct vg_blit_result did = {0};
	const struct vg_kernel *k = NULL;
	unsigned type;
	bool struck;

	vg_aql__complete_due(q);
	if (atomic_load_explicit(&q->halted, memory_order_relaxed))
		return VG_STEP_STALLED;
	if (!covered(q, i))
		return VG_STEP_IDLE;
	if (!is_valid(q, i)) {
		q->seen_at = vg_gpu_now(q->gpu); /* reserved, not written yet: not seen yet */
		return VG_STEP_IDLE;
	}
	memcpy(p, slot_of(q, i), sizeof *p);
	type = p->header & ABI_HEADER_TYPE_MASK;
	if (p->header & ABI_HEADER_BARRIER_BIT ? q->flight_cnt > 0 : q->flight_cnt == VG_MAX_FLIGHT)
		return VG_STEP_LATER;

	if (is_stalled(q, p, type, i))
		return VG_STEP_STALLED;
	f.start = start_of(q, p);
	wrong = vg_packet__wrong(p);
	if (wrong && q->flight_cnt)
		return VG_STEP_LATER; /* what runs comes to its end */
	if (wrong) {
		refuse(q, &f, type, wrong);
		return VG_STEP_STALLED;
	}
	if (type == ABI_PACKET_DISPATCH) {
		f.start += vg_proc()->conf.cost.packet_ns[VG_COST_DISPATCH];
		k = vg_kernel__find(q, p->dispatch.kernel_object);
	}
	if ((any_dependency(p, type) && !vg_aql__unblocked(q)) ||
		(k && vg_stream_op__is(k) && !vg_stream_op__run(q, k, &p->dispatch, &did))) {
		q->waiting_since = f.start;
		return VG_STEP_BLOCKED;
	}
	if (p->barrier.completion_signal)
		f.signal = vg_va(p->barrier.completion_signal, &q->va_signal);
	TRACE(2, "queue %u packet %llu header 0x%04x signal 0x%llx", q->id, (unsigned long long)i,
		p->header, (unsigned long long)p->barrier.completion_signal);
	run(q, p, type, &f, k, &did);
	struck = q->fault_strikes;
	consume(q, i);
	if (did.faults)
		vg_fault__access(q, i, f.start, did.fault_va); /* it has no end */
	else if (struck)
		vg_fault__strike(q, i, f.start); /* it has no end */
	else if (!q->flight_cnt && f.end <= q->now)
		complete(q, &f);
	else
		vg_flight__push(q, &f);
	return VG_STEP_DONE;
}

enum vg_step vg_aql__step(struct vg_queue *q)
{
	enum vg_step result = step(q);

	if (result != VG_STEP_DONE)
		publish(q);
	return result;
}
