// SPDX-License-Identifier: MIT
/*
 * The segment file: what the collector has read, as it read it, safe against
 * its own end. Append-only; layout and rules are in docs/SEGMENT.md.
 *
 * Order is what makes it safe: bytes go to the segment first, then the ring's
 * tail moves or the slot becomes free. So an event can be in both places but
 * never in none, and positions (rings) and packet indices (slots) tell an
 * event that is in both.
 */
#ifndef WT_COLLECT_SEGMENT_H
#define WT_COLLECT_SEGMENT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/session.h"
#include "core/slot.h"

struct wt_err;

#define WT_SEGMENT_MAGIC   0x314d474553545741ull /* "AWTSEGM1" */
#define WT_SEGMENT_VERSION 1u
#define WT_SEGMENT_SUFFIX  ".wtseg"

struct wt_segment_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes;
	uint64_t features; /* a reader refuses bits that it does not know */
	uint64_t session_id;
	uint64_t started_ns; /* CLOCK_BOOTTIME */
	uint64_t reserved[2];
	uint64_t hash; /* XXH3 of the bytes before */
};
static_assert(sizeof(struct wt_segment_header) == 64, "segment header");

enum wt_frame_type {
	WT_FRAME_META = 1,        /* key NUL value NUL: settings, command, output … */
	WT_FRAME_PROCESS = 2,     /* struct wt_frame_process */
	WT_FRAME_RING = 3,        /* record bytes; position: in the ring; number: ring */
	WT_FRAME_OPS = 4,         /* struct wt_frame_ops, struct wt_op_raw[]; number: slot file */
	WT_FRAME_CLOCK = 5,       /* struct wt_clock_sample */
	WT_FRAME_CALL_OPEN = 6,   /* struct wt_frame_call_open; number: ring */
	WT_FRAME_PROCESS_END = 7, /* struct wt_frame_process_end */
	WT_FRAME_NOTE = 8,        /* text for the status table; number: 0 info, 1 degraded, 2 off */
	WT_FRAME_END = 9,         /* nothing follows but WT_FRAME_STORED; position: the time */
	WT_FRAME_STORED = 10,     /* struct wt_frame_stored: the trace built from this segment */
	WT_FRAME_LEFT_OUT = 11,   /* struct wt_frame_left_out[], one a function */
};

#define WT_FRAME_MAGIC       0x52465457u /* "WTFR" */
#define WT_FRAME_MAX_BYTES   (8u << 20)
#define WT_FRAME_DEFINITIONS UINT32_MAX /* number of the definition ring */

struct wt_frame {
	uint32_t magic;
	uint16_t type; /* enum wt_frame_type */
	uint16_t reserved;
	uint32_t length;  /* of the payload; a multiple of 8 */
	uint32_t process; /* number in the session, UINT32_MAX: none */
	uint32_t number;
	uint32_t head_check; /* low half of XXH3 of this head, with head_check 0 */
	uint64_t position;
	uint64_t hash; /* XXH3 of the payload */
};
static_assert(sizeof(struct wt_frame) == 40, "frame head");

struct wt_frame_process {
	int32_t pid; /* as the collector sees it, 0: not known */
	uint32_t reserved;
	uint64_t start_ticks;                             /* likewise */
	uint8_t shared[sizeof(struct wt_process_shared)]; /* as it was at the join */
};
static_assert(sizeof(struct wt_frame_process) % 8 == 0, "process frame");

struct wt_frame_ops {
	uint32_t queue, device; /* numbers in the process */
	uint32_t capacity;      /* of the slot file */
	uint32_t reserved;
};
static_assert(sizeof(struct wt_frame_ops) == 16, "ops frame");

/* What a process did, but was not to be recorded. */
struct wt_frame_left_out {
	uint32_t api; /* place in core/hip_api.def; else, while recording was off: */
#define WT_LEFT_OUT_DISPATCH 0xffffffffu
#define WT_LEFT_OUT_COPY     0xfffffffeu
	uint32_t reserved;
	uint64_t cnt;
};
static_assert(sizeof(struct wt_frame_left_out) == 16, "left out frame");

struct wt_frame_call_open {
	uint32_t api;
	uint32_t thread_index;
	uint64_t start_tsc;
	uint64_t corr; /* 0: not known */
};
static_assert(sizeof(struct wt_frame_call_open) == 24, "open call frame");

enum wt_exit_kind { /* as struct wt_store_process has it */
	WT_EXIT_UNKNOWN = 0,
	WT_EXIT_EXITED = 1,
	WT_EXIT_KILLED = 2,
	WT_EXIT_EXEC = 3,
};

struct wt_frame_process_end {
	uint64_t ended_ns;  /* UINT64_MAX: not seen */
	uint32_t exit_kind; /* enum wt_exit_kind */
	uint32_t reserved;
	uint64_t ring_dropped; /* sums over its thread rings */
	uint64_t definitions_dropped;
	uint64_t corrupt_bytes;
	uint64_t interrupted_ns;
	uint64_t lost[64]; /* by enum wt_lost, as the process counted */
};
static_assert(sizeof(struct wt_frame_process_end) == 48 + 64 * 8, "process end frame");

/*
 * Written before the finished trace is moved to its place. `adds` 0: the
 * trace's own inode, so the move has happened when the output has it. `adds` 1:
 * the inode of the file that is added to, which the move replaces.
 */
struct wt_frame_stored {
	uint64_t device, inode;
	uint64_t adds;
};

/* ---- writing -------------------------------------------------------------- */

struct wt_segment_writer {
	int fd;
	uint8_t *buffer;
	size_t used, capacity;
	size_t open_at;   /* head of the frame that is being filled */
	uint64_t written; /* bytes of the file that hold whole frames */
};

int wt_segment__create(struct wt_segment_writer *writer, const char *path, uint64_t session_id,
	uint64_t started_ns, struct wt_err **err);

/* Goes on behind the whole frames of an existing file; `end` is where they end. */
int wt_segment__reopen(
	struct wt_segment_writer *writer, const char *path, uint64_t end, struct wt_err **err);

/* True when a frame of `bytes` fits the buffer as it is; else flush first. */
bool wt_segment__has_room(const struct wt_segment_writer *writer, size_t bytes);

/*
 * A frame is begun, filled in place and ended with the size it really has, or
 * dropped. One at a time; the caller has asked for room.
 */
void *wt_segment__begin(struct wt_segment_writer *writer, enum wt_frame_type type, uint32_t process,
	uint32_t number, uint64_t position);
void wt_segment__end(struct wt_segment_writer *writer, size_t bytes);
void wt_segment__drop(struct wt_segment_writer *writer);

/* All at once; the payload is padded to 8 with zeros. Flushes when there is no room. */
int wt_segment__add(struct wt_segment_writer *writer, enum wt_frame_type type, uint32_t process,
	uint32_t number, uint64_t position, const void *payload, size_t bytes);
int wt_segment__add_meta(struct wt_segment_writer *writer, const char *key, const char *value);

/*
 * Writes the buffered frames. On failure (disk full) the file is cut back to
 * whole frames, the buffer is kept, and the call can be repeated.
 */
int wt_segment__flush(struct wt_segment_writer *writer);
void wt_segment__close(struct wt_segment_writer *writer);

/* ---- reading: the file is hostile, a torn end is normal --------------------- */

struct wt_segment_reader {
	int fd;
	struct wt_segment_header header;
	uint64_t offset;        /* of the current frame's head */
	uint64_t limit;         /* nothing behind is looked at */
	uint64_t damaged_bytes; /* skipped: they made no sense */
	uint8_t *buffer;
	size_t capacity, filled;
	uint64_t buffer_offset;
};

int wt_segment_reader__open(
	struct wt_segment_reader *reader, const char *path, struct wt_err **err);

/* 1: *frame is the next head (the payload is whole, too), 0: no more, or a negative errno. */
int wt_segment_reader__head(struct wt_segment_reader *reader, struct wt_frame *frame);
/* Steps over that frame. */
void wt_segment_reader__skip(struct wt_segment_reader *reader, const struct wt_frame *frame);
/*
 * The payload of that frame, and steps over it: valid until the next call.
 * NULL: damaged (counted) or unreadable.
 */
const void *wt_segment_reader__payload(
	struct wt_segment_reader *reader, const struct wt_frame *frame);
void wt_segment_reader__close(struct wt_segment_reader *reader);

#endif
