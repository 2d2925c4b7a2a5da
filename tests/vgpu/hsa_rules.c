// SPDX-License-Identifier: MIT
/*
 * The rules of queues, packets and signals, through the distribution's HSA runtime. Exits 0 if all
 * hold. Run with VGPU_KERNEL_NS=0,rules_long=2000000. Argument: the code object.
 */
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int wrong;
static hsa_agent_t gpu, cpu;
static hsa_amd_memory_pool_t vram, sysmem;
static hsa_queue_t *queues[2];
static uint64_t object_long, object_short;

#define CK(x)                                                                                      \
	do {                                                                                       \
		hsa_status_t s_ = (x);                                                             \
		if (s_) {                                                                          \
			fprintf(stderr, "line %d: %s = 0x%x\n", __LINE__, #x, s_);                 \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

static void check(const char *what, int ok)
{
	printf("%-60s %s\n", what, ok ? "ok" : "WRONG");
	wrong += !ok;
}

/* ---- set-up ---- */

static hsa_status_t on_agent(hsa_agent_t a, void *data)
{
	hsa_device_type_t type;

	(void)data;
	hsa_agent_get_info(a, HSA_AGENT_INFO_DEVICE, &type);
	if (type == HSA_DEVICE_TYPE_GPU && !gpu.handle)
		gpu = a;
	if (type == HSA_DEVICE_TYPE_CPU && !cpu.handle)
		cpu = a;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t on_pool(hsa_amd_memory_pool_t p, void *data)
{
	hsa_amd_memory_pool_t *out = data;
	hsa_amd_segment_t segment;
	bool allowed;

	hsa_amd_memory_pool_get_info(p, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
	hsa_amd_memory_pool_get_info(p, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed);
	if (segment == HSA_AMD_SEGMENT_GLOBAL && allowed && !out->handle)
		*out = p;
	return HSA_STATUS_SUCCESS;
}

static char *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	char *text;

	if (!f)
		exit(2);
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	text = malloc(*size);
	if (!text || fread(text, 1, *size, f) != *size)
		exit(2);
	fclose(f);
	return text;
}

static uint64_t kernel_object(hsa_executable_t e, const char *name)
{
	hsa_executable_symbol_t s;
	uint64_t object;

	CK(hsa_executable_get_symbol_by_name(e, name, &gpu, &s));
	CK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
	return object;
}

static void load(const char *path)
{
	hsa_code_object_reader_t reader;
	hsa_executable_t e;
	size_t size, at = 0;
	char *text = read_file(path, &size);

	/* A bundle: the device's ELF is the last one. */
	for (size_t i = 0; i + 4 < size; i++)
		if (!memcmp(text + i, "\177ELF", 4))
			at = i;
	CK(hsa_code_object_reader_create_from_memory(text + at, size - at, &reader));
	CK(hsa_executable_create_alt(
		HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &e));
	CK(hsa_executable_load_agent_code_object(e, gpu, reader, NULL, NULL));
	CK(hsa_executable_freeze(e, NULL));
	object_long = kernel_object(e, "rules_long.kd");
	object_short = kernel_object(e, "rules_short.kd");
}

/* ---- packets ---- */

static uint64_t put(hsa_queue_t *q, const void *packet, uint64_t i)
{
	char *slot = (char *)q->base_address + i % q->size * 64;

	memcpy(slot + 4, (const char *)packet + 4, 60);
	__atomic_store_n((uint32_t *)slot, *(const uint32_t *)packet, __ATOMIC_RELEASE);
	return i;
}

static void submit(hsa_queue_t *q, const void *packet)
{
	uint64_t i = put(q, packet, hsa_queue_add_write_index_screlease(q, 1));

	hsa_signal_store_screlease(q->doorbell_signal, (hsa_signal_value_t)i);
}

static hsa_kernel_dispatch_packet_t dispatch(
	uint64_t object, bool barrier, hsa_signal_t done, void *kernarg)
{
	hsa_kernel_dispatch_packet_t p = {0};

	p.header =
		(uint16_t)(HSA_PACKET_TYPE_KERNEL_DISPATCH | barrier << HSA_PACKET_HEADER_BARRIER);
	p.setup = 1;
	p.workgroup_size_x = p.workgroup_size_y = p.workgroup_size_z = 1;
	p.grid_size_x = 64;
	p.grid_size_y = p.grid_size_z = 1;
	p.kernel_object = object;
	p.kernarg_address = kernarg;
	p.completion_signal = done;
	return p;
}

static void barrier(hsa_queue_t *q, int type, const hsa_signal_t *deps, int cnt, hsa_signal_t done)
{
	hsa_barrier_and_packet_t p = {0};

	p.header = (uint16_t)(type | 1 << HSA_PACKET_HEADER_BARRIER);
	for (int i = 0; i < cnt; i++)
		p.dep_signal[i] = deps[i];
	p.completion_signal = done;
	submit(q, &p);
}

static hsa_signal_t new_signal(hsa_signal_value_t v)
{
	hsa_signal_t s;

	CK(hsa_signal_create(v, 0, NULL, &s));
	return s;
}

static int reaches_zero(hsa_signal_t s)
{
	return hsa_signal_wait_scacquire(
		       s, HSA_SIGNAL_CONDITION_LT, 1, 5000000000u, HSA_WAIT_STATE_BLOCKED) == 0;
}

static amd_signal_t *inside(hsa_signal_t s)
{
	return (amd_signal_t *)(uintptr_t)s.handle;
}

static int still(hsa_signal_t s, hsa_signal_value_t v)
{
	usleep(20000);
	return hsa_signal_load_scacquire(s) == v;
}

/* The GPU's clock. */
static uint64_t ticks(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 100000000 + (uint64_t)now.tv_nsec / 10;
}

/* ---- the rules ---- */

static void barriers(void)
{
	hsa_signal_t a = new_signal(1), b = new_signal(1), c = new_signal(1);
	uint64_t released;
	hsa_amd_barrier_value_packet_t v = {0};

	barrier(queues[0], HSA_PACKET_TYPE_BARRIER_AND, (hsa_signal_t[]){a, b}, 2, c);
	check("barrier-AND waits", still(c, 1));
	barrier(queues[1], HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, a);
	check("barrier-AND waits for all of its signals", reaches_zero(a) && still(c, 1));
	hsa_signal_store_screlease(b, 0);
	check("barrier-AND completes", reaches_zero(c));

	hsa_signal_store_relaxed(a, 1);
	hsa_signal_store_relaxed(b, 1);
	hsa_signal_store_relaxed(c, 1);
	barrier(queues[0], HSA_PACKET_TYPE_BARRIER_OR, (hsa_signal_t[]){a, b}, 2, c);
	check("barrier-OR waits", still(c, 1));
	released = ticks();
	hsa_signal_store_screlease(b, 0);
	check("barrier-OR completes on one", reaches_zero(c));
	check("and ends when it is released", inside(c)->end_ts >= released);

	hsa_signal_store_relaxed(a, 3);
	hsa_signal_store_relaxed(c, 1);
	v.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC | 1 << HSA_PACKET_HEADER_BARRIER;
	v.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
	v.signal = a;
	v.value = 10;
	v.mask = 0xff;
	v.cond = HSA_SIGNAL_CONDITION_GTE;
	v.completion_signal = c;
	submit(queues[0], &v);
	check("barrier-value waits", still(c, 1));
	released = ticks();
	hsa_signal_store_screlease(a, 0x10c);
	check("barrier-value completes", reaches_zero(c));
	check("and ends when it is released", inside(c)->end_ts >= released);
	CK(hsa_signal_destroy(a));
	CK(hsa_signal_destroy(b));
	CK(hsa_signal_destroy(c));
}

/* Four 2 ms kernels under one doorbell: three may overlap, the last may not. */
static void overlap(void)
{
	hsa_signal_t s[4];
	uint64_t first = hsa_queue_add_write_index_screlease(queues[0], 4);
	int together = 1, sizes = 1;

	for (uint64_t i = 0; i < 4; i++) {
		hsa_kernel_dispatch_packet_t p;

		s[i] = new_signal(1);
		p = dispatch(object_long, i == 0 || i == 3, s[i], NULL);
		put(queues[0], &p, first + i);
	}
	hsa_signal_store_screlease(queues[0]->doorbell_signal, (hsa_signal_value_t)first + 3);
	for (int i = 0; i < 4; i++)
		check("kernel completes", reaches_zero(s[i]));
	for (int i = 0; i < 4; i++)
		sizes &= inside(s[i])->end_ts - inside(s[i])->start_ts == 200000;
	for (int i = 1; i < 3; i++)
		together &= inside(s[i])->start_ts == inside(s[0])->start_ts;
	check("every kernel takes its 2 ms exactly", sizes);
	check("without the barrier bit kernels overlap", together);
	check("with the barrier bit they do not", inside(s[3])->start_ts == inside(s[0])->end_ts);
	for (int i = 0; i < 4; i++)
		CK(hsa_signal_destroy(s[i]));
}

static void doorbells(void)
{
	hsa_signal_t s = new_signal(1);
	hsa_kernel_dispatch_packet_t p = dispatch(object_short, true, s, NULL);
	uint64_t i = hsa_queue_load_write_index_relaxed(queues[0]);

	put(queues[0], &p, i);
	check("a packet beyond the write index does not run", still(s, 1));
	check("and the read index stays", hsa_queue_load_read_index_relaxed(queues[0]) == i);
	hsa_queue_store_write_index_screlease(queues[0], i + 1);
	hsa_signal_store_screlease(queues[0]->doorbell_signal, (hsa_signal_value_t)i);
	check("it runs after the doorbell", reaches_zero(s));
	check("and the read index follows", hsa_queue_load_read_index_relaxed(queues[0]) == i + 1);
	CK(hsa_signal_destroy(s));
}

/* Registered host memory has another address for the GPU. */
static void locked_memory(void)
{
	char *host = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	hsa_signal_t done = new_signal(1), mine;
	hsa_kernel_dispatch_packet_t p;
	amd_signal_t *s = (amd_signal_t *)host;
	uint64_t *args = (uint64_t *)(host + 4096);
	void *device;

	CK(hsa_amd_memory_lock(host, 8192, &gpu, 1, &device));
	check("locked memory has another address for the GPU", device != host);
	for (int i = 0; i < 8; i++)
		s[i] = (amd_signal_t){.kind = AMD_SIGNAL_KIND_USER, .value = 1};
	args[0] = 0x1111111111111111u;
	args[1] = 0x2222222222222222u;
	for (uint64_t i = 0; i < 8; i++) {
		mine.handle = (uint64_t)(uintptr_t)device + i * sizeof *s;
		p = dispatch(object_long, true, mine, (char *)device + 4096);
		submit(queues[0], &p);
	}
	/* a barrier that depends on the last of them, by its address for the GPU */
	barrier(queues[1], HSA_PACKET_TYPE_BARRIER_AND, &mine, 1, done);
	check("a barrier waits for a signal in locked memory", reaches_zero(done));
	for (int i = 0; i < 8; i++) {
		check("a signal in locked memory is decremented once", s[i].value == 0);
		check("and stamped", s[i].start_ts && s[i].end_ts - s[i].start_ts == 200000 &&
					     (!i || s[i].start_ts >= s[i - 1].end_ts));
	}
	check("causality", inside(done)->end_ts >= s[7].end_ts);
	CK(hsa_amd_memory_unlock(host));
	munmap(host, 8192);
	CK(hsa_signal_destroy(done));
}

static void shared_signal(void)
{
	hsa_signal_t s = new_signal(200);

	for (int i = 0; i < 200; i++) {
		hsa_kernel_dispatch_packet_t p = dispatch(object_short, i % 3 == 0, s, NULL);

		submit(queues[i % 2], &p);
	}
	check("200 kernels count one signal down to 0", reaches_zero(s));
	CK(hsa_signal_destroy(s));
}

static atomic_int handled;

static bool on_signal(hsa_signal_value_t v, void *data)
{
	(void)v;
	(void)data;
	atomic_fetch_add(&handled, 1);
	return false;
}

static void handlers(void)
{
	hsa_signal_t s[200];
	uint64_t last[2] = {0, 0};
	int ordered = 1;

	for (int i = 0; i < 200; i++) {
		s[i] = new_signal(1);
		CK(hsa_amd_signal_async_handler(s[i], HSA_SIGNAL_CONDITION_LT, 1, on_signal, NULL));
	}
	for (int i = 0; i < 200; i++)
		barrier(queues[i & 1], HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, s[i]);
	for (int i = 0; i < 5000 && atomic_load(&handled) < 200; i++)
		usleep(1000);
	check("200 handlers run once each", atomic_load(&handled) == 200);
	for (int i = 0; i < 200; i++) {
		ordered &= inside(s[i])->start_ts >= last[i & 1] &&
			   inside(s[i])->end_ts >= inside(s[i])->start_ts;
		last[i & 1] = inside(s[i])->end_ts;
		CK(hsa_signal_destroy(s[i]));
	}
	check("their stamps are in order", ordered);
}

static int count_interrupt_signals(void)
{
	static hsa_signal_t s[4500];
	int cnt = 0;

	for (int i = 0; i < 4500; i++) {
		s[i] = new_signal(1);
		cnt += inside(s[i])->event_mailbox_ptr != 0;
	}
	for (int i = 0; i < 4500; i++)
		CK(hsa_signal_destroy(s[i]));
	return cnt;
}

static void event_limit(void)
{
	int cnt = count_interrupt_signals();

	/* ROCr has a few events of its own. */
	check("4,096 events a process, ROCr's own included", cnt > 4000 && cnt < 4096);
	check("and all of them come back", count_interrupt_signals() == cnt);
}

static void profiling(void)
{
	hsa_signal_t s = new_signal(1);

	CK(hsa_amd_profiling_set_profiler_enabled(queues[0], 0));
	barrier(queues[0], HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, s);
	check("with profiling off it completes", reaches_zero(s));
	check("and is not stamped", !inside(s)->start_ts && !inside(s)->end_ts);
	CK(hsa_amd_profiling_set_profiler_enabled(queues[0], 1));
	CK(hsa_signal_destroy(s));
}

static void copies(void)
{
	hsa_signal_t a = new_signal(1), b = new_signal(1), c = new_signal(1);
	hsa_amd_profiling_async_copy_time_t t[2];
	size_t n = 10000000; /* more than one SDMA packet holds */
	char *h, *g, *pageable = malloc(n);
	void *locked;
	int same = 1;

	CK(hsa_amd_profiling_async_copy_enable(true));
	CK(hsa_amd_memory_pool_allocate(sysmem, n, 0, (void **)&h));
	CK(hsa_amd_agents_allow_access(1, &gpu, NULL, h));
	CK(hsa_amd_memory_pool_allocate(vram, n, 0, (void **)&g));
	for (size_t i = 0; i < n; i++)
		h[i] = (char)(i * 7);
	CK(hsa_amd_memory_async_copy(g, gpu, h, cpu, n, 1, &a, b));
	CK(hsa_amd_memory_lock(pageable, n, &gpu, 1, &locked));
	CK(hsa_amd_memory_async_copy(locked, cpu, g, gpu, n, 1, &b, c));
	check("a copy waits for its signal", still(b, 1));
	hsa_signal_store_screlease(a, 0);
	check("and then both run", reaches_zero(c));
	check("the data came back", !memcmp(pageable, h, n));
	CK(hsa_amd_profiling_get_async_copy_time(b, &t[0]));
	CK(hsa_amd_profiling_get_async_copy_time(c, &t[1]));
	check("the second copy starts after the first", t[1].start >= t[0].end);
	CK(hsa_amd_memory_unlock(pageable));
	CK(hsa_amd_memory_fill(g, 0x01020304, n / 4));
	for (size_t i = 0; i < n / 4; i++)
		same &= ((uint32_t *)(void *)g)[i] == 0x01020304;
	check("fill", same);
	CK(hsa_amd_memory_pool_free(h));
	CK(hsa_amd_memory_pool_free(g));
	free(pageable);
	CK(hsa_signal_destroy(a));
	CK(hsa_signal_destroy(b));
	CK(hsa_signal_destroy(c));
}

static void queue_comes_and_goes(void)
{
	for (int i = 0; i < 30; i++) {
		hsa_signal_t s = new_signal(1);
		hsa_queue_t *q;

		CK(hsa_queue_create(
			gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &q));
		barrier(q, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, s);
		if (!reaches_zero(s))
			check("barrier on a new queue", 0);
		CK(hsa_queue_destroy(q));
		CK(hsa_signal_destroy(s));
	}
	check("30 queues in turn", 1);
}

int main(int argc, char **argv)
{
	(void)argc;
	CK(hsa_init());
	CK(hsa_iterate_agents(on_agent, NULL));
	CK(hsa_amd_agent_iterate_memory_pools(gpu, on_pool, &vram));
	CK(hsa_amd_agent_iterate_memory_pools(cpu, on_pool, &sysmem));
	load(argv[1]);
	for (int i = 0; i < 2; i++) {
		CK(hsa_queue_create(gpu, 256, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX,
			UINT32_MAX, &queues[i]));
		CK(hsa_amd_profiling_set_profiler_enabled(queues[i], 1));
	}
	barriers();
	overlap();
	doorbells();
	locked_memory();
	shared_signal();
	handlers();
	event_limit();
	profiling();
	copies();
	queue_comes_and_goes();
	for (int i = 0; i < 2; i++)
		CK(hsa_queue_destroy(queues[i]));
	CK(hsa_shut_down());
	printf("%s\n", wrong ? "SOME RULES DO NOT HOLD" : "all rules hold");
	return wrong != 0;
}
