// SPDX-License-Identifier: MIT
/*
 * The rules of queues, packets and signals, through the distribution's HSA runtime. Exits 0 if all
 * hold. Run with VGPU_KERNEL_NS=0,rules_long=2000000. Argument: the code object.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hsa_program.h"

static int wrong;
static struct hsa_program program;
static hsa_queue_t *queues[2];
static uint64_t object_long, object_short;

static void check(const char *what, int ok)
{
	printf("%-60s %s\n", what, ok ? "ok" : "WRONG");
	wrong += !ok;
}

static void barrier(hsa_queue_t *q, int type, const hsa_signal_t *deps, int cnt, hsa_signal_t done)
{
	hsa_barrier_and_packet_t p = {0};

	p.header = (uint16_t)(type | 1 << HSA_PACKET_HEADER_BARRIER);
	for (int i = 0; i < cnt; i++)
		p.dep_signal[i] = deps[i];
	p.completion_signal = done;
	hsa_submit(q, &p);
}

static int reaches_zero(hsa_signal_t s)
{
	return hsa_reaches_zero(s, 5);
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
	hsa_signal_t a = hsa_new_signal(1), b = hsa_new_signal(1), c = hsa_new_signal(1);
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
	check("and ends when it is released", hsa_inside(c)->end_ts >= released);

	hsa_signal_store_relaxed(a, 3);
	hsa_signal_store_relaxed(c, 1);
	v.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC | 1 << HSA_PACKET_HEADER_BARRIER;
	v.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
	v.signal = a;
	v.value = 10;
	v.mask = 0xff;
	v.cond = HSA_SIGNAL_CONDITION_GTE;
	v.completion_signal = c;
	hsa_submit(queues[0], &v);
	check("barrier-value waits", still(c, 1));
	released = ticks();
	hsa_signal_store_screlease(a, 0x10c);
	check("barrier-value completes", reaches_zero(c));
	check("and ends when it is released", hsa_inside(c)->end_ts >= released);
	HSA_CHECK(hsa_signal_destroy(a));
	HSA_CHECK(hsa_signal_destroy(b));
	HSA_CHECK(hsa_signal_destroy(c));
}

/* Four 2 ms kernels under one doorbell: three may overlap, the last may not. */
static void overlap(void)
{
	hsa_signal_t s[4];
	uint64_t first = hsa_queue_add_write_index_screlease(queues[0], 4);
	int together = 1, sizes = 1;

	for (uint64_t i = 0; i < 4; i++) {
		hsa_kernel_dispatch_packet_t p;

		s[i] = hsa_new_signal(1);
		p = hsa_dispatch(object_long, i == 0 || i == 3, s[i], NULL);
		hsa_write(queues[0], first + i, &p);
	}
	hsa_signal_store_screlease(queues[0]->doorbell_signal, (hsa_signal_value_t)first + 3);
	for (int i = 0; i < 4; i++)
		check("kernel completes", reaches_zero(s[i]));
	for (int i = 0; i < 4; i++)
		sizes &= hsa_inside(s[i])->end_ts - hsa_inside(s[i])->start_ts == 200000;
	for (int i = 1; i < 3; i++)
		together &= hsa_inside(s[i])->start_ts == hsa_inside(s[0])->start_ts;
	check("every kernel takes its 2 ms exactly", sizes);
	check("without the barrier bit kernels overlap", together);
	check("with the barrier bit they do not",
		hsa_inside(s[3])->start_ts == hsa_inside(s[0])->end_ts);
	for (int i = 0; i < 4; i++)
		HSA_CHECK(hsa_signal_destroy(s[i]));
}

static void doorbells(void)
{
	hsa_signal_t s = hsa_new_signal(1);
	hsa_kernel_dispatch_packet_t p = hsa_dispatch(object_short, true, s, NULL);
	uint64_t i = hsa_queue_load_write_index_relaxed(queues[0]);

	hsa_write(queues[0], i, &p);
	check("a packet beyond the write index does not run", still(s, 1));
	check("and the read index stays", hsa_queue_load_read_index_relaxed(queues[0]) == i);
	hsa_queue_store_write_index_screlease(queues[0], i + 1);
	hsa_signal_store_screlease(queues[0]->doorbell_signal, (hsa_signal_value_t)i);
	check("it runs after the doorbell", reaches_zero(s));
	check("and the read index follows", hsa_queue_load_read_index_relaxed(queues[0]) == i + 1);
	HSA_CHECK(hsa_signal_destroy(s));
}

/* Registered host memory: of another address for the GPU, or by the SVM call (ROCm 7.2). */
static void locked_memory(void)
{
	char *host = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	hsa_signal_t done = hsa_new_signal(1), mine;
	hsa_kernel_dispatch_packet_t p;
	amd_signal_t *s = (amd_signal_t *)host;
	uint64_t *args = (uint64_t *)(host + 4096);
	bool svm = false;
	void *device;

	HSA_CHECK(hsa_amd_memory_lock(host, 8192, &program.gpu, 1, &device));
	HSA_CHECK(hsa_system_get_info((hsa_system_info_t)HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED, &svm));
	check("locked memory has another address for the GPU, or the driver has SVM",
		device != host || svm);
	for (int i = 0; i < 8; i++)
		s[i] = (amd_signal_t){.kind = AMD_SIGNAL_KIND_USER, .value = 1};
	args[0] = 0x1111111111111111u;
	args[1] = 0x2222222222222222u;
	for (uint64_t i = 0; i < 8; i++) {
		mine.handle = (uint64_t)(uintptr_t)device + i * sizeof *s;
		p = hsa_dispatch(object_long, true, mine, (char *)device + 4096);
		hsa_submit(queues[0], &p);
	}
	/* a barrier that depends on the last of them, by its address for the GPU */
	barrier(queues[1], HSA_PACKET_TYPE_BARRIER_AND, &mine, 1, done);
	check("a barrier waits for a signal in locked memory", reaches_zero(done));
	for (int i = 0; i < 8; i++) {
		check("a signal in locked memory is decremented once", s[i].value == 0);
		check("and stamped", s[i].start_ts && s[i].end_ts - s[i].start_ts == 200000 &&
					     (!i || s[i].start_ts >= s[i - 1].end_ts));
	}
	check("causality", hsa_inside(done)->end_ts >= s[7].end_ts);
	HSA_CHECK(hsa_amd_memory_unlock(host));
	munmap(host, 8192);
	HSA_CHECK(hsa_signal_destroy(done));
}

static void shared_signal(void)
{
	hsa_signal_t s = hsa_new_signal(200);

	for (int i = 0; i < 200; i++) {
		hsa_kernel_dispatch_packet_t p = hsa_dispatch(object_short, i % 3 == 0, s, NULL);

		hsa_submit(queues[i % 2], &p);
	}
	check("200 kernels count one signal down to 0", reaches_zero(s));
	HSA_CHECK(hsa_signal_destroy(s));
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
		s[i] = hsa_new_signal(1);
		HSA_CHECK(hsa_amd_signal_async_handler(
			s[i], HSA_SIGNAL_CONDITION_LT, 1, on_signal, NULL));
	}
	for (int i = 0; i < 200; i++)
		barrier(queues[i & 1], HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, s[i]);
	for (int i = 0; i < 5000 && atomic_load(&handled) < 200; i++)
		usleep(1000);
	check("200 handlers run once each", atomic_load(&handled) == 200);
	for (int i = 0; i < 200; i++) {
		ordered &= hsa_inside(s[i])->start_ts >= last[i & 1] &&
			   hsa_inside(s[i])->end_ts >= hsa_inside(s[i])->start_ts;
		last[i & 1] = hsa_inside(s[i])->end_ts;
		HSA_CHECK(hsa_signal_destroy(s[i]));
	}
	check("their stamps are in order", ordered);
}

static int count_interrupt_signals(void)
{
	static hsa_signal_t s[4500];
	int cnt = 0;

	for (int i = 0; i < 4500; i++) {
		s[i] = hsa_new_signal(1);
		cnt += hsa_inside(s[i])->event_mailbox_ptr != 0;
	}
	for (int i = 0; i < 4500; i++)
		HSA_CHECK(hsa_signal_destroy(s[i]));
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
	hsa_signal_t s = hsa_new_signal(1);

	HSA_CHECK(hsa_amd_profiling_set_profiler_enabled(queues[0], 0));
	barrier(queues[0], HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, s);
	check("with profiling off it completes", reaches_zero(s));
	check("and is not stamped", !hsa_inside(s)->start_ts && !hsa_inside(s)->end_ts);
	HSA_CHECK(hsa_amd_profiling_set_profiler_enabled(queues[0], 1));
	HSA_CHECK(hsa_signal_destroy(s));
}

static void copies(void)
{
	hsa_signal_t a = hsa_new_signal(1), b = hsa_new_signal(1), c = hsa_new_signal(1);
	hsa_amd_profiling_async_copy_time_t t[2];
	size_t n = 10000000; /* more than one SDMA packet holds */
	char *h, *g, *pageable = malloc(n);
	void *locked;
	int same = 1;

	HSA_CHECK(hsa_amd_profiling_async_copy_enable(true));
	HSA_CHECK(hsa_amd_memory_pool_allocate(program.system, n, 0, (void **)&h));
	HSA_CHECK(hsa_amd_agents_allow_access(1, &program.gpu, NULL, h));
	HSA_CHECK(hsa_amd_memory_pool_allocate(program.vram, n, 0, (void **)&g));
	for (size_t i = 0; i < n; i++)
		h[i] = (char)(i * 7);
	HSA_CHECK(hsa_amd_memory_async_copy(g, program.gpu, h, program.cpu, n, 1, &a, b));
	HSA_CHECK(hsa_amd_memory_lock(pageable, n, &program.gpu, 1, &locked));
	HSA_CHECK(hsa_amd_memory_async_copy(locked, program.cpu, g, program.gpu, n, 1, &b, c));
	check("a copy waits for its signal", still(b, 1));
	hsa_signal_store_screlease(a, 0);
	check("and then both run", reaches_zero(c));
	check("the data came back", !memcmp(pageable, h, n));
	HSA_CHECK(hsa_amd_profiling_get_async_copy_time(b, &t[0]));
	HSA_CHECK(hsa_amd_profiling_get_async_copy_time(c, &t[1]));
	check("the second copy starts after the first", t[1].start >= t[0].end);
	HSA_CHECK(hsa_amd_memory_unlock(pageable));
	HSA_CHECK(hsa_amd_memory_fill(g, 0x01020304, n / 4));
	for (size_t i = 0; i < n / 4; i++)
		same &= ((uint32_t *)(void *)g)[i] == 0x01020304;
	check("fill", same);
	HSA_CHECK(hsa_amd_memory_pool_free(h));
	HSA_CHECK(hsa_amd_memory_pool_free(g));
	free(pageable);
	HSA_CHECK(hsa_signal_destroy(a));
	HSA_CHECK(hsa_signal_destroy(b));
	HSA_CHECK(hsa_signal_destroy(c));
}

static void queue_comes_and_goes(void)
{
	for (int i = 0; i < 30; i++) {
		hsa_signal_t s = hsa_new_signal(1);
		hsa_queue_t *q;

		HSA_CHECK(hsa_queue_create(program.gpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL,
			UINT32_MAX, UINT32_MAX, &q));
		barrier(q, HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, s);
		if (!reaches_zero(s))
			check("barrier on a new queue", 0);
		HSA_CHECK(hsa_queue_destroy(q));
		HSA_CHECK(hsa_signal_destroy(s));
	}
	check("30 queues in turn", 1);
}

int main(int argc, char **argv)
{
	(void)argc;
	hsa_program__open(&program);
	hsa_program__load(&program, argv[1]);
	object_long = hsa_program__kernel(&program, "rules_long.kd");
	object_short = hsa_program__kernel(&program, "rules_short.kd");
	for (int i = 0; i < 2; i++)
		queues[i] = hsa_program__queue(&program, 256);
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
		HSA_CHECK(hsa_queue_destroy(queues[i]));
	HSA_CHECK(hsa_shut_down());
	printf("%s\n", wrong ? "SOME RULES DO NOT HOLD" : "all rules hold");
	return wrong != 0;
}
