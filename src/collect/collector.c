// SPDX-License-Identifier: MIT
#include "collect/collector_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "collect/finish.h"
#include "collect/hello.h"
#include "collect/output.h"
#include "core/clock.h"
#include "store/reader.h"

#define MS 1000000ull

/*
 * Pauses between two passes. A busy program fills a ring of 256 KiB in 6 ms at
 * the earliest (a launch every 2 us), so with a program there a pause never
 * exceeds 4 ms, however long it was idle: that is 250 wake-ups a second, a
 * tenth of a per cent of one core. The full 20 ms are for no program at all.
 */
#define PAUSE_BUSY_NS  (1 * MS)
#define PAUSE_ALIVE_NS (4 * MS)
#define PAUSE_IDLE_NS  (20 * MS)

#define SAMPLE_NS   (100 * MS)
#define SLOW_NS     (100 * MS)   /* what is looked at now and then */
#define GRACE_NS    (500 * MS)   /* by hand: nobody joined for this long */
#define NEVER_NS    (30000 * MS) /* by hand: nobody ever joined */
#define HIDDEN_NS   (2000 * MS)  /* processes whose pid we cannot see */
#define JOINING_NS  (1000 * MS)  /* a number was taken, its file did not come */
#define PRIMARY_NS  (1000 * MS)  /* the starter's word on how its command ended */
#define CONNECTIONS 256
#define EVENTS      32

enum tag { TAG_LISTEN = 1, TAG_CONTROL, TAG_CONNECTION, TAG_PROCESS };

void wt_collector__tell(struct wt_collector *c, const char *format, ...)
{
	char line[PATH_MAX + 512];
	va_list args;
	int n;

	if (c->options->control_fd < 0)
		return;
	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	/* never waits: the starter may be stopped (Ctrl-Z) while its program goes on */
	(void)!send(c->options->control_fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void watch(struct wt_collector *c, int fd, enum tag tag, uint32_t number)
{
	struct epoll_event event = {.events = EPOLLIN,
		.data.u64 =
			(uint64_t)tag << 56 | (uint64_t)(number & 0xffffff) << 32 | (uint32_t)fd};

	if (fd >= 0)
		epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* ---- processes ------------------------------------------------------------------ */

static int know_process(struct wt_collector *c, uint32_t number)
{
	if (number >= WT_PROCESS_MAX_RINGS * 16)
		return -EINVAL;
	while (c->processes.cnt <= number)
		if (wt_vec__push(&c->processes, NULL))
			return -ENOMEM;
	return 0;
}

/* The same process joined before: what it was then has ended by exec. */
static void end_earlier_image(struct wt_collector *c, const struct wt_process *joined)
{
	for (size_t i = 0; i < c->processes.cnt; i++) {
		struct wt_process *p = c->processes.data[i];

		if (!p || p == joined || p->exited || !p->pid || p->pid != joined->pid ||
			p->start_ticks != joined->start_ticks)
			continue;
		p->exited = true;
		p->exit_kind = WT_EXIT_EXEC;
		p->ended_ns = wt_clock__boottime_ns();
	}
}

/* Its pid, from its hello; or without one (yet) from its own word, if that can be confirmed. */
static void identify(struct wt_collector *c, struct wt_process *p, pid_t pid)
{
	if (p->pid || p->exited)
		return;
	wt_process__identify(p, pid > 0 ? pid : 0);
	if (!p->pid)
		return;
	end_earlier_image(c, p);
	watch(c, p->pid_fd, TAG_PROCESS, p->number);
	c->next_slow_ns = 0; /* it may have ended by now: look at once */
}

static void open_process(struct wt_collector *c, uint32_t number, pid_t pid, int fd)
{
	struct wt_process *p;

	if (know_process(c, number)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	p = c->processes.data[number];
	if (p) {
		/* found by its number before its hello came */
		if (fd >= 0)
			close(fd);
		if (!p->finished)
			identify(c, p, pid);
		return;
	}
	if (wt_process__open(&p, c->dir.fd, number, fd))
		return;
	p->session = c->dir.shared;
	c->processes.data[number] = p;
	c->opened_cnt++;
	c->last_change_ns = wt_clock__boottime_ns();
	identify(c, p, pid);
	wt_process__write_start(p, &c->writer);
	wt_info("process joined: number=%u pid=%d command=%.200s", number, (int)p->pid,
		p->shared->command);
}

/* Numbers that were taken and whose hello did not come (or came before its file). */
static void look_for_processes(struct wt_collector *c)
{
	uint32_t cnt = atomic_load_explicit(&c->dir.shared->process_cnt, memory_order_acquire);

	if (cnt <= c->opened_cnt)
		return;
	for (uint32_t number = 0; number < cnt; number++) {
		if (number < c->processes.cnt && c->processes.data[number])
			continue;
		if (know_process(c, number))
			return;
		open_process(c, number, 0, -1);
	}
}

static void take_hello(struct wt_collector *c, const struct wt_hello *hello, int fd, pid_t pid)
{
	struct wt_process *p;

	if (hello->session_id != c->dir.shared->session_id) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (hello->kind == WT_FILE_PROCESS) {
		open_process(c, hello->process, pid, fd);
		return;
	}
	if (hello->process < c->processes.cnt && !c->processes.data[hello->process])
		open_process(c, hello->process, pid, -1);
	p = hello->process < c->processes.cnt ? c->processes.data[hello->process] : NULL;
	/* only the process itself may add to what it has */
	if (fd >= 0 && p && !p->finished && (!p->pid || p->pid == pid))
		wt_process__adopt(p, hello->kind, hello->number, fd);
	else if (fd >= 0)
		close(fd);
}

static void read_connection(struct wt_collector *c, int connection)
{
	struct wt_hello hello;
	pid_t pid;
	int fd, rc = wt_hello__receive(connection, &hello, &fd, &pid);

	if (!rc)
		return;
	if (rc == 1)
		take_hello(c, &hello, fd, pid);
	close(connection);
	c->connection_cnt--;
}

static void accept_all(struct wt_collector *c)
{
	int connection;

	while ((connection = wt_hello__accept(c->dir.listen_fd)) >= 0) {
		if (c->connection_cnt >= CONNECTIONS) {
			close(connection);
			continue;
		}
		c->connection_cnt++;
		watch(c, connection, TAG_CONNECTION, 0);
	}
}

/* ---- the starter ------------------------------------------------------------------ */

static void obey(struct wt_collector *c, const char *line)
{
	unsigned kind;

	if (!strcmp(line, "stop"))
		c->stop = true;
	if (!strcmp(line, "discard"))
		c->stop = c->discard = true;
	if (sscanf(line, "ended %u", &kind) == 1 && !c->primary_ended_ns) {
		c->primary_kind = kind;
		c->primary_ended_ns = wt_clock__boottime_ns();
	}
}

static void read_control(struct wt_collector *c)
{
	ssize_t n = recv(c->options->control_fd, c->control + c->control_bytes,
		sizeof(c->control) - 1 - c->control_bytes, MSG_DONTWAIT);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		/* it was killed: go on as for a program that was started by hand */
		c->starter_gone = true;
		epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, c->options->control_fd, NULL);
		return;
	}
	c->control_bytes += (size_t)n;
	c->control[c->control_bytes] = 0;
	while ((end = strchr(c->control, '\n'))) {
		*end = 0;
		obey(c, c->control);
		c->control_bytes -= (size_t)(end + 1 - c->control);
		memmove(c->control, end + 1, c->control_bytes + 1);
	}
	if (c->control_bytes == sizeof(c->control) - 1)
		c->control_bytes = 0;
}

static void dispatch(struct wt_collector *c, uint64_t data)
{
	struct wt_process *p;
	int fd = (int)(uint32_t)data;
	uint32_t number = data >> 32 & 0xffffff;

	switch (data >> 56) {
	case TAG_LISTEN:
		accept_all(c);
		break;
	case TAG_CONTROL:
		read_control(c);
		break;
	case TAG_CONNECTION:
		read_connection(c, fd);
		break;
	case TAG_PROCESS:
		p = number < c->processes.cnt ? c->processes.data[number] : NULL;
		epoll_ctl(c->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		if (p && !p->exited && !wt_process__alive(p)) {
			p->exited = true;
			p->ended_ns = wt_clock__boottime_ns();
		}
		break;
	}
}

/* ---- the loop ---------------------------------------------------------------------- */

int wt_collector__sample(struct wt_collector *c)
{
	struct wt_clock_sample sample;
	int rc;

	wt_clock__sample(&sample);
	rc = wt_segment__add(&c->writer, WT_FRAME_CLOCK, UINT32_MAX, 0, 0, &sample, sizeof(sample));
	if (!rc)
		rc = wt_drain__commit(&c->drain);
	if (!rc)
		/* release: pairs with the builder's acquire; the file holds all below */
		atomic_store_explicit(&c->live.limit, c->writer.written, memory_order_release);
	return rc;
}

/*
 * A disk that is full may get room again; meanwhile rings and slots fill up and
 * the producers count what does not fit. That is said in the trace; where it
 * never gets room, the end says so.
 */
static void watch_writes(struct wt_collector *c, int rc, uint64_t now)
{
	char text[160];

	if (rc) {
		if (!c->failing_since_ns)
			c->failing_since_ns = now;
		c->failing = rc;
		return;
	}
	if (!c->failing_since_ns)
		return;
	snprintf(text, sizeof(text), "the segment could not be written for %llu ms: %s",
		(unsigned long long)((now - c->failing_since_ns) / MS), strerror(-c->failing));
	wt_segment__add(&c->writer, WT_FRAME_NOTE, UINT32_MAX, 1, 0, text, strlen(text));
	c->failing_since_ns = 0;
	c->failing = 0;
}

static int drain_pass(struct wt_collector *c)
{
	int rc = 0;

	c->drain.pass_bytes = 0;
	c->drain.pressure = 0;
	/* what the last pass could not write goes first */
	if (c->drain.rings.cnt || c->drain.slots.cnt)
		rc = wt_drain__commit(&c->drain);
	for (size_t i = 0; i < c->processes.cnt && !rc; i++) {
		struct wt_process *p = c->processes.data[i];

		if (p && !p->finished)
			rc = wt_process__drain(p, &c->drain);
	}
	if (!rc)
		rc = wt_drain__commit(&c->drain);
	return rc;
}

/* The command's own process waits for the starter's word on how it ended. */
static bool kind_is_known(struct wt_collector *c, struct wt_process *p, uint64_t now)
{
	bool primary = c->options->primary && p->pid == c->options->primary;

	if (p->exit_kind == WT_EXIT_EXEC)
		return true;
	if (primary && c->primary_ended_ns) { /* whatever became of the starter since */
		p->exit_kind = c->primary_kind;
		return true;
	}
	if (!primary || c->starter_gone) {
		if (atomic_load(&p->shared->state) == WT_PROCESS_LEFT)
			p->exit_kind = WT_EXIT_EXITED;
		return true;
	}
	return now - p->ended_ns > PRIMARY_NS;
}

/* False where there was nothing to hear of. */
static bool wait_for_events(struct wt_collector *c, uint64_t ns)
{
	struct epoll_event events[EVENTS];
	struct timespec timeout = {.tv_nsec = (long)ns};
	int cnt = epoll_pwait2(c->epoll_fd, events, EVENTS, &timeout, NULL);

	if (cnt < 0 && errno == ENOSYS)
		cnt = epoll_wait(c->epoll_fd, events, EVENTS, (int)((ns + MS - 1) / MS));
	for (int i = 0; i < cnt; i++)
		dispatch(c, events[i].data.u64);
	return cnt > 0;
}

/* What was handed over lies in the sockets: two events a connection, for coming and for saying. */
static void hear_all(struct wt_collector *c)
{
	for (int i = 0; i < 2 * CONNECTIONS / EVENTS && wait_for_events(c, 0); i++)
		;
}

/* A process that has ended says nothing more: what it said is heard, then its end is written. */
static int finish_ended(struct wt_collector *c, uint64_t now)
{
	bool hear = false;
	int rc = 0;

	for (size_t i = 0; i < c->processes.cnt; i++) {
		struct wt_process *p = c->processes.data[i];

		if (p && p->exited && !p->heard)
			hear = p->heard = true;
	}
	if (hear)
		hear_all(c);
	for (size_t i = 0; i < c->processes.cnt && !rc; i++) {
		struct wt_process *p = c->processes.data[i];

		if (!p || p->finished || !p->heard || !kind_is_known(c, p, now))
			continue;
		rc = wt_process__finish(p, &c->drain);
		if (rc)
			break;
		wt_process__unlink(p);
		c->finished_cnt++;
		c->last_change_ns = now;
		wt_info("process ended: number=%u", p->number);
	}
	return rc;
}

/* For pids without pidfd, and for a join whose hello was lost. */
static void look_now_and_then(struct wt_collector *c, uint64_t now)
{
	for (size_t i = 0; i < c->processes.cnt; i++) {
		struct wt_process *p = c->processes.data[i];

		if (!p || p->exited || wt_process__alive(p))
			continue;
		p->exited = true;
		p->ended_ns = now;
	}
}

static bool all_ended(const struct wt_collector *c, bool hidden_count)
{
	for (size_t i = 0; i < c->processes.cnt; i++) {
		const struct wt_process *p = c->processes.data[i];

		/* what has ended but cannot be written is for the end to deal with */
		if (p && !p->finished && !(c->failing && p->exited) && (p->pid || hidden_count))
			return false;
	}
	return true;
}

static bool is_over(const struct wt_collector *c, uint64_t now)
{
	uint32_t joined = atomic_load_explicit(&c->dir.shared->process_cnt, memory_order_acquire);
	uint64_t quiet = now - c->last_change_ns;

	if (c->stop)
		return true;
	if (c->primary_ended_ns) {
		if (c->options->wait_primary)
			return true;
		if (joined > c->opened_cnt && now - c->primary_ended_ns < JOINING_NS)
			return false;
		return all_ended(c, now - c->primary_ended_ns < HIDDEN_NS);
	}
	if (c->options->control_fd >= 0 && !c->starter_gone)
		return false;
	if (!c->opened_cnt)
		return quiet > (c->options->control_fd >= 0 ? HIDDEN_NS : NEVER_NS);
	return quiet > GRACE_NS && all_ended(c, quiet < HIDDEN_NS);
}

static void note(struct wt_collector *c, const char *text)
{
	wt_segment__add(&c->writer, WT_FRAME_NOTE, UINT32_MAX, 0, 0, text, strlen(text) + 1);
}

/* --delay and --for. Producers look at the word at each call and each dispatch. */
static void switch_recording(struct wt_collector *c, uint64_t now)
{
	if (now >= c->on_ns) {
		c->on_ns = UINT64_MAX;
		atomic_store_explicit(&c->dir.shared->off, 0, memory_order_relaxed);
		note(c, "recording began: the time of --delay is over");
	}
	if (now >= c->off_ns) {
		c->off_ns = UINT64_MAX;
		atomic_store_explicit(&c->dir.shared->off, 1, memory_order_relaxed);
		note(c, "recording ended: the time of --for is over");
	}
}

static uint64_t pause_ns(struct wt_collector *c, uint64_t now)
{
	uint64_t change = c->on_ns < c->off_ns ? c->on_ns : c->off_ns;

	if (c->drain.pressure > 0.25)
		return 0;
	/* the end of --delay or --for is near */
	if (change != UINT64_MAX && change < now + PAUSE_IDLE_NS)
		return PAUSE_BUSY_NS;
	if (c->drain.pressure > 0.06)
		return PAUSE_BUSY_NS / 4;
	if (c->drain.pass_bytes)
		c->last_busy_ns = now;
	if (now - c->last_busy_ns < 20 * MS)
		return PAUSE_BUSY_NS;
	return c->opened_cnt > c->finished_cnt ? PAUSE_ALIVE_NS : PAUSE_IDLE_NS;
}

static void collect(struct wt_collector *c)
{
	for (;;) {
		uint64_t now = wt_clock__boottime_ns();
		uint64_t pause;
		int rc;

		switch_recording(c, now);
		look_for_processes(c);
		rc = drain_pass(c);
		if (!rc)
			rc = finish_ended(c, now);
		if (!rc && now >= c->next_sample_ns) {
			c->next_sample_ns = now + SAMPLE_NS;
			rc = wt_collector__sample(c);
		}
		watch_writes(c, rc, now);
		if (now >= c->next_slow_ns) {
			c->next_slow_ns = now + SLOW_NS;
			look_now_and_then(c, now);
		}
		if (is_over(c, now)) {
			hear_all(c);
			return;
		}
		pause = rc ? PAUSE_IDLE_NS : pause_ns(c, now);
		wait_for_events(c, pause);
	}
}

/* ---- beginning ------------------------------------------------------------------------ */

/*
 * A thread of its own: a slow disk stops the loop, but must not make the
 * traced programs believe that nobody reads any more.
 */
static void *beat(void *arg)
{
	struct wt_collector *c = arg;
	struct timespec pause = {.tv_nsec = 50000000};

	pthread_setname_np(pthread_self(), "wavetap-heart");
	while (!atomic_load_explicit(&c->heart_stop, memory_order_relaxed)) {
		atomic_store_explicit(&c->dir.shared->heartbeat_ns, wt_clock__monotonic_ns(),
			memory_order_relaxed);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void write_metas(struct wt_collector *c)
{
	const struct wt_collect_options *o = c->options;
	char text[256];

	wt_segment__add_meta(&c->writer, "version", WAVETAP_VERSION);
	wt_segment__add_meta(&c->writer, "output", o->output);
	wt_segment__add_meta(&c->writer, "session_dir", c->dir.path);
	wt_segment__add_meta(&c->writer, "command", o->command ? o->command : "");
	snprintf(text, sizeof(text), "%d", (int)o->schema);
	wt_segment__add_meta(&c->writer, "schema", text);
	snprintf(text, sizeof(text), "%d", (int)o->exists);
	wt_segment__add_meta(&c->writer, "exists", text);
	snprintf(text, sizeof(text),
		"want=0x%x hip=%u graph=%u depth=%u follow=%u buffer=%llu ring=%u",
		o->settings.want, o->settings.hip, o->settings.graph, o->settings.depth,
		o->settings.follow, (unsigned long long)o->settings.buffer_bytes,
		o->settings.ring_bytes);
	wt_segment__add_meta(&c->writer, "settings", text);
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)c->dir.shared->session_id);
	wt_segment__add_meta(&c->writer, "session", text);
	snprintf(text, sizeof(text), "%d", (int)getpid());
	wt_segment__add_meta(&c->writer, "collector_pid", text);
}

/* What --append would add to: said now, for at the end it would be too late. */
static int check_addition(const struct wt_collect_options *o, struct wt_err **err)
{
	bool rpd = o->schema == WT_SCHEMA_RPD;
	struct wt_trace trace;
	struct stat st;
	int rc;

	if (o->exists != WT_STORE_APPEND || access(o->output, F_OK))
		return 0;
	/* any database may get RPD's tables, an empty file, too */
	if (rpd && !stat(o->output, &st) && !st.st_size)
		return 0;
	rc = wt_trace__open(&trace, o->output, err);
	if (rc == -EINVAL && rpd) {
		wt_err__clear(err);
		return 0;
	}
	if (rc)
		return wt_err__wrap(err, rc, "cannot add to it");
	if ((trace.kind == WT_TRACE_RPD) != rpd) {
		rc = wt_err__new(err, -EINVAL, "cannot add to it: it is %s: %s",
			rpd ? "a wavetap trace, not an RPD file" : "an RPD file", o->output);
		wt_err__hint(err, rpd ? "leave out --schema rpd" : "--schema rpd adds to it");
	}
	wt_trace__close(&trace);
	return rc;
}

static int set_up(struct wt_collector *c, struct wt_err **err)
{
	const struct wt_collect_options *o = c->options;
	struct wt_build_options build = {.segment = c->segment,
		.output = c->part,
		.schema = o->schema,
		.exists = WT_STORE_REPLACE};
	int rc = wt_output__check(o->output, o->exists, 0, err);

	if (!rc)
		rc = check_addition(o, err);
	if (rc)
		return rc;
	if (wt_output__segment(c->segment, sizeof(c->segment), o->output) ||
		wt_finish__part(c->part, sizeof(c->part), o->output, o->exists))
		return wt_err__errno(err, -ENAMETOOLONG, "%s", o->output);
	wt_session_dir__clean_stale(o->session_dir, o->interactive);
	rc = wt_session_dir__create(&c->dir, o->session_dir, &o->settings, err);
	if (rc)
		return rc;
	atomic_store_explicit(
		&c->dir.shared->primary_pid, (uint32_t)o->primary, memory_order_relaxed);
	rc = wt_segment__create(
		&c->writer, c->segment, c->dir.shared->session_id, c->dir.shared->started_ns, err);
	if (rc) {
		wt_session_dir__remove(&c->dir);
		return rc;
	}
	c->drain.writer = &c->writer;
	(void)!symlinkat(c->segment, c->dir.fd, WT_SEGMENT_LINK);
	write_metas(c);
	rc = wt_collector__sample(c);
	if (rc) {
		wt_err__errno(err, rc, "cannot write %s", c->segment);
		unlink(c->segment);
		wt_session_dir__remove(&c->dir);
		return rc;
	}
	/* an addition is made at the end in one go: half of one could not be taken back */
	if (o->exists != WT_STORE_APPEND) {
		if (wt_live_build__start(&c->live, &build)) {
			wt_err__free(c->live.err);
			c->live.err = NULL;
		}
		atomic_store_explicit(&c->live.limit, c->writer.written, memory_order_release);
	}
	return 0;
}

static void say_ready(struct wt_collector *c, const struct wt_err *err)
{
	int fd = c->options->ready_fd;
	const char *hint = wt_err__hint_text(err);

	if (fd < 0)
		return;
	if (err)
		dprintf(fd, "error: %s%s%s\n", wt_err__text(err), *hint ? "\thint: " : "", hint);
	else
		dprintf(fd, "session %s\n", c->dir.path);
	close(fd);
}

static void tear_down(struct wt_collector *c)
{
	if (c->heart_runs) {
		atomic_store_explicit(&c->heart_stop, true, memory_order_relaxed);
		pthread_join(c->heart, NULL);
	}
	for (size_t i = 0; i < c->processes.cnt; i++)
		wt_process__free(c->processes.data[i]);
	wt_vec__free(&c->processes);
	wt_drain__free(&c->drain);
	wt_segment__close(&c->writer);
	wt_session_dir__close(&c->dir);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	free(c);
}

int wt_collector__run(const struct wt_collect_options *options)
{
	struct wt_collector *c = calloc(1, sizeof(*c));
	struct wt_err *err = NULL;
	int code = 1;

	if (!c)
		return 1;
	c->options = options;
	c->writer.fd = -1;
	c->dir.fd = c->dir.lock_fd = c->dir.listen_fd = -1;
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	wt_mapping__guard();
	/* so that two busy cores of the program leave us our share; refused to most users */
	(void)setpriority(PRIO_PROCESS, 0, -10);
	if (c->epoll_fd < 0)
		wt_err__errno(&err, -errno, "cannot watch the traced processes");
	else
		set_up(c, &err);
	if (!err) {
		c->last_change_ns = wt_clock__boottime_ns();
		c->on_ns = options->delay_ns ? c->last_change_ns + options->delay_ns : UINT64_MAX;
		c->off_ns = options->for_ns
				    ? c->last_change_ns + options->delay_ns + options->for_ns
				    : UINT64_MAX;
		atomic_store_explicit(
			&c->dir.shared->off, options->delay_ns != 0, memory_order_relaxed);
		watch(c, c->dir.listen_fd, TAG_LISTEN, 0);
		watch(c, options->control_fd, TAG_CONTROL, 0);
		c->heart_runs = !pthread_create(&c->heart, NULL, beat, c);
		/* release: pairs with a joining process's acquire */
		atomic_store_explicit(
			&c->dir.shared->state, WT_COLLECTOR_RUNNING, memory_order_release);
	}
	if (options->control_fd >= 0)
		(void)fcntl(options->control_fd, F_SETFL, O_NONBLOCK); /* stderr may be it */
	say_ready(c, err);
	if (!err) {
		collect(c);
		code = c->discard ? wt_collector__discard(c) : wt_collector__finish(c);
	}
	wt_err__free(err);
	tear_down(c);
	return code;
}
