// SPDX-License-Identifier: MIT
/*
 * Whole sessions: the collector in a child, producers in others. Whatever is
 * killed, every event is in the trace once or counted as lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "base/log.h"
#include "collect/collector.h"
#include "collect/fault.h"
#include "collect/recover.h"
#include "collect/segment.h"
#include "collect/settings.h"
#include "core/clock.h"
#include "producer.h"

struct session {
	struct wt_collect_options options;
	pid_t collector;
	int control;
	char dir[2 * PATH_MAX];
	char last[512]; /* line that it said last */
};

static char base[64];

/* Every step with WT_SOAK, else some: each is a session of its own. */
static int stride(void)
{
	return getenv("WT_SOAK") ? 1 : 3;
}

static int set_up(void **state)
{
	struct session *s = calloc(1, sizeof(*s));

	/* in memory where that is to be had: the store syncs each of some hundred traces */
	snprintf(base, sizeof(base), "%s/wt-collector-XXXXXX",
		access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(base))
		return -1;
	wt_log__set_level(WT_LOG_QUIET);
	wt_settings__defaults(&s->options.settings);
	snprintf(s->options.output, sizeof(s->options.output), "%s/t.db", base);
	s->options.session_dir = base;
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	char command[128], small[80];

	snprintf(small, sizeof(small), "%s/small", base);
	umount(small); /* of a test that failed */
	snprintf(command, sizeof(command), "rm -rf %s", base);
	free(*state);
	return system(command);
}

/* `hook` runs in the collector alone. */
static void start(struct session *s, int (*hook)(const char *))
{
	int ready[2], control[2];
	char line[PATH_MAX + 64] = "";
	ssize_t n;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control), 0);
	s->collector = fork();
	if (!s->collector) {
		close(ready[0]);
		close(control[0]);
		s->options.ready_fd = ready[1];
		s->options.control_fd = control[1];
		signal(SIGPIPE, SIG_IGN);
		wt_fault_hook = hook;
		_exit(wt_collector__run(&s->options));
	}
	close(ready[1]);
	close(control[1]);
	s->control = control[0];
	n = read(ready[0], line, sizeof(line) - 1);
	close(ready[0]);
	line[n > 0 ? n : 0] = 0;
	line[strcspn(line, "\n")] = 0;
	snprintf(s->dir, sizeof(s->dir), "%s", strncmp(line, "session ", 8) ? "" : line + 8);
	snprintf(s->last, sizeof(s->last), "%.500s", line);
}

static int wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Tells it that the command has ended; its exit status. */
static int finish(struct session *s)
{
	char text[4096] = "", *last;
	size_t got = 0;
	ssize_t n;

	(void)!send(s->control, "ended 1\n", 8, MSG_NOSIGNAL);
	while (got < sizeof(text) - 1 &&
		(n = read(s->control, text + got, sizeof(text) - 1 - got)) > 0)
		got += (size_t)n;
	close(s->control);
	text[got] = 0;
	while (got && text[got - 1] == '\n')
		text[--got] = 0;
	last = strrchr(text, '\n');
	snprintf(s->last, sizeof(s->last), "%.500s", last ? last + 1 : text);
	return wait_for(s->collector);
}

static pid_t produce(
	struct session *s, uint32_t threads, uint64_t calls, bool memfd, uint64_t pause_every)
{
	pid_t pid = fork();

	if (!pid) {
		close(s->control);
		_exit(producer__run(s->dir, threads, calls, memfd, pause_every) ? 9 : 0);
	}
	return pid;
}

/* ---- the trace -------------------------------------------------------------------- */

static int64_t number(const char *sql)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *db;
	char path[PATH_MAX];
	int64_t value;

	snprintf(path, sizeof(path), "%s/t.db", base);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
		sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	value = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return value;
}

/* recorded + lost = executed (+ in flight, which are recorded); each once. */
static void check_all_there(uint64_t executed)
{
	int64_t calls = number("SELECT count(*) FROM wt_api");
	int64_t ops = number("SELECT count(*) FROM wt_op");
	int64_t lost_calls = number("SELECT ifnull(sum(count), 0) FROM wt_lost WHERE cause LIKE "
				    "'call.%'");
	int64_t lost_ops = number("SELECT ifnull(sum(count), 0) FROM wt_lost WHERE cause LIKE "
				  "'operation.%'");

	if (calls + lost_calls != (int64_t)executed || ops + lost_ops != (int64_t)executed)
		fail_msg("%lld calls + %lld, %lld operations + %lld: not %llu", (long long)calls,
			(long long)lost_calls, (long long)ops, (long long)lost_ops,
			(unsigned long long)executed);
	assert_int_equal(number("SELECT count(*) FROM (SELECT DISTINCT lane_id, packet FROM "
				"wt_op)"),
		ops);
	assert_int_equal(number("SELECT count(*) FROM wt_op o JOIN wt_state s ON s.id = "
				"o.state_id WHERE s.in_flight"),
		0);
	assert_int_equal(number("SELECT count(*) FROM wt_op o JOIN wt_shape sh ON sh.id = "
				"o.shape_id WHERE sh.symbol_id IS NULL"),
		0);
}

static void check_nothing_left(struct session *s)
{
	char path[3 * PATH_MAX];

	assert_int_equal(access(s->dir, F_OK), -1);
	snprintf(path, sizeof(path), "%s.wtseg", s->options.output);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "ls %s | grep -qv '^t.db$'", base);
	assert_int_not_equal(system(path), 0);
}

static void recover(struct session *s)
{
	struct wt_recover_result result;
	struct wt_err *err = NULL;

	if (wt_recover__run(s->dir, NULL, false, &result, &err))
		fail_msg("recover: %s", wt_err__text(err));
}

/* ---- tests --------------------------------------------------------------------------- */

static void test_plain(void **state)
{
	struct session *s = *state;
	pid_t pids[3];

	start(s, NULL);
	for (int i = 0; i < 3; i++)
		pids[i] = produce(s, 2, 3000, false, 300);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wait_for(pids[i]), 0);
	assert_int_equal(finish(s), 0);
	assert_int_equal(strncmp(s->last, "done ", 5), 0);
	check_all_there(3 * 2 * 3000);
	assert_int_equal(number("SELECT count(*) FROM wt_process"), 3);
	assert_int_equal(number("SELECT count(*) FROM wt_thread"), 6);
	assert_int_equal(number("SELECT count(*) FROM wt_op WHERE start IS NULL"), 0);
	check_nothing_left(s);
}

static void test_memfd(void **state)
{
	struct session *s = *state;

	start(s, NULL);
	assert_int_equal(wait_for(produce(s, 2, 2000, true, 200)), 0);
	assert_int_equal(finish(s), 0);
	check_all_there(2 * 2000);
	check_nothing_left(s);
}

/* Ends on its own when nobody is above it. */
static void test_by_hand(void **state)
{
	struct session *s = *state;

	start(s, NULL);
	close(s->control); /* as if the starter had been killed */
	s->control = -1;
	assert_int_equal(wait_for(produce(s, 1, 100, false, 0)), 0);
	assert_int_equal(wait_for(s->collector), 0);
	check_all_there(100);
	check_nothing_left(s);
}

/* In flight at a SIGKILL, and a call that never came back. */
static void test_producer_killed(void **state)
{
	struct session *s = *state;
	pid_t pid;

	start(s, NULL);
	pid = fork();
	if (!pid) {
		struct producer p;
		struct producer_thread t;
		struct producer_slots q;
		uint64_t index, now = wt_clock__boottime_ns();

		producer__join(&p, s->dir, false);
		producer__device(&p, 0);
		producer__queue(&p, 0, 0, 0);
		producer__gpu_clock(&p, 0, now / 10, now / 10 * 10);
		producer__gpu_clock(&p, 0, now / 10 + 1000, now / 10 * 10 + 10000);
		producer__thread(&p, &t, 65536);
		producer__slots(&p, &q, 64, 0, 0);
		for (uint64_t i = 0; i < 20; i++) {
			uint64_t corr = producer__call(&t, 0, now, now + 1);

			producer__dispatch(&q, corr, 0x100, 1, WT_SLOT_TIMED, &index);
			if (i % 4)
				producer__complete(&q, index, now / 10 + 1, now / 10 + 2);
		}
		atomic_store(&t.ring.shared->call_corr, WT_CORR((uint64_t)t.index, t.count + 1));
		atomic_store(&t.ring.shared->call_api, 3);
		atomic_store(&t.ring.shared->call_start_tsc, now + 5);
		raise(SIGKILL);
	}
	assert_int_equal(WTERMSIG(wait_for(pid)), SIGKILL);
	assert_int_equal(finish(s), 0);
	assert_int_equal(number("SELECT count(*) FROM wt_op"), 20);
	assert_int_equal(number("SELECT count(*) FROM wt_op o JOIN wt_state s ON s.id = "
				"o.state_id WHERE s.in_flight"),
		5);
	assert_int_equal(number("SELECT count(*) FROM wt_op WHERE start IS NOT NULL"), 15);
	assert_int_equal(number("SELECT count(*) FROM wt_api"), 21);
	assert_int_equal(number("SELECT count(*) FROM wt_api WHERE duration IS NULL"), 1);
	assert_true(number("SELECT ended FROM wt_process") > 0);
}

static void test_exec(void **state)
{
	struct session *s = *state;
	pid_t pid;

	start(s, NULL);
	pid = fork();
	if (!pid) {
		/* what an exec'ed image does: the same process joins again */
		producer__run(s->dir, 1, 50, false, 0);
		_exit(producer__run(s->dir, 1, 70, false, 0));
	}
	assert_int_equal(wait_for(pid), 0);
	assert_int_equal(finish(s), 0);
	check_all_there(120);
	assert_int_equal(number("SELECT count(*) FROM wt_process"), 2);
	assert_int_equal(number("SELECT exit_kind FROM wt_process ORDER BY id"), WT_EXIT_EXEC);
	assert_int_equal(number("SELECT count(DISTINCT pid) FROM wt_process"), 1);
	assert_true(number("SELECT ended FROM wt_process ORDER BY id") > 0);
}

/* The output's directory goes read-only, the store cannot be written: nothing is thrown away. */
static int fail_build(const char *what)
{
	return strcmp(what, "build") ? 0 : ENOSPC;
}

static int fail_rename(const char *what)
{
	return strcmp(what, "rename") ? 0 : EACCES;
}

static void test_output_fails(void **state)
{
	int (*const hooks[])(const char *) = {fail_build, fail_rename};

	for (size_t i = 0; i < 2; i++) {
		struct session *s = *state;

		start(s, hooks[i]);
		assert_int_equal(wait_for(produce(s, 1, 500, false, 100)), 0);
		assert_int_equal(WEXITSTATUS(finish(s)), 1);
		assert_int_equal(strncmp(s->last, "failed ", 7), 0);
		assert_int_equal(access(s->options.output, F_OK), -1);
		recover(s);
		check_all_there(500);
		check_nothing_left(s);
		unlink(s->options.output);
	}
}

/* Each write of the segment fails once, in turn: it is repeated, nothing is lost or doubled. */
static int nth_write;

static int fail_nth_write(const char *what)
{
	return strcmp(what, "write") || nth_write-- ? 0 : ENOSPC;
}

static void test_write_fails_once(void **state)
{
	struct session *s = *state;

	for (int nth = 1; nth < 16; nth += stride()) {
		nth_write = nth;
		start(s, fail_nth_write);
		if (!*s->dir) {
			/* the very first ones: refused before anything was started */
			assert_non_null(strstr(s->last, "No space left"));
			assert_int_equal(WEXITSTATUS(finish(s)), 1);
			continue;
		}
		assert_int_equal(wait_for(produce(s, 1, 1500, false, 100)), 0);
		assert_int_equal(finish(s), 0);
		check_all_there(1500);
		check_nothing_left(s);
		unlink(s->options.output);
	}
}

/* SIGKILL of the collector at its n-th step, wherever that is; then recover, twice. */
static int steps_left;

static int die(const char *what)
{
	(void)what;
	if (steps_left-- == 0)
		raise(SIGKILL);
	return 0;
}

static void test_collector_killed(void **state)
{
	struct session *s = *state;
	int killed = 0, finished = 0;

	for (int step = 4; step < 80 && !finished; step += step < 30 ? stride() : 7) {
		pid_t pid;
		int status;

		steps_left = step;
		start(s, die);
		if (!*s->dir) {
			close(s->control);
			wait_for(s->collector);
			tear_down(state);
			set_up(state);
			s = *state;
			continue;
		}
		pid = produce(s, 2, 1000, false, 50);
		assert_int_equal(wait_for(pid), 0);
		status = finish(s);
		finished = !WIFSIGNALED(status);
		if (!finished) {
			killed++;
			recover(s);
		}
		check_all_there(2000);
		check_nothing_left(s);
		unlink(s->options.output);
	}
	assert_true(killed > 5);
}

/* The same at random moments, from outside. */
static void test_collector_killed_at_random(void **state)
{
	struct session *s = *state;

	srand(7);
	for (int round = 0; round < 24 / stride(); round++) {
		pid_t pid;

		start(s, NULL);
		pid = produce(s, 2, 2000, false, 100);
		usleep((useconds_t)(rand() % 40000));
		kill(s->collector, SIGKILL);
		assert_int_equal(wait_for(pid), 0);
		finish(s);
		recover(s);
		check_all_there(4000);
		check_nothing_left(s);
		unlink(s->options.output);
	}
}

/* recover itself is killed at its n-th step, and run again. */
static void test_recover_killed(void **state)
{
	struct session *s = *state;
	int again = 1;

	for (int step = 0; again; step++) {
		pid_t pid;

		start(s, NULL);
		pid = produce(s, 1, 1000, false, 50);
		usleep(3000);
		kill(s->collector, SIGKILL);
		assert_int_equal(wait_for(pid), 0);
		finish(s);
		pid = fork();
		if (!pid) {
			struct wt_recover_result result;

			steps_left = step;
			wt_fault_hook = die;
			_exit(wt_recover__run(s->dir, NULL, false, &result, NULL) ? 1 : 0);
		}
		again = wait_for(pid);
		if (again)
			recover(s);
		check_all_there(1000);
		check_nothing_left(s);
		unlink(s->options.output);
		assert_true(step < 50);
	}
}

static void test_recover_refuses(void **state)
{
	struct session *s = *state;
	struct wt_recover_result result;
	struct wt_err *err = NULL;
	char path[3 * PATH_MAX];

	start(s, NULL);
	assert_int_equal(wt_recover__run(s->dir, NULL, false, &result, &err), -EBUSY);
	snprintf(path, sizeof(path), "%s.wtseg", s->options.output);
	assert_int_equal(wt_recover__run(path, NULL, false, &result, &err), -EBUSY);
	assert_true(wt_recover__run("/nonexistent", NULL, false, &result, &err) < 0);
	assert_true(wt_recover__run(base, NULL, false, &result, &err) < 0);
	wt_err__free(err);
	assert_int_equal(wait_for(produce(s, 1, 10, false, 0)), 0);
	assert_int_equal(finish(s), 0);
	check_all_there(10);
}

/* From the segment alone, and with its session directory found by its name in there. */
static void test_recover_segment(void **state)
{
	struct session *s = *state;
	struct wt_recover_result result;
	char path[3 * PATH_MAX], command[3 * PATH_MAX];

	for (int keep = 0; keep < 2; keep++) {
		start(s, NULL);
		assert_int_equal(wait_for(produce(s, 1, 500, false, 100)), 0);
		usleep(150000);
		kill(s->collector, SIGKILL);
		finish(s);
		snprintf(path, sizeof(path), "%s.wtseg", s->options.output);
		snprintf(command, sizeof(command), "rm -rf %s", s->dir);
		if (!keep)
			assert_int_equal(system(command), 0);
		assert_int_equal(wt_recover__run(path, NULL, false, &result, NULL), 0);
		check_all_there(500);
		check_nothing_left(s);
		unlink(s->options.output);
	}
}

/* An existing file: refused, replaced, added to. */
static void test_exists(void **state)
{
	struct session *s = *state;

	start(s, NULL);
	assert_int_equal(wait_for(produce(s, 1, 100, false, 0)), 0);
	assert_int_equal(finish(s), 0);
	start(s, NULL);
	assert_string_equal(s->dir, "");
	assert_non_null(strstr(s->last, "--append"));
	assert_int_equal(WEXITSTATUS(finish(s)), 1);
	check_all_there(100);
	s->options.exists = WT_STORE_APPEND;
	start(s, NULL);
	assert_int_equal(wait_for(produce(s, 1, 200, false, 0)), 0);
	assert_int_equal(finish(s), 0);
	assert_int_equal(number("SELECT count(*) FROM wt_run"), 2);
	check_all_there(300);
	s->options.exists = WT_STORE_REPLACE;
	start(s, NULL);
	assert_int_equal(wait_for(produce(s, 1, 50, false, 0)), 0);
	assert_int_equal(finish(s), 0);
	check_all_there(50);
	check_nothing_left(s);
}

/* An addition whose collector was killed at any step is made once. */
static void test_append_killed(void **state)
{
	struct session *s = *state;

	for (int step = 5; step < 40; step += stride()) {
		int status;

		s->options.exists = WT_STORE_REPLACE;
		start(s, NULL);
		assert_int_equal(wait_for(produce(s, 1, 100, false, 0)), 0);
		assert_int_equal(finish(s), 0);
		s->options.exists = WT_STORE_APPEND;
		steps_left = step;
		start(s, die);
		assert_string_not_equal(s->dir, "");
		assert_int_equal(wait_for(produce(s, 1, 200, false, 0)), 0);
		status = finish(s);
		if (WIFSIGNALED(status))
			recover(s);
		check_all_there(300);
		check_nothing_left(s);
		if (!WIFSIGNALED(status))
			break;
	}
}

/* A session directory with room for next to nothing: the producer's files do not fit. */
static void test_tiny_session_dir(void **state)
{
	struct session *s = *state;
	char small[PATH_MAX];
	int fd;

	snprintf(small, sizeof(small), "%s/small", base);
	mkdir(small, 0700);
	if (mount("tmpfs", small, "tmpfs", 0, "size=16k")) {
		print_message("cannot mount a small tmpfs: skipped\n");
		skip();
	}
	s->options.session_dir = small;
	start(s, NULL);
	assert_string_not_equal(s->dir, "");
	/* files do not fit, memfds do: the library tries them in this order */
	assert_int_not_equal(wait_for(produce(s, 1, 100, false, 0)), 0);
	assert_int_equal(wait_for(produce(s, 1, 100, true, 0)), 0);
	assert_int_equal(finish(s), 0);
	check_all_there(100);
	assert_int_equal(access(s->dir, F_OK), -1);
	/* no room even for the session itself */
	snprintf(s->dir, sizeof(s->dir), "%s/fill", small);
	fd = open(s->dir, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	for (off_t bytes = 0; !posix_fallocate(fd, bytes, 4096);)
		bytes += 4096;
	close(fd);
	unlink(s->options.output);
	start(s, NULL);
	assert_non_null(strstr(s->last, "error: "));
	finish(s);
	assert_int_equal(umount(small), 0);
}

/* Joins, stops so that the test can go on, then works. */
static int join_stop_and_work(const char *dir, bool memfd, uint32_t threads, uint64_t calls)
{
	struct producer p;
	struct wt_ring *ring = &p.definitions;

	if (producer__join(&p, dir, memfd))
		return 9;
	/* the collector knows us, and will learn of our end, when it has read this */
	producer__device(&p, 1);
	while (atomic_load(&ring->shared->tail) != atomic_load(&ring->shared->head))
		usleep(1000);
	raise(SIGSTOP);
	return producer__work(&p, threads, calls, 0) ? 9 : 0;
}

static void wait_until_stopped(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
}

/*
 * The files and the end of a process reach the collector together: no descriptor that was handed
 * over stays behind.
 */
static void test_ended_at_once(void **state)
{
	struct session *s = *state;
	pid_t pid;
	int status;

	start(s, NULL);
	pid = fork();
	if (!pid) {
		close(s->control);
		_exit(join_stop_and_work(s->dir, true, 8, 100));
	}
	wait_until_stopped(pid);
	kill(s->collector, SIGSTOP);
	assert_int_equal(waitpid(s->collector, &status, WUNTRACED), s->collector);
	assert_true(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	assert_int_equal(wait_for(pid), 0);
	kill(s->collector, SIGCONT);
	assert_int_equal(finish(s), 0);
	check_all_there(800);
}

/* What the starter said holds, even if it goes before anybody has asked; the program's own word
 * does not count against it. */
static void test_starter_gone_after_its_word(void **state)
{
	struct session *s = *state;
	int go[2];
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		char dir[2 * PATH_MAX] = "";

		close(go[1]);
		if (read(go[0], dir, sizeof(dir) - 1) <= 0)
			_exit(9);
		_exit(join_stop_and_work(dir, false, 1, 100));
	}
	close(go[0]);
	s->options.primary = pid;
	start(s, NULL);
	assert_int_equal(write(go[1], s->dir, strlen(s->dir)), (ssize_t)strlen(s->dir));
	close(go[1]);
	wait_until_stopped(pid);
	assert_int_equal(send(s->control, "ended 2\n", 8, 0), 8);
	close(s->control);
	kill(pid, SIGCONT);
	assert_int_equal(wait_for(pid), 0);
	assert_int_equal(wait_for(s->collector), 0);
	check_all_there(100);
	assert_int_equal(number("SELECT exit_kind FROM wt_process"), WT_EXIT_KILLED);
}

/* A file cut short under the collector ends nothing but its own events. */
static void test_cut_short(void **state)
{
	struct session *s = *state;
	pid_t pid, good;

	start(s, NULL);
	pid = fork();
	if (!pid) {
		struct producer p;
		struct producer_thread t;
		struct producer_slots q;

		producer__join(&p, s->dir, false);
		producer__thread(&p, &t, 65536);
		producer__slots(&p, &q, 64, 0, 0);
		usleep(50000);
		for (unsigned kind = WT_FILE_PROCESS; kind <= WT_FILE_SLOTS; kind++) {
			char name[32];
			int fd;

			wt_session__file_name(name, kind, p.shared->number, 0);
			fd = openat(p.dir_fd, name, O_RDWR | O_CLOEXEC);
			/* the header last: we read the process number in it */
			if (fd < 0 || (kind != WT_FILE_PROCESS && ftruncate(fd, 0)))
				_exit(1);
		}
		if (ftruncate(openat(p.dir_fd, p.shared->number ? "p1" : "p0", O_RDWR | O_CLOEXEC),
			    0))
			_exit(1);
		usleep(50000);
		_exit(0);
	}
	good = produce(s, 1, 1000, false, 100);
	assert_int_equal(wait_for(pid), 0);
	assert_int_equal(wait_for(good), 0);
	assert_int_equal(finish(s), 0);
	check_all_there(1000);
}

static void test_stale_sessions(void **state)
{
	struct session *s = *state;
	char old[2 * PATH_MAX];

	start(s, NULL);
	assert_int_equal(wait_for(produce(s, 1, 10, false, 0)), 0);
	usleep(100000);
	kill(s->collector, SIGKILL);
	finish(s);
	strcpy(old, s->dir);
	/* not finished: it stays, whatever else is done here */
	snprintf(s->options.output, sizeof(s->options.output), "%s/other.db", base);
	start(s, NULL);
	finish(s);
	assert_int_equal(access(old, F_OK), 0);
	strcpy(s->dir, old);
	recover(s);
	assert_int_equal(access(old, F_OK), -1);
	check_all_there(10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_plain),
		TEST(test_memfd),
		TEST(test_ended_at_once),
		TEST(test_starter_gone_after_its_word),
		TEST(test_by_hand),
		TEST(test_producer_killed),
		TEST(test_exec),
		TEST(test_output_fails),
		TEST(test_write_fails_once),
		TEST(test_collector_killed),
		TEST(test_collector_killed_at_random),
		TEST(test_recover_killed),
		TEST(test_recover_refuses),
		TEST(test_recover_segment),
		TEST(test_exists),
		TEST(test_append_killed),
		TEST(test_tiny_session_dir),
		TEST(test_cut_short),
		TEST(test_stale_sessions),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
