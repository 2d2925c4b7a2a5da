// SPDX-License-Identifier: MIT
#include "collect/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/hash.h"

#define BUFFER_BYTES (WT_FRAME_MAX_BYTES + (1u << 20))
#define READ_BYTES   (256u << 10) /* at once; not more: heads are also read to be skipped */

int wt_segment_reader__open(struct wt_segment_reader *reader, const char *path, struct wt_err **err)
{
	struct wt_segment_header *header = &reader->header;
	struct stat st;
	int rc = 0;

	*reader = (struct wt_segment_reader){.capacity = BUFFER_BYTES};
	reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (reader->fd < 0)
		return wt_err__errno(err, -errno, "cannot open %s", path);
	if (fstat(reader->fd, &st) || !S_ISREG(st.st_mode))
		rc = wt_err__new(err, -EINVAL, "%s is not a file", path);
	else if (pread(reader->fd, header, sizeof(*header), 0) != sizeof(*header) ||
		 header->magic != WT_SEGMENT_MAGIC ||
		 header->hash != wt_hash(header, offsetof(struct wt_segment_header, hash)))
		rc = wt_err__new(err, -EINVAL, "%s is not a wavetap segment", path);
	else if (header->version != WT_SEGMENT_VERSION || header->features ||
		 header->header_bytes != sizeof(*header))
		rc = wt_err__new(err, -ENOTSUP, "%s was written by another version of wavetap (%u)",
			path, header->version);
	reader->buffer = rc ? NULL : malloc(reader->capacity);
	if (!rc && !reader->buffer)
		rc = wt_err__errno(err, -ENOMEM, "cannot read %s", path);
	if (rc) {
		wt_segment_reader__close(reader);
		return rc;
	}
	reader->offset = sizeof(*header);
	reader->limit = (uint64_t)st.st_size;
	return 0;
}

/* Bytes [offset, offset + length) of the file, or NULL; length <= capacity. */
static const uint8_t *bytes_at(struct wt_segment_reader *reader, uint64_t offset, size_t length)
{
	uint64_t from = reader->buffer_offset;
	size_t want;

	if (offset >= from && offset + length <= from + reader->filled)
		return reader->buffer + (offset - from);
	if (offset > reader->limit || length > reader->limit - offset)
		return NULL;
	want = length > READ_BYTES ? length : READ_BYTES;
	if (want > reader->limit - offset)
		want = (size_t)(reader->limit - offset);
	reader->buffer_offset = offset;
	reader->filled = 0;
	while (reader->filled < want) {
		ssize_t n = pread(reader->fd, reader->buffer + reader->filled,
			want - reader->filled, (off_t)(offset + reader->filled));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		reader->filled += (size_t)n;
	}
	return reader->filled >= length ? reader->buffer : NULL;
}

static bool head_ok(const struct wt_frame *frame)
{
	struct wt_frame copy = *frame;

	if (frame->magic != WT_FRAME_MAGIC || frame->length % 8 ||
		frame->length > WT_FRAME_MAX_BYTES)
		return false;
	copy.head_check = 0;
	return frame->head_check == (uint32_t)wt_hash(&copy, sizeof(copy));
}

int wt_segment_reader__head(struct wt_segment_reader *reader, struct wt_frame *frame)
{
	for (;; reader->offset += 8, reader->damaged_bytes += 8) {
		const uint8_t *bytes = bytes_at(reader, reader->offset, sizeof(*frame));

		if (!bytes)
			return 0;
		memcpy(frame, bytes, sizeof(*frame));
		if (!head_ok(frame))
			continue; /* looks for the next head that makes sense */
		/* torn: the head arrived, its payload did not */
		if (frame->length > reader->limit - reader->offset - sizeof(*frame))
			return 0;
		return 1;
	}
}

void wt_segment_reader__skip(struct wt_segment_reader *reader, const struct wt_frame *frame)
{
	reader->offset += sizeof(*frame) + frame->length;
}

const void *wt_segment_reader__payload(
	struct wt_segment_reader *reader, const struct wt_frame *frame)
{
	const uint8_t *bytes =
		bytes_at(reader, reader->offset, sizeof(*frame) + (size_t)frame->length);
	const uint8_t *payload = bytes ? bytes + sizeof(*frame) : NULL;

	if (payload && wt_hash(payload, frame->length) != frame->hash)
		payload = NULL;
	if (!payload)
		reader->damaged_bytes += sizeof(*frame) + frame->length;
	wt_segment_reader__skip(reader, frame);
	return payload;
}

void wt_segment_reader__close(struct wt_segment_reader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->buffer);
	*reader = (struct wt_segment_reader){.fd = -1};
}
