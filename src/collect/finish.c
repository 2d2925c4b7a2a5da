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

static void note_stored(struct wt_segment_writer *writer, const char *path, bool adds)
{
	struct wt_frame_stored stored;
	struct stat st;

	if (stat(path, &st))
		return;
	stored = (struct wt_frame_stored){
		.device = st.st_dev,
		.inode = st.st_ino,
		.adds = adds,
	};
	/* a failure costs no more than that a second recover cannot tell that it is done */
	if (!wt_segment__add(writer, WT_FRAME_STORED, UINT32_MAX, 0, 0, &stored, sizeof(stored)))
		wt_segment__flush(writer);
}

bool wt_finish__is_in_place(const struct wt_frame_stored *stored, const char *output)
{
	struct stat st;
	bool same;

	if (stat(output, &st))
		return false;
	same = st.st_dev == stored->device && st.st_ino == stored->inode;
	return stored->adds ? !same : same;
}

int wt_finish__part(char *part, size_t bytes, const char *output, enum wt_store_exists exists)
{
	/* the store adds to a copy of its own making */
	const char *suffix = exists == WT_STORE_APPEND ? "" : ".part";

	return snprintf(part, bytes, "%s%s", output, suffix) < (int)bytes ? 0 : -ENAMETOOLONG;
}

static int put_in_place(const char *part, const char *output, bool replace, struct wt_err **err)
{
	int rc = -wt_fault__check("rename");

	if (!rc && renameat2(AT_FDCWD, part, AT_FDCWD, output, replace ? 0 : RENAME_NOREPLACE))
		rc = -errno;
	/* file systems that cannot refuse: look first */
	if (rc == -EINVAL && !replace)
		rc = !access(output, F_OK) ? -EEXIST : rename(part, output) ? -errno : 0;
	if (!rc)
		return 0;
	unlink(part);
	return wt_err__errno(err, rc, "cannot put the trace at %s", output);
}

int wt_finish__store(struct wt_build *build, const struct wt_build_options *options,
	struct wt_segment_writer *writer, const char *output, bool replace,
	struct wt_build_stats *stats, struct wt_err **err)
{
	bool adds = options->exists == WT_STORE_APPEND;
	int rc = build ? 0 : wt_build__open(&build, options, err);

	if (rc)
		return rc;
	rc = -wt_fault__check("build");
	if (rc)
		wt_err__errno(err, rc, "cannot write %s", options->output);
	else
		rc = wt_build__advance(build, UINT64_MAX, 0, err);
	if (rc < 0) {
		wt_build__abort(build);
		return rc;
	}
	if (adds)
		note_stored(writer, output, true);
	rc = wt_build__close(build, stats, err);
	if (rc || adds)
		return rc;
	note_stored(writer, options->output, false);
	return put_in_place(options->output, output, replace, err);
}

#define WRITE_TRIES 30

/* Processes that took a number and left no file: they had no shared memory. */
static int note_unrecorded(struct wt_collector *c)
{
	uint32_t cnt = atomic_load_explicit(&c->dir.shared->process_cnt, memory_order_acquire);
	char text[160];

	if (c->unrecorded_noted || cnt <= c->opened_cnt)
		return 0;
	snprintf(text, sizeof(text),
		"%u process%s not recorded, for want of shared memory: see --buffer and "
		"--session-dir",
		cnt - c->opened_cnt, cnt - c->opened_cnt == 1 ? "" : "es");
	c->unrecorded_noted =
		!wt_segment__add(&c->writer, WT_FRAME_NOTE, UINT32_MAX, 1, 0, text, strlen(text));
	return c->unrecorded_noted ? 0 : -EIO;
}

/* Everything that is still to come; repeated until all of it is in the file. */
static int write_the_rest(struct wt_collector *c, bool *ended)
{
	int rc = 0;

	for (size_t i = 0; i < c->processes.cnt && !rc; i++)
		if (c->processes.data[i])
			rc = wt_process__finish(c->processes.data[i], &c->drain);
	if (rc || *ended)
		return rc ? rc : wt_drain__commit(&c->drain);
	rc = note_unrecorded(c);
	if (!rc)
		rc = wt_collector__sample(c);
	if (!rc)
		rc = wt_segment__add(
			&c->writer, WT_FRAME_END, UINT32_MAX, 0, wt_clock__boottime_ns(), NULL, 0);
	*ended = !rc;
	return rc ? rc : wt_drain__commit(&c->drain);
}

/* Waits for a disk that is full to get room: three seconds, then it must do. */
static int write_patiently(struct wt_collector *c)
{
	struct timespec pause = {.tv_nsec = 100000000};
	bool ended = false;
	int rc = write_the_rest(c, &ended);

	for (int tries = 0; rc && tries < WRITE_TRIES; tries++) {
		/* a failure that has passed already costs no waiting */
		if (tries)
			nanosleep(&pause, NULL);
		rc = write_the_rest(c, &ended);
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
	struct wt_build_options build = {
		.segment = c->segment, .output = c->part, .schema = o->schema, .exists = o->exists};
	int rc = wt_live_build__stop(&c->live);

	if (rc) {
		/* from the beginning: what stopped it may have passed */
		wt_build__abort(c->live.build);
		c->live.build = NULL;
	}
	wt_err__free(c->live.err);
	c->live.err = NULL;
	if (build.exists != WT_STORE_APPEND)
		build.exists = WT_STORE_REPLACE; /* of the .part file */
	rc = wt_finish__store(c->live.build, &build, &c->writer, o->output,
		o->exists == WT_STORE_REPLACE, stats, err);
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
	rc = write_patiently(c);
	if (rc) {
		char text[PATH_MAX + 64];

		snprintf(text, sizeof(text), "cannot write %s: %s", c->segment, strerror(-rc));
		wt_live_build__stop(&c->live);
		wt_build__abort(c->live.build);
		wt_err__free(c->live.err);
		say_kept(c, text, c->dir.path);
		return 1;
	}
	rc = store(c, &stats, &err);
	if (rc) {
		say_kept(c, wt_err__text(err), c->dir.path);
		wt_err__free(err);
		return 1;
	}
	(void)wt_fault__check("in-place");
	atomic_store_explicit(&c->dir.shared->state, WT_COLLECTOR_DONE, memory_order_release);
	(void)wt_fault__check("done");
	unlink(c->segment);
	(void)wt_fault__check("unlinked");
	wt_session_dir__remove(&c->dir);
	stat(c->options->output, &st);
	wt_collector__tell(c,
		"done bytes=%llu ns=%llu kernels=%llu copies=%llu calls=%llu untimed=%llu "
		"in_flight=%llu attributed=%llu lost=%llu processes=%llu",
		(unsigned long long)st.st_size,
		(unsigned long long)(wt_clock__boottime_ns() - began),
		(unsigned long long)stats.op_cnt, (unsigned long long)stats.copy_cnt,
		(unsigned long long)stats.call_cnt, (unsigned long long)stats.untimed_cnt,
		(unsigned long long)stats.in_flight_cnt, (unsigned long long)stats.attributed_cnt,
		(unsigned long long)stats.lost_cnt, (unsigned long long)stats.process_cnt);
	return 0;
}

int wt_collector__discard(struct wt_collector *c)
{
	wt_live_build__stop(&c->live);
	wt_build__abort(c->live.build);
	wt_err__free(c->live.err);
	atomic_store_explicit(&c->dir.shared->state, WT_COLLECTOR_DONE, memory_order_release);
	unlink(c->segment);
	wt_session_dir__remove(&c->dir);
	return 0;
}
