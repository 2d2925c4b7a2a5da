// SPDX-License-Identifier: MIT
#include "hsa_program.h"

#include <string.h>

static hsa_status_t see_pool(hsa_amd_memory_pool_t pool, void *data)
{
	struct hsa_program *p = data;
	hsa_amd_segment_t segment;
	uint32_t flags = 0;
	bool allowed = false;

	hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
	hsa_amd_memory_pool_get_info(
		pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed);
	hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
	if (segment != HSA_AMD_SEGMENT_GLOBAL || !allowed)
		return HSA_STATUS_SUCCESS;
	if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) {
		if (!p->kernarg.handle)
			p->kernarg = pool;
	} else if (!p->system.handle) {
		p->system = pool;
	}
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t see_vram(hsa_amd_memory_pool_t pool, void *data)
{
	struct hsa_program seen = {0}, *p = data;

	see_pool(pool, &seen);
	if (!p->vram.handle)
		p->vram = seen.system;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t see_agent(hsa_agent_t agent, void *data)
{
	struct hsa_program *p = data;
	hsa_device_type_t type;

	hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
	if (type == HSA_DEVICE_TYPE_GPU && !p->gpu.handle) {
		p->gpu = agent;
		hsa_amd_agent_iterate_memory_pools(agent, see_vram, p);
	}
	if (type == HSA_DEVICE_TYPE_CPU && !p->cpu.handle) {
		p->cpu = agent;
		hsa_amd_agent_iterate_memory_pools(agent, see_pool, p);
	}
	return HSA_STATUS_SUCCESS;
}

void hsa_program__open(struct hsa_program *p)
{
	*p = (struct hsa_program){0};
	HSA_CHECK(hsa_init());
	HSA_CHECK(hsa_iterate_agents(see_agent, p));
	if (!p->gpu.handle || !p->vram.handle || !p->kernarg.handle) {
		fprintf(stderr, "no GPU agent with memory\n");
		exit(2);
	}
	if (!p->system.handle)
		p->system = p->kernarg;
}

static char *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *bytes = NULL;

	*size = 0;
	if (file && !fseek(file, 0, SEEK_END)) {
		*size = (size_t)ftell(file);
		rewind(file);
		bytes = malloc(*size ? *size : 1);
		if (bytes && fread(bytes, 1, *size, file) != *size)
			*size = 0;
	}
	if (file)
		fclose(file);
	return bytes;
}

void hsa_program__load(struct hsa_program *p, const char *path)
{
	hsa_code_object_reader_t reader;
	size_t size, at = 0;
	char *bytes = read_all(path, &size);

	/* A bundle: the GPU's ELF is the last one. */
	for (size_t i = 0; bytes && i + 4 < size; i++)
		if (!memcmp(bytes + i, "\177ELF", 4))
			at = i;
	if (!bytes || !size || memcmp(bytes + at, "\177ELF", 4)) {
		fprintf(stderr, "%s holds no code object\n", path);
		exit(2);
	}
	HSA_CHECK(hsa_code_object_reader_create_from_memory(bytes + at, size - at, &reader));
	HSA_CHECK(hsa_executable_create_alt(
		HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &p->executable));
	HSA_CHECK(hsa_executable_load_agent_code_object(p->executable, p->gpu, reader, NULL, NULL));
	HSA_CHECK(hsa_executable_freeze(p->executable, NULL));
	free(bytes);
}

uint64_t hsa_program__kernel(const struct hsa_program *p, const char *name)
{
	hsa_executable_symbol_t symbol;
	uint64_t object;

	HSA_CHECK(hsa_executable_get_symbol_by_name(p->executable, name, &p->gpu, &symbol));
	HSA_CHECK(hsa_executable_symbol_get_info(
		symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
	return object;
}

void *hsa_program__alloc(const struct hsa_program *p, hsa_amd_memory_pool_t pool, size_t size)
{
	void *memory;

	HSA_CHECK(hsa_amd_memory_pool_allocate(pool, size, 0, &memory));
	HSA_CHECK(hsa_amd_agents_allow_access(2, (hsa_agent_t[]){p->gpu, p->cpu}, NULL, memory));
	return memory;
}

hsa_queue_t *hsa_program__queue(const struct hsa_program *p, uint32_t packets)
{
	hsa_queue_t *queue;

	HSA_CHECK(hsa_queue_create(
		p->gpu, packets, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
	HSA_CHECK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
	return queue;
}

uint64_t hsa_reserve(hsa_queue_t *queue, uint64_t count)
{
	uint64_t index = hsa_queue_add_write_index_screlease(queue, count);

	while (index + count - hsa_queue_load_read_index_scacquire(queue) > queue->size)
		;
	return index;
}

void hsa_write(hsa_queue_t *queue, uint64_t index, const void *packet)
{
	char *slot = (char *)queue->base_address + index % queue->size * 64;
	uint32_t head;

	memcpy(slot + 4, (const char *)packet + 4, 60);
	memcpy(&head, packet, sizeof head);
	/* Release: the packet processor may take the packet from here on. */
	__atomic_store_n((uint32_t *)(void *)slot, head, __ATOMIC_RELEASE);
}

void hsa_ring(hsa_queue_t *queue, uint64_t index)
{
	hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

void hsa_submit(hsa_queue_t *queue, const void *packet)
{
	uint64_t index = hsa_reserve(queue, 1);

	hsa_write(queue, index, packet);
	hsa_ring(queue, index);
}

static uint16_t header(int type, bool barrier)
{
	return (uint16_t)(type << HSA_PACKET_HEADER_TYPE | barrier << HSA_PACKET_HEADER_BARRIER |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
			  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}

hsa_kernel_dispatch_packet_t hsa_dispatch(
	uint64_t kernel, bool barrier, hsa_signal_t done, void *kernarg)
{
	return (hsa_kernel_dispatch_packet_t){
		.header = header(HSA_PACKET_TYPE_KERNEL_DISPATCH, barrier),
		.setup = 1,
		.workgroup_size_x = 1,
		.workgroup_size_y = 1,
		.workgroup_size_z = 1,
		.grid_size_x = 1,
		.grid_size_y = 1,
		.grid_size_z = 1,
		.kernel_object = kernel,
		.kernarg_address = kernarg,
		.completion_signal = done,
	};
}

hsa_barrier_and_packet_t hsa_barrier(const hsa_signal_t *dependencies, int count, hsa_signal_t done)
{
	hsa_barrier_and_packet_t p = {
		.header = header(HSA_PACKET_TYPE_BARRIER_AND, true),
		.completion_signal = done,
	};

	for (int i = 0; i < count && i < 5; i++)
		p.dep_signal[i] = dependencies[i];
	return p;
}

hsa_signal_t hsa_new_signal(hsa_signal_value_t value)
{
	hsa_signal_t signal;

	HSA_CHECK(hsa_signal_create(value, 0, NULL, &signal));
	return signal;
}

bool hsa_reaches_zero(hsa_signal_t signal, double seconds)
{
	uint64_t frequency = 0, limit;

	hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency);
	limit = (uint64_t)(seconds * (double)frequency);
	return hsa_signal_wait_scacquire(
		       signal, HSA_SIGNAL_CONDITION_LT, 1, limit, HSA_WAIT_STATE_BLOCKED) < 1;
}

amd_signal_t *hsa_inside(hsa_signal_t signal)
{
	return (amd_signal_t *)(uintptr_t)signal.handle;
}
