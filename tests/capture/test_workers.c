// SPDX-License-Identifier: MIT
/* Whose a thread of the runtime's is that was made in a HIP call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <semaphore.h>

#include "capture/sources/hip/hip.h"
#include "fake_hip_threads.h"
#include "fake_session.h"

static struct wt_call call;

static void begin(uint32_t api, uint32_t stream)
{
	assert_true(wt_call__enter(&call, api, wt_hip_functions[api].class));
	wt_call__begin(&call, stream);
}

static void end(void)
{
	wt_call__end(&call, 0, WT_REC_CALL, 0);
	wt_call__leave(&call);
}

/* A thread that says for whom it submits, when it is asked. */
struct worker {
	pthread_t thread;
	sem_t go;
	uint32_t gpu_cnt;
	struct wt_producer who;
};

static void *submit(void *arg)
{
	struct worker *worker = arg;

	sem_wait(&worker->go);
	worker->who = wt_producer(worker->gpu_cnt);
	return NULL;
}

static void make(struct worker *worker, void *object)
{
	sem_init(&worker->go, 0, 0);
	worker->thread = fake_hip__thread(object, submit, worker);
}

static void make6(struct worker *worker, void *object)
{
	sem_init(&worker->go, 0, 0);
	worker->thread = fake_hip6__thread(object, submit, worker);
}

static uint32_t stream_of(struct worker *worker, uint32_t gpu_cnt)
{
	worker->gpu_cnt = gpu_cnt;
	sem_post(&worker->go);
	pthread_join(worker->thread, NULL);
	assert_true(worker->who.corr == 0);
	return worker->who.stream;
}

static uint32_t null_stream(void)
{
	uint32_t number;
	struct wt_tls *tls = wt_enter();

	assert_non_null(tls);
	number = wt_streams__number(tls, NULL);
	return number;
}

static char object[8192], *const handle = object;

static void test_made_with_a_stream(void **state)
{
	struct worker worker;
	uint32_t number;

	(void)state;
	begin(WT_HIP_hipStreamCreateWithFlags, 0);
	make(&worker, &worker); /* elsewhere than the handle, as before HIP 6 */
	number = wt_streams__created(call.tls, handle, 0, 0);
	end();
	assert_true(number);
	assert_int_equal(stream_of(&worker, 2), number);
	wt_streams__ended(number);
}

static void test_two_in_one_creation(void **state)
{
	struct worker workers[2];

	(void)state;
	begin(WT_HIP_hipStreamCreate, 0);
	make(&workers[0], &workers[0]);
	make(&workers[1], &workers[1]);
	wt_streams__created(call.tls, handle, 0, 0);
	end();
	assert_int_equal(stream_of(&workers[0], 1), WT_STREAM_NOT_KNOWN);
	assert_int_equal(stream_of(&workers[1], 1), WT_STREAM_NOT_KNOWN);
	wt_workers__reset();
}

static void test_null_stream(void **state)
{
	struct worker worker, second;

	(void)state;
	begin(WT_HIP_hipLaunchKernel, null_stream());
	make(&worker, &worker);
	end();
	assert_int_equal(stream_of(&worker, 2), null_stream());
	wt_workers__reset();

	/* a call that names none, but waits for this device's */
	begin(WT_HIP_hipDeviceSynchronize, 0);
	make(&worker, &worker);
	end();
	/* it has one already */
	begin(WT_HIP_hipLaunchKernel, null_stream());
	make(&second, &second);
	end();
	assert_int_equal(stream_of(&worker, 2), null_stream());
	assert_int_equal(stream_of(&second, 1), WT_STREAM_NOT_KNOWN);
	wt_workers__reset();
}

/* A copy may be on the null stream of the device whose memory it is about. */
static void test_copy(void **state)
{
	for (uint32_t gpu_cnt = 1; gpu_cnt <= 2; gpu_cnt++) {
		struct worker worker;

		(void)state;
		begin(WT_HIP_hipMemcpy, null_stream());
		make(&worker, &worker);
		end();
		assert_int_equal(stream_of(&worker, gpu_cnt),
			gpu_cnt == 1 ? null_stream() : WT_STREAM_NOT_KNOWN);
		wt_workers__reset();
	}
}

static void test_per_thread_stream(void **state)
{
	struct worker worker;
	uint32_t number = wt_streams__number(wt_enter(), (void *)2);

	(void)state;
	begin(WT_HIP_hipMemcpyAsync_spt, number);
	make(&worker, &worker);
	end();
	assert_int_equal(stream_of(&worker, 1), number);
	wt_workers__reset();
}

static void test_two_in_one_call(void **state)
{
	struct worker workers[2];

	(void)state;
	begin(WT_HIP_hipLaunchKernel, null_stream());
	make(&workers[0], &workers[0]);
	make(&workers[1], &workers[1]);
	end();
	assert_int_equal(stream_of(&workers[0], 1), WT_STREAM_NOT_KNOWN);
	assert_int_equal(stream_of(&workers[1], 1), WT_STREAM_NOT_KNOWN);
	wt_workers__reset();
}

static void test_hidden_streams(void **state)
{
	static const uint32_t apis[] = {WT_HIP_hipGraphInstantiate, WT_HIP_hipGraphLaunch,
		WT_HIP_hipLaunchCooperativeKernelMultiDevice};

	(void)state;
	for (size_t i = 0; i < sizeof(apis) / sizeof(*apis); i++) {
		struct worker worker;

		begin(apis[i], null_stream());
		make(&worker, &worker);
		end();
		assert_int_equal(stream_of(&worker, 1), WT_STREAM_NOT_KNOWN);
	}
	wt_workers__reset();
}

/* The device of the thread is not known: neither is its null stream. */
static void test_unknown_device(void **state)
{
	struct worker worker;

	(void)state;
	wt_tls.device = WT_DEVICE_NOT_KNOWN;
	begin(WT_HIP_hipLaunchKernel, null_stream());
	make(&worker, &worker);
	end();
	assert_int_equal(stream_of(&worker, 1), WT_STREAM_NOT_KNOWN);
	wt_tls.device = 0;
	wt_workers__reset();
}

static void test_outside(void **state)
{
	struct worker worker;

	(void)state;
	make(&worker, &worker);
	assert_int_equal(stream_of(&worker, 1), 0);
}

/* No argument: not a stream's. Another library's: neither. */
static void test_others(void **state)
{
	struct worker worker;

	(void)state;
	begin(WT_HIP_hipLaunchKernel, null_stream());
	make(&worker, NULL);
	end();
	assert_int_equal(stream_of(&worker, 1), 0);
	begin(WT_HIP_hipLaunchKernel, null_stream());
	sem_init(&worker.go, 0, 0);
	pthread_create(&worker.thread, NULL, submit, &worker);
	end();
	assert_int_equal(stream_of(&worker, 1), 0);
}

/* The thread of a destroyed stream has ended: who gets its id is not taken for it. */
static void test_destroyed(void **state)
{
	bool same_id = false;

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct worker worker;
		pthread_t id;
		uint32_t number;

		begin(WT_HIP_hipStreamCreate, 0);
		make(&worker, &worker);
		number = wt_streams__created(call.tls, handle, 0, 0);
		end();
		id = worker.thread;
		assert_int_equal(stream_of(&worker, 1), number);
		wt_streams__ended(number);
		make(&worker, &worker);
		same_id |= worker.thread == id;
		assert_int_equal(stream_of(&worker, 1), 0);
	}
	assert_true(same_id);
}

/* From HIP 6 on its object lies in the stream's. */
static void test_inside(void **state)
{
	struct worker workers[2];
	uint32_t number;

	(void)state;
	begin(WT_HIP_hipStreamCreate, 0);
	make6(&workers[0], &workers[0]);
	make6(&workers[1], handle + 0x68);
	number = wt_streams__created(call.tls, handle, 0, 0);
	end();
	assert_int_equal(stream_of(&workers[0], 1), WT_STREAM_NOT_KNOWN);
	assert_int_equal(stream_of(&workers[1], 1), number);

	begin(WT_HIP_hipStreamCreate, 0);
	make6(&workers[0], &workers[0]);
	wt_streams__created(call.tls, handle, 0, 0);
	end();
	assert_int_equal(stream_of(&workers[0], 1), WT_STREAM_NOT_KNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_with_a_stream),
		cmocka_unit_test(test_two_in_one_creation),
		cmocka_unit_test(test_null_stream),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_per_thread_stream),
		cmocka_unit_test(test_two_in_one_call),
		cmocka_unit_test(test_hidden_streams),
		cmocka_unit_test(test_unknown_device),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_inside),
	};

	return cmocka_run_group_tests(tests, fake_session__set_up, fake_session__tear_down);
}
