// SPDX-License-Identifier: MIT
/* What becomes of an API call: recorded, counted, or followed while recording is off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "capture/sources/hip/hip.h"
#include "fake_session.h"

static struct wt_session_shared *session;
static struct wt_ring_reader reader;
static void *const handle = (void *)0x7f0000001000;

static int set_up(void **state)
{
	size_t bytes;
	void *ring;

	(void)state;
	session = fake_session__start();
	if (!wt_enter())
		return -1;
	ring = fake_session__map(WT_FILE_RING, 0, 0, &bytes);
	return ring ? wt_ring_reader__open(&reader, ring, bytes) : -1;
}

/* A call as a wrapper makes it; the stream as the table's row says. */
static uint64_t call_corr;

static void call(uint32_t api, hip_error ret)
{
	enum wt_api_class class = wt_hip_functions[api].class;
	struct wt_rec_args *rec;
	struct wt_call call;

	assert_true(wt_call__enter(&call, api, class));
	wt_call__begin(&call, wt_streams__number(call.tls, handle));
	call_corr = call.tls->corr;
	rec = (void *)wt_call__end(&call, ret, WT_REC_CALL_ARGS, sizeof(*rec) + 8);
	if (rec) {
		rec->value[0] = 42;
		wt_call__commit(&call, sizeof(*rec) + 8);
	}
	wt_call__leave(&call);
}

/* The calls in the ring since the last look; what else there is does not count. */
static size_t recorded(struct wt_rec_call calls[8])
{
	struct wt_ring_run runs[2];
	uint64_t end;
	size_t cnt = 0;

	wt_ring_reader__peek(&reader, runs, &end);
	for (int i = 0; i < 2; i++)
		for (uint32_t at = 0; at < runs[i].length;) {
			struct wt_rec rec;

			memcpy(&rec, runs[i].bytes + at, sizeof(rec));
			if (rec.type == WT_REC_CALL_ARGS) {
				assert_true(cnt < 8);
				memcpy(&calls[cnt++], runs[i].bytes + at, sizeof(*calls));
			}
			at += rec.size8 * 8u;
		}
	wt_ring_reader__release(&reader, end);
	return cnt;
}

static uint32_t left_out(uint32_t api)
{
	return atomic_load(&reader.shared->left_out[api]);
}

static void test_recorded(void **state)
{
	struct wt_rec_call calls[8];

	(void)state;
	call(WT_HIP_hipEventRecord, 0);
	assert_int_equal(recorded(calls), 1);
	assert_int_equal(calls[0].rec.id, WT_HIP_hipEventRecord);
	assert_int_equal(calls[0].corr, call_corr);
	assert_true(calls[0].start_tsc && calls[0].end_tsc >= calls[0].start_tsc);
	assert_int_equal(left_out(WT_HIP_hipEventRecord), 0);
}

static void test_queries(void **state)
{
	uint32_t before = left_out(WT_HIP_hipEventQuery);
	struct wt_rec_call calls[8];

	(void)state;
	call(WT_HIP_hipEventQuery, 0);
	call(WT_HIP_hipEventQuery, HIP_NOT_READY); /* an answer, not a failure */
	assert_int_equal(recorded(calls), 0);
	assert_int_equal(left_out(WT_HIP_hipEventQuery), before + 2);
	call(WT_HIP_hipEventQuery, 400);
	assert_int_equal(recorded(calls), 1);
	assert_int_equal(calls[0].ret, 400);
}

static void test_compiler_calls(void **state)
{
	uint32_t before = left_out(WT_HIP___hipPushCallConfiguration);
	struct wt_call call;

	(void)state;
	assert_false(wt_call__enter(
		&call, WT_HIP___hipPushCallConfiguration, WT_API_CLASS_COMPILER));
	assert_int_equal(left_out(WT_HIP___hipPushCallConfiguration), before + 1);
}

/* Nothing is recorded; what was made and ended is known; a failed call made nothing. */
static void test_off(void **state)
{
	uint32_t waits = left_out(WT_HIP_hipStreamSynchronize);
	struct wt_rec_call calls[8];
	uint32_t number = wt_streams__number(wt_enter(), handle);

	(void)state;
	atomic_store(&session->off, 1);
	call(WT_HIP_hipStreamSynchronize, 0);
	assert_int_equal(call_corr, 0);
	call(WT_HIP_hipLaunchKernel, 0);
	call(WT_HIP_hipEventQuery, 400);
	call(WT_HIP_hipMalloc, 2);
	assert_int_equal(recorded(calls), 0);
	assert_int_equal(left_out(WT_HIP_hipStreamSynchronize), waits);
	call(WT_HIP_hipMalloc, 0);
	assert_int_equal(call_corr, 0); /* its operations are nobody's */
	call(WT_HIP_hipGraphExecDestroy, 0);
	assert_int_equal(recorded(calls), 2);
	assert_int_equal(calls[0].rec.id, WT_HIP_hipMalloc | WT_REC_OFF);
	assert_true(calls[0].corr && calls[0].start_tsc && calls[0].end_tsc);
	assert_int_equal(calls[1].rec.id, WT_HIP_hipGraphExecDestroy | WT_REC_OFF);
	/* streams go on being told apart */
	wt_streams__end(wt_enter(), handle);
	wt_streams__created(wt_enter(), handle, 0, 0);
	assert_int_not_equal(wt_streams__number(wt_enter(), handle), number);
	number = wt_streams__number(wt_enter(), handle);
	atomic_store(&session->off, 0);
	call(WT_HIP_hipStreamSynchronize, 0);
	assert_int_equal(recorded(calls), 1);
	assert_int_equal(calls[0].rec.id, WT_HIP_hipStreamSynchronize);
	assert_int_equal(calls[0].stream, number);
}

/* A call that was in progress belongs to where it began. */
static void test_switched_in_a_call(void **state)
{
	struct wt_rec_call calls[8], *rec;
	struct wt_call call;

	(void)state;
	for (uint32_t off = 0; off < 2; off++) {
		atomic_store(&session->off, off);
		assert_true(wt_call__enter(
			&call, WT_HIP_hipStreamSynchronize, WT_API_CLASS_WAIT));
		wt_call__begin(&call, 0);
		atomic_store(&session->off, !off);
		rec = wt_call__end(&call, 0, WT_REC_CALL, sizeof(*rec));
		assert_int_equal(rec != NULL, !off);
		if (rec)
			wt_call__commit(&call, sizeof(*rec));
		wt_call__leave(&call);
	}
	atomic_store(&session->off, 0);
	recorded(calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_compiler_calls),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_switched_in_a_call),
	};

	return cmocka_run_group_tests(tests, set_up, fake_session__tear_down);
}
