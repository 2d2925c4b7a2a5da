// SPDX-License-Identifier: MIT
/*
 * Queues with a virtual write index.
 *
 * The application reserves on `write_index`; its packets go into the real
 * ring. When a doorbell is rung, all contiguous valid packets are patched, and
 * only then do the hardware's write index and doorbell advance: the hardware
 * never sees a packet that was not patched, and is given none of its own.
 *
 * Several threads may ring at once. One submits; the others leave a mark and
 * return, and the one that submits looks again. Nobody waits.
 */
#include "capture/sources/hsa/hsa.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TABLE_SIZE 4096u
#define GONE	   ((struct wt_vq *)-1)
#define DYING	   3u /* of wt_vq.busy: the queue is being destroyed */

static _Atomic(struct wt_vq *) table[TABLE_SIZE];
static struct wt_vq *free_vqs; /* under source_lock[1] */
static _Atomic uint32_t queue_cnt;
static _Atomic bool some_stalled;

static struct wt_lock *queue_lock(void)
{
	return &wt_process.live->source_lock[1];
}

/* ---- look-up: lock-free, by the queue's address ---------------------------- */

static uint32_t first_place(const struct hsa_queue *queue)
{
	uintptr_t p = (uintptr_t)queue;

	return (uint32_t)(p >> 12 ^ p >> 6 ^ p >> 22) % TABLE_SIZE;
}

struct wt_vq *wt_vq__find(const struct hsa_queue *queue)
{
	if (wt_unlikely(!wt_hsa__here()))
		return NULL;
	for (uint32_t i = 0, at = first_place(queue); i < TABLE_SIZE;
		i++, at = (at + 1) % TABLE_SIZE) {
		/* acquire: pairs with the release in insert() */
		struct wt_vq *vq = atomic_load_explicit(&table[at], memory_order_acquire);

		if (!vq)
			return NULL;
		if (vq != GONE && vq->queue == queue)
			return vq;
	}
	return NULL;
}

static bool insert(struct wt_vq *vq)
{
	for (uint32_t i = 0, at = first_place(vq->queue); i < TABLE_SIZE;
		i++, at = (at + 1) % TABLE_SIZE) {
		struct wt_vq *old = atomic_load_explicit(&table[at], memory_order_relaxed);

		if (!old || old == GONE) {
			atomic_store_explicit(&table[at], vq, memory_order_release);
			return true;
		}
	}
	return false;
}

static void drop(struct wt_vq *vq)
{
	for (uint32_t i = 0, at = first_place(vq->queue); i < TABLE_SIZE;
		i++, at = (at + 1) % TABLE_SIZE)
		if (atomic_load_explicit(&table[at], memory_order_relaxed) == vq) {
			atomic_store_explicit(&table[at], GONE, memory_order_release);
			return;
		}
}
/* ---- what is over --------------------------------------------------------- */

void wt_vq__passed(struct wt_vq *vq, uint64_t index)
{
	uint64_t known = atomic_load_explicit(&vq->passed, memory_order_relaxed);

	while (index > known && !atomic_compare_exchange_weak_explicit(&vq->passed, &known, index,
					memory_order_relaxed, memory_order_relaxed))
		;
}

bool wt_vq__has_passed(struct wt_vq *vq, uint32_t number, uint64_t index)
{
	/* a queue that is gone has nothing in flight */
	if (vq->number != number || !vq->queue ||
		atomic_load_explicit(&vq->passed, memory_order_relaxed) > index)
		return true;
	for (uint32_t i = 0; i < WT_VQ_MARKS; i++) {
		uint64_t mark = atomic_load_explicit(&vq->marks[i], memory_order_relaxed);

		if (mark <= index || !vq->signals)
			continue;
		/* acquire: pairs with the GPU's release; a newer lap has armed it again */
		if (atomic_load_explicit(&vq->signals[mark & (vq->capacity - 1)].value,
			    memory_order_acquire))
			continue;
		wt_vq__passed(vq, mark);
		return true;
	}
	return false;
}

/* ---- the doorbell ---------------------------------------------------------- */

static uint64_t read_index(const struct wt_vq *vq)
{
	return CORE(hsa_queue_load_read_index_scacquire, hsa_queue_load_index_fn)(vq->queue);
}

/*
 * Packets that the hardware has taken, but not from us: somebody wrote to the
 * doorbell itself. They cannot be described any more. By the holder of `busy`.
 */
static void skip_bypassed(struct wt_vq *vq)
{
	uint64_t read = vq->proxied ? 0 : read_index(vq);

	if (read <= vq->next)
		return;
	wt_lost__count(WT_LOST_OP_BYPASSED, read - vq->next);
	for (uint64_t i = vq->next; i < read; i++)
		wt_packet__free_slot(vq, i);
	vq->next = read;
	if (vq->shared)
		atomic_store_explicit(&vq->shared->submitted, read, memory_order_release);
	if (!vq->bypassed)
		wt_define__status("hsa", 1,
			"a queue's doorbell is written past the HSA functions: operations that "
			"start so are counted as lost");
	vq->bypassed = true;
}

static bool has_room(struct wt_vq *vq)
{
	if (wt_likely(vq->next - vq->read_seen < vq->read_index_size))
		return true;
	vq->read_seen = read_index(vq);
	return vq->next - vq->read_seen < vq->read_index_size;
}

/* Hands every contiguous valid packet to the hardware. By the holder of `busy`. */
static void submit(struct wt_vq *vq)
{
	uint64_t limit = atomic_load_explicit(&vq->write_index, memory_order_acquire);
	uint64_t first;

	if (wt_unlikely(vq->bypassed))
		skip_bypassed(vq);
	first = vq->next;

	while (vq->next < limit && has_room(vq)) {
		struct hsa_dispatch_packet *packet =
			(void *)(vq->ring + (vq->next & (vq->read_index_size - 1)) * 64);
		/* acquire: pairs with the release by which the producer made it valid */
		uint8_t type = __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE) & 0xff;

		if (type == HSA_PACKET_INVALID)
			break;
		wt_packet__describe(vq, vq->next, packet);
		vq->next++;
	}
	if (vq->next != first) {
		/* first what the collector looks at, then what starts the work */
		if (vq->shared)
			atomic_store_explicit(&vq->shared->submitted, vq->next,
				memory_order_release);
		CORE(hsa_queue_store_write_index_screlease, hsa_queue_store_index_fn)
		(vq->queue, vq->next);
		CORE(hsa_signal_store_screlease, hsa_signal_store_fn)
		(vq->queue->doorbell_signal, (int64_t)(vq->next - 1));
	}
	if (wt_unlikely(atomic_load_explicit(&vq->rung, memory_order_relaxed) > vq->next)) {
		atomic_store_explicit(&vq->stalled, 1, memory_order_relaxed);
		atomic_store_explicit(&some_stalled, true, memory_order_relaxed);
	}
}

void wt_vq__ring(struct wt_vq *vq)
{
	for (;;) {
		uint32_t busy = 0;

		if (atomic_compare_exchange_strong_explicit(&vq->busy, &busy, 1,
			    memory_order_acq_rel, memory_order_relaxed))
			break;
		if (busy != 1)
			return; /* marked already, or dying */
		/* release: the submitter that sees the mark sees our packet */
		if (atomic_compare_exchange_strong_explicit(&vq->busy, &busy, 2,
			    memory_order_acq_rel, memory_order_relaxed))
			return;
	}
	for (;;) {
		uint32_t busy = 1;

		submit(vq);
		if (atomic_compare_exchange_strong_explicit(&vq->busy, &busy, 0,
			    memory_order_acq_rel, memory_order_acquire))
			return;
		atomic_exchange_explicit(&vq->busy, 1, memory_order_acq_rel);
	}
}
void wt_vq__rescue(void)
{
	if (!atomic_exchange_explicit(&some_stalled, false, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		struct wt_vq *vq = atomic_load_explicit(&table[i], memory_order_acquire);

		if (vq && vq != GONE &&
			atomic_exchange_explicit(&vq->stalled, 0, memory_order_relaxed))
			wt_vq__ring(vq);
	}
}

/* ---- life ------------------------------------------------------------------ */

static struct wt_vq *new_vq(void)
{
	struct wt_hold hold;
	struct wt_vq *vq;
	void *page;

	wt_lock__take(queue_lock(), &hold);
	vq = free_vqs;
	if (vq)
		free_vqs = vq->next_free;
	wt_lock__drop(queue_lock(), &hold);
	if (!vq) {
		/* never unmapped: a late look at a dead queue must find memory */
		page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			return NULL;
		vq = page;
	}
	memset(vq, 0, sizeof(*vq));
	return vq;
}

static void announce(const struct wt_vq *vq)
{
	struct wt_rec_queue rec = {
		.rec = {.type = WT_REC_QUEUE, .id = vq->number},
		.hsa_id = vq->queue->id,
		.created_ns = wt_clock__boottime_ns(),
		.device = vq->device->number,
		.size = vq->queue->size,
		.mode = vq->mode,
		.slot_file = vq->slots ? vq->slot_file : UINT32_MAX,
		.type = vq->queue->type,
	};

	wt_define(&rec.rec, sizeof(rec), NULL, 0);
}

/*
 * The runtime's own queues have a doorbell that names them. Where another tool
 * handed out something else (a proxy ring), we only look on.
 */
static bool is_hardware_queue(const struct hsa_queue *queue)
{
	return wt_signal__is_doorbell(queue->doorbell_signal) &&
	       ((const struct wt_signal *)queue->doorbell_signal.handle)->queue_ptr ==
		       (uint64_t)queue;
}

/* Why this queue must stay as it is, or NULL. */
static const char *unfit(const struct hsa_queue *queue, enum wt_queue_mode mode)
{
	const char *direct = getenv("DEBUG_CLR_DIRECT_DOORBELL");

	/* HIP then rings past us: the hardware would wait for a write index that we hold back */
	if (mode == WT_QUEUE_SLOTS && direct && *direct && strcmp(direct, "0"))
		return "queues are not followed: DEBUG_CLR_DIRECT_DOORBELL passes us by";
	if (!queue->size || queue->size & (queue->size - 1))
		return "a queue is not followed: its size is no power of two";
	return NULL;
}

/* Under a hold: what follows waits here and there, and holds much at the end. */
static struct wt_vq *adopt(struct hsa_queue *queue, hsa_agent agent, enum wt_queue_mode mode)
{
	struct wt_device *device;
	struct wt_hold hold;
	struct wt_vq *vq;
	const char *why;

	/* a doorbell that comes before its packets needs somebody who rings again */
	if (!wt_keeper__start()) {
		wt_define__status("hsa", 2, "queues are not followed without a thread of our own");
		return NULL;
	}
	wt_devices__find();
	device = wt_device__of(agent);
	if (!device) {
		if (wt_hsa.unknown_device_cnt)
			wt_define__status("hsa", 2, "a queue is not followed: its GPU is not known");
		return NULL;
	}
	why = unfit(queue, mode);
	vq = why ? NULL : new_vq();
	if (!vq) {
		wt_define__status("hsa", 2, why ? why : "a queue is not followed: no memory");
		return NULL;
	}
	vq->queue = queue;
	vq->ring = queue->base_address;
	vq->read_index_size = queue->size;
	vq->device = device;
	vq->number = atomic_fetch_add_explicit(&queue_cnt, 1, memory_order_relaxed);
	vq->mode = mode;
	vq->proxied = mode == WT_QUEUE_INTERCEPT || !is_hardware_queue(queue);
	vq->next = CORE(hsa_queue_load_write_index_scacquire, hsa_queue_load_index_fn)(queue);
	atomic_store_explicit(&vq->write_index, vq->next, memory_order_relaxed);
	atomic_store_explicit(&vq->rung, vq->next, memory_order_relaxed);
	AMD(hsa_amd_profiling_set_profiler_enabled, hsa_amd_profiling_set_profiler_enabled_fn)
	(queue, 1);
	wt_slots__make(vq);
	if (vq->proxied && !wt_follow__register(vq))
		wt_define__status("hsa", 1, "a queue of another tool's cannot be followed");
	announce(vq);
	wt_device__sample(device);
	wt_lock__take(queue_lock(), &hold);
	insert(vq);
	wt_lock__drop(queue_lock(), &hold);
	return vq;
}

struct wt_vq *wt_queue__adopt(struct hsa_queue *queue, hsa_agent agent, enum wt_queue_mode mode)
{
	struct wt_hold hold;
	struct wt_vq *vq;

	wt_hold__begin(&hold);
	vq = adopt(queue, agent, mode);
	wt_hold__end(&hold);
	return vq;
}

static hsa_status queue_create(hsa_agent agent, uint32_t size, uint32_t type,
	void (*callback)(hsa_status, struct hsa_queue *, void *), void *data,
	uint32_t private_bytes, uint32_t group_bytes, struct hsa_queue **queue)
{
	hsa_status status = CORE(hsa_queue_create, hsa_queue_create_fn)(agent, size, type,
		callback, data, private_bytes, group_bytes, queue);

	/* known already: a tool made it interceptible on the way here */
	if (status == HSA_OK && queue && *queue && wt_hsa__recording() && !wt_vq__find(*queue))
		wt_queue__adopt(*queue, agent, WT_QUEUE_SLOTS);
	return status;
}

/* Takes `busy` for good, so that nobody submits any more. False: somebody does not end. */
static bool take_busy(struct wt_vq *vq)
{
	for (uint32_t tries = 0; tries < 1000000; tries++) {
		uint32_t idle = 0;

		if (atomic_compare_exchange_strong_explicit(&vq->busy, &idle, DYING,
			    memory_order_acq_rel, memory_order_relaxed))
			return true;
		sched_yield();
	}
	return false;
}

void wt_vq__look_for_bypass(void)
{
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		struct wt_vq *vq = atomic_load_explicit(&table[i], memory_order_acquire);
		uint32_t idle = 0;

		/* with `busy` taken the queue is not destroyed under us */
		if (!vq || vq == GONE ||
			!atomic_compare_exchange_strong_explicit(&vq->busy, &idle, 1,
				memory_order_acq_rel, memory_order_relaxed))
			continue;
		skip_bypassed(vq);
		/* a doorbell in the meantime left its work to us */
		idle = 1;
		if (!atomic_compare_exchange_strong_explicit(&vq->busy, &idle, 0,
			    memory_order_acq_rel, memory_order_relaxed)) {
			atomic_store_explicit(&vq->busy, 0, memory_order_release);
			wt_vq__ring(vq);
		}
	}
}

/* The queue ends: from here on nobody finds it. False: somebody may still use it. */
static bool retire(struct wt_vq *vq)
{
	struct wt_rec_queue_end rec = {.rec = {.type = WT_REC_QUEUE_END, .id = vq->number}};
	struct wt_hold hold;
	bool alone = take_busy(vq);

	wt_lock__take(queue_lock(), &hold);
	drop(vq);
	wt_lock__drop(queue_lock(), &hold);
	if (wt_hsa__recording())
		wt_device__sample(vq->device);
	if (alone && wt_hsa__recording())
		skip_bypassed(vq);
	rec.packets = vq->next;
	rec.ended_ns = wt_clock__boottime_ns();
	wt_define(&rec.rec, sizeof(rec), NULL, 0);
	return alone;
}

static hsa_status queue_destroy(struct hsa_queue *queue)
{
	struct wt_vq *vq = wt_vq__find(queue);
	struct wt_hold hold;
	hsa_status status;
	bool alone;

	if (!vq)
		return CORE(hsa_queue_destroy, hsa_queue_destroy_fn)(queue);
	alone = retire(vq);
	status = CORE(hsa_queue_destroy, hsa_queue_destroy_fn)(queue);
	/* now the GPU is done with the slot table's signals */
	alone &= wt_pending__forget(vq);
	if (!alone || status != HSA_OK) {
		wt_slots__leave(vq);
		return status;
	}
	wt_slots__retire(vq);
	wt_lock__take(queue_lock(), &hold);
	vq->queue = NULL;
	vq->next_free = free_vqs;
	free_vqs = vq;
	wt_lock__drop(queue_lock(), &hold);
	return status;
}

void wt_vq__leave_all(void)
{
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		struct wt_vq *vq = atomic_load_explicit(&table[i], memory_order_acquire);

		if (!vq || vq == GONE)
			continue;
		/* neither memory nor state is given back: the GPU may be at it for a while */
		retire(vq);
		wt_slots__leave(vq);
	}
}

/* We need the time stamps: an application that turns them off gets them all the same. */
static hsa_status set_profiler_enabled(struct hsa_queue *queue, int enable)
{
	if (!enable && wt_vq__find(queue))
		return HSA_OK;
	return AMD(hsa_amd_profiling_set_profiler_enabled,
		hsa_amd_profiling_set_profiler_enabled_fn)(queue, enable);
}

void wt_queue__install(struct hsa_table *core, struct hsa_table *amd)
{
	static const struct wt_replaced replaced[] = {
		{HSA_CORE_hsa_queue_create, (void *)queue_create},
		{HSA_CORE_hsa_queue_destroy, (void *)queue_destroy},
	};

	wt_hsa__replace_core(core, replaced, sizeof(replaced) / sizeof(*replaced));
	wt_hsa__replace_amd(amd, HSA_AMD_hsa_amd_profiling_set_profiler_enabled,
		(void *)set_profiler_enabled);
}
