// SPDX-License-Identifier: MIT
/* The packet engines on queues without a thread: each step is one call, so nothing depends on
 * speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"
#include "vgpu.h"

#define RING 64 /* packets */

static union abi_packet ring[RING];
static struct abi_queue aql;
static uint64_t bell;
static struct vg_queue *q;

static int set_up(void **state)
{
	(void)state;
	q = calloc(1, sizeof *q);
	memset(&aql, 0, sizeof aql);
	for (int i = 0; i < RING; i++)
		ring[i] = (union abi_packet){.header = ABI_PACKET_INVALID};
	aql.queue_properties = ABI_QUEUE_PROFILING;
	bell = ~0ull;
	q->type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
	q->ring = (char *)ring;
	q->ring_bytes = sizeof ring;
	q->rptr = &aql.read_dispatch_id;
	q->wptr = &aql.write_dispatch_id;
	q->bell = &bell;
	q->bell_seen = -1;
	q->aql = &aql;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(q);
	return 0;
}

/* Writes a packet at the write index and moves the index; the doorbell is the caller's. */
static uint64_t write_packet(union abi_packet p)
{
	ring[aql.write_dispatch_id % RING] = p;
	return aql.write_dispatch_id++;
}

static void ring_bell(uint64_t index)
{
	bell = index;
}

static union abi_packet dispatch(struct abi_signal *s, bool barrier)
{
	return (union abi_packet){
		.dispatch = {.header = ABI_PACKET_DISPATCH | (barrier ? ABI_HEADER_BARRIER_BIT : 0),
			.setup = 1,
			.grid = {64, 1, 1},
			.workgroup = {64, 1, 1},
			.kernel_object = 0x1000,
			.completion_signal = (uintptr_t)s}};
}

static union abi_packet barrier(unsigned type, struct abi_signal *s, bool barrier_bit,
	struct abi_signal *a, struct abi_signal *b)
{
	return (union abi_packet){
		.barrier = {.header = (uint16_t)(type | (barrier_bit ? ABI_HEADER_BARRIER_BIT : 0)),
			.dep_signal = {(uintptr_t)a, (uintptr_t)b},
			.completion_signal = (uintptr_t)s}};
}

/* Lets simulated time pass until nothing is in flight. */
static void drain(void)
{
	while (q->flight_cnt) {
		struct timespec ts = {0, 100000};

		vg_aql__complete_due(q);
		nanosleep(&ts, NULL);
	}
}

static void nothing_runs_without_a_doorbell(void **state)
{
	struct abi_signal s = {.value = 1};

	(void)state;
	/* A tool that virtualises the write index: a valid packet beyond the real one. */
	ring[0] = dispatch(&s, true);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(vg_aql__step(q), VG_STEP_IDLE);
	assert_false(vg_aql__ready(q));
	assert_false(vg_aql__bare(q));
	aql.write_dispatch_id = 1;
	ring_bell(0);
	assert_true(vg_aql__ready(q));
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	assert_int_equal(vg_aql__step(q), VG_STEP_IDLE);
	assert_int_equal(aql.read_dispatch_id, 1);
	assert_int_equal(ring[0].header, ABI_PACKET_INVALID);
	drain();
	assert_int_equal(s.value, 0);
}

static void overwritten_doorbell(void **state)
{
	struct timespec ts = {0, VG_BARE_NS};
	struct abi_signal s = {.value = 2};

	(void)state;
	write_packet(dispatch(&s, true));
	write_packet(dispatch(&s, true));
	ring_bell(0); /* the store of 1 was overwritten by the older 0 */
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_int_equal(vg_aql__step(q), VG_STEP_IDLE);
	assert_true(q->bare_since != 0);
	assert_int_equal(aql.read_dispatch_id, 1);
	nanosleep(&ts, NULL);
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	assert_int_equal(q->read, 2);
	drain();
	assert_int_equal(s.value, 0);
}

static void reserved_but_not_written(void **state)
{
	struct abi_signal s = {.value = 1};

	(void)state;
	aql.write_dispatch_id = 2; /* another producer's packet 0 is not written yet */
	ring[1] = dispatch(&s, true);
	ring_bell(1);
	assert_int_equal(vg_aql__step(q), VG_STEP_IDLE);
	ring[0] = dispatch(NULL, true);
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_int_equal(s.value, 0);
}

static void overlap_without_the_barrier_bit(void **state)
{
	struct abi_signal s[4] = {{.value = 1}, {.value = 1}, {.value = 1}, {.value = 1}};

	(void)state;
	write_packet(dispatch(&s[0], true));
	write_packet(dispatch(&s[1], false));
	write_packet(dispatch(&s[2], false));
	ring_bell(write_packet(dispatch(&s[3], true)));
	for (int i = 0; i < 3; i++)
		assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	/* The fourth has the barrier bit: it waits for the others, unconsumed. Were this thread
	 * held up for 5 us, the others would be over; then it is launched. */
	if (q->flight_cnt && vg_aql__step(q) == VG_STEP_LATER)
		assert_int_equal(aql.read_dispatch_id, 3);
	drain();
	if (q->read == 3)
		assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	/* seen together: all three start together, 5000 ns each */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(s[i].value, 0);
		assert_int_equal(s[i].start_ts, s[0].start_ts);
		assert_int_equal(s[i].end_ts, s[0].start_ts + 500);
	}
	assert_int_equal(s[3].start_ts, s[0].end_ts);
	assert_int_equal(s[3].end_ts, s[0].end_ts + 500);
}

static void barrier_bit_is_in_sequence(void **state)
{
	struct abi_signal s[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		s[i] = (struct abi_signal){.value = 1};
		write_packet(dispatch(&s[i], true));
	}
	ring_bell(7);
	while (q->read < 8)
		vg_aql__step(q);
	drain();
	for (int i = 1; i < 8; i++) {
		assert_int_equal(s[i].start_ts, s[i - 1].end_ts);
		assert_int_equal(s[i].end_ts, s[i].start_ts + 500);
	}
}

static void profiling_bit(void **state)
{
	struct abi_signal s = {.value = 1};

	(void)state;
	aql.queue_properties = 0;
	ring_bell(write_packet(dispatch(&s, true)));
	vg_aql__step(q);
	drain();
	assert_int_equal(s.value, 0);
	assert_int_equal(s.start_ts, 0);
	assert_int_equal(s.end_ts, 0);
}

static void barrier_and(void **state)
{
	struct abi_signal a = {.value = 1}, b = {.value = 2}, done = {.value = 1},
			  next = {.value = 1};

	(void)state;
	write_packet(barrier(ABI_PACKET_BARRIER_AND, &done, false, &a, &b));
	ring_bell(write_packet(barrier(ABI_PACKET_BARRIER_AND, &next, false, NULL, NULL)));
	assert_int_equal(vg_aql__step(q), VG_STEP_BLOCKED);
	a.value = 0;
	assert_int_equal(vg_aql__step(q), VG_STEP_BLOCKED);
	assert_false(vg_aql__unblocked(q));
	assert_int_equal(aql.read_dispatch_id, 0); /* and what follows waits too */
	b.value = 0;
	assert_true(vg_aql__unblocked(q));
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_int_equal(done.value, 0);
	assert_int_equal(next.value, 0);
	assert_true(done.end_ts >= done.start_ts);
	assert_int_equal(next.start_ts, done.end_ts);
}

/* Runs three barrier packets and a kernel, seen together. */
static void run_barriers(struct abi_signal *s)
{
	for (int i = 0; i < 4; i++) {
		s[i] = (struct abi_signal){.value = 1};
		ring_bell(write_packet(
			i < 3 ? barrier(ABI_PACKET_BARRIER_AND, &s[i], i == 1, NULL, NULL)
			      : dispatch(&s[i], false)));
	}
	while (q->read < 4)
		vg_aql__step(q);
	drain();
}

static void barriers_take_time(void **state)
{
	uint64_t *ns = vg_proc()->conf.cost.packet_ns;
	struct abi_signal s[4];

	(void)state;
	assert_int_equal(ns[VG_COST_BARRIER], 1000); /* the default */
	run_barriers(s);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(s[i].value, 0);
		assert_int_equal(s[i].end_ts - s[i].start_ts, 100);
		assert_int_equal(s[i + 1].start_ts, s[i].end_ts);
	}
	assert_int_equal(s[3].end_ts - s[3].start_ts, 500);
}

static void barriers_without_time(void **state)
{
	uint64_t *ns = vg_proc()->conf.cost.packet_ns;
	struct abi_signal s[4];

	(void)state;
	ns[VG_COST_BARRIER] = 0;
	run_barriers(s);
	ns[VG_COST_BARRIER] = 1000;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(s[i].end_ts, s[i].start_ts);
		assert_int_equal(s[i + 1].start_ts, s[0].start_ts);
	}
}

/* The wait is real, the processing comes on top of it. */
static void a_blocked_barrier_takes_time_too(void **state)
{
	struct abi_signal a = {.value = 1}, done = {.value = 1};
	uint64_t met;

	(void)state;
	ring_bell(write_packet(barrier(ABI_PACKET_BARRIER_AND, &done, false, &a, NULL)));
	assert_int_equal(vg_aql__step(q), VG_STEP_BLOCKED);
	met = vg_now();
	a.value = 0;
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_true(done.end_ts >= vg_gpu_ticks(0, met) + 100);
	assert_true(done.start_ts <= vg_gpu_ticks(0, met));
}

static void launching_takes_time(void **state)
{
	uint64_t *ns = vg_proc()->conf.cost.packet_ns;
	struct abi_signal s[4];

	(void)state;
	ns[VG_COST_DISPATCH] = 700;
	for (int i = 0; i < 4; i++) {
		s[i] = (struct abi_signal){.value = 1};
		ring_bell(write_packet(dispatch(&s[i], i >= 2)));
	}
	while (q->read < 4)
		vg_aql__step(q);
	ns[VG_COST_DISPATCH] = 0;
	drain();
	for (int i = 0; i < 4; i++)
		assert_int_equal(s[i].end_ts - s[i].start_ts, 500);
	/* overlapping ones are launched one after the other, dependent ones after the end */
	assert_int_equal(s[1].start_ts, s[0].start_ts + 70);
	assert_int_equal(s[2].start_ts, s[1].end_ts + 70);
	assert_int_equal(s[3].start_ts, s[2].end_ts + 70);
}

static void so_many_at_a_time(void **state)
{
	struct vg_conf *conf = &vg_proc()->conf;
	struct abi_signal s[5];

	(void)state;
	conf->concurrency = 2;
	for (int i = 0; i < 5; i++) {
		s[i] = (struct abi_signal){.value = 1};
		ring_bell(write_packet(dispatch(&s[i], false)));
	}
	while (q->read < 5)
		vg_aql__step(q);
	drain();
	conf->concurrency = 0;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(s[i].end_ts - s[i].start_ts, 500);
		assert_int_equal(s[i].start_ts, s[i / 2 * 2].start_ts);
		if (i >= 2)
			assert_int_equal(s[i].start_ts, s[i - 2].end_ts);
	}
	/* another GPU has its own places; who comes when one is free does not wait */
	conf->concurrency = 1;
	assert_int_equal(vg_slots__take(vg_proc(), 1, 1000, 50), 1000);
	assert_int_equal(vg_slots__take(vg_proc(), 1, 1020, 50), 1050);
	assert_int_equal(vg_slots__take(vg_proc(), 1, 1200, 50), 1200);
	assert_int_equal(vg_slots__take(vg_proc(), 2, 1000, 50), 1000);
	conf->concurrency = 0;
	assert_int_equal(vg_slots__take(vg_proc(), 1, 1000, 50), 1000);
}

static void pm4_takes_what_it_is_told(void **state)
{
	uint64_t *ns = vg_proc()->conf.cost.packet_ns;
	struct abi_signal s[2] = {{.value = 1}, {.value = 1}};

	(void)state;
	for (int i = 0; i < 2; i++) {
		ns[VG_COST_PM4] = i ? 3000 : 0;
		ring_bell(write_packet((union abi_packet){
			.value = {.header = ABI_PACKET_VENDOR | ABI_HEADER_BARRIER_BIT,
				.format = ABI_VENDOR_PM4_IB,
				.completion_signal = (uintptr_t)&s[i]}}));
		while (q->read < (uint64_t)i + 1)
			vg_aql__step(q);
	}
	ns[VG_COST_PM4] = 0;
	drain();
	assert_int_equal(s[0].end_ts, s[0].start_ts);
	assert_int_equal(s[1].end_ts, s[1].start_ts + 300);
}

static void barrier_or(void **state)
{
	struct abi_signal a = {.value = 1}, b = {.value = 1}, done = {.value = 1};

	(void)state;
	ring_bell(write_packet(barrier(ABI_PACKET_BARRIER_OR, &done, true, &a, &b)));
	assert_int_equal(vg_aql__step(q), VG_STEP_BLOCKED);
	b.value = 0;
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_int_equal(done.value, 0);
	/* no dependency at all: nothing to wait for */
	done.value = 1;
	ring_bell(write_packet(barrier(ABI_PACKET_BARRIER_OR, &done, true, NULL, NULL)));
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_int_equal(done.value, 0);
}

/* Only barriers have dependencies: other packets carry other things in those places. */
static void agents_wait_for_nothing(void **state)
{
	struct abi_signal done = {.value = 1};
	union abi_packet agent = barrier(ABI_PACKET_AGENT, &done, true, NULL, NULL);

	(void)state;
	for (int i = 0; i < ABI_BARRIER_DEPS; i++)
		agent.barrier.dep_signal[i] = 0x1234567;
	ring_bell(write_packet(agent));
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_int_equal(done.value, 0);
}

static void barrier_value(void **state)
{
	struct abi_signal a = {.value = 0x103}, done = {.value = 1};

	(void)state;
	ring_bell(write_packet((union abi_packet){.value = {.header = ABI_PACKET_VENDOR,
							  .format = ABI_VENDOR_BARRIER_VALUE,
							  .signal = (uintptr_t)&a,
							  .value = 10,
							  .mask = 0xff,
							  .cond = ABI_CONDITION_GTE,
							  .completion_signal = (uintptr_t)&done}}));
	assert_int_equal(vg_aql__step(q), VG_STEP_BLOCKED); /* 0x103 & 0xff = 3 */
	a.value = 0x20a;
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_int_equal(done.value, 0);
}

static void shared_signal_counts_down(void **state)
{
	struct abi_signal s = {.value = 10};

	(void)state;
	for (int i = 0; i < 10; i++)
		write_packet(dispatch(&s, i % 2));
	ring_bell(9);
	while (q->read < 10)
		vg_aql__step(q);
	drain();
	assert_int_equal(s.value, 0);
}

static void ring_wraps(void **state)
{
	struct abi_signal s = {.value = 1000};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		ring_bell(write_packet(barrier(ABI_PACKET_BARRIER_AND, &s, true, NULL, NULL)));
		while (vg_aql__step(q) != VG_STEP_DONE)
			;
	}
	drain();
	assert_int_equal(s.value, 0);
	assert_int_equal(aql.read_dispatch_id, 1000);
}

static void conditions(void **state)
{
	(void)state;
	assert_true(vg_condition_holds(3, ABI_CONDITION_EQ, 3));
	assert_false(vg_condition_holds(4, ABI_CONDITION_EQ, 3));
	assert_true(vg_condition_holds(4, ABI_CONDITION_NE, 3));
	assert_true(vg_condition_holds(-1, ABI_CONDITION_LT, 0));
	assert_false(vg_condition_holds(0, ABI_CONDITION_LT, 0));
	assert_true(vg_condition_holds(0, ABI_CONDITION_GTE, 0));
	assert_false(vg_condition_holds(-1, ABI_CONDITION_GTE, 0));
}

static void flight_order(void **state)
{
	unsigned seed = 1;
	struct vg_flight last = {0};

	(void)state;
	for (uint64_t i = 0; i < VG_MAX_FLIGHT; i++) {
		struct vg_flight f = {.end = (uint64_t)(rand_r(&seed) % 50), .index = i};

		vg_flight__push(q, &f);
	}
	for (int i = 0; i < VG_MAX_FLIGHT; i++) {
		struct vg_flight f = vg_flight__pop(q);

		assert_true(
			f.end > last.end || (f.end == last.end && (!i || f.index > last.index)));
		last = f;
	}
	assert_int_equal(q->flight_cnt, 0);
}

static void settings_that_the_driver_refuses(void **state)
{
	uint32_t mask[2] = {1, 0};
	struct kfd_ioctl_update_queue_args u = {.queue_percentage = 100, .queue_priority = 15};
	struct kfd_ioctl_set_cu_mask_args m = {.num_cu_mask = 64, .cu_mask_ptr = (uintptr_t)mask};
	struct kfd_ioctl_create_queue_args c = {.gpu_id = VG_GPU_ID(0),
		.ring_size = 4096,
		.queue_percentage = 100,
		.queue_priority = 16};

	(void)state;
	assert_int_equal(vg_queue__update(&u), -EFAULT); /* there is no queue */
	assert_int_equal(vg_queue__set_cu_mask(&m), -EFAULT);
	u.queue_priority = 16;
	assert_int_equal(vg_queue__update(&u), -EINVAL);
	u = (struct kfd_ioctl_update_queue_args){.queue_percentage = 101};
	assert_int_equal(vg_queue__update(&u), -EINVAL);
	m.num_cu_mask = 33;
	assert_int_equal(vg_queue__set_cu_mask(&m), -EINVAL);
	m.num_cu_mask = 0;
	assert_int_equal(vg_queue__set_cu_mask(&m), -EINVAL);
	assert_int_equal(vg_queue__create(&c), -EINVAL);
}

/* ---- SDMA ---- */

static uint32_t sdma_ring[64]; /* 256 bytes: packets wrap around its end */
static uint64_t sdma_rptr, sdma_bell;
static unsigned sdma_at;

static void sdma_put(const uint32_t *d, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++)
		sdma_ring[sdma_at++ % 64] = d[i];
	sdma_bell = sdma_at * 4ull;
}

static void sdma_set_up(void)
{
	memset(sdma_ring, 0, sizeof sdma_ring);
	q->type = KFD_IOC_QUEUE_TYPE_SDMA;
	q->aql = NULL;
	q->ring = (char *)sdma_ring;
	q->ring_bytes = sizeof sdma_ring;
	q->rptr = &sdma_rptr;
	q->bell = &sdma_bell;
	sdma_rptr = sdma_bell = sdma_at = 0;
}

#define LOW(p)  ((uint32_t)(uintptr_t)(p))
#define HIGH(p) ((uint32_t)((uint64_t)(uintptr_t)(p) >> 32))

static void sdma_run(void)
{
	while (sdma_rptr < sdma_bell) {
		enum vg_step step = vg_sdma__step(q);

		assert_true(step == VG_STEP_DONE || step == VG_STEP_LATER);
	}
}

static void sdma_copy_and_signal(void **state)
{
	static char from[5000], to[5000];
	struct abi_signal s = {.value = 1};
	uint64_t stamps[2];

	(void)state;
	sdma_set_up();
	for (int round = 0; round < 20; round++) {
		memset(from, round + 1, sizeof from);
		s.value = 1;
		sdma_put((uint32_t[]){13 | 2 << 8, LOW(&stamps[0]), HIGH(&stamps[0])}, 3);
		sdma_put((uint32_t[]){1, 2500 - 1, 0, LOW(from), HIGH(from), LOW(to), HIGH(to)}, 7);
		sdma_put((uint32_t[]){1, 2500 - 1, 0, LOW(from + 2500), HIGH(from), LOW(to + 2500),
				 HIGH(to)},
			7);
		sdma_put((uint32_t[]){13 | 2 << 8, LOW(&stamps[1]), HIGH(&stamps[1])}, 3);
		sdma_put((uint32_t[]){10 | 47u << 25, LOW(&s.value), HIGH(&s.value), UINT32_MAX,
				 UINT32_MAX, 0, 0, 0},
			8);
		sdma_run();
		assert_memory_equal(from, to, sizeof from);
		assert_int_equal(s.value, 0);
		/* 25 GB/s: 100 ns for each half */
		assert_int_equal(stamps[1] - stamps[0], 20);
	}
}

/* A latency once for a copy, however many packets it takes; each copy has its own. */
static void sdma_latency(void **state)
{
	static char from[5000], to[5000];
	struct vg_costs *c = &vg_proc()->conf.cost;
	struct abi_signal s = {.value = 3};
	uint64_t stamps[2];

	(void)state;
	sdma_set_up();
	c->latency_ns[VG_WAY_H2H] = 1500;
	c->latency_ns[VG_WAY_FILL] = 300;
	for (int round = 0; round < 3; round++) {
		sdma_put((uint32_t[]){13 | 2 << 8, LOW(&stamps[0]), HIGH(&stamps[0])}, 3);
		for (int half = 0; half < 2; half++)
			if (round == 2)
				sdma_put(
					(uint32_t[]){11 | 2u << 30, LOW(to), HIGH(to), 0, 2500 - 1},
					5);
			else
				sdma_put((uint32_t[]){1, 2500 - 1, 0, LOW(from), HIGH(from),
						 LOW(to), HIGH(to)},
					7);
		sdma_put((uint32_t[]){13 | 2 << 8, LOW(&stamps[1]), HIGH(&stamps[1])}, 3);
		sdma_put((uint32_t[]){10 | 47u << 25, LOW(&s.value), HIGH(&s.value), UINT32_MAX,
				 UINT32_MAX, 0, 0, 0},
			8);
		sdma_run();
		assert_int_equal(s.value, 2 - round);
		assert_int_equal(stamps[1] - stamps[0], round == 2 ? 20 + 30 : 20 + 150);
	}
	c->latency_ns[VG_WAY_H2H] = c->latency_ns[VG_WAY_FILL] = 0;
}

static void sdma_poll_blocks(void **state)
{
	uint32_t word = 1, mark = 0;

	(void)state;
	sdma_set_up();
	sdma_put((uint32_t[]){8 | 3u << 28 | 1u << 31, LOW(&word), HIGH(&word), 0, UINT32_MAX, 0},
		6);
	sdma_put((uint32_t[]){5, LOW(&mark), HIGH(&mark), 77}, 4);
	assert_int_equal(vg_sdma__step(q), VG_STEP_BLOCKED);
	assert_false(vg_sdma__unblocked(q));
	word = 0;
	assert_true(vg_sdma__unblocked(q));
	sdma_run();
	assert_int_equal(mark, 77);
	/* a register poll flushes the host data path: nothing to wait for */
	word = 1;
	sdma_put((uint32_t[]){8 | 3u << 28, LOW(&word), HIGH(&word), 0, UINT32_MAX, 0}, 6);
	sdma_run();
	assert_int_equal(vg_sdma__step(q), VG_STEP_IDLE);
}

static void sdma_fill_and_rect(void **state)
{
	uint32_t words[64] = {0};
	char from[8 * 8], to[8 * 8] = {0};

	(void)state;
	sdma_set_up();
	sdma_put((uint32_t[]){11 | 2u << 30, LOW(words + 1), HIGH(words), 0xabcd, 62 * 4 - 1}, 5);
	sdma_run();
	assert_int_equal(words[0], 0);
	assert_int_equal(words[1], 0xabcd);
	assert_int_equal(words[62], 0xabcd);
	assert_int_equal(words[63], 0);
	for (unsigned i = 0; i < sizeof from; i++)
		from[i] = (char)i;
	/* 3 x 2 bytes from (1, 1) to (4, 5), both pitches 8 */
	sdma_put((uint32_t[]){1 | 4 << 8, LOW(from), HIGH(from), 1 | 1 << 16, 7 << 13, 63, LOW(to),
			 HIGH(to), 4 | 5 << 16, 7 << 13, 63, 2 | 1 << 16, 0},
		13);
	sdma_run();
	for (unsigned y = 0; y < 8; y++)
		for (unsigned x = 0; x < 8; x++) {
			bool in = x >= 4 && x < 7 && y >= 5 && y < 7;

			assert_int_equal(to[y * 8 + x], in ? (y - 4) * 8 + x - 3 : 0);
		}
}

static void sdma_words(void **state)
{
	(void)state;
	assert_int_equal(vg_sdma_length((uint32_t[]){0 | 5u << 16}), 6);
	assert_int_equal(vg_sdma_length((uint32_t[]){1 | 4u << 8}), 13);
	assert_int_equal(vg_sdma_length((uint32_t[]){99}), 0);
	assert_int_equal(vg_sdma_length((uint32_t[]){3}), 0);
	assert_true(vg_sdma_compare(1, 1, 2));
	assert_false(vg_sdma_compare(2, 1, 2));
	assert_true(vg_sdma_compare(2, 2, 2));
	assert_true(vg_sdma_compare(2, 3, 2));
	assert_true(vg_sdma_compare(1, 4, 2));
	assert_true(vg_sdma_compare(2, 5, 2));
	assert_false(vg_sdma_compare(2, 6, 2));
	assert_true(vg_sdma_compare(0, 0, 9));
}

static void refused_packets(void **state)
{
	static const struct {
		const char *why;
		uint16_t header, setup, workgroup;
		uint32_t group;
		uint64_t object;
	} cases[] = {
		{"invalid-dimension", ABI_PACKET_DISPATCH, 0, 64, 0, 0x1000},
		{"invalid-workgroup", ABI_PACKET_DISPATCH, 1, 0, 0, 0x1000},
		{"invalid-workgroup", ABI_PACKET_DISPATCH, 1, 1025, 0, 0x1000},
		{"invalid-group-memory", ABI_PACKET_DISPATCH, 1, 64, 65537, 0x1000},
		{"invalid-code", ABI_PACKET_DISPATCH, 1, 64, 0, 0},
		{"invalid-packet", 0xff, 1, 64, 0, 0x1000},
		{"invalid-vendor-packet", ABI_PACKET_VENDOR, 0x77, 64, 0, 0x1000},
		{NULL, ABI_PACKET_DISPATCH, 1, 1024, 65536, 0x1000},
		{NULL, ABI_PACKET_DISPATCH, 3, 64, 0, 0x1000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct abi_signal inactive = {.value = 0}, before = {.value = 1}, s = {.value = 1};
		union abi_packet p = dispatch(&s, false);
		const struct vg_fault_code *code;

		p.header = cases[i].header;
		p.dispatch.setup = cases[i].setup;
		p.dispatch.workgroup[0] = cases[i].workgroup;
		p.dispatch.group_segment_size = cases[i].group;
		p.dispatch.kernel_object = cases[i].object;
		code = vg_packet__wrong(&p);
		if (!cases[i].why) {
			assert_null(code);
			continue;
		}
		assert_string_equal(code->name, cases[i].why);

		/* the queue stops there, what came before ends, the program is told once */
		q->halted = false;
		aql.queue_inactive_signal = (uintptr_t)&inactive;
		write_packet(dispatch(&before, false));
		ring_bell(write_packet(p));
		for (int step = 0; step < 100000 && !q->halted; step++)
			vg_aql__step(q);
		assert_int_equal(before.value, 0);
		assert_int_equal(s.value, 1);
		assert_int_equal(inactive.value, code->inactive);
		assert_true(q->halted);
		assert_int_equal(vg_aql__step(q), VG_STEP_STALLED);
		assert_int_equal(inactive.value, code->inactive);
		assert_int_equal(q->read, aql.write_dispatch_id - 1);
		q->read++;
	}
	aql.queue_inactive_signal = 0;
	q->halted = false;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_runs_without_a_doorbell),
		TEST(refused_packets),
		TEST(overwritten_doorbell),
		TEST(reserved_but_not_written),
		TEST(overlap_without_the_barrier_bit),
		TEST(barrier_bit_is_in_sequence),
		TEST(profiling_bit),
		TEST(barrier_and),
		TEST(barriers_take_time),
		TEST(barriers_without_time),
		TEST(a_blocked_barrier_takes_time_too),
		TEST(launching_takes_time),
		TEST(so_many_at_a_time),
		TEST(pm4_takes_what_it_is_told),
		TEST(barrier_or),
		TEST(agents_wait_for_nothing),
		TEST(barrier_value),
		TEST(shared_signal_counts_down),
		TEST(ring_wraps),
		TEST(conditions),
		TEST(flight_order),
		TEST(settings_that_the_driver_refuses),
		TEST(sdma_copy_and_signal),
		TEST(sdma_latency),
		TEST(sdma_poll_blocks),
		TEST(sdma_fill_and_rect),
		TEST(sdma_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
