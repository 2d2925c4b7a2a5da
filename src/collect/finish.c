// SPDX-License-Identifier: MIT
/*
 * From the last event to the finished trace. Each step can be the last one
 * that happens (SIGKILL, a full disk): the segment and the session directory
 * go away only when the trace is in its place, so `wavetap recover` finds one
 * or the other.
 */
#include "collect/finish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "collect/collector_private.h"
#include "collect/fault.h"
#include "core/clock.h"

int wt_finish__copy(const char *from, const char *to, struct wt_err **err)
{
	char buffer[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	ssize_t n = -1;
	int rc = 0;

	while (out >= 0 && (n = read(in, buffer, sizeof(buffer))) > 0)
		if (wt_fault_write(out, buffer, (size_t)n) != n) {
			n = -1;
			if (!errno)
				errno = ENOSPC;
			break;
		}
	if (n < 0)
		rc = wt_err__errno(err, -errno, "cannot copy %s to %s", from, to);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return rc;
}

static void note_stored(struct wt_segment_writer *writer, const char *part)
{
	struct wt_frame_stored stored;
	struct stat st;

	if (stat(part, &st))
		return;
	stored = (struct wt_frame_stored){.device = st.st_dev, .inode = st.st_ino};
	/* a failure costs no more than that a second recover builds it again */
	if (!wt_segment__add(writer, WT_FRAME_STORED, UINT32_MAX, 0, 0, &stored, sizeof(stored)))
		wt_segment__flush(writer);
}

int wt_finish__store(struct wt_build *build, const struct wt_build_options *options,
	struct wt_segment_writer *writer, const char *output, struct wt_build_stats *stats,
	struct wt_err **err)
{
	int rc = 0;

	if (!build && options->exists == WT_STORE_APPEND)
		rc = wt_finish__copy(output, options->output, err);
	if (!rc && !build)
		rc = wt_build__open(&build, options, err);
	if (!rc) {
		rc = -wt_fault__check("build");
		if (rc)
			wt_err__errno(err, rc, "cannot write %s", options->output);
		else
			rc = wt_build__advance(build, UINT64_MAX, 0, err);
		if (rc < 0)
			wt_build__abort(build);
		else
			rc = wt_build__close(build, stats, err);
	}
	if (rc) {
		unlink(options->output);
		return rc;
	}
	note_stored(writer, options->output);
	rc = -wt_fault__check("rename");
	if (!rc && rename(options->output, output))
		rc = -errno;
	if (rc) {
		wt_err__errno(err, rc, "cannot put the trace at %s", output);
		unlink(options->output);
	}
	return rc;
}

/* Commits, waiting for a disk that is full to get room: ten seconds, then it must do. */
static int write_the_rest(struct wt_collector *c)
{
	struct timespec pause = {.tv_nsec = 100000000};
	int rc = 0;

	for (int tries = 0; tries < 100; tries++) {
		rc = 0;
		for (size_t i = 0; i < c->processes.cnt && !rc; i++)
			if (c->processes.data[i])
				rc = wt_process__finish(c->processes.data[i], &c->drain);
		if (!rc)
			rc = wt_collector__sample(c);
		if (!rc)
			return 0;
		nanosleep(&pause, NULL);
	}
	return rc;
}

static void say_kept(struct wt_collector *c, const char *text, const char *where)
{
	wt_warn("%s; what was recorded is kept: `wavetap recover %s` finishes the trace", text,
		where);
	wt_collector__tell(c, "failed %s", text);
}

static int store(struct wt_collector *c, struct wt_build_stats *stats, struct wt_err **err)
{
	const struct wt_collect_options *o = c->options;
	struct wt_build_options build = {.segment = c->segment, .output = c->part,
		.schema = o->schema,
		.exists = o->exists == WT_STORE_APPEND ? WT_STORE_APPEND : WT_STORE_REPLACE};
	int rc = wt_live_build__stop(&c->live);

	if (rc) {
		/* from the beginning: what stopped it may have passed */
		wt_build__abort(c->live.build);
		c->live.build = NULL;
		unlink(c->part);
	}
	wt_err__free(c->live.err);
	c->live.err = NULL;
	rc = wt_finish__store(c->live.build, &build, &c->writer, o->output, stats, err);
	c->live.build = NULL;
	return rc;
}

int wt_collector__finish(struct wt_collector *c)
{
	uint64_t began = wt_clock__boottime_ns();
	struct wt_build_stats stats = {0};
	struct wt_err *err = NULL;
	struct stat st = {0};
	int rc;

	atomic_store_explicit(&c->dir.shared->state, WT_COLLECTOR_STOPPING, memory_order_release);
	rc = write_the_rest(c);
	if (!rc)
		rc = wt_segment__add(&c->writer, WT_FRAME_END, UINT32_MAX, 0,
			wt_clock__boottime_ns(), NULL, 0);
	if (!rc)
		rc = wt_drain__commit(&c->drain);
	if (rc) {
		char text[PATH_MAX + 64];

		snprintf(text, sizeof(text), "cannot write %s: %s", c->segment, strerror(-rc));
		wt_live_build__stop(&c->live);
		wt_build__abort(c->live.build);
		wt_err__free(c->live.err);
		unlink(c->part);
		say_kept(c, text, c->dir.path);
		return 1;
	}
	rc = store(c, &stats, &err);
	if (rc) {
		say_kept(c, wt_err__text(err), c->dir.path);
		wt_err__free(err);
		return 1;
	}
	atomic_store_explicit(&c->dir.shared->state, WT_COLLECTOR_DONE, memory_order_release);
	unlink(c->segment);
	wt_session_dir__remove(&c->dir);
	stat(c->options->output, &st);
	wt_collector__tell(c,
		"done bytes=%llu ns=%llu kernels=%llu copies=%llu calls=%llu untimed=%llu "
		"in_flight=%llu attributed=%llu lost=%llu processes=%llu",
		(unsigned long long)st.st_size,
		(unsigned long long)(wt_clock__boottime_ns() - began),
		(unsigned long long)stats.op_cnt, (unsigned long long)stats.copy_cnt,
		(unsigned long long)stats.call_cnt, (unsigned long long)stats.untimed_cnt,
		(unsigned long long)stats.in_flight_cnt,
		(unsigned long long)stats.attributed_cnt, (unsigned long long)stats.lost_cnt,
		(unsigned long long)stats.process_cnt);
	return 0;
}
