// SPDX-License-Identifier: MIT
/* A stream's identity is its number, not its handle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "capture/sources/hip/hip.h"
#include "fake_session.h"

static void *const handle = (void *)0x7f0000001000;

static uint32_t number(void *of)
{
	return wt_streams__number(wt_enter(), of);
}

static void test_created_and_found(void **state)
{
	uint32_t created, found;

	(void)state;
	wt_streams__created(wt_enter(), handle, 1, -1);
	created = number(handle);
	found = number((void *)0x7f0000002000);
	assert_true(created && found && created != found);
	assert_int_equal(number(handle), created);
	assert_int_equal(number((void *)0x7f0000002000), found);
}

static void test_handle_handed_out_again(void **state)
{
	uint32_t first, second;

	(void)state;
	wt_streams__created(wt_enter(), handle, 0, 0);
	first = number(handle);
	assert_int_equal(wt_streams__end(wt_enter(), handle), first);
	wt_streams__created(wt_enter(), handle, 0, 0);
	second = number(handle);
	assert_true(second && second != first);
}

static void test_destroy_that_failed(void **state)
{
	uint32_t before = number(handle);

	(void)state;
	assert_int_equal(wt_streams__end(wt_enter(), handle), before);
	wt_streams__restore(handle, before);
	assert_int_equal(number(handle), before);
}

static void *in_thread(void *arg)
{
	uint32_t *numbers = arg;

	numbers[0] = number(NULL);
	numbers[1] = number((void *)2);
	return NULL;
}

static void test_null_and_per_thread(void **state)
{
	uint32_t null = number(NULL), mine = number((void *)2), other[2];
	pthread_t thread;

	(void)state;
	assert_true(null && mine && null != mine);
	assert_int_equal(number((void *)1), null); /* the legacy stream is the null stream */
	pthread_create(&thread, NULL, in_thread, other);
	pthread_join(thread, NULL);
	assert_int_equal(other[0], null);
	assert_true(other[1] && other[1] != mine);
	wt_tls.device = 1;
	assert_true(number(NULL) != null); /* each device has one of its own */
	wt_tls.device = 0;
	assert_int_equal(number(NULL), null);
}

#define ROUNDS 20000

static void *churn(void *arg)
{
	void *own = arg;
	uintptr_t wrong = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t n;

		wt_streams__created(wt_enter(), own, 0, 0);
		n = number(own);
		wrong += !n || number(NULL) == n;
		wrong += wt_streams__end(wt_enter(), own) != n;
	}
	return (void *)wrong;
}

static void test_many_threads(void **state)
{
	pthread_t threads[4];

	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn, (void *)(0x7f1000000000 + i * 4096));
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_created_and_found),
		cmocka_unit_test(test_handle_handed_out_again),
		cmocka_unit_test(test_destroy_that_failed),
		cmocka_unit_test(test_null_and_per_thread),
		cmocka_unit_test(test_many_threads),
	};

	return cmocka_run_group_tests(tests, fake_session__set_up, fake_session__tear_down);
}
