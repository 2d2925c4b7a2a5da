// SPDX-License-Identifier: MIT
/*
 * What an SDMA queue executes: gfx9 packets as ROCr writes them. Read and write pointers are byte
 * offsets that only grow; the doorbell holds the write pointer. Everything is in order. The packets
 * of one copy (ROCr splits large ones) become one record, which the signal's decrement closes.
 */
#include "vgpu.h"

#include <linux/kfd_ioctl.h>
#include <string.h>

static uint64_t u64_at(const uint32_t *d)
{
	return d[0] | (uint64_t)d[1] << 32;
}

bool vg_sdma_compare(uint32_t v, uint32_t function, uint32_t reference)
{
	switch (function) {
	case 0:
		return true;
	case 1:
		return v < reference;
	case 2:
		return v <= reference;
	case 3:
		return v == reference;
	case 4:
		return v != reference;
	case 5:
		return v >= reference;
	default:
		return v > reference;
	}
}

unsigned vg_sdma_length(const uint32_t *d)
{
	static const uint8_t lengths[] = {
		[ABI_SDMA_COPY] = 7,
		[ABI_SDMA_FENCE] = 4,
		[ABI_SDMA_TRAP] = 2,
		[ABI_SDMA_POLL] = 6,
		[ABI_SDMA_ATOMIC] = 8,
		[ABI_SDMA_FILL] = 5,
		[ABI_SDMA_TIMESTAMP] = 3,
		[ABI_SDMA_GCR] = 5,
	};
	unsigned op = d[0] & 0xff;

	if (op == ABI_SDMA_NOP)
		return 1 + (d[0] >> 16 & 0x3fff);
	if (op == ABI_SDMA_COPY && (d[0] >> 8 & 0xff) == ABI_SDMA_COPY_RECT)
		return 13;
	return op < sizeof lengths ? lengths[op] : 0;
}

/* ---- the record of the copy that is being put together ---- */

static void close_copy(struct vg_queue *q)
{
	if (q->copy.rec)
		vg_spool__done(&q->spool, q->copy.block);
	q->copy.rec = NULL;
}

/* The first packet of a copy or a fill. */
static void open_copy(struct vg_queue *q, uint8_t kind, uint64_t from, uint64_t to, uint64_t start)
{
	struct vg_proc *p = vg_proc();
	struct vg_rec *r;

	close_copy(q);
	q->copy_kind = kind;
	q->copy_way = VG_WAY_FILL;
	if (kind == VG_REC_COPY)
		q->copy_way = (uint8_t)vg_way_of(vg_mem__vram_gpu(from), vg_mem__vram_gpu(to));
	if (!p->spool.header)
		return;
	vg_queue__announce(q);
	r = q->copy.rec = vg_spool__reserve(&p->spool, &q->spool, &q->copy.block);
	if (!r)
		return;
	r->gpu = (uint8_t)q->gpu;
	r->flags = VG_REC_SDMA;
	r->way = q->copy_way;
	r->queue = q->seq;
	r->index = q->copy_seq++;
	r->start = start;
	vg_queue__places(r, from, to);
}

static void extend_copy(
	struct vg_queue *q, uint8_t kind, uint64_t from, uint64_t to, uint64_t bytes)
{
	uint64_t start = q->last_end > q->floor ? q->last_end : q->floor, latency = 0;
	const struct vg_costs *c = &vg_proc()->conf.cost;

	q->in_command = true;
	if (q->copy_kind != kind) {
		open_copy(q, kind, from, to, start);
		latency = c->latency_ns[q->copy_way];
	}
	q->last_end = start + latency + vg_costs__bytes_ns(c, q->copy_way, bytes);
	if (q->copy.rec) {
		q->copy.rec->bytes += bytes;
		__atomic_store_n(&q->copy.rec->kind, kind, __ATOMIC_RELEASE);
	}
}

static void finish_copy(struct vg_queue *q, uint64_t signal)
{
	struct vg_rec *r = q->copy.rec;

	q->in_command = q->fault_asked = false;
	q->copy_kind = VG_REC_NONE;
	if (!r || atomic_load_explicit(&r->done, memory_order_relaxed))
		return;
	r->signal = signal;
	r->end = q->last_end;
	atomic_store_explicit(&r->done, 1, memory_order_release);
}

/* ---- packets ---- */

static bool reaches(struct vg_queue *q, uint64_t va, uint64_t bytes)
{
	if (vg_mem__covers(va, bytes))
		return true;
	q->reached_out = true;
	q->reached_va = va;
	return false;
}

static void copy_linear(struct vg_queue *q, const uint32_t *d)
{
	uint64_t n = (d[1] & 0x3fffffff) + 1ull, from = u64_at(d + 3), to = u64_at(d + 5);

	if (reaches(q, from, n) && reaches(q, to, n))
		memmove(vg_va(to, &q->va_data), vg_va(from, &q->va_data), n);
	extend_copy(q, VG_REC_COPY, from, to, n);
}

/* Sub-window copy: offsets and pitches in elements of 1 << element bytes. */
static void copy_rect(struct vg_queue *q, const uint32_t *d)
{
	unsigned e = d[0] >> 29;
	uint64_t from = u64_at(d + 1), to = u64_at(d + 6);
	const char *s = vg_va(from, &q->va_data);
	char *t = vg_va(to, &q->va_data);
	uint64_t sx = d[3] & 0x3fff, sy = d[3] >> 16 & 0x3fff, sz = d[4] & 0x7ff;
	uint64_t s_pitch = (d[4] >> 13) + 1, s_slice = (d[5] & 0xfffffff) + 1ull;
	uint64_t tx = d[8] & 0x3fff, ty = d[8] >> 16 & 0x3fff, tz = d[9] & 0x7ff;
	uint64_t t_pitch = (d[9] >> 13) + 1, t_slice = (d[10] & 0xfffffff) + 1ull;
	uint64_t w = (d[11] & 0x3fff) + 1, h = (d[11] >> 16 & 0x3fff) + 1, n = (d[12] & 0x7ff) + 1;
	uint64_t s_first = (sz * s_slice + sy * s_pitch + sx) << e;
	uint64_t t_first = (tz * t_slice + ty * t_pitch + tx) << e;
	bool here = reaches(q, from + s_first, ((n - 1) * s_slice + (h - 1) * s_pitch + w) << e) &&
		    reaches(q, to + t_first, ((n - 1) * t_slice + (h - 1) * t_pitch + w) << e);

	for (uint64_t z = 0; here && z < n; z++)
		for (uint64_t y = 0; y < h; y++)
			memmove(t + (((tz + z) * t_slice + (ty + y) * t_pitch + tx) << e),
				s + (((sz + z) * s_slice + (sy + y) * s_pitch + sx) << e), w << e);
	extend_copy(q, VG_REC_COPY, from + s_first, to + t_first, (w * h * n) << e);
}

static void fill(struct vg_queue *q, const uint32_t *d)
{
	uint32_t *t = vg_va(u64_at(d + 1), &q->va_data);
	uint64_t n = (d[4] & 0x3fffffff) / 4 + 1ull;

	if (reaches(q, u64_at(d + 1), n * 4))
		for (uint64_t i = 0; i < n; i++)
			t[i] = d[3];
	extend_copy(q, VG_REC_FILL, 0, u64_at(d + 1), n * 4);
}

static void fence(struct vg_queue *q, const uint32_t *d)
{
	__atomic_store_n((uint32_t *)vg_va(u64_at(d + 1), &q->va_signal), d[3], __ATOMIC_SEQ_CST);
	vg_queue__signal_changed();
}

static void trap(struct vg_queue *q, const uint32_t *d)
{
	if (q->copy.rec)
		q->copy.rec->flags |= VG_REC_INTERRUPT;
	close_copy(q);
	vg_fault__interrupt(q, q->fault_next ? q->fault_next - 1 : 0, d[1] & 0xfffffff);
}

static void atomic_add(struct vg_queue *q, const uint32_t *d)
{
	uint64_t address = u64_at(d + 1);

	static _Atomic bool told;

	if (d[0] >> 25 != ABI_SDMA_ATOMIC_ADD64) {
		if (!atomic_exchange_explicit(&told, true, memory_order_relaxed))
			vg_trace("SDMA atomic %u is not emulated: nothing done", d[0] >> 25);
		return;
	}
	finish_copy(q, address - offsetof(struct abi_signal, value));
	__atomic_fetch_add(
		(uint64_t *)vg_va(address, &q->va_signal), u64_at(d + 3), __ATOMIC_SEQ_CST);
	vg_queue__signal_changed();
}

static void timestamp(struct vg_queue *q, const uint32_t *d)
{
	uint64_t t = q->last_end > q->floor ? q->last_end : q->floor;

	q->in_command = true;
	__atomic_store_n((uint64_t *)vg_va(u64_at(d + 1), &q->va_signal), vg_gpu_ticks(q->gpu, t),
		__ATOMIC_RELEASE);
}

static void nothing(struct vg_queue *q, const uint32_t *d)
{
	(void)q;
	(void)d;
}

static void (*const operations[])(struct vg_queue *q, const uint32_t *d) = {
	[ABI_SDMA_NOP] = nothing,
	[ABI_SDMA_COPY] = copy_linear,
	[ABI_SDMA_FENCE] = fence,
	[ABI_SDMA_TRAP] = trap,
	[ABI_SDMA_POLL] = nothing, /* waiting is done before */
	[ABI_SDMA_ATOMIC] = atomic_add,
	[ABI_SDMA_FILL] = fill,
	[ABI_SDMA_TIMESTAMP] = timestamp,
	[ABI_SDMA_GCR] = nothing,
};

/* mem_poll clear means a register: ROCr's flush of the host data path. Nothing to wait for. */
static bool is_memory_poll(const uint32_t *d)
{
	return (d[0] & 0xff) == ABI_SDMA_POLL && d[0] >> 31;
}

bool vg_sdma__unblocked(struct vg_queue *q)
{
	const uint32_t *d = q->sdma_head;
	uint32_t v =
		__atomic_load_n((uint32_t *)vg_va(u64_at(d + 1), &q->va_signal), __ATOMIC_SEQ_CST);

	return vg_sdma_compare(v & d[4], d[0] >> 28 & 7, d[3]);
}

bool vg_sdma__ready(const struct vg_queue *q)
{
	return __atomic_load_n(q->bell, __ATOMIC_ACQUIRE) >
	       __atomic_load_n(q->rptr, __ATOMIC_RELAXED);
}

/*
 * Nothing starts before it was seen. A command's packets (time stamp, copy,
 * time stamp, completion) were seen together with its first one: a doorbell
 * for later work does not move them apart, but holds for what comes after them.
 */
static void raise_floor(struct vg_queue *q)
{
	if (!q->in_command && q->next_floor > q->floor)
		q->floor = q->next_floor;
}

static void look_at_bell(struct vg_queue *q, uint64_t bell)
{
	if ((int64_t)bell != q->bell_seen) {
		q->bell_seen = (int64_t)bell;
		q->now = q->next_floor = vg_gpu_now(q->gpu);
	}
	raise_floor(q);
}

/* Rules are asked once a copy, however many packets it takes. */
static bool is_stalled(struct vg_queue *q, unsigned op)
{
	enum vg_fault_act act;

	if (q->stall_until)
		return vg_fault__stalled(q);
	if ((op != ABI_SDMA_COPY && op != ABI_SDMA_FILL) || q->fault_asked)
		return false;
	q->fault_asked = true;
	act = vg_fault__packet(
		q, q->fault_next++, q->last_end > q->floor ? q->last_end : q->floor, 0);
	q->fault_strikes = act == VG_FAULT_STRIKES;
	return act == VG_FAULT_STALLS && vg_fault__stalled(q);
}

enum vg_step vg_sdma__step(struct vg_queue *q)
{
	uint64_t r = __atomic_load_n(q->rptr, __ATOMIC_RELAXED);
	uint64_t w = __atomic_load_n(q->bell, __ATOMIC_ACQUIRE);
	uint32_t *d = q->sdma_head;
	unsigned op, len;

	if (r >= w)
		return VG_STEP_IDLE;
	look_at_bell(q, w);
	if (q->last_end > q->now) {
		q->now = vg_gpu_now(q->gpu);
		if (q->last_end > q->now)
			return VG_STEP_LATER;
	}
	/* A linear copy, because packets may wrap around the ring's end. */
	for (unsigned i = 0; i < ABI_SDMA_MAX_DWORDS; i++)
		d[i] = *(uint32_t *)(q->ring + (r + 4 * i) % q->ring_bytes);
	op = d[0] & 0xff;
	len = vg_sdma_length(d);
	if (!len) {
		vg_trace("SDMA operation %u.%u is not emulated; queue %u stops", op,
			d[0] >> 8 & 0xff, q->id);
		atomic_store(&q->paused, true);
		return VG_STEP_IDLE;
	}
	if (is_memory_poll(d)) {
		if (!vg_sdma__unblocked(q))
			return VG_STEP_BLOCKED;
		q->now = q->next_floor = vg_gpu_now(q->gpu); /* a dependency is met in real time */
		raise_floor(q);
	}
	if (is_stalled(q, op))
		return VG_STEP_STALLED;
	TRACE(2, "queue %u sdma operation %u.%u", q->id, op, d[0] >> 8 & 0xff);
	if (op == ABI_SDMA_COPY && len == 13)
		copy_rect(q, d);
	else
		operations[op](q, d);
	__atomic_store_n(q->rptr, r + 4ull * len, __ATOMIC_RELEASE);
	if (q->reached_out) {
		q->reached_out = false;
		vg_fault__access(q, q->copy_seq ? q->copy_seq - 1 : 0,
			q->copy.rec ? q->copy.rec->start : q->now, q->reached_va);
	} else if (q->fault_strikes) {
		q->fault_strikes = false;
		vg_fault__strike(q, q->fault_next - 1, q->copy.rec ? q->copy.rec->start : q->now);
	}
	return VG_STEP_DONE;
}
