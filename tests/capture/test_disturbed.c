// SPDX-License-Identifier: MIT
/* Signals, cancellation and narrow places at the worst moment: the program is not disturbed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/sources/hip/hip.h"
#include "fake_session.h"

/* The child of a process with threads makes one: with the usual options that is the end of it. */
wt_export const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

static void fill_definitions(void)
{
	static char text[4096];

	while (!atomic_load(&wt_process.shared->lost[WT_LOST_DEFINITION_RING_FULL])) {
		struct wt_rec_status rec = {.rec = {.type = WT_REC_STATUS},
			.text_bytes = sizeof(text)};

		wt_define(&rec.rec, sizeof(rec), text, sizeof(text));
	}
}

static void free_definitions(void)
{
	struct wt_ring_shared *shared = wt_process.define.shared;

	atomic_store(&shared->tail, atomic_load(&shared->head));
	wt_define__status("test", 0, "room again"); /* so that the next to find none is patient */
	atomic_store(&shared->tail, atomic_load(&shared->head));
	atomic_store(&wt_process.shared->lost[WT_LOST_DEFINITION_RING_FULL], 0);
}

static int ends_in_time(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(10);
		if (!wt_process__join())
			_exit(1);
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void *define_for_ever(void *unused)
{
	(void)unused;
	for (;;) {
		free_definitions();
		fill_definitions();
	}
	return NULL;
}

static void cancel_in_define(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, define_for_ever, NULL);
	usleep(50000);
	pthread_cancel(thread);
	usleep(300000);
	atomic_store(&wt_process.define.shared->tail, atomic_load(&wt_process.define.shared->head));
	wt_define__status("test", 0, "the lock is free");
}

/* A thread that is cancelled while it waits for room has a lock that others need. */
static void test_cancelled_in_a_definition(void **state)
{
	(void)state;
	assert_int_equal(ends_in_time(cancel_in_define), 0);
}

static void on_alarm(int unused)
{
	(void)unused;
	wt_define__status("test", 0, "from a signal handler");
}

/* Not setitimer: alarm(), which ends what hangs, is the same timer. */
static void start_ticking(void (*handler)(int), long us)
{
	struct itimerspec every = {{0, us * 1000}, {0, us * 1000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	timer_t timer;

	sigaction(SIGUSR1, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
		timer_settime(timer, 0, &every, NULL))
		_exit(3);
}

static void signal_in_define(void)
{
	start_ticking(on_alarm, 3000);
	for (int i = 0; i < 2; i++) {
		free_definitions();
		fill_definitions();
	}
}

/* A handler that comes to the same place in the middle of a definition. */
static void test_signal_in_a_definition(void **state)
{
	(void)state;
	assert_int_equal(ends_in_time(signal_in_define), 0);
}

static volatile uint64_t handle = 0x7f0000001000;

static void call_on_new_stream(void)
{
	struct wt_call call;
	struct wt_rec_call *rec;

	if (!wt_call__enter(&call, WT_HIP_hipStreamSynchronize, WT_API_CLASS_SUBMIT))
		return;
	handle += 0x1000;
	wt_call__begin(&call, wt_streams__number(call.tls, (void *)handle));
	rec = wt_call__end(&call, 0, WT_REC_CALL, sizeof(*rec));
	if (rec)
		wt_call__commit(&call, sizeof(*rec));
	wt_call__leave(&call);
}

static void call_in_handler(int unused)
{
	(void)unused;
	call_on_new_stream();
}

static void signals_in_calls(void)
{
	start_ticking(call_in_handler, 50);
	for (int i = 0; i < 20000; i++)
		call_on_new_stream();
}

/* Handlers that call HIP while the thread meets a stream. */
static void test_signal_in_a_call(void **state)
{
	(void)state;
	assert_int_equal(ends_in_time(signals_in_calls), 0);
}

static void say_to_nobody(void)
{
	int fds[2];

	if (pipe(fds))
		_exit(1);
	dup2(fds[1], STDERR_FILENO);
	close(fds[0]);
	wt_say("nobody reads this", NULL);
}

static void say_to_a_full_pipe(void)
{
	static char text[4096];
	int fds[2];

	if (pipe(fds))
		_exit(1);
	dup2(fds[1], STDERR_FILENO);
	if (!fork()) { /* fills it and is gone */
		alarm(1);
		while (write(fds[1], text, sizeof(text)) > 0)
			;
	}
	wait(NULL);
	wt_say("there is no room for this", NULL);
}

static void test_nobody_reads_stderr(void **state)
{
	(void)state;
	assert_int_equal(ends_in_time(say_to_nobody), 0);
	assert_int_equal(ends_in_time(say_to_a_full_pipe), 0);
}

static int set_up(void **state)
{
	(void)state;
	fake_session__start();
	return wt_process__join() ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancelled_in_a_definition),
		cmocka_unit_test(test_signal_in_a_definition),
		cmocka_unit_test(test_signal_in_a_call),
		cmocka_unit_test(test_nobody_reads_stderr),
	};

	return cmocka_run_group_tests(tests, set_up, fake_session__tear_down);
}
