// SPDX-License-Identifier: MIT
#include "fake_hsa.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

struct fake_stats fake_stats;
const hsa_agent fake_gpu = {0x6b00};
static _Atomic bool held, lock_refused;
static _Atomic unsigned copy_time_us;

struct fake_queue {
	struct hsa_queue queue;	/* first: the application's view */
	uint8_t pad[AMD_QUEUE_WRITE_INDEX - sizeof(struct hsa_queue)];
	_Atomic uint64_t write_index;
	_Atomic uint64_t read_index;
	struct wt_signal doorbell;
	_Atomic int64_t rung;	/* newest index */
	_Atomic bool stop;
	pthread_t gpu;
};

static struct {
	uint64_t low, high;
} locked[64];
static _Atomic uint32_t locked_cnt;

void fake_hsa__hold(bool hold)
{
	atomic_store(&held, hold);
}

void fake_hsa__refuse_lock(bool refuse)
{
	atomic_store(&lock_refused, refuse);
}

void fake_hsa__slow_copy_time(unsigned us)
{
	atomic_store(&copy_time_us, us);
}

/* ---- the GPU ------------------------------------------------------------------ */

static struct wt_signal *for_cpu(uint64_t address)
{
	uint32_t cnt = atomic_load(&locked_cnt);

	for (uint32_t i = 0; i < cnt; i++)
		if (address - FAKE_GPU_BIAS >= locked[i].low &&
			address - FAKE_GPU_BIAS < locked[i].high)
			return (struct wt_signal *)(address - FAKE_GPU_BIAS);
	return (struct wt_signal *)address;
}

static uint64_t ticks(void)
{
	return wt_clock__boottime_ns() / 10;
}

static void execute(struct hsa_dispatch_packet *packet)
{
	uint8_t type = packet->header & 0xff;
	uint64_t signal = packet->completion_signal.handle;

	atomic_fetch_add(&fake_stats.executed, 1);
	if (type == HSA_PACKET_DISPATCH) {
		atomic_fetch_add(&fake_stats.dispatches, 1);
		if (!signal)
			atomic_fetch_add(&fake_stats.unsigned_dispatches, 1);
	}
	if (signal) {
		struct wt_signal *s = for_cpu(signal);
		uint64_t now = ticks();

		atomic_store_explicit(&s->start_ticks, now, memory_order_relaxed);
		atomic_store_explicit(&s->end_ticks, now + 1, memory_order_relaxed);
		atomic_fetch_sub_explicit(&s->value, 1, memory_order_acq_rel);
	}
}

static void *gpu_thread(void *arg)
{
	struct fake_queue *q = arg;

	while (!atomic_load_explicit(&q->stop, memory_order_acquire)) {
		uint64_t at = atomic_load_explicit(&q->read_index, memory_order_relaxed);
		struct hsa_dispatch_packet *packet =
			(struct hsa_dispatch_packet *)q->queue.base_address + at % q->queue.size;

		if (atomic_load(&held) ||
			atomic_load_explicit(&q->rung, memory_order_acquire) < (int64_t)at ||
			atomic_load_explicit(&q->write_index, memory_order_acquire) <= at) {
			sched_yield();
			continue;
		}
		if ((__atomic_load_n(&packet->header, __ATOMIC_ACQUIRE) & 0xff) ==
			HSA_PACKET_INVALID) {
			atomic_fetch_add(&fake_stats.invalid, 1);
			sched_yield();
			continue;
		}
		execute(packet);
		__atomic_store_n(&packet->header, HSA_PACKET_INVALID, __ATOMIC_RELEASE);
		atomic_store_explicit(&q->read_index, at + 1, memory_order_release);
	}
	return NULL;
}

/* ---- the runtime ---------------------------------------------------------------- */

static struct fake_queue *mine(const struct hsa_queue *queue)
{
	return (struct fake_queue *)queue;
}

static hsa_status queue_create(hsa_agent agent, uint32_t size, uint32_t type,
	void (*callback)(hsa_status, struct hsa_queue *, void *), void *data,
	uint32_t private_bytes, uint32_t group_bytes, struct hsa_queue **out)
{
	struct fake_queue *q = aligned_alloc(4096, 4096);

	(void)agent, (void)callback, (void)data, (void)private_bytes, (void)group_bytes;
	memset(q, 0, 4096);
	q->queue.type = type;
	q->queue.size = size;
	q->queue.id = 1;
	q->queue.base_address = aligned_alloc(4096, size < 64 ? 4096 : size * 64u);
	for (uint32_t i = 0; i < size; i++)
		((struct hsa_dispatch_packet *)q->queue.base_address)[i].header =
			HSA_PACKET_INVALID;
	q->doorbell.kind = AMD_SIGNAL_DOORBELL;
	q->doorbell.queue_ptr = (uint64_t)q;
	q->queue.doorbell_signal.handle = (uint64_t)&q->doorbell;
	atomic_store(&q->rung, -1);
	pthread_create(&q->gpu, NULL, gpu_thread, q);
	*out = &q->queue;
	return HSA_OK;
}

static hsa_status queue_destroy(struct hsa_queue *queue)
{
	struct fake_queue *q = mine(queue);

	atomic_store(&q->stop, true);
	pthread_join(q->gpu, NULL);
	free(q->queue.base_address);
	free(q);
	return HSA_OK;
}

static uint64_t load_read(const struct hsa_queue *queue)
{
	return atomic_load_explicit(&mine(queue)->read_index, memory_order_acquire);
}

static uint64_t load_write(const struct hsa_queue *queue)
{
	return atomic_load_explicit(&mine(queue)->write_index, memory_order_acquire);
}

static void store_write(const struct hsa_queue *queue, uint64_t value)
{
	atomic_store_explicit(&mine(queue)->write_index, value, memory_order_release);
}

static uint64_t cas_write(const struct hsa_queue *queue, uint64_t expected, uint64_t value)
{
	atomic_compare_exchange_strong(&mine(queue)->write_index, &expected, value);
	return expected;
}

static uint64_t add_write(const struct hsa_queue *queue, uint64_t cnt)
{
	return atomic_fetch_add(&mine(queue)->write_index, cnt);
}

static hsa_status signal_create(int64_t value, uint32_t cnt, const hsa_agent *agents,
	hsa_signal *signal)
{
	struct wt_signal *s = aligned_alloc(64, sizeof(*s));

	(void)cnt, (void)agents;
	memset(s, 0, sizeof(*s));
	s->kind = 1;
	atomic_store(&s->value, value);
	signal->handle = (uint64_t)s;
	return HSA_OK;
}

static hsa_status amd_signal_create(int64_t value, uint32_t cnt, const hsa_agent *agents,
	uint64_t attributes, hsa_signal *signal)
{
	(void)attributes;
	return signal_create(value, cnt, agents, signal);
}

static hsa_status signal_destroy(hsa_signal signal)
{
	free((void *)signal.handle);
	return HSA_OK;
}

static int64_t signal_load(hsa_signal signal)
{
	return atomic_load(&((struct wt_signal *)signal.handle)->value);
}

static void signal_store(hsa_signal signal, int64_t value)
{
	struct wt_signal *s = (struct wt_signal *)signal.handle;

	if (s->kind == AMD_SIGNAL_DOORBELL)
		atomic_store_explicit(&mine((struct hsa_queue *)s->queue_ptr)->rung, value,
			memory_order_release);
	else
		atomic_store_explicit(&s->value, value, memory_order_release);
}

static uint32_t gpu_cnt = 1;

void fake_hsa__gpus(uint32_t cnt)
{
	gpu_cnt = cnt;
}

static hsa_status iterate_agents(hsa_status (*callback)(hsa_agent, void *), void *data)
{
	hsa_status status = callback((hsa_agent){1}, data); /* a CPU */

	for (uint32_t i = 0; i < gpu_cnt && status == HSA_OK; i++)
		status = callback((hsa_agent){fake_gpu.handle + i}, data);
	return status;
}

static hsa_status agent_get_info(hsa_agent agent, uint32_t what, void *value)
{
	uint32_t number = (uint32_t)(agent.handle - fake_gpu.handle);

	switch (what) {
	case HSA_AGENT_DEVICE:
		*(uint32_t *)value = agent.handle == 1 ? 0 : HSA_DEVICE_GPU;
		return HSA_OK;
	case HSA_AGENT_NAME:
		strcpy(value, "gfx90a");
		return HSA_OK;
	case HSA_AGENT_PRODUCT_NAME:
		strcpy(value, "fake");
		return HSA_OK;
	case HSA_AGENT_UUID:
		strcpy(value, number ? "GPU-00000000000000ab" : "GPU-XX");
		return HSA_OK;
	case HSA_AGENT_DRIVER_NODE:
		*(uint32_t *)value = 1000 + number;
		return HSA_OK;
	case HSA_AGENT_BDFID:
		*(uint32_t *)value = number << 8;
		return HSA_OK;
	case HSA_AGENT_DOMAIN:
		*(uint32_t *)value = 0xffff; /* no device of this machine has it */
		return HSA_OK;
	case HSA_AGENT_WAVEFRONT_SIZE:
		*(uint32_t *)value = 64;
		return HSA_OK;
	default:
		return HSA_ERROR;
	}
}

static hsa_status iterate_isas(hsa_agent agent, hsa_status (*callback)(hsa_isa, void *), void *data)
{
	(void)agent;
	for (uint64_t i = 1; i <= 3; i++) {
		hsa_status status = callback((hsa_isa){i}, data);

		if (status != HSA_OK)
			return status;
	}
	return HSA_OK;
}

/* The first one has a name that is too long to be one. */
static hsa_status isa_get_info(hsa_isa isa, uint32_t what, void *value)
{
	static const char *const names[] = {
		"", "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "amdgcn-amd-amdhsa--gfx9-generic"};

	if (what == HSA_ISA_NAME_LENGTH)
		*(uint32_t *)value = isa.handle == 1 ? 100000 : (uint32_t)strlen(names[isa.handle - 1]);
	else
		strcpy(value, names[isa.handle - 1]);
	return HSA_OK;
}

static hsa_status iterate_pools(
	hsa_agent agent, hsa_status (*callback)(hsa_pool, void *), void *data)
{
	(void)agent;
	for (uint64_t i = 0; i < 3; i++)
		callback((hsa_pool){i}, data);
	return HSA_OK;
}

static hsa_status pool_get_info(hsa_pool pool, uint32_t what, void *value)
{
	static const size_t sizes[] = {3ull << 33, 65536, 1ull << 33};

	if (what == HSA_POOL_SEGMENT)
		*(uint32_t *)value = pool.handle == 1 ? HSA_SEGMENT_GROUP : HSA_SEGMENT_GLOBAL;
	else
		*(size_t *)value = sizes[pool.handle];
	return HSA_OK;
}

static hsa_status executable_freeze(hsa_executable executable, const char *options)
{
	(void)executable, (void)options;
	return HSA_OK;
}

static hsa_status executable_destroy(hsa_executable executable)
{
	(void)executable;
	return HSA_OK;
}

static hsa_status iterate_symbols(hsa_executable executable, hsa_agent agent,
	hsa_status (*callback)(hsa_executable, hsa_agent, hsa_symbol, void *), void *data)
{
	return callback(executable, agent, (hsa_symbol){executable.handle}, data);
}

/* One kernel an executable: "k<handle>.kd" at address 0x1000, always the same. */
static hsa_status symbol_get_info(hsa_symbol symbol, uint32_t what, void *value)
{
	switch (what) {
	case HSA_SYMBOL_TYPE:
		*(uint32_t *)value = HSA_SYMBOL_IS_KERNEL;
		break;
	case HSA_SYMBOL_NAME_LENGTH:
		*(uint32_t *)value = 5;
		break;
	case HSA_SYMBOL_NAME:
		memcpy(value, "k0.kd", 5);
		((char *)value)[1] = (char)('0' + symbol.handle % 10);
		break;
	case HSA_SYMBOL_KERNEL_OBJECT:
		*(uint64_t *)value = 0x1000;
		break;
	default:
		*(uint32_t *)value = 0;
	}
	return HSA_OK;
}

static hsa_status set_profiler_enabled(struct hsa_queue *queue, int enable)
{
	(void)queue, (void)enable;
	return HSA_OK;
}

static hsa_status async_copy_enable(bool enable)
{
	(void)enable;
	return HSA_OK;
}

static hsa_status convert(hsa_agent agent, uint64_t at, uint64_t *ns)
{
	(void)agent;
	*ns = at * 10;
	return HSA_OK;
}

static hsa_status memory_lock(void *memory, size_t bytes, const hsa_agent *agents, int cnt,
	void **gpu)
{
	uint32_t at = 0, all = atomic_load(&locked_cnt);

	while (at < all && locked[at].high != locked[at].low)
		at++;
	(void)agents, (void)cnt;
	if (atomic_load(&lock_refused))
		return HSA_ERROR;
	locked[at].low = (uint64_t)memory;
	locked[at].high = (uint64_t)memory + bytes;
	if (at == all)
		atomic_store(&locked_cnt, at + 1);
	*gpu = (void *)((uint64_t)memory + FAKE_GPU_BIAS);
	return HSA_OK;
}

static hsa_status memory_unlock(void *memory)
{
	for (uint32_t i = 0; i < atomic_load(&locked_cnt); i++)
		if (locked[i].low == (uint64_t)memory)
			locked[i].high = locked[i].low;
	return HSA_OK;
}

/* Made at once. */
static hsa_status async_copy(void *dst, hsa_agent dst_agent, const void *src, hsa_agent src_agent,
	size_t bytes, uint32_t dep_cnt, const hsa_signal *deps, hsa_signal completion)
{
	(void)dst_agent, (void)src_agent, (void)dep_cnt, (void)deps;
	memcpy(dst, src, bytes);
	atomic_fetch_sub(&((struct wt_signal *)completion.handle)->value, 1);
	return HSA_OK;
}

/* Looks at the signal at the end, as the runtime may at any time until it returns. */
static hsa_status get_async_copy_time(hsa_signal signal, struct hsa_copy_time *time)
{
	usleep(atomic_load(&copy_time_us));
	time->start = 1000;
	time->end = 2000 + (uint64_t)((const volatile struct wt_signal *)signal.handle)->kind;
	return HSA_OK;
}

/* A loaded code object is the reader of its file: the bytes and how many. */
static hsa_status load_agent_code_object(hsa_executable executable, hsa_agent agent,
	hsa_code_reader reader, const char *options, hsa_loaded_code *loaded)
{
	(void)executable, (void)agent, (void)options;
	if (loaded)
		loaded->handle = reader.handle;
	return reader.handle ? HSA_OK : HSA_ERROR;
}

static hsa_status loaded_code_get_info(hsa_loaded_code loaded, uint32_t what, void *value)
{
	const struct fake_code *code = (const struct fake_code *)loaded.handle;

	if (what == HSA_LOADED_CODE_BASE)
		*(uint64_t *)value = (uint64_t)code->bytes;
	else
		*(uint64_t *)value = code->size;
	return HSA_OK;
}

static hsa_status get_extension(uint16_t extension, uint16_t major, size_t bytes, void *functions)
{
	const struct hsa_loader loader = {.loaded_code_get_info = loaded_code_get_info};

	if (extension != HSA_EXTENSION_LOADER || major != 1 || bytes != sizeof(loader))
		return HSA_ERROR;
	memcpy(functions, &loader, sizeof(loader));
	return HSA_OK;
}

static hsa_status nothing(void)
{
	return HSA_ERROR;
}

struct hsa_api_table *fake_hsa__table(void)
{
	static struct {
		struct hsa_table_version version;
		void *fn[125];
	} core;
	static struct {
		struct hsa_table_version version;
		void *fn[48];
	} amd;
	static struct hsa_api_table table;

	for (size_t i = 0; i < 125; i++)
		core.fn[i] = (void *)nothing;
	for (size_t i = 0; i < 48; i++)
		amd.fn[i] = (void *)nothing;
	core.version = (struct hsa_table_version){1, sizeof(core), 0, 0};
	amd.version = (struct hsa_table_version){1, sizeof(amd), 0, 0};
#define CORE_IS(name, function) core.fn[HSA_CORE_##name] = (void *)function
#define AMD_IS(name, function)	amd.fn[HSA_AMD_##name] = (void *)function
	CORE_IS(hsa_iterate_agents, iterate_agents);
	CORE_IS(hsa_agent_get_info, agent_get_info);
	CORE_IS(hsa_agent_iterate_isas, iterate_isas);
	CORE_IS(hsa_isa_get_info_alt, isa_get_info);
	AMD_IS(hsa_amd_agent_iterate_memory_pools, iterate_pools);
	AMD_IS(hsa_amd_memory_pool_get_info, pool_get_info);
	CORE_IS(hsa_queue_create, queue_create);
	CORE_IS(hsa_queue_destroy, queue_destroy);
	CORE_IS(hsa_queue_load_read_index_scacquire, load_read);
	CORE_IS(hsa_queue_load_write_index_scacquire, load_write);
	CORE_IS(hsa_queue_load_write_index_relaxed, load_write);
	CORE_IS(hsa_queue_store_write_index_relaxed, store_write);
	CORE_IS(hsa_queue_store_write_index_screlease, store_write);
	CORE_IS(hsa_queue_cas_write_index_scacq_screl, cas_write);
	CORE_IS(hsa_queue_cas_write_index_scacquire, cas_write);
	CORE_IS(hsa_queue_cas_write_index_relaxed, cas_write);
	CORE_IS(hsa_queue_cas_write_index_screlease, cas_write);
	CORE_IS(hsa_queue_add_write_index_scacq_screl, add_write);
	CORE_IS(hsa_queue_add_write_index_scacquire, add_write);
	CORE_IS(hsa_queue_add_write_index_relaxed, add_write);
	CORE_IS(hsa_queue_add_write_index_screlease, add_write);
	CORE_IS(hsa_signal_create, signal_create);
	CORE_IS(hsa_signal_destroy, signal_destroy);
	CORE_IS(hsa_signal_load_relaxed, signal_load);
	CORE_IS(hsa_signal_load_scacquire, signal_load);
	CORE_IS(hsa_signal_store_relaxed, signal_store);
	CORE_IS(hsa_signal_store_screlease, signal_store);
	CORE_IS(hsa_signal_silent_store_relaxed, signal_store);
	CORE_IS(hsa_signal_silent_store_screlease, signal_store);
	CORE_IS(hsa_system_get_major_extension_table, get_extension);
	CORE_IS(hsa_executable_load_agent_code_object, load_agent_code_object);
	CORE_IS(hsa_executable_freeze, executable_freeze);
	CORE_IS(hsa_executable_destroy, executable_destroy);
	CORE_IS(hsa_executable_iterate_agent_symbols, iterate_symbols);
	CORE_IS(hsa_executable_symbol_get_info, symbol_get_info);
	AMD_IS(hsa_amd_profiling_set_profiler_enabled, set_profiler_enabled);
	AMD_IS(hsa_amd_profiling_async_copy_enable, async_copy_enable);
	AMD_IS(hsa_amd_profiling_convert_tick_to_system_domain, convert);
	AMD_IS(hsa_amd_memory_async_copy, async_copy);
	AMD_IS(hsa_amd_profiling_get_async_copy_time, get_async_copy_time);
	AMD_IS(hsa_amd_memory_lock, memory_lock);
	AMD_IS(hsa_amd_memory_unlock, memory_unlock);
	AMD_IS(hsa_amd_signal_create, amd_signal_create);
	table = (struct hsa_api_table){
		.version = {1, sizeof(table), 0, 0},
		.core = (struct hsa_table *)&core,
		.amd_ext = (struct hsa_table *)&amd,
	};
	return &table;
}

static hsa_status set_priority(struct hsa_queue *queue, uint32_t priority)
{
	return queue && priority < 3 ? HSA_OK : HSA_ERROR;
}

/* The second descriptor's queue cannot be made, as one of several may not. */
static hsa_status create_queues(hsa_agent agent, struct hsa_queue_desc *descs, uint32_t cnt)
{
	hsa_status status = HSA_OK;

	for (uint32_t i = 0; i < cnt; i++) {
		descs[i].queue = NULL;
		if (i == 1 || queue_create(agent, descs[i].size_bytes / 64, 0, NULL, NULL, 0, 0,
				      &descs[i].queue) != HSA_OK)
			status = HSA_ERROR;
	}
	return status;
}

struct hsa_api_table *fake_hsa__newer_table(void)
{
	static struct {
		struct hsa_table_version version;
		void *fn[HSA_AMD_QUEUE_CREATE + 1];
	} amd;
	struct hsa_api_table *table = fake_hsa__table();

	for (unsigned i = 0; i <= HSA_AMD_QUEUE_CREATE; i++)
		amd.fn[i] = (void *)nothing;
	for (unsigned i = 0; i < 48; i++)
		amd.fn[i < HSA_AMD_INSERTED_AT ? i : i + 2] = table->amd_ext->fn[i];
	amd.fn[HSA_AMD_hsa_amd_queue_set_priority + 2] = (void *)set_priority;
	amd.fn[HSA_AMD_QUEUE_CREATE] = (void *)create_queues;
	amd.version = (struct hsa_table_version){2, sizeof(amd), HSA_AMD_QUEUE_CREATE_STEP, 0};
	table->amd_ext = (struct hsa_table *)&amd;
	return table;
}
