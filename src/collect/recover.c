// SPDX-License-Identifier: MIT
#include "collect/recover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "collect/drain.h"
#include "collect/finish.h"
#include "collect/output.h"
#include "collect/process.h"
#include "collect/session_dir.h"
#include "core/clock.h"

struct stored_op {
	uint32_t process, number;
	uint64_t index;
};

struct recover {
	char segment[PATH_MAX], output[PATH_MAX], part[PATH_MAX];
	char session_dir[PATH_MAX];
	struct wt_session_dir dir;
	bool has_dir;
	uint64_t session_id;
	int collector_pid;
	enum wt_schema schema;
	enum wt_store_exists exists;
	uint64_t end; /* of the whole frames */
	bool has_end, has_stored, is_over;
	struct wt_frame_stored stored;
	uint64_t last_sample_ns;
	struct wt_map positions;      /* process << 32 | ring → position behind what is stored */
	struct wt_map started, ended; /* processes */
	WT_VEC(struct stored_op) ops; /* of processes that have not ended in the segment */
	struct wt_segment_writer writer;
	struct wt_drain drain;
};

/* ---- what the segment has ---------------------------------------------------------- */

static void take_meta(struct recover *r, const char *key, uint32_t length)
{
	size_t key_bytes = strnlen(key, length);
	const char *value = key + key_bytes + 1;

	if (key_bytes == length || !memchr(value, 0, length - key_bytes - 1))
		return;
	if (!strcmp(key, "output"))
		snprintf(r->output, sizeof(r->output), "%s", value);
	if (!strcmp(key, "session_dir"))
		snprintf(r->session_dir, sizeof(r->session_dir), "%s", value);
	if (!strcmp(key, "collector_pid"))
		r->collector_pid = atoi(value);
	if (!strcmp(key, "schema"))
		r->schema = atoi(value) == WT_SCHEMA_RPD ? WT_SCHEMA_RPD : WT_SCHEMA_WAVETAP;
	if (!strcmp(key, "exists"))
		r->exists = atoi(value) == WT_STORE_APPEND    ? WT_STORE_APPEND
			    : atoi(value) == WT_STORE_REPLACE ? WT_STORE_REPLACE
							      : WT_STORE_REFUSE;
}

static int take_ops(struct recover *r, const struct wt_frame *frame, const uint8_t *payload)
{
	for (size_t at = sizeof(struct wt_frame_ops);
		at + sizeof(struct wt_op_raw) <= frame->length; at += sizeof(struct wt_op_raw)) {
		struct stored_op op = {.process = frame->process, .number = frame->number};

		memcpy(&op.index, payload + at + offsetof(struct wt_op_raw, index),
			sizeof(op.index));
		if (wt_vec__push(&r->ops, op))
			return -ENOMEM;
	}
	return 0;
}

static int take_frame(struct recover *r, const struct wt_frame *frame, const uint8_t *payload)
{
	uint64_t key = (uint64_t)frame->process << 32 | frame->number;
	uint64_t position = frame->position + frame->length;

	switch (frame->type) {
	case WT_FRAME_META:
		take_meta(r, (const char *)payload, frame->length);
		return 0;
	case WT_FRAME_PROCESS:
		return wt_map__put(&r->started, frame->process, 1);
	case WT_FRAME_PROCESS_END:
		return wt_map__put(&r->ended, frame->process, 1);
	case WT_FRAME_RING:
		if (position <= wt_map__get(&r->positions, key, 0))
			return 0;
		return wt_map__put(&r->positions, key, position);
	case WT_FRAME_OPS:
		return take_ops(r, frame, payload);
	case WT_FRAME_CLOCK:
		if (frame->length >= sizeof(struct wt_clock_sample))
			r->last_sample_ns = ((const struct wt_clock_sample *)(const void *)payload)
						    ->boottime_ns;
		return 0;
	case WT_FRAME_END:
		r->has_end = true;
		return 0;
	case WT_FRAME_STORED:
		if (frame->length < sizeof(r->stored))
			return 0;
		memcpy(&r->stored, payload, sizeof(r->stored));
		r->has_stored = true;
		return 0;
	}
	return 0;
}

static int read_segment(struct recover *r, struct wt_err **err)
{
	struct wt_segment_reader reader;
	struct wt_frame frame;
	int rc = wt_segment_reader__open(&reader, r->segment, err);

	if (rc)
		return rc;
	r->session_id = reader.header.session_id;
	r->end = reader.offset;
	while ((rc = wt_segment_reader__head(&reader, &frame)) == 1) {
		const uint8_t *payload = wt_segment_reader__payload(&reader, &frame);

		rc = payload ? take_frame(r, &frame, payload) : 0;
		if (rc)
			break;
		r->end = reader.offset;
	}
	wt_segment_reader__close(&reader);
	return rc < 0 ? wt_err__errno(err, rc, "cannot read %s", r->segment) : 0;
}

/* ---- what shared memory still has ----------------------------------------------------- */

/* Where the segment is further than the ring's own tail: the collector died between the two. */
static void skip_stored(struct recover *r, struct wt_process *p)
{
	for (size_t i = 0; i <= p->rings.cnt; i++) {
		struct wt_ring_source *ring = i < p->rings.cnt ? p->rings.data[i] : &p->definitions;
		uint64_t position;

		if (!ring)
			continue;
		position = wt_map__get(&r->positions, (uint64_t)p->number << 32 | ring->number, 0);
		if (position > ring->reader.tail)
			ring->reader.tail = position;
	}
	for (size_t i = 0; i < r->ops.cnt; i++) {
		const struct stored_op *op = &r->ops.data[i];

		if (op->process == p->number && op->number < p->slots.cnt &&
			p->slots.data[op->number])
			wt_slots_reader__mark_stored(&p->slots.data[op->number]->reader, op->index);
	}
}

static int drain_process(struct recover *r, uint32_t number)
{
	struct wt_process *p;
	int rc;

	if (wt_map__find(&r->ended, number) || wt_process__open(&p, r->dir.fd, number, -1))
		return 0;
	wt_process__identify(p, 0);
	rc = wt_map__find(&r->started, number) ? 0 : wt_process__write_start(p, &r->writer);
	wt_process__look(p);
	skip_stored(r, p);
	if (!rc)
		rc = wt_process__finish(p, &r->drain);
	wt_process__free(p);
	return rc;
}

static int drain_session(struct recover *r, struct wt_err **err)
{
	uint32_t cnt = r->has_dir ? atomic_load(&r->dir.shared->process_cnt) : 0;
	struct wt_clock_sample sample;
	int rc;

	if (r->has_end)
		return 0;
	rc = wt_segment__reopen(&r->writer, r->segment, r->end, err);
	if (rc)
		return rc;
	r->drain.writer = &r->writer;
	for (uint32_t number = 0; number < cnt && number < 1u << 20 && !rc; number++)
		rc = drain_process(r, number);
	/* the clocks still count from where they did, unless the machine was started anew */
	wt_clock__sample(&sample);
	if (!rc && r->has_dir && sample.boottime_ns > r->last_sample_ns)
		rc = wt_segment__add(
			&r->writer, WT_FRAME_CLOCK, UINT32_MAX, 0, 0, &sample, sizeof(sample));
	if (!rc) {
		static const char text[] = "the collector died; the trace was finished by "
					   "`wavetap recover`";

		rc = wt_segment__add(
			&r->writer, WT_FRAME_NOTE, UINT32_MAX, 1, 0, text, sizeof(text));
	}
	if (!rc)
		rc = wt_segment__add(
			&r->writer, WT_FRAME_END, UINT32_MAX, 0, r->last_sample_ns, NULL, 0);
	if (!rc)
		rc = wt_drain__commit(&r->drain);
	return rc ? wt_err__errno(err, rc, "cannot write %s", r->segment) : 0;
}

/* ---- all of it ------------------------------------------------------------------------- */

static int find_by_directory(struct recover *r, const char *what, struct wt_err **err)
{
	ssize_t n;
	int rc;

	rc = wt_session_dir__open(&r->dir, what, err);
	if (rc)
		return rc;
	r->has_dir = true;
	n = readlinkat(r->dir.fd, WT_SEGMENT_LINK, r->segment, sizeof(r->segment) - 1);
	if (n <= 0)
		return wt_err__errno(
			err, -errno, "%s does not say where its segment file is", what);
	r->segment[n] = 0;
	/* the collector died on its very last steps: the trace is in its place */
	r->is_over = access(r->segment, F_OK) && errno == ENOENT &&
		     atomic_load(&r->dir.shared->state) == WT_COLLECTOR_DONE;
	if (r->is_over)
		return 0;
	rc = read_segment(r, err);
	if (!rc && r->session_id != r->dir.shared->session_id)
		rc = wt_err__new(err, -EINVAL, "%s belongs to another session", r->segment);
	return rc;
}

static int find(struct recover *r, const char *what, struct wt_err **err)
{
	struct stat st;
	int rc;

	if (stat(what, &st))
		rc = wt_err__errno(err, -errno, "no session at %s", what);
	else if (!S_ISDIR(st.st_mode) && !realpath(what, r->segment))
		rc = wt_err__errno(err, -errno, "cannot open %s", what);
	else if (!S_ISDIR(st.st_mode))
		rc = read_segment(r, err);
	else
		return find_by_directory(r, what, err);
	if (rc)
		wt_err__hint(err, "recover takes the session directory that was named, or the file "
				  "*" WT_SEGMENT_SUFFIX " beside where the trace was to be");
	return rc;
}

/* A segment file was named: its session directory may still be there. */
static int find_session(struct recover *r, struct wt_err **err)
{
	struct wt_err *inner = NULL;
	int rc;

	if (r->has_dir || !*r->session_dir)
		return 0;
	rc = wt_session_dir__open(&r->dir, r->session_dir, &inner);
	if (!rc && r->dir.shared->session_id == r->session_id) {
		r->has_dir = true;
	} else if (!rc) {
		wt_session_dir__close(&r->dir);
	} else if (rc == -EBUSY && err) {
		wt_err__free(*err);
		*err = inner;
		return rc;
	}
	wt_err__free(inner);
	return 0;
}

static void clean_up(struct recover *r)
{
	if (r->has_dir)
		atomic_store_explicit(
			&r->dir.shared->state, WT_COLLECTOR_DONE, memory_order_release);
	unlink(r->segment);
	if (r->has_dir)
		wt_session_dir__remove(&r->dir);
}

/* The dead collector built while the program ran: what it left of that is of no use. */
static void remove_unfinished(const struct recover *r)
{
	static const char *const suffixes[] = {"unfinished", "unfinished-rpd"};
	char path[PATH_MAX + 64];

	for (int i = 0; r->collector_pid && i < 2; i++) {
		snprintf(path, sizeof(path), "%s.%s-%d", r->part, suffixes[i], r->collector_pid);
		unlink(path);
	}
}

static int build(struct recover *r, struct wt_build_stats *stats, struct wt_err **err)
{
	struct wt_build_options options = {.segment = r->segment,
		.output = r->part,
		.schema = r->schema,
		.exists = r->exists == WT_STORE_APPEND ? WT_STORE_APPEND : WT_STORE_REPLACE};
	int rc = wt_output__check(r->output, r->exists, 0, err);

	if (rc)
		return rc;
	if (wt_finish__part(r->part, sizeof(r->part), r->output, r->exists))
		return wt_err__errno(err, -ENAMETOOLONG, "%s", r->output);
	remove_unfinished(r);
	if (r->writer.fd < 0) {
		rc = wt_segment__reopen(&r->writer, r->segment, r->end, err);
		if (rc)
			return rc;
	}
	return wt_finish__store(
		NULL, &options, &r->writer, r->output, r->exists == WT_STORE_REPLACE, stats, err);
}

static void free_recover(struct recover *r)
{
	wt_map__free(&r->positions);
	wt_map__free(&r->started);
	wt_map__free(&r->ended);
	wt_vec__free(&r->ops);
	wt_drain__free(&r->drain);
	wt_segment__close(&r->writer);
	if (r->has_dir)
		wt_session_dir__close(&r->dir);
	free(r);
}

int wt_recover__run(const char *what, const char *output, bool replace,
	struct wt_recover_result *result, struct wt_err **err)
{
	struct recover *r = calloc(1, sizeof(*r));
	int rc;

	memset(result, 0, sizeof(*result));
	if (!r)
		return wt_err__errno(err, -ENOMEM, "cannot recover %s", what);
	r->writer.fd = -1;
	wt_mapping__guard();
	rc = find(r, what, err);
	if (!rc)
		rc = find_session(r, err);
	if (rc)
		goto out;
	if (r->is_over ||
		(r->has_stored && !output && wt_finish__is_in_place(&r->stored, r->output))) {
		result->was_complete = true;
		clean_up(r);
		goto out;
	}
	if (output) {
		snprintf(r->output, sizeof(r->output), "%s", output);
		r->exists = WT_STORE_REFUSE;
	}
	if (replace)
		r->exists = WT_STORE_REPLACE;
	if (!*r->output) {
		rc = wt_err__new(
			err, -EINVAL, "%s does not say where the trace belongs", r->segment);
		wt_err__hint(err, "-o FILE says it");
		goto out;
	}
	rc = drain_session(r, err);
	if (!rc)
		rc = build(r, &result->stats, err);
	if (!rc)
		clean_up(r);
out:
	snprintf(result->output, sizeof(result->output), "%s", r->output);
	free_recover(r);
	return rc;
}
