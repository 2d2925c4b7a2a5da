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
#include "own_memory.h"
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

/* ---- stream operations ---- */

#define STREAM_OP_OBJECT 0x7040u /* another place in the cache than dispatch() takes */

/* A kernel that is known already, as the table would give it to the queue. */
static void know_kernel(enum vg_effect effect, unsigned arg_cnt)
{
	static struct vg_kernel k;

	k = (struct vg_kernel){.object = STREAM_OP_OBJECT, .effect = effect, .arg_cnt = arg_cnt};
	for (unsigned i = 0; i < arg_cnt; i++) {
		k.arg_offset[i] = 8 * i;
		k.arg_size[i] = 8;
	}
	vg_kernel__find(q, 0); /* the cache is of today, now: it will be believed */
	q->kcache[(STREAM_OP_OBJECT >> 6) % (sizeof q->kcache / sizeof *q->kcache)] = &k;
}

static union abi_packet stream_op(const uint64_t *args, struct abi_signal *done)
{
	union abi_packet p = dispatch(done, true);

	p.dispatch.kernel_object = STREAM_OP_OBJECT;
	p.dispatch.kernarg_address = (uintptr_t)args;
	return p;
}

#define P(x) ((uint64_t)(uintptr_t)(x))

static void stream_wait(void **state)
{
	static const struct {
		uint64_t flags, value, mask, before, after;
		bool wide;
	} cases[] = {
		{0, 5, UINT64_MAX, 4, 5, false},                  /* at least */
		{0, 1ull << 40, UINT64_MAX, 7, 1ull << 40, true}, /* all 64 bits count */
		{1, 5, 0xff, 0x104, 0x705, false},                /* equal under the mask */
		{2, 6, UINT64_MAX, 8, 4, false},                  /* a common bit */
		{3, 0xf0, 0xff, 0x0f, 0x0e, false},               /* a bit in neither */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct abi_signal done = {.value = 1}, next = {.value = 1};
		uint64_t word = cases[i].before;
		uint64_t args[5] = {cases[i].wide ? 0 : P(&word), cases[i].wide ? P(&word) : 0,
			cases[i].value, cases[i].flags, cases[i].mask};

		know_kernel(VG_EFFECT_STREAM_WAIT, 5);
		write_packet(stream_op(args, &done));
		ring_bell(write_packet(dispatch(&next, false)));
		assert_int_equal(vg_aql__step(q), VG_STEP_BLOCKED);
		assert_int_equal(vg_aql__step(q), VG_STEP_BLOCKED);
		assert_false(vg_aql__unblocked(q));
		word = cases[i].after;
		assert_true(vg_aql__unblocked(q));
		assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
		while (q->read < aql.write_dispatch_id)
			vg_aql__step(q);
		drain();
		assert_int_equal(done.value, 0);
		assert_int_equal(next.value, 0);
		assert_true(done.end_ts >= done.start_ts);
	}
}

/* operation, address, value, flags, and two words that the kernel does not read */
typedef uint64_t batch_entry[6];

static union abi_packet batch_op(const uint64_t *args, unsigned grid, struct abi_signal *done)
{
	union abi_packet p = stream_op(args, done);

	p.dispatch.grid[0] = grid;
	know_kernel(VG_EFFECT_STREAM_BATCH, 2);
	return p;
}

/* A work-group for each operation: one that waits holds up the kernel, not the others. */
static void stream_batch(void **state)
{
	struct abi_signal done = {.value = 1};
	uint64_t narrow = 0, wide = 0, gate = 0, other = 0, last = 0;
	batch_entry batch[6] = {
		{2, P(&narrow), 0xaaaa0000bbbb1111u}, {5, P(&wide), 0xaaaa0000bbbb1111u},
		{4, P(&gate), 3, 1}, {1, P(&other), 2, 0}, {2, P(&last), 9},
		{6, P(&last), 7}, /* nothing that it knows */
	};
	uint64_t args[2] = {P(batch), 6};

	(void)state;
	ring_bell(write_packet(batch_op(args, 6, &done)));
	assert_int_equal(vg_aql__step(q), VG_STEP_BLOCKED);
	assert_int_equal(narrow, 0xbbbb1111u);
	assert_int_equal(wide, 0xaaaa0000bbbb1111u);
	assert_int_equal(last, 9);
	narrow = last = 0;
	assert_false(vg_aql__unblocked(q));
	other = 2; /* in any order, and for a moment is enough */
	assert_true(vg_aql__unblocked(q));
	assert_int_equal(vg_aql__step(q), VG_STEP_BLOCKED);
	other = 0;
	assert_false(vg_aql__unblocked(q));
	gate = 3;
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_int_equal(narrow, 0); /* once */
	assert_int_equal(last, 0);
	assert_int_equal(done.value, 0);
}

/* One work-item for all. */
static void stream_batch_in_order(void **state)
{
	struct abi_signal done = {.value = 1};
	uint64_t first = 0, gate = 0, last = 0;
	batch_entry batch[3] = {{2, P(&first), 5}, {4, P(&gate), 3, 1}, {2, P(&last), 9}};
	uint64_t args[2] = {P(batch), 3};

	(void)state;
	ring_bell(write_packet(batch_op(args, 1, &done)));
	assert_int_equal(vg_aql__step(q), VG_STEP_BLOCKED);
	assert_int_equal(first, 5);
	assert_int_equal(last, 0);
	first = 0;
	gate = 3;
	assert_true(vg_aql__unblocked(q));
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	drain();
	assert_int_equal(first, 0);
	assert_int_equal(last, 9);
}

/* More than run at a time, most of them waiting. */
static void stream_batch_of_many(void **state)
{
	static batch_entry batch[2 * VG_BATCH_WIDTH + 5];
	static uint64_t word[2 * VG_BATCH_WIDTH + 5];
	enum { N = 2 * VG_BATCH_WIDTH + 5 };
	struct abi_signal done = {.value = 1};
	uint64_t args[2] = {P(batch), N};

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		batch[i][0] = i % 8 ? 4 : 5;
		batch[i][1] = P(&word[i]);
		batch[i][2] = i + 1;
	}
	ring_bell(write_packet(batch_op(args, N, &done)));
	for (unsigned i = N; i-- > 0;) {
		if (i % 8)
			word[i] = i + 1;
		assert_int_equal(vg_aql__step(q), i > 1 ? VG_STEP_BLOCKED : VG_STEP_DONE);
		if (i == 1)
			break;
	}
	drain();
	assert_int_equal(done.value, 0);
	for (unsigned i = 0; i < N; i += 8)
		assert_int_equal(word[i], i + 1);
}

/* Address 0x1000 is nobody's: no crash, no completion. */
static void faulting_kernels(void **state)
{
	struct abi_signal done = {.value = 1};
	uint64_t word = 0, args[8] = {0x1000, P(&word), 8, 0, 0, 0, 0, 0};

	(void)state;
	know_kernel(VG_EFFECT_COPY, 7);
	ring_bell(write_packet(stream_op(args, &done)));
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	know_kernel(VG_EFFECT_STREAM_WAIT, 5);
	ring_bell(write_packet(stream_op(args, &done)));
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	assert_int_equal(q->flight_cnt, 0);
	assert_int_equal(done.value, 1);
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
		TEST(stream_wait),
		TEST(stream_batch),
		TEST(stream_batch_in_order),
		TEST(stream_batch_of_many),
		TEST(faulting_kernels),
		TEST(shared_signal_counts_down),
		TEST(ring_wraps),
		TEST(conditions),
		TEST(flight_order),
		TEST(settings_that_the_driver_refuses),
	};

	own_all_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
