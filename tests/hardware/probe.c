// SPDX-License-Identifier: MIT
/*
 * probe EXPERIMENT CODE_OBJECT [FILE]: asks one machine's packet processor, driver and runtime how
 * they behave where the tracer or the virtual GPU assumes something. Prints `NAME VALUE` lines,
 * VALUE a number, `yes`, `no` or `unknown`; judges nothing. `run` compares with what is assumed.
 * Each experiment is a process of its own: one that hangs or crashes costs only its own answers.
 */
#include <fcntl.h>
#include <hsa/amd_hsa_queue.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hsa_program.h"

#define SPIN_S  0.002 /* one probe_spin */
#define LONG_S  0.2   /* one probe_long */
#define LIMIT_S 10.0  /* nothing here takes as long */
/* HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY, which older headers lack */
#define TIMESTAMP_FREQUENCY 0xA016

struct seen {
	uint64_t begin, end, first, last;
};

struct spin_args {
	uint64_t duration;
	struct seen *seen;
	uint64_t *argument;
	uint64_t value;
};

static struct hsa_program program;
static uint64_t empty, spin, spin_long;
static double tick_s; /* of the stamps */
static const char *file_path;

static void tell(const char *name, double value)
{
	printf("%s %.10g\n", name, value);
	fflush(stdout);
}

static void tell_whether(const char *name, bool yes)
{
	printf("%s %s\n", name, yes ? "yes" : "no");
	fflush(stdout);
}

static void tell_unknown(const char *name)
{
	printf("%s unknown\n", name);
	fflush(stdout);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_s(double s)
{
	struct timespec t = {(time_t)s, (long)((s - floor(s)) * 1e9)};

	nanosleep(&t, NULL);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, compare);
	return values[count / 2];
}

static void must_finish(hsa_signal_t signal)
{
	if (!hsa_reaches_zero(signal, LIMIT_S)) {
		fprintf(stderr, "a packet did not complete within %g s\n", LIMIT_S);
		exit(3);
	}
}

static double length_s(hsa_signal_t signal)
{
	return (double)(hsa_inside(signal)->end_ts - hsa_inside(signal)->start_ts) * tick_s;
}

static bool overlap(hsa_signal_t a, hsa_signal_t b)
{
	const amd_signal_t *x = hsa_inside(a), *y = hsa_inside(b);

	return x->start_ts < y->end_ts && y->start_ts < x->end_ts;
}

static struct spin_args *spin_args(double seconds)
{
	struct spin_args *args = hsa_program__alloc(&program, program.kernarg, sizeof *args);

	*args = (struct spin_args){.duration = (uint64_t)(seconds / tick_s)};
	return args;
}

/* ---- signals: completion signals that are hand-made, in shared memory locked for the GPU ---- */

enum { SIGNALS = 64, SHARED_BYTES = 65536 };

static void use_shared_signals(const char *kind, int fd, bool for_ever)
{
	char name[64];
	amd_signal_t *signals = MAP_FAILED;
	char *gpu_address;
	hsa_queue_t *queue = hsa_program__queue(&program, 256);
	int complete = 0, stamped = 0;

	if (fd >= 0 && !ftruncate(fd, SHARED_BYTES))
		signals = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	snprintf(name, sizeof name, "signals.%s", kind);
	if (signals == MAP_FAILED || hsa_amd_memory_lock(signals, SHARED_BYTES, &program.gpu, 1,
					     (void **)&gpu_address)) {
		tell_whether(name, false);
		return;
	}
	do {
		for (int i = 0; i < SIGNALS; i++)
			signals[i] = (amd_signal_t){.kind = AMD_SIGNAL_KIND_USER, .value = 1};
		for (uint64_t i = 0; i < SIGNALS; i++) {
			hsa_signal_t signal = {(uintptr_t)gpu_address + i * sizeof *signals};
			hsa_kernel_dispatch_packet_t p = hsa_dispatch(empty, true, signal, NULL);

			hsa_submit(queue, &p);
		}
		for (uint64_t begin = now_ns(CLOCK_MONOTONIC);
			__atomic_load_n(&signals[SIGNALS - 1].value, __ATOMIC_ACQUIRE) &&
			(double)(now_ns(CLOCK_MONOTONIC) - begin) < LIMIT_S * 1e9;)
			usleep(50);
		complete = stamped = 0;
		for (int i = 0; i < SIGNALS; i++) {
			complete += !signals[i].value;
			stamped += signals[i].start_ts && signals[i].end_ts >= signals[i].start_ts;
		}
		if (for_ever && complete == SIGNALS) {
			puts("again");
			fflush(stdout);
		}
	} while (for_ever && complete == SIGNALS);
	tell_whether(name, complete == SIGNALS && stamped == SIGNALS);
}

static void signals(void)
{
	char path[] = "/dev/shm/wavetap-probe-XXXXXX", disk[] = "/var/tmp/wavetap-probe-XXXXXX";
	int fd;

	fd = mkstemp(path);
	use_shared_signals("dev_shm", fd, false);
	if (fd >= 0)
		unlink(path);
	use_shared_signals("memfd", memfd_create("wavetap-probe", 0), false);
	fd = mkstemp(disk);
	use_shared_signals("disk_file", fd, false);
	if (fd >= 0)
		unlink(disk);
}

/* Until killed: `run` reads the file afterwards. */
static void signals_for_ever(void)
{
	use_shared_signals("for_ever", open(file_path, O_RDWR | O_CREAT, 0600), true);
}

/* ---- stamps ---- */

static void stamps_when_complete(hsa_queue_t *queue)
{
	hsa_signal_t s = hsa_new_signal(1);
	int late = 0;

	for (int i = 0; i < 2000; i++) {
		hsa_kernel_dispatch_packet_t p = hsa_dispatch(empty, true, s, NULL);

		hsa_inside(s)->start_ts = hsa_inside(s)->end_ts = 0;
		hsa_signal_store_screlease(s, 1);
		hsa_submit(queue, &p);
		while (hsa_signal_load_scacquire(s))
			;
		late += !__atomic_load_n(&hsa_inside(s)->end_ts, __ATOMIC_ACQUIRE);
	}
	tell("stamps.later_than_completion", late);
}

/* A chain of packets that may not overlap: the stamps' order, a packet's length and its distance
 * from the one before. */
static void stamps_of_chain(hsa_queue_t *queue, const char *kind, bool barriers)
{
	enum { CHAIN = 200 };
	hsa_signal_t s[CHAIN];
	double length[CHAIN], apart[CHAIN];
	char name[64];
	int reversed = 0;
	uint64_t first = hsa_reserve(queue, CHAIN);

	for (uint64_t i = 0; i < CHAIN; i++) {
		hsa_kernel_dispatch_packet_t d;
		hsa_barrier_and_packet_t b;

		s[i] = hsa_new_signal(1);
		d = hsa_dispatch(empty, true, s[i], NULL);
		b = hsa_barrier(NULL, 0, s[i]);
		hsa_write(queue, first + i, barriers ? (void *)&b : (void *)&d);
	}
	hsa_ring(queue, first + CHAIN - 1);
	must_finish(s[CHAIN - 1]);
	for (int i = 0; i < CHAIN; i++) {
		length[i] = length_s(s[i]) * 1e9;
		apart[i] = !i ? 0
			      : (double)(int64_t)(hsa_inside(s[i])->start_ts -
						  hsa_inside(s[i - 1])->start_ts) *
					   tick_s * 1e9;
		reversed += i && hsa_inside(s[i])->start_ts < hsa_inside(s[i - 1])->end_ts;
	}
	snprintf(name, sizeof name, "stamps.%s_ns", kind);
	tell(name, median(length, CHAIN));
	snprintf(name, sizeof name, "stamps.%s_apart_ns", kind);
	tell(name, median(apart, CHAIN));
	snprintf(name, sizeof name, "stamps.%s_reversed", kind);
	tell(name, reversed);
	for (int i = 0; i < CHAIN; i++)
		hsa_signal_destroy(s[i]);
}

static void stamps_of_spin(hsa_queue_t *queue)
{
	hsa_signal_t s = hsa_new_signal(1);
	struct spin_args *args = spin_args(SPIN_S);
	struct seen *seen = hsa_program__alloc(&program, program.system, sizeof *seen);
	hsa_kernel_dispatch_packet_t p = hsa_dispatch(spin, true, s, args);

	*seen = (struct seen){0};
	args->seen = seen;
	hsa_submit(queue, &p);
	must_finish(s);
	tell("stamps.spin_ratio", length_s(s) / SPIN_S);
	if (seen->begin)
		tell_whether("stamps.enclose_kernel", hsa_inside(s)->start_ts <= seen->begin &&
							      seen->end <= hsa_inside(s)->end_ts);
	else
		tell_unknown("stamps.enclose_kernel");
	hsa_signal_destroy(s);
}

static void stamps_switched_off(hsa_queue_t *queue)
{
	hsa_signal_t s = hsa_new_signal(1);
	hsa_kernel_dispatch_packet_t p = hsa_dispatch(empty, true, s, NULL);

	HSA_CHECK(hsa_amd_profiling_set_profiler_enabled(queue, 0));
	hsa_submit(queue, &p);
	must_finish(s);
	tell_whether("stamps.without_profiling", hsa_inside(s)->end_ts != 0);
	HSA_CHECK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
	hsa_signal_destroy(s);
}

static void stamps(void)
{
	hsa_queue_t *queue = hsa_program__queue(&program, 1024);

	stamps_when_complete(queue);
	stamps_of_chain(queue, "empty_kernel", false);
	stamps_of_chain(queue, "barrier", true);
	stamps_of_spin(queue);
	stamps_switched_off(queue);
}

/* ---- clocks ---- */

struct reading {
	uint64_t ticks, boottime_ns, doubt_ns;
};

/* The GPU's counter against the CPU's clock: the tightest of several looks. */
static struct reading read_both(hsa_queue_t *queue)
{
	struct reading best = {.doubt_ns = UINT64_MAX};
	hsa_signal_t s = hsa_new_signal(1);

	for (int i = 0; i < 200; i++) {
		hsa_kernel_dispatch_packet_t p = hsa_dispatch(empty, true, s, NULL);
		uint64_t before, after;

		hsa_signal_store_screlease(s, 1);
		before = now_ns(CLOCK_BOOTTIME);
		hsa_submit(queue, &p);
		while (hsa_signal_load_scacquire(s))
			;
		after = now_ns(CLOCK_BOOTTIME);
		if (after - before < best.doubt_ns)
			best = (struct reading){hsa_inside(s)->end_ts, after, after - before};
	}
	hsa_signal_destroy(s);
	return best;
}

static void clocks(void)
{
	hsa_queue_t *queue = hsa_program__queue(&program, 256);
	uint64_t system, before, after, frequency;
	struct reading early, late;
	double off = 0, rate, apart_s;
	int outside = 0;

	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
	tell("clocks.system_hz", (double)frequency);
	before = now_ns(CLOCK_BOOTTIME);
	HSA_CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &system));
	after = now_ns(CLOCK_BOOTTIME);
	tell_whether("clocks.system_is_boottime", system >= before && system <= after);
	for (int i = 0; i < 200; i++) {
		hsa_signal_t s = hsa_new_signal(1);
		hsa_kernel_dispatch_packet_t p = hsa_dispatch(empty, true, s, NULL);
		hsa_amd_profiling_dispatch_time_t time;
		double wrong;

		before = now_ns(CLOCK_BOOTTIME);
		hsa_submit(queue, &p);
		while (hsa_signal_load_scacquire(s))
			;
		after = now_ns(CLOCK_BOOTTIME);
		HSA_CHECK(hsa_amd_profiling_get_dispatch_time(program.gpu, s, &time));
		wrong = fmax((double)before - (double)time.start, (double)time.end - (double)after);
		outside += wrong > 0;
		off = fmax(off, wrong);
		hsa_signal_destroy(s);
	}
	tell("clocks.outside_submit_to_complete", outside);
	tell("clocks.furthest_outside_ns", off);
	early = read_both(queue);
	sleep_s(3);
	late = read_both(queue);
	apart_s = (double)(late.boottime_ns - early.boottime_ns) / 1e9;
	rate = (double)(late.ticks - early.ticks) / apart_s;
	tell("clocks.ticks_per_s", rate);
	tell("clocks.ppm_off", (rate * tick_s - 1) * 1e6);
	tell("clocks.ppm_doubt", (double)(early.doubt_ns + late.doubt_ns) / apart_s / 1e3);
}

/* ---- events: signals that raise an interrupt ---- */

static void events(void)
{
	enum { MANY = 6000 };
	static hsa_signal_t s[MANY];
	hsa_queue_t *queue = hsa_program__queue(&program, 256);
	double late[200];
	int count = 0, got = 0;

	for (; got < MANY && !hsa_signal_create(1, 0, NULL, &s[got]); got++)
		count += hsa_inside(s[got])->event_mailbox_ptr != 0;
	tell("events.limit", count);
	tell_whether("events.signals_beyond_limit", got == MANY);
	for (int i = 0; i < got; i++)
		hsa_signal_destroy(s[i]);
	for (int i = 0; i < 200; i++) {
		hsa_signal_t done = hsa_new_signal(1);
		struct spin_args *args = spin_args(SPIN_S);
		hsa_kernel_dispatch_packet_t p = hsa_dispatch(spin, true, done, args);
		hsa_amd_profiling_dispatch_time_t time;

		hsa_submit(queue, &p);
		must_finish(done);
		late[i] = (double)now_ns(CLOCK_BOOTTIME);
		HSA_CHECK(hsa_amd_profiling_get_dispatch_time(program.gpu, done, &time));
		late[i] -= (double)time.end;
		hsa_amd_memory_pool_free(args);
		hsa_signal_destroy(done);
	}
	tell("events.wake_up_ns", median(late, 200));
}

/* ---- overlap ---- */

static void overlap_of(hsa_queue_t *one, hsa_queue_t *other, bool barrier, const char *name)
{
	hsa_signal_t a = hsa_new_signal(1), b = hsa_new_signal(1);
	struct spin_args *args = spin_args(LONG_S);
	hsa_kernel_dispatch_packet_t p = hsa_dispatch(spin_long, false, a, args);
	hsa_kernel_dispatch_packet_t q = hsa_dispatch(spin_long, barrier, b, args);

	hsa_submit(one, &p);
	hsa_submit(other, &q);
	must_finish(a);
	must_finish(b);
	tell_whether(name, overlap(a, b));
	hsa_signal_destroy(a);
	hsa_signal_destroy(b);
}

static void overlap_depth(hsa_queue_t *queue)
{
	enum { KERNELS = 128 };
	hsa_signal_t s[KERNELS];
	struct spin_args *args = spin_args(SPIN_S);
	uint64_t first = hsa_reserve(queue, KERNELS);
	int most = 0, disorder = 0;

	for (uint64_t i = 0; i < KERNELS; i++) {
		hsa_kernel_dispatch_packet_t p;

		s[i] = hsa_new_signal(1);
		p = hsa_dispatch(spin, i == 0, s[i], args);
		hsa_write(queue, first + i, &p);
	}
	hsa_ring(queue, first + KERNELS - 1);
	for (int i = 0; i < KERNELS; i++)
		must_finish(s[i]);
	for (int i = 0; i < KERNELS; i++) {
		int together = 0;

		for (int k = 0; k < KERNELS; k++)
			together += hsa_inside(s[k])->start_ts <= hsa_inside(s[i])->start_ts &&
				    hsa_inside(s[i])->start_ts < hsa_inside(s[k])->end_ts;
		most = together > most ? together : most;
		disorder += i && hsa_inside(s[i])->start_ts < hsa_inside(s[i - 1])->start_ts;
	}
	tell("overlap.most_in_one_queue", most);
	tell("overlap.starts_out_of_order", disorder);
	for (int i = 0; i < KERNELS; i++)
		hsa_signal_destroy(s[i]);
}

/* When the program may use a packet's place again. */
static void overlap_read_index(hsa_queue_t *queue)
{
	hsa_signal_t s = hsa_new_signal(1);
	struct spin_args *args = spin_args(LONG_S);
	hsa_kernel_dispatch_packet_t p = hsa_dispatch(spin_long, true, s, args);
	uint64_t index = hsa_reserve(queue, 1);
	const uint16_t *header = (const uint16_t *)(const void *)((char *)queue->base_address +
								  index % queue->size * 64);
	bool passed = false, invalid = false;

	hsa_write(queue, index, &p);
	hsa_ring(queue, index);
	while (hsa_signal_load_scacquire(s)) {
		bool read = hsa_queue_load_read_index_scacquire(queue) > index;
		bool gone = (__atomic_load_n(header, __ATOMIC_ACQUIRE) & 0xff) ==
			    HSA_PACKET_TYPE_INVALID;

		if (!hsa_signal_load_scacquire(s))
			break;
		passed |= read;
		invalid |= gone;
		usleep(1000);
	}
	tell_whether("overlap.read_index_passes_running_kernel", passed);
	tell_whether("overlap.header_invalid_while_running", invalid);
	hsa_signal_destroy(s);
}

static void overlaps(void)
{
	hsa_queue_t *one = hsa_program__queue(&program, 1024);
	hsa_queue_t *other = hsa_program__queue(&program, 1024);

	overlap_of(one, one, false, "overlap.one_queue");
	overlap_of(one, one, true, "overlap.one_queue_with_barrier_bit");
	overlap_of(one, other, true, "overlap.two_queues");
	overlap_depth(one);
	overlap_read_index(one);
}

/* ---- doorbells ---- */

/* How many of `count` packets complete when the doorbell gets these values in turn. */
static int doorbell_run(const int *rings, int ring_count, int count, int invalid_at_first)
{
	hsa_queue_t *queue = hsa_program__queue(&program, 64);
	hsa_signal_t s[8];
	hsa_kernel_dispatch_packet_t p[8];
	uint64_t first = hsa_reserve(queue, (uint64_t)count);
	int complete = 0;

	for (int i = 0; i < count; i++) {
		s[i] = hsa_new_signal(1);
		p[i] = hsa_dispatch(empty, true, s[i], NULL);
		if (i != invalid_at_first)
			hsa_write(queue, first + (uint64_t)i, &p[i]);
	}
	for (int i = 0; i < ring_count; i++)
		hsa_ring(queue, first + (uint64_t)rings[i]);
	if (invalid_at_first >= 0) {
		usleep(20000);
		hsa_write(queue, first + (uint64_t)invalid_at_first, &p[invalid_at_first]);
	}
	for (int i = 0; i < count; i++)
		complete += hsa_reaches_zero(s[i], 0.25);
	/* what did not run runs now, so that the queue can go */
	hsa_ring(queue, first + (uint64_t)count - 1);
	for (int i = 0; i < count; i++)
		must_finish(s[i]);
	HSA_CHECK(hsa_queue_destroy(queue));
	for (int i = 0; i < count; i++)
		hsa_signal_destroy(s[i]);
	return complete;
}

static void doorbells(void)
{
	tell_whether("doorbells.last_covers_all", doorbell_run((int[]){7}, 1, 8, -1) == 8);
	tell_whether("doorbells.none", doorbell_run(NULL, 0, 1, -1) == 1);
	tell_whether("doorbells.backwards", doorbell_run((int[]){1, 0}, 2, 2, -1) == 2);
	tell_whether("doorbells.packet_made_valid_later", doorbell_run((int[]){3}, 1, 4, 1) == 4);
}

/* ---- kernel arguments: when are they read? ---- */

static void kernargs(void)
{
	hsa_queue_t *queue = hsa_program__queue(&program, 64);
	hsa_signal_t s = hsa_new_signal(1);
	struct spin_args *args = spin_args(LONG_S);
	struct seen *seen = hsa_program__alloc(&program, program.system, sizeof *seen);
	hsa_kernel_dispatch_packet_t p = hsa_dispatch(spin_long, true, s, args);

	*seen = (struct seen){0};
	args->seen = seen;
	args->argument = &args->value;
	args->value = 1;
	hsa_submit(queue, &p);
	usleep(100000);
	__atomic_store_n(&args->value, 2, __ATOMIC_RELEASE);
	must_finish(s);
	if (seen->begin) {
		tell_whether("kernargs.first_value_seen", seen->first == 1);
		tell_whether("kernargs.read_while_running", seen->last == 2);
	} else {
		tell_unknown("kernargs.first_value_seen");
		tell_unknown("kernargs.read_while_running");
	}
}

/* ---- copies by the DMA engines ---- */

static double copy_s(void *to, hsa_agent_t to_agent, void *from, hsa_agent_t from_agent, size_t n,
	hsa_amd_profiling_async_copy_time_t *time)
{
	hsa_signal_t s = hsa_new_signal(1);

	HSA_CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, n, 0, NULL, s));
	must_finish(s);
	HSA_CHECK(hsa_amd_profiling_get_async_copy_time(s, time));
	hsa_signal_destroy(s);
	return (double)(time->end - time->start) / 1e9;
}

static void copies(void)
{
	enum { BIG = 64 << 20, SMALL = 64, TIMES = 20 };
	char *host = hsa_program__alloc(&program, program.system, BIG);
	char *device = hsa_program__alloc(&program, program.vram, BIG);
	char *other = hsa_program__alloc(&program, program.vram, BIG);
	hsa_amd_profiling_async_copy_time_t time, last = {0, 0};
	double t[TIMES];
	int reversed = 0, inside = 0;
	struct {
		const char *small, *big;
		char *to, *from;
		hsa_agent_t to_agent, from_agent;
	} ways[] = {
		{"copies.to_device_ns", "copies.to_device_gbps", device, host, program.gpu,
			program.cpu},
		{"copies.to_host_ns", "copies.to_host_gbps", host, device, program.cpu,
			program.gpu},
		{"copies.on_device_ns", "copies.on_device_gbps", other, device, program.gpu,
			program.gpu},
	};

	HSA_CHECK(hsa_amd_profiling_async_copy_enable(true));
	memset(host, 1, BIG);
	for (unsigned w = 0; w < sizeof ways / sizeof *ways; w++) {
		for (int i = 0; i < TIMES; i++) {
			uint64_t begin = now_ns(CLOCK_BOOTTIME);

			t[i] = copy_s(ways[w].to, ways[w].to_agent, ways[w].from,
				       ways[w].from_agent, SMALL, &time) *
			       1e9;
			inside += time.start >= begin && time.end <= now_ns(CLOCK_BOOTTIME);
			reversed += time.end < time.start || time.start < last.end;
			last = time;
		}
		tell(ways[w].small, median(t, TIMES));
		for (int i = 0; i < TIMES; i++)
			t[i] = BIG / 1e9 /
			       copy_s(ways[w].to, ways[w].to_agent, ways[w].from,
				       ways[w].from_agent, BIG, &time);
		tell(ways[w].big, median(t, TIMES));
	}
	tell("copies.stamps_reversed", reversed);
	tell_whether("copies.stamps_in_submit_to_complete", inside == 3 * TIMES);
}

/* ---- who we are ---- */

static void identity(void)
{
	char text[64] = "";
	uint16_t major = 0, minor = 0;
	uint32_t units = 0, wave = 0;

	HSA_CHECK(hsa_agent_get_info(program.gpu, HSA_AGENT_INFO_NAME, text));
	printf("identity.arch %s\n", text);
	memset(text, 0, sizeof text);
	hsa_agent_get_info(program.gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME, text);
	printf("identity.gpu %s\n", text);
	hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
	hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
	printf("identity.hsa %u.%u\n", major, minor);
	hsa_agent_get_info(
		program.gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &units);
	hsa_agent_get_info(program.gpu, HSA_AGENT_INFO_WAVEFRONT_SIZE, &wave);
	tell("identity.compute_units", units);
	tell("identity.wavefront", wave);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} experiments[] = {
		{"identity", identity},
		{"signals", signals},
		{"signals_for_ever", signals_for_ever},
		{"stamps", stamps},
		{"clocks", clocks},
		{"events", events},
		{"overlaps", overlaps},
		{"doorbells", doorbells},
		{"kernargs", kernargs},
		{"copies", copies},
	};
	uint64_t frequency = 0;

	for (unsigned i = 0; argc >= 3 && i < sizeof experiments / sizeof *experiments; i++) {
		if (strcmp(argv[1], experiments[i].name))
			continue;
		file_path = argc > 3 ? argv[3] : "/dev/null";
		hsa_program__open(&program);
		hsa_program__load(&program, argv[2]);
		empty = hsa_program__kernel(&program, "probe_empty.kd");
		spin = hsa_program__kernel(&program, "probe_spin.kd");
		spin_long = hsa_program__kernel(&program, "probe_long.kd");
		/* of the GPU's own counter: ROCr 6 and later tell, all GPUs since gfx9 of today's
		 * servers count at 100 MHz */
		if (hsa_agent_get_info(
			    program.gpu, (hsa_agent_info_t)TIMESTAMP_FREQUENCY, &frequency) ||
			!frequency)
			frequency = 100000000;
		tick_s = 1.0 / (double)frequency;
		experiments[i].run();
		return 0;
	}
	fprintf(stderr, "usage: probe EXPERIMENT CODE_OBJECT [FILE]; experiments:");
	for (unsigned i = 0; i < sizeof experiments / sizeof *experiments; i++)
		fprintf(stderr, " %s", experiments[i].name);
	fprintf(stderr, "\n");
	return 2;
}
