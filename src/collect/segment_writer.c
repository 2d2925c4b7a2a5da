// SPDX-License-Identifier: MIT
#include "collect/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/fault.h"
#include "collect/hash.h"

/* The largest frame twice: while one is filled another may wait. */
#define BUFFER_BYTES (2 * (size_t)WT_FRAME_MAX_BYTES)

static int set_up(struct wt_segment_writer *writer, int fd, const char *path, struct wt_err **err)
{
	*writer = (struct wt_segment_writer){.fd = fd, .capacity = BUFFER_BYTES};
	/* held for as long as the collector lives: `recover` asks for it */
	if (flock(fd, LOCK_EX | LOCK_NB))
		return wt_err__new(err, -EBUSY, "%s is being written by another wavetap", path);
	writer->buffer = malloc(writer->capacity);
	if (!writer->buffer)
		return wt_err__errno(err, -ENOMEM, "cannot buffer %s", path);
	return 0;
}

int wt_segment__create(struct wt_segment_writer *writer, const char *path, uint64_t session_id,
	uint64_t started_ns, struct wt_err **err)
{
	struct wt_segment_header header = {
		.magic = WT_SEGMENT_MAGIC,
		.version = WT_SEGMENT_VERSION,
		.header_bytes = sizeof(header),
		.session_id = session_id,
		.started_ns = started_ns,
	};
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	int rc;

	*writer = (struct wt_segment_writer){.fd = -1};
	if (fd < 0 && errno == EEXIST) {
		rc = wt_err__new(err, -EEXIST, "%s is there: a trace that was not finished", path);
		wt_err__hint(err, "wavetap recover %s finishes it; or remove the file", path);
		return rc;
	}
	if (fd < 0) {
		rc = wt_err__errno(err, -errno, "cannot create %s", path);
		wt_err__hint(err, "-o FILE names another place");
		return rc;
	}
	rc = set_up(writer, fd, path, err);
	if (rc)
		goto out;
	header.hash = wt_hash(&header, offsetof(struct wt_segment_header, hash));
	if (wt_fault_write(fd, &header, sizeof(header)) != sizeof(header))
		rc = wt_err__errno(err, errno ? -errno : -ENOSPC, "cannot write %s", path);
	writer->written = sizeof(header);
out:
	if (rc) {
		unlink(path);
		wt_segment__close(writer);
	}
	return rc;
}

int wt_segment__reopen(
	struct wt_segment_writer *writer, const char *path, uint64_t end, struct wt_err **err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	int rc;

	*writer = (struct wt_segment_writer){.fd = -1};
	if (fd < 0)
		return wt_err__errno(err, -errno, "cannot open %s", path);
	rc = set_up(writer, fd, path, err);
	if (!rc && (ftruncate(fd, (off_t)end) || lseek(fd, (off_t)end, SEEK_SET) < 0))
		rc = wt_err__errno(err, -errno, "cannot continue %s", path);
	writer->written = end;
	if (rc)
		wt_segment__close(writer);
	return rc;
}

bool wt_segment__has_room(const struct wt_segment_writer *writer, size_t bytes)
{
	return writer->used + sizeof(struct wt_frame) + bytes + 8 <= writer->capacity;
}

void *wt_segment__begin(struct wt_segment_writer *writer, enum wt_frame_type type, uint32_t process,
	uint32_t number, uint64_t position)
{
	struct wt_frame *frame = (struct wt_frame *)(writer->buffer + writer->used);

	writer->open_at = writer->used;
	*frame = (struct wt_frame){
		.magic = WT_FRAME_MAGIC,
		.type = (uint16_t)type,
		.process = process,
		.number = number,
		.position = position,
	};
	return frame + 1;
}

void wt_segment__end(struct wt_segment_writer *writer, size_t bytes)
{
	struct wt_frame *frame = (struct wt_frame *)(writer->buffer + writer->open_at);
	uint8_t *payload = (uint8_t *)(frame + 1);

	while (bytes % 8)
		payload[bytes++] = 0;
	frame->length = (uint32_t)bytes;
	frame->hash = wt_hash(payload, bytes);
	frame->head_check = (uint32_t)wt_hash(frame, sizeof(*frame));
	writer->used += sizeof(*frame) + bytes;
}

void wt_segment__drop(struct wt_segment_writer *writer)
{
	writer->used = writer->open_at;
}

int wt_segment__add(struct wt_segment_writer *writer, enum wt_frame_type type, uint32_t process,
	uint32_t number, uint64_t position, const void *payload, size_t bytes)
{
	void *to;

	if (bytes > WT_FRAME_MAX_BYTES)
		return -EMSGSIZE;
	if (!wt_segment__has_room(writer, bytes)) {
		int rc = wt_segment__flush(writer);

		if (rc)
			return rc;
	}
	to = wt_segment__begin(writer, type, process, number, position);
	if (bytes)
		memcpy(to, payload, bytes);
	wt_segment__end(writer, bytes);
	return 0;
}

int wt_segment__add_meta(struct wt_segment_writer *writer, const char *key, const char *value)
{
	size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
	char *text = malloc(key_bytes + value_bytes);
	int rc;

	if (!text)
		return -ENOMEM;
	memcpy(text, key, key_bytes);
	memcpy(text + key_bytes, value, value_bytes);
	rc = wt_segment__add(
		writer, WT_FRAME_META, UINT32_MAX, 0, 0, text, key_bytes + value_bytes);
	free(text);
	return rc;
}

int wt_segment__flush(struct wt_segment_writer *writer)
{
	size_t done = 0;

	while (done < writer->used) {
		ssize_t n = wt_fault_write(writer->fd, writer->buffer + done, writer->used - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int rc = n ? -errno : -EIO;

			/* whole frames or nothing: what was half written is written again */
			if (ftruncate(writer->fd, (off_t)writer->written) ||
				lseek(writer->fd, (off_t)writer->written, SEEK_SET) < 0)
				return -EIO;
			return rc;
		}
		done += (size_t)n;
	}
	writer->written += writer->used;
	writer->used = 0;
	return 0;
}

void wt_segment__close(struct wt_segment_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->buffer);
	*writer = (struct wt_segment_writer){.fd = -1};
}
