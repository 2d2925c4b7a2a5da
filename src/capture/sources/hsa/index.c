// SPDX-License-Identifier: MIT
/*
 * Producers: the functions by which packets are reserved, on the thread that
 * knows who asks for them, whatever thread rings for them.
 */
#include "capture/sources/hsa/hsa.h"

/* The producer describes what it alone knows; the packet itself comes later. */
static void reserve(struct wt_vq *vq, uint64_t start, uint64_t cnt)
{
	const struct wt_tls *tls = &wt_tls;
	struct wt_producer who;
	uint8_t untimed = tls->in_graph && wt_process.settings.depth >= WT_DEPTH_STANDARD
				  ? WT_LOST_TIME_DEPTH
				  : WT_LOST_NONE;

	/* more than fits: a mistake of the caller's, or not yet to be written */
	if (!vq->slots || !wt_hsa__recording() || cnt > vq->read_index_size || wt_off())
		return;
	who = wt_producer(atomic_load_explicit(&wt_hsa.device_cnt, memory_order_relaxed));
	for (uint64_t i = start; i < start + cnt; i++) {
		struct wt_slot *slot = &vq->slots[i & (vq->capacity - 1)];
		union wt_slot_word word = {
			/* acquire: pairs with the collector's release when it freed the slot */
			.raw = atomic_load_explicit(&slot->word, memory_order_acquire),
		};

		if (word.state == WT_SLOT_SUBMITTED)
			continue; /* still in use: the doorbell counts it */
		slot->corr = who.corr;
		slot->stream = who.stream;
		slot->node = 0;
		/* the collector touched it last, on another core: have it here when its turn comes */
		__builtin_prefetch(&vq->slots[(i + WT_SLOTS_AHEAD) & (vq->capacity - 1)], 1);
		word = (union wt_slot_word){
			.lap = (uint32_t)(i >> vq->lap_shift),
			.state = WT_SLOT_RESERVED,
			.untimed = untimed,
		};
		/* release: pairs with the acquire of whoever rings for this packet */
		atomic_store_explicit(&slot->word, word.raw, memory_order_release);
	}
}

static uint64_t add(const struct hsa_queue *queue, uint64_t cnt, hsa_queue_add_index_fn *original)
{
	struct wt_vq *vq = wt_vq__find(queue);
	uint64_t start;

	if (!vq)
		return original(queue, cnt);
	start = vq->proxied ? original(queue, cnt)
			    : atomic_fetch_add_explicit(&vq->write_index, cnt, memory_order_acq_rel);
	reserve(vq, start, cnt);
	return start;
}

static uint64_t cas(const struct hsa_queue *queue, uint64_t expected, uint64_t value,
	hsa_queue_cas_index_fn *original)
{
	struct wt_vq *vq = wt_vq__find(queue);
	uint64_t seen = expected;

	if (!vq || vq->proxied)
		return original(queue, expected, value);
	if (atomic_compare_exchange_strong_explicit(&vq->write_index, &seen, value,
		    memory_order_acq_rel, memory_order_acquire) &&
		value > expected && value - expected <= vq->read_index_size)
		reserve(vq, expected, value - expected);
	return seen;
}

static void store(const struct hsa_queue *queue, uint64_t value, hsa_queue_store_index_fn *original)
{
	struct wt_vq *vq = wt_vq__find(queue);
	uint64_t old;

	if (!vq || vq->proxied) {
		original(queue, value);
		return;
	}
	old = atomic_load_explicit(&vq->write_index, memory_order_relaxed);
	if (value > old && value - old <= vq->read_index_size)
		reserve(vq, old, value - old);
	atomic_store_explicit(&vq->write_index, value, memory_order_release);
}

static uint64_t load(const struct hsa_queue *queue, hsa_queue_load_index_fn *original)
{
	struct wt_vq *vq = wt_vq__find(queue);

	return vq && !vq->proxied
		       ? atomic_load_explicit(&vq->write_index, memory_order_acquire)
		       : original(queue);
}

#define ADD(order)                                                                           \
	static uint64_t add_##order(const struct hsa_queue *queue, uint64_t cnt)             \
	{                                                                                    \
		return add(queue, cnt,                                                       \
			CORE(hsa_queue_add_write_index_##order, hsa_queue_add_index_fn));    \
	}
#define CAS(order)                                                                           \
	static uint64_t cas_##order(const struct hsa_queue *queue, uint64_t expected,        \
		uint64_t value)                                                              \
	{                                                                                    \
		return cas(queue, expected, value,                                           \
			CORE(hsa_queue_cas_write_index_##order, hsa_queue_cas_index_fn));    \
	}
#define STORE(order)                                                                         \
	static void store_##order(const struct hsa_queue *queue, uint64_t value)             \
	{                                                                                    \
		store(queue, value,                                                          \
			CORE(hsa_queue_store_write_index_##order, hsa_queue_store_index_fn)); \
	}
#define LOAD(order)                                                                          \
	static uint64_t load_##order(const struct hsa_queue *queue)                          \
	{                                                                                    \
		return load(queue,                                                           \
			CORE(hsa_queue_load_write_index_##order, hsa_queue_load_index_fn));  \
	}
ADD(scacq_screl)
ADD(scacquire)
ADD(relaxed)
ADD(screlease)
CAS(scacq_screl)
CAS(scacquire)
CAS(relaxed)
CAS(screlease)
STORE(relaxed)
STORE(screlease)
LOAD(scacquire)
LOAD(relaxed)

void wt_index__install(struct hsa_table *core)
{
	static const struct wt_replaced replaced[] = {
		{HSA_CORE_hsa_queue_load_write_index_scacquire, (void *)load_scacquire},
		{HSA_CORE_hsa_queue_load_write_index_relaxed, (void *)load_relaxed},
		{HSA_CORE_hsa_queue_store_write_index_relaxed, (void *)store_relaxed},
		{HSA_CORE_hsa_queue_store_write_index_screlease, (void *)store_screlease},
		{HSA_CORE_hsa_queue_cas_write_index_scacq_screl, (void *)cas_scacq_screl},
		{HSA_CORE_hsa_queue_cas_write_index_scacquire, (void *)cas_scacquire},
		{HSA_CORE_hsa_queue_cas_write_index_relaxed, (void *)cas_relaxed},
		{HSA_CORE_hsa_queue_cas_write_index_screlease, (void *)cas_screlease},
		{HSA_CORE_hsa_queue_add_write_index_scacq_screl, (void *)add_scacq_screl},
		{HSA_CORE_hsa_queue_add_write_index_scacquire, (void *)add_scacquire},
		{HSA_CORE_hsa_queue_add_write_index_relaxed, (void *)add_relaxed},
		{HSA_CORE_hsa_queue_add_write_index_screlease, (void *)add_screlease},
	};

	wt_hsa__replace_core(core, replaced, sizeof(replaced) / sizeof(*replaced));
}
