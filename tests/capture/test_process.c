// SPDX-License-Identifier: MIT
/* Joining, forking, threads that come and go, and what children are given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/sources/hip/hip.h"
#include "fake_session.h"

static void make_call(void)
{
	struct wt_call call;
	struct wt_rec_call *rec;

	if (!wt_call__enter(&call, WT_HIP_hipDeviceSynchronize, WT_API_CLASS_SUBMIT))
		return;
	wt_call__begin(&call, 0);
	rec = wt_call__end(&call, 0, WT_REC_CALL, sizeof(*rec));
	if (rec)
		wt_call__commit(&call, sizeof(*rec));
	wt_call__leave(&call);
}

static struct wt_process_shared *map_process(uint32_t number)
{
	size_t bytes;

	return fake_session__map(WT_FILE_PROCESS, number, 0, &bytes);
}

static void test_join_and_record(void **state)
{
	struct wt_process_shared *p;
	struct wt_ring_shared *ring;
	size_t bytes;

	(void)state;
	make_call();
	p = map_process(0);
	assert_non_null(p);
	assert_int_equal(p->magic, WT_PROCESS_MAGIC);
	assert_int_equal(p->pid, getpid());
	assert_true(p->start_ticks > 0);
	assert_non_null(strstr(p->image, "test_capture_process"));
	ring = fake_session__map(WT_FILE_RING, 0, 0, &bytes);
	assert_non_null(ring);
	/* the thread's introduction and one call */
	assert_int_equal(atomic_load(&ring->head),
		sizeof(struct wt_rec_thread) + sizeof(struct wt_rec_call));
}

static void test_errno_is_kept(void **state)
{
	(void)state;
	errno = 77;
	make_call();
	assert_int_equal(errno, 77);
}

/* A child joins anew, as a process of its own, and leaves the parent's ring alone. */
static void test_fork(void **state)
{
	struct wt_ring_shared *ring;
	uint64_t head;
	size_t bytes;
	int status;
	pid_t pid;

	(void)state;
	ring = fake_session__map(WT_FILE_RING, 0, 0, &bytes);
	head = atomic_load(&ring->head);
	pid = fork();
	if (!pid) {
		make_call();
		_exit(wt_process.forked && wt_process.shared->number == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(atomic_load(&ring->head), head);
	assert_int_equal(map_process(1)->pid, pid);
	assert_int_equal(map_process(1)->forked, 1);
	assert_non_null(fake_session__map(WT_FILE_RING, 1, 0, &bytes));
}

static void end_process(void *unused)
{
	(void)unused;
	_exit(0);
}

/* The forking thread ends in the child: its ring goes on to be the parent's. */
static void test_child_ends_its_thread(void **state)
{
	struct wt_ring_shared *ring = wt_tls.thread->ring.shared;
	uint32_t index = atomic_load(&ring->thread_index);
	pthread_key_t last;
	int status;
	pid_t pid;

	(void)state;
	assert_true(index > 0);
	atomic_store(&ring->call_start_tsc, 1);
	pid = fork();
	if (!pid) {
		/* a key made later: its destructor comes after ours */
		pthread_key_create(&last, end_process);
		pthread_setspecific(last, &last);
		pthread_exit(NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(atomic_load(&ring->thread_index), index);
	assert_int_equal(atomic_load(&ring->call_start_tsc), 1);
	atomic_store(&ring->call_start_tsc, 0);
}

static void *thread_main(void *arg)
{
	(void)arg;
	make_call();
	return NULL;
}

/* Short-lived threads share a ring one after the other; each has an index of its own. */
static void test_threads_reuse_rings(void **state)
{
	uint32_t rings, threads;

	(void)state;
	rings = atomic_load(&wt_process.shared->ring_cnt);
	threads = atomic_load(&wt_process.shared->thread_cnt);
	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, thread_main, NULL);
		pthread_join(thread, NULL);
	}
	assert_int_equal(atomic_load(&wt_process.shared->ring_cnt), rings + 1);
	assert_int_equal(atomic_load(&wt_process.shared->thread_cnt), threads + 100);
}

/* Runs `env` in a child with `envp`; returns what it printed. */
static void child_environment(char *const envp[], char *text, size_t bytes)
{
	char *const argv[] = {(char *)"env", NULL};
	posix_spawn_file_actions_t actions;
	size_t got = 0;
	ssize_t n;
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	assert_int_equal(posix_spawn(&pid, "/usr/bin/env", &actions, NULL, argv, envp), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	while ((n = read(fds[0], text + got, bytes - 1 - got)) > 0)
		got += (size_t)n;
	text[got] = 0;
	close(fds[0]);
	waitpid(pid, NULL, 0);
}

static void test_children_keep_the_session(void **state)
{
	char *const cleared[] = {(char *)"A=1", NULL};
	char *const kept[] = {(char *)"LD_PRELOAD=libnothere.so:./libwavetap.so",
		(char *)"HSA_TOOLS_LIB=other.so", (char *)"WAVETAP_SESSION=/stale", NULL};
	char text[8192], line[256];

	(void)state;
	snprintf(line, sizeof(line), "WAVETAP_SESSION=%s\n", fake_session__dir());
	child_environment(cleared, text, sizeof(text));
	assert_non_null(strstr(text, "A=1\n"));
	assert_non_null(strstr(text, line));
	child_environment(kept, text, sizeof(text));
	assert_non_null(strstr(text, line));
	assert_null(strstr(text, "/stale"));
	assert_non_null(strstr(text, "libnothere.so:"));
	assert_non_null(strstr(text, "other.so"));
}

struct spawn {
	char **envp;
	char text[64];
};

static void *count_in_child(void *arg)
{
	struct spawn *spawn = arg;
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)"env | wc -l", NULL};
	posix_spawn_file_actions_t actions;
	ssize_t n;
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		return NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	posix_spawn_file_actions_addclose(&actions, fds[0]);
	posix_spawn_file_actions_addclose(&actions, fds[1]);
	if (posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, spawn->envp))
		return NULL;
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	n = read(fds[0], spawn->text, sizeof(spawn->text) - 1);
	spawn->text[n > 0 ? n : 0] = 0;
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return NULL;
}

/* More settings than anybody has, from a thread with next to no stack: all of them arrive. */
static void test_large_environment_on_a_small_stack(void **state)
{
	enum { CNT = 70000 };
	static char entries[CNT][8], *envp[CNT + 1];
	struct spawn spawn = {.envp = envp};
	unsigned long variables;
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	for (int i = 0; i < CNT; i++) {
		snprintf(entries[i], sizeof(entries[i]), "%c%05x=", 'A' + i % 26, i);
		envp[i] = entries[i];
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256u << 10);
	assert_int_equal(pthread_create(&thread, &attr, count_in_child, &spawn), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	/* the session, the preload, the tool; PWD, SHLVL and _ by the shell */
	variables = strtoul(spawn.text, NULL, 10);
	assert_true(variables >= CNT + 3 && variables <= CNT + 6);
}

static void test_children_are_left_alone(void **state)
{
	char *const cleared[] = {(char *)"A=1", NULL};
	char *const all[] = {(char *)"LD_PRELOAD=/x/libwavetap.so:libc.so.6",
		(char *)"HSA_TOOLS_LIB=/x/libwavetap.so", (char *)"WAVETAP_SESSION=/s", NULL};
	char text[8192];

	(void)state;
	wt_process.settings.follow = 0;
	child_environment(cleared, text, sizeof(text));
	assert_string_equal(text, "A=1\n");
	child_environment(all, text, sizeof(text));
	assert_string_equal(text, "LD_PRELOAD=libc.so.6\n");
	wt_process.settings.follow = 1;
}

/* The collector goes: nothing more is recorded, nothing breaks. */
static void test_stop(void **state)
{
	struct wt_ring_shared *ring;
	uint64_t head;
	size_t bytes;

	(void)state;
	ring = fake_session__map(WT_FILE_RING, 0, 0, &bytes);
	head = atomic_load(&ring->head);
	wt_process__stop();
	make_call();
	assert_int_equal(atomic_load(&ring->head), head);
	assert_true(atomic_load(&wt_process.shared->interrupted_ns) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join_and_record),
		cmocka_unit_test(test_errno_is_kept),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_child_ends_its_thread),
		cmocka_unit_test(test_threads_reuse_rings),
		cmocka_unit_test(test_children_keep_the_session),
		cmocka_unit_test(test_large_environment_on_a_small_stack),
		cmocka_unit_test(test_children_are_left_alone),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, fake_session__set_up, fake_session__tear_down);
}
