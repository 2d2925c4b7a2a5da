// SPDX-License-Identifier: MIT
/*
 * The log's spool: what each process writes while it runs, and what vgpu-run turns into JSON lines.
 *
 * FILE.spool/ holds one file a process, shared memory in all but name: a record is in the page
 * cache before the completion that it tells of becomes visible, so SIGKILL cannot lose it. A file
 * is a header page, then blocks; a block belongs to one queue's thread, which fills it alone.
 * Little-endian, fixed width. The reader treats all of it as hostile.
 */
#ifndef VGPU_SPOOL_H
#define VGPU_SPOOL_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "clock.h"

#define VG_SPOOL_MAGIC        0x31304c4f4f505356ull /* "VSPOOL01" */
#define VG_SPOOL_HEADER_BYTES 4096u
#define VG_SPOOL_BLOCK_BYTES  (256u * 1024u)
#define VG_SPOOL_MAX_BLOCKS   (1u << 20)
#define VG_SPOOL_SUFFIX       ".spool"

enum vg_rec_kind {
	VG_REC_NONE = 0, /* end of the block's records */
	VG_REC_DISPATCH,
	VG_REC_COPY,
	VG_REC_FILL,
	VG_REC_BARRIER_AND,
	VG_REC_BARRIER_OR,
	VG_REC_BARRIER_VALUE,
	VG_REC_PM4,
	VG_REC_AGENT,
	VG_REC_UNKNOWN,
	VG_REC_KERNEL, /* struct vg_rec_name, then more slots of text */
	VG_REC_QUEUE,  /* struct vg_rec_queue */
	VG_REC_QUEUE_CHANGE,
	VG_REC_FAULT,  /* struct vg_rec_fault */
};

enum vg_rec_flag {
	VG_REC_BARRIER_BIT = 1,
	VG_REC_INTERRUPT = 2,
	VG_REC_SDMA = 4,
	VG_REC_STAMPED = 8, /* start and end ticks were written to the signal */
	VG_REC_BARE = 16,   /* ran although no doorbell covered it */
};

/* A packet. `done` is written last, before the completion is visible; until then end is unknown. */
struct vg_rec {
	uint8_t kind;
	uint8_t flags;
	uint8_t gpu;
	uint8_t way; /* enum vg_way, of a copy */
	_Atomic uint32_t done;
	uint32_t queue;
	uint32_t kernel; /* id of a VG_REC_KERNEL record of the same file, 0: none */
	uint64_t index;
	uint64_t start, end; /* gpu time: clock.h */
	uint64_t kernel_object;
	uint64_t signal;
	uint64_t bytes;
	uint32_t grid[3];
	uint16_t workgroup[3];
	uint16_t kernarg_bytes;
	uint32_t group_segment, private_segment;
	uint8_t kernarg[16];
	uint8_t source_gpu, target_gpu; /* of copies and fills: whose memory, GPU + 1; 0: the host's */
	uint64_t source, target;        /* their first bytes */
};
static_assert(sizeof(struct vg_rec) == 128, "log record");
static_assert(offsetof(struct vg_rec, index) == 16, "log record index");
static_assert(offsetof(struct vg_rec, grid) == 64, "log record grid");
static_assert(offsetof(struct vg_rec, kernarg) == 92, "log record kernarg");

struct vg_rec_name {
	uint8_t kind;
	uint8_t reserved[3];
	uint32_t id;
	uint32_t length; /* bytes of text: from here into the following slots */
	uint32_t slots;  /* 128-byte slots in all, this one included */
	char text[112];
};
static_assert(sizeof(struct vg_rec_name) == 128, "name record");

/* What may be changed of a queue. */
struct vg_queue_setting {
	uint16_t priority;   /* the driver's: 0 to 15 */
	uint16_t percentage; /* 0: stopped */
	uint16_t cus;        /* compute units that its kernels may use */
	uint16_t mask_bits;  /* 0: no mask was set */
	uint32_t mask[16];
};
static_assert(sizeof(struct vg_queue_setting) == 72, "queue setting");

struct vg_rec_queue {
	uint8_t kind;
	uint8_t gpu;
	uint8_t sdma;
	uint8_t reserved;
	uint32_t queue;
	uint64_t hsa_queue; /* address of the hsa_queue_t, 0 for SDMA */
	uint64_t hsa_id;    /* known with the first packet */
	uint64_t ring_bytes;
	uint64_t created_ns;   /* machine time, as all but the first packet's */
	uint64_t first_ns;     /* gpu time; 0: no packet */
	uint64_t destroyed_ns; /* 0: not */
	struct vg_queue_setting setting;
};
static_assert(sizeof(struct vg_rec_queue) == 128, "queue record");

enum vg_queue_changed { VG_QUEUE_PRIORITY = 1, VG_QUEUE_PERCENTAGE = 2, VG_QUEUE_CU_MASK = 4 };

struct vg_rec_queue_change {
	uint8_t kind;
	uint8_t gpu;
	uint8_t changed;
	uint8_t reserved;
	uint32_t queue;
	uint64_t at_ns;
	struct vg_queue_setting setting;
	uint8_t pad[40];
};
static_assert(sizeof(struct vg_rec_queue_change) == 128, "queue change record");

struct vg_rec_fault {
	uint8_t kind;
	uint8_t fault; /* enum vg_fault_kind */
	uint8_t gpu;
	uint8_t has_packet; /* queue and index mean something */
	uint32_t queue;
	uint64_t index;
	uint64_t time;  /* gpu time, ns */
	uint64_t value; /* vg_fault_kinds[] says what */
	char rule[96];
};
static_assert(sizeof(struct vg_rec_fault) == 128, "fault record");

struct vg_spool_header {
	uint64_t magic;
	uint32_t version;
	uint32_t record_bytes;
	uint32_t block_bytes;
	uint32_t gpu_cnt;
	uint64_t pid;
	uint64_t pid_start;      /* field 22 of /proc/PID/stat */
	uint64_t opened_ns;      /* machine time */
	_Atomic uint64_t cpu_ns; /* of the virtual GPU's threads; kept up to date */
	_Atomic uint64_t interrupts;
	_Atomic uint64_t lost; /* packets that had no room in the log */
	_Atomic uint64_t bare; /* packets that ran although no doorbell covered them */
	_Atomic uint32_t blocks;
	_Atomic uint32_t ended; /* 1: the process came to its end in good order */
	uint64_t image;         /* counts the images (exec) of a process */
	char arch[16];
	char name[64];
	struct vg_clock clock; /* that all times of the file follow */
};
static_assert(sizeof(struct vg_spool_header) <= VG_SPOOL_HEADER_BYTES, "spool header");

struct vg_spool_block {
	char *map;
	uint32_t used;    /* bytes */
	uint32_t pending; /* records that are not done yet */
	bool full;
};

struct vg_spool {
	_Atomic uint32_t ready; /* see vg_once() */
	int fd;
	struct vg_spool_header *header; /* NULL: no log */
};

#define VG_CURSOR_BLOCKS 64 /* blocks of a queue that still have packets in flight */

struct vg_spool_cursor {
	struct vg_spool_block *current;
	struct vg_spool_block blocks[VG_CURSOR_BLOCKS];
};

/* In the traced process. dir: FILE.spool. 0 or -errno. */
int vg_spool__open(struct vg_spool *spool, const char *dir, uint32_t gpu_cnt, const char *arch,
	const struct vg_clock *clock);
void vg_spool__close(struct vg_spool *spool);
/* A zeroed record, or NULL (and counted as lost). Call vg_spool__done() when it is complete. */
struct vg_rec *vg_spool__reserve(
	struct vg_spool *spool, struct vg_spool_cursor *cursor, struct vg_spool_block **block);
void vg_spool__done(struct vg_spool_cursor *cursor, struct vg_spool_block *block);
void *vg_spool__slots(struct vg_spool *spool, struct vg_spool_cursor *cursor, uint32_t slots);
void vg_spool__name(
	struct vg_spool *spool, struct vg_spool_cursor *cursor, uint32_t id, const char *name);
void vg_spool__release(struct vg_spool_cursor *cursor);

/* In vgpu-run: one spool file to JSON lines. 0 or -errno; counts the lines. */
int vg_spool__to_json(const char *path, FILE *out, uint64_t *lines);

#endif
