// SPDX-License-Identifier: MIT
/*
 * Does to the HSA tables what rocprofiler-sdk >= 1.3 does: no interceptible queue; the write-index
 * functions and the signal stores are wrapped, producers reserve on a virtual write index, and at
 * the doorbell the contiguous valid packets are patched before the real index and doorbell advance.
 */
#include "double.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tapped {
	hsa_queue_t *queue;
	struct double_queue *report;
	_Atomic uint64_t reserved; /* the virtual write index */
	uint64_t submitted;	   /* under the lock */
	pthread_mutex_t lock;
	_Atomic bool dead;
};

enum { MAX_QUEUES = 1024 };
static struct tapped *tapped[MAX_QUEUES];
static _Atomic uint32_t tapped_cnt;
static pthread_mutex_t tapped_lock = PTHREAD_MUTEX_INITIALIZER;

static struct tapped *by_queue(const hsa_queue_t *queue)
{
	for (uint32_t i = tapped_cnt; i-- > 0;)
		if (tapped[i]->queue == queue && !tapped[i]->dead)
			return tapped[i];
	return NULL;
}

static struct tapped *by_doorbell(hsa_signal_t signal)
{
	for (uint32_t i = tapped_cnt; i-- > 0;)
		if (!tapped[i]->dead && tapped[i]->queue->doorbell_signal.handle == signal.handle)
			return tapped[i];
	return NULL;
}

static void submit(struct tapped *t)
{
	pthread_mutex_lock(&t->lock);
	uint64_t from = t->submitted, to = from, reserved = t->reserved;
	for (; to < reserved; to++) {
		hsa_kernel_dispatch_packet_t *packet =
			(hsa_kernel_dispatch_packet_t *)t->queue->base_address +
			to % t->queue->size;
		uint16_t header = __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE);

		if ((header & 0xff) == HSA_PACKET_TYPE_INVALID)
			break;
		if ((header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH)
			packet->completion_signal = double__inject(t->report,
				packet->kernel_object, packet->completion_signal);
	}
	if (to > from) {
		t->submitted = to;
		CORE(hsa_queue_store_write_index_screlease)(t->queue, to);
		CORE(hsa_signal_store_screlease)(t->queue->doorbell_signal,
			(hsa_signal_value_t)(to - 1));
	}
	pthread_mutex_unlock(&t->lock);
}

static hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t private_bytes,
	uint32_t group_bytes, hsa_queue_t **queue)
{
	hsa_status_t status = CORE(hsa_queue_create)(agent, size, type, callback, data,
		private_bytes, group_bytes, queue);

	if (status != HSA_STATUS_SUCCESS)
		return status;
	AMD(hsa_amd_profiling_set_profiler_enabled)(*queue, 1);
	struct tapped *t = calloc(1, sizeof(*t));
	t->queue = *queue;
	t->report = double_queue__new(agent);
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_lock(&tapped_lock);
	if (tapped_cnt < MAX_QUEUES) {
		tapped[tapped_cnt] = t;
		tapped_cnt++;
	}
	pthread_mutex_unlock(&tapped_lock);
	return status;
}

static hsa_status_t queue_destroy(hsa_queue_t *queue)
{
	struct tapped *t = by_queue(queue);

	if (t)
		t->dead = true;
	return CORE(hsa_queue_destroy)(queue);
}

#define LOAD(name)                                                                                 \
	static uint64_t wrapped_##name(const hsa_queue_t *queue)                                   \
	{                                                                                          \
		struct tapped *t = by_queue(queue);                                                \
		return t ? t->reserved : CORE(name)(queue);                                        \
	}
#define STORE(name)                                                                                \
	static void wrapped_##name(const hsa_queue_t *queue, uint64_t value)                       \
	{                                                                                          \
		struct tapped *t = by_queue(queue);                                                \
		if (t)                                                                             \
			t->reserved = value;                                                       \
		else                                                                               \
			CORE(name)(queue, value);                                                  \
	}
#define ADD(name)                                                                                  \
	static uint64_t wrapped_##name(const hsa_queue_t *queue, uint64_t value)                   \
	{                                                                                          \
		struct tapped *t = by_queue(queue);                                                \
		return t ? atomic_fetch_add(&t->reserved, value) : CORE(name)(queue, value);       \
	}
#define CAS(name)                                                                                  \
	static uint64_t wrapped_##name(const hsa_queue_t *queue, uint64_t expected,                \
		uint64_t value)                                                                    \
	{                                                                                          \
		struct tapped *t = by_queue(queue);                                                \
		if (!t)                                                                            \
			return CORE(name)(queue, expected, value);                                 \
		atomic_compare_exchange_strong(&t->reserved, &expected, value);                    \
		return expected;                                                                   \
	}
#define RING(name)                                                                                 \
	static void wrapped_##name(hsa_signal_t signal, hsa_signal_value_t value)                  \
	{                                                                                          \
		struct tapped *t = by_doorbell(signal);                                            \
		if (t)                                                                             \
			submit(t);                                                                 \
		else                                                                               \
			CORE(name)(signal, value);                                                 \
	}
#define EACH(L, S, A, C, R)                                                                        \
	L(hsa_queue_load_write_index_scacquire)                                                    \
	L(hsa_queue_load_write_index_relaxed)                                                      \
	S(hsa_queue_store_write_index_relaxed)                                                     \
	S(hsa_queue_store_write_index_screlease)                                                   \
	C(hsa_queue_cas_write_index_scacq_screl)                                                   \
	C(hsa_queue_cas_write_index_scacquire)                                                     \
	C(hsa_queue_cas_write_index_relaxed)                                                       \
	C(hsa_queue_cas_write_index_screlease)                                                     \
	A(hsa_queue_add_write_index_scacq_screl)                                                   \
	A(hsa_queue_add_write_index_scacquire)                                                     \
	A(hsa_queue_add_write_index_relaxed)                                                       \
	A(hsa_queue_add_write_index_screlease)                                                     \
	R(hsa_signal_store_relaxed)                                                                \
	R(hsa_signal_store_screlease)                                                              \
	R(hsa_signal_silent_store_relaxed)                                                         \
	R(hsa_signal_silent_store_screlease)

EACH(LOAD, STORE, ADD, CAS, RING)

static void load(struct hsa_api_root *root)
{
	double__load(root);
#define PUT(name) root->core->function[CORE_##name] = (void *)wrapped_##name;
	EACH(PUT, PUT, PUT, PUT, PUT)
	root->core->function[CORE_hsa_queue_create] = (void *)queue_create;
	root->core->function[CORE_hsa_queue_destroy] = (void *)queue_destroy;
}

__attribute__((visibility("default"))) bool OnLoad(struct hsa_api_root *root, uint64_t version,
	uint64_t failed_cnt, const char *const *failed);
bool OnLoad(struct hsa_api_root *root, uint64_t version, uint64_t failed_cnt,
	const char *const *failed)
{
	(void)version;
	(void)failed_cnt;
	(void)failed;
	load(root);
	return true;
}

__attribute__((visibility("default"))) void OnUnload(void);
void OnUnload(void)
{
}

/* As librocprofiler-register calls it; it is its own tool. */
__attribute__((visibility("default"))) int rocprofiler_set_api_table(const char *name,
	uint64_t version, uint64_t instance, void **tables, uint64_t table_cnt);
int rocprofiler_set_api_table(const char *name, uint64_t version, uint64_t instance, void **tables,
	uint64_t table_cnt)
{
	(void)version;
	(void)instance;
	if (!strcmp(name, "hsa") && table_cnt)
		load(tables[0]);
	return 0;
}

__attribute__((visibility("default"))) void *rocprofiler_configure(uint32_t version,
	const char *runtime_version, uint32_t priority, void *client_id);
void *rocprofiler_configure(uint32_t version, const char *runtime_version, uint32_t priority,
	void *client_id)
{
	(void)version;
	(void)runtime_version;
	(void)priority;
	(void)client_id;
	return NULL;
}
