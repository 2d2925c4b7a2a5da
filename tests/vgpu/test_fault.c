// SPDX-License-Identifier: MIT
/* Faults on request: the words, and what a stall and a queue error do to a queue without a thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/kfd_ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"
#include "vgpu.h"

static struct vg_fault_rule rules[VG_MAX_FAULTS];
static char why[256];

static int parse(const char *text)
{
	*why = 0;
	return vg_fault__parse(text, rules, why, sizeof why);
}

static void words(void **state)
{
	(void)state;
	assert_int_equal(parse(""), 0);
	assert_int_equal(parse("stall,kernel=*gemm*,queue=3,for=1.5ms;memory,packet=0,nth=2,"
			       "address=0x1234,reason=read-only"),
		2);
	assert_int_equal(rules[0].kind, VG_FAULT_STALL);
	assert_string_equal(rules[0].kernel, "*gemm*");
	assert_int_equal(rules[0].queue, 3);
	assert_int_equal(rules[0].for_ns, 1500000);
	assert_true(rules[0].packet == VG_FAULT_ANY && rules[0].gpu == VG_FAULT_ANY);
	assert_int_equal(rules[1].kind, VG_FAULT_MEMORY);
	assert_int_equal(rules[1].packet, 0);
	assert_int_equal(rules[1].nth, 2);
	assert_int_equal(rules[1].address, 0x1234);
	assert_int_equal(rules[1].reason, VG_FAULT_READ_ONLY);
	assert_string_equal(rules[1].text, "memory,packet=0,nth=2,address=0x1234,reason=read-only");
	assert_int_equal(parse("alloc,above=64M;queue-error,code=invalid-code;lost,at=2s"), 3);
	assert_int_equal(rules[0].above, 64 << 20);
	assert_int_equal(rules[1].code->exception, 18);
	assert_int_equal(rules[2].at_ns, 2000000000);
	assert_int_equal(parse("late-interrupt,by=20us,every=3"), 1);
	assert_int_equal(rules[0].by_ns, 20000);
}

static void wrong_words(void **state)
{
	static const char *const texts[] = {"crash", ";", "stall;;memory", "stall,for",
		"stall,for=", "stall,for=-1ms", "stall,for=1", "stall,for=1h", "stall,above=1M",
		"alloc,kernel=x", "alloc,packet=1", "lost-interrupt,kernel=x", "memory,nth=x",
		"memory,nth=0", "memory,every=0", "memory,nth=1,every=1", "memory,reason=x",
		"queue-error,code=", "late-interrupt", "late-interrupt,for=1ms",
		"stall,kernel=", "memory,address=0xfffffffffffffffff",
		"memory,packet=18446744073709551615"};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (parse(texts[i]) != -1 || !*why)
			fail_msg("\"%s\" was read", texts[i]);
	}
}

/* ---- a queue ---- */

#define RING 16

static union abi_packet ring[RING];
static struct abi_queue aql;
static uint64_t bell = ~0ull;
static struct vg_queue *q;

static void submit(struct abi_signal *s)
{
	uint64_t i = aql.write_dispatch_id++;

	ring[i % RING] = (union abi_packet){
		.barrier = {.header = ABI_PACKET_BARRIER_AND | ABI_HEADER_BARRIER_BIT,
			.completion_signal = (uintptr_t)s}};
	bell = i;
}

/* Steps until something else than waiting for a time is to be done. */
static enum vg_step step_past(enum vg_step wait)
{
	struct timespec ts = {0, 100000};
	enum vg_step s;

	while ((s = vg_aql__step(q)) == wait)
		nanosleep(&ts, NULL);
	return s;
}

static void stall_and_error(void **state)
{
	struct abi_signal s[4], inactive = {0};
	struct abi_save_area area = {0};
	int64_t payload = 0;

	(void)state;
	q = calloc(1, sizeof *q);
	*q = (struct vg_queue){.type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL,
		.ring = (char *)ring,
		.ring_bytes = sizeof ring,
		.rptr = &aql.read_dispatch_id,
		.wptr = &aql.write_dispatch_id,
		.bell = &bell,
		.bell_seen = -1,
		.aql = &aql,
		.save_area = &area};
	aql.queue_properties = ABI_QUEUE_PROFILING;
	aql.queue_inactive_signal = (uintptr_t)&inactive;
	for (int i = 0; i < RING; i++)
		ring[i].header = ABI_PACKET_INVALID;
	for (int i = 0; i < 4; i++) {
		s[i] = (struct abi_signal){.value = 1};
		submit(&s[i]);
	}
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	assert_int_equal(step_past(VG_STEP_LATER), VG_STEP_STALLED);
	assert_int_equal(s[0].value, 0);
	assert_true(atomic_load(&q->stalled));
	assert_int_equal(q->read, 1);
	assert_int_equal(s[1].value, 1);
	assert_int_equal(step_past(VG_STEP_STALLED), VG_STEP_DONE);
	assert_false(atomic_load(&q->stalled));
	/* Packet 2: there is no place for the exception. */
	assert_int_equal(step_past(VG_STEP_LATER), VG_STEP_DONE);
	assert_int_equal(s[1].value, 0);
	assert_true(s[1].start_ts - s[0].end_ts >= 5000000 / VG_TICK_NS);
	assert_int_equal(s[2].value, 1);
	assert_int_equal(q->read, 3);
	assert_int_equal(inactive.value, 0x40000000);
	assert_true(atomic_load(&q->halted));
	/* Packet 3: by the save area. */
	atomic_store(&q->halted, false);
	area.error_payload = (uintptr_t)&payload;
	assert_int_equal(vg_aql__step(q), VG_STEP_DONE);
	assert_int_equal(s[3].value, 1);
	assert_int_equal(payload, 1 << 3);
	assert_int_equal(inactive.value, 0x40000000);
	free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(wrong_words),
		cmocka_unit_test(stall_and_error)};

	setenv("VGPU_FAULT", "stall,packet=1,for=5ms;queue-error,packet=2;queue-error,packet=3", 1);
	vg_fault__open(vg_proc());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
