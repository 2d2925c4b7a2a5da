// SPDX-License-Identifier: MIT
/* A runtime with the newer table: queues are made by descriptors, several at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <string.h>

#include "capture/sources/hsa/hsa.h"
#include "fake_hsa.h"
#include "fake_session.h"

bool OnLoad(struct hsa_api_table *table, uint64_t version, uint64_t cnt, const char *const *names);
void OnUnload(void);

static struct hsa_api_table *table;
static struct wt_process_shared *process;

static int set_up(void **state)
{
	size_t bytes;

	(void)state;
	fake_session__start();
	table = fake_hsa__newer_table();
	if (!OnLoad(table, 1, 0, NULL))
		return -1;
	process = fake_session__map(WT_FILE_PROCESS, 0, 0, &bytes);
	return process ? 0 : -1;
}

static int tear_down(void **state)
{
	OnUnload();
	return fake_session__tear_down(state);
}

/* Definitions of that type with that id, the newest into `found`. */
static uint32_t defined(enum wt_rec_type type, uint32_t id, void *found, size_t bytes)
{
	struct wt_ring_shared *ring = (void *)((char *)process + WT_PROCESS_RING_OFFSET);
	const char *data = (const char *)ring + WT_RING_HEADER_BYTES;
	uint64_t head = atomic_load(&ring->head);
	uint32_t cnt = 0;

	for (uint64_t at = 0; at < head;) {
		struct wt_rec rec;

		memcpy(&rec, data + at, sizeof(rec));
		if (rec.type == type && rec.id == id && ++cnt)
			memcpy(found, data + at, bytes);
		at += rec.size8 * 8u;
	}
	return cnt;
}

static void run(struct hsa_queue *queue)
{
	uint64_t index = FAKE_CORE(table, hsa_queue_add_write_index_relaxed,
		hsa_queue_add_index_fn)(queue, 1);
	struct hsa_dispatch_packet *packet =
		(struct hsa_dispatch_packet *)queue->base_address + index % queue->size;

	*packet = (struct hsa_dispatch_packet){.header = HSA_PACKET_INVALID, .kernel_object = 7};
	__atomic_store_n(&packet->header, HSA_PACKET_DISPATCH | 1u << HSA_HEADER_BARRIER_BIT,
		__ATOMIC_RELEASE);
	FAKE_CORE(table, hsa_signal_store_relaxed, hsa_signal_store_fn)
	(queue->doorbell_signal, (int64_t)index);
}

static void test_queues_by_descriptors(void **state)
{
	hsa_amd_queue_create_fn *create =
		(hsa_amd_queue_create_fn *)table->amd_ext->fn[HSA_AMD_QUEUE_CREATE];
	const uint32_t mask[2] = {0xff00ff00, 0xf};
	struct hsa_queue_desc descs[3];
	struct wt_rec_queue_set set;
	struct wt_rec_queue made;
	const struct wt_vq *vq;

	(void)state;
	memset(descs, 0, sizeof(descs));
	for (int i = 0; i < 3; i++) {
		descs[i].version = HSA_QUEUE_DESC_VERSION;
		descs[i].engine = HSA_QUEUE_ENGINE_COMPUTE;
		descs[i].size_bytes = 64 * 64;
		descs[i].priority = 2;
	}
	descs[2].cu_mask = mask;
	descs[2].cu_mask_bits = 64;
	/* what the runtime says of one that failed is passed on; the others are followed */
	assert_int_not_equal(create(fake_gpu, descs, 3), HSA_OK);
	assert_null(descs[1].queue);
	for (int i = 0; i < 3; i += 2) {
		vq = wt_vq__find(descs[i].queue);
		assert_non_null(vq);
		assert_int_equal(defined(WT_REC_QUEUE, vq->number, &made, sizeof(made)), 1);
		assert_int_equal(made.mode, WT_QUEUE_SLOTS);
		assert_int_equal(made.size, 64);
	}
	vq = wt_vq__find(descs[0].queue);
	assert_int_equal(defined(WT_REC_QUEUE_SET, vq->number, &set, sizeof(set)), 1);
	assert_int_equal(set.what, WT_QUEUE_PRIORITY);
	assert_int_equal(set.value, 2);
	vq = wt_vq__find(descs[2].queue);
	assert_int_equal(defined(WT_REC_QUEUE_SET, vq->number, &set, sizeof(set)), 2);
	assert_int_equal(set.what, WT_QUEUE_CU_MASK);
	assert_int_equal(set.value, 64);
	for (int i = 0; i < 3; i += 2)
		run(descs[i].queue);
	while (atomic_load(&fake_stats.dispatches) < 2)
		sched_yield();
	assert_int_equal(atomic_load(&fake_stats.unsigned_dispatches), 0); /* both got our signal */
	for (int i = 0; i < 3; i += 2)
		FAKE_CORE(table, hsa_queue_destroy, hsa_queue_destroy_fn)(descs[i].queue);
}

/* A descriptor of another layout: nothing in it is believed. */
static void test_unknown_descriptors(void **state)
{
	hsa_amd_queue_create_fn *create =
		(hsa_amd_queue_create_fn *)table->amd_ext->fn[HSA_AMD_QUEUE_CREATE];
	struct hsa_queue_desc desc;

	(void)state;
	memset(&desc, 0, sizeof(desc));
	desc.version = HSA_QUEUE_DESC_VERSION + 1;
	desc.size_bytes = 64 * 64;
	assert_int_equal(create(fake_gpu, &desc, 1), HSA_OK);
	assert_non_null(desc.queue);
	assert_null(wt_vq__find(desc.queue));
	FAKE_CORE(table, hsa_queue_destroy, hsa_queue_destroy_fn)(desc.queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queues_by_descriptors),
		cmocka_unit_test(test_unknown_descriptors),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
