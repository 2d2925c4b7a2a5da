// SPDX-License-Identifier: MIT
/* A queue's slot table: shared memory that the GPU can stamp, and what to do where it cannot. */
#include "capture/sources/hsa/hsa.h"

#include <stdio.h>
#include <sys/mman.h>

#include "capture/files.h"

static struct wt_slots_shared *map_table(struct wt_vq *vq, uint32_t capacity)
{
	struct wt_process *p = &wt_process;
	size_t bytes = wt_slots__file_bytes(capacity);
	struct wt_slots_shared *shared;
	struct wt_new_file file;

	vq->slot_file =
		atomic_fetch_add_explicit(&p->shared->slots_cnt, 1, memory_order_relaxed);
	shared = wt_files__create(&file, WT_FILE_SLOTS, p->shared->number, vq->slot_file, bytes);
	if (!shared)
		return NULL;
	shared->version = 1;
	shared->process = p->shared->number;
	shared->number = vq->slot_file;
	shared->queue = vq->number;
	shared->device = vq->device->number;
	shared->capacity = capacity;
	shared->slots_offset = WT_SLOTS_HEADER_BYTES;
	shared->signals_offset = WT_SLOTS_HEADER_BYTES + (uint64_t)capacity * sizeof(struct wt_slot);
	atomic_store_explicit(&shared->submitted, vq->next, memory_order_relaxed);
	/* release: a collector that sees the magic sees the rest */
	__atomic_store_n(&shared->magic, WT_SLOTS_MAGIC, __ATOMIC_RELEASE);
	return wt_files__publish(&file) ? shared : NULL;
}

static bool lock_for_gpu(struct wt_vq *vq)
{
	void *gpu = NULL;

	if (AMD(hsa_amd_memory_lock, hsa_amd_memory_lock_fn)(vq->signals,
		    (size_t)vq->capacity * sizeof(struct wt_signal), &vq->device->agent, 1,
		    &gpu) != HSA_OK ||
		!gpu)
		return false;
	vq->signals_gpu = (uint64_t)gpu;
	return true;
}

static void make_pool(struct wt_vq *vq)
{
	size_t bytes = WT_POOL_SIGNALS * sizeof(*vq->pool);
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return;
	vq->pool = map;
	for (uint32_t i = 0; i < WT_POOL_SIGNALS; i++)
		if (AMD(hsa_amd_signal_create, hsa_amd_signal_create_fn)(1, 0, NULL,
			    HSA_AMD_SIGNAL_GPU_ONLY, &vq->pool[i]) != HSA_OK) {
			/* all or nothing: a packet must never get a null handle as if it were one */
			while (i--)
				CORE(hsa_signal_destroy, hsa_signal_destroy_fn)(vq->pool[i]);
			munmap(map, bytes);
			vq->pool = NULL;
			return;
		}
}

static void choose_mode(struct wt_vq *vq)
{
	struct wt_device *device = vq->device;
	bool locked, stamps;
	char text[128];

	if (wt_hsa.foreign && vq->mode == WT_QUEUE_SLOTS) {
		/* our signals must not reach a tool that would treat them as the runtime's */
		vq->mode = WT_QUEUE_UNTIMED;
		return;
	}
	locked = lock_for_gpu(vq);
	/* also where we only follow: it gives the first tick for the clock pairs */
	stamps = locked && wt_selftest__passes(device, &vq->signals[0], vq->signals_gpu);
	if (vq->mode == WT_QUEUE_SLOTS && stamps)
		return;
	make_pool(vq);
	if (vq->mode == WT_QUEUE_SLOTS) {
		vq->mode = vq->pool ? WT_QUEUE_POOL : WT_QUEUE_UNTIMED;
		snprintf(text, sizeof(text),
			"queue %u: the GPU does not stamp shared memory, %s", vq->number,
			vq->pool ? "reading HSA signals instead" : "operations have no times");
		wt_define__status("hsa", 1, text);
	}
}

bool wt_slots__make(struct wt_vq *vq)
{
	uint32_t capacity = WT_SLOTS_MIN_CAPACITY;

	while (capacity < 2 * vq->read_index_size && capacity < WT_SLOTS_MAX_CAPACITY)
		capacity *= 2;
	if (capacity < 2 * vq->read_index_size)
		return false;
	vq->shared = map_table(vq, capacity);
	if (!vq->shared)
		return false;
	vq->capacity = capacity;
	vq->lap_shift = (uint32_t)__builtin_ctz(capacity);
	vq->slots = (struct wt_slot *)((char *)vq->shared + vq->shared->slots_offset);
	vq->signals = (struct wt_signal *)((char *)vq->shared + vq->shared->signals_offset);
	choose_mode(vq);
	return true;
}

void wt_slots__leave(struct wt_vq *vq)
{
	/* release: nothing that matters changes after this */
	if (vq->shared)
		atomic_store_explicit(&vq->shared->retired, 1, memory_order_release);
}

void wt_slots__retire(struct wt_vq *vq)
{
	struct wt_slots_shared *shared = vq->shared;

	if (vq->pool) {
		for (uint32_t i = 0; i < WT_POOL_SIGNALS; i++)
			CORE(hsa_signal_destroy, hsa_signal_destroy_fn)(vq->pool[i]);
		munmap(vq->pool, WT_POOL_SIGNALS * sizeof(*vq->pool));
		vq->pool = NULL;
	}
	if (!shared)
		return;
	if (vq->signals_gpu)
		AMD(hsa_amd_memory_unlock, hsa_amd_memory_unlock_fn)(vq->signals);
	vq->slots = NULL;
	vq->signals = NULL;
	vq->shared = NULL;
	/* release: nothing of the table changes after this */
	atomic_store_explicit(&shared->retired, 1, memory_order_release);
	munmap(shared, wt_slots__file_bytes(vq->capacity));
}
