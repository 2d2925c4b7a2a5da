// SPDX-License-Identifier: MIT
/* What the builder's files share. */
#ifndef WT_COLLECT_BUILD_PRIVATE_H
#define WT_COLLECT_BUILD_PRIVATE_H

#include "attribute/blit.h"
#include "base/map.h"
#include "base/vec.h"
#include "collect/build.h"
#include "collect/clock_line.h"
#include "collect/places.h"
#include "collect/segment.h"
#include "core/hip_api.h"
#include "core/record.h"
#include "core/session.h"
#include "core/slot.h"

/* An operation that waits: for a clock pair, or for the call that asked for it. */
struct wt_build_held {
	struct wt_op_raw raw;
	uint32_t queue; /* index in queues */
};

struct wt_build_device {
	bool described;
	uint32_t id, number;
	struct wt_rec_device rec; /* where described; its texts end */
	struct wt_clock_line clock;
	size_t told_breaks; /* of the clock */
	WT_VEC(struct wt_build_held) held;
};

struct wt_build_queue {
	uint32_t id, number, device; /* device: number in the process */
	bool defined;                /* WT_REC_QUEUE was seen; else made from an operation */
	bool written;
	struct wt_rec_queue rec;
	uint64_t ended_ns;
	uint32_t priority;                        /* UINT32_MAX: never set */
	char cu_mask[WT_QUEUE_CU_MASK_MAX / 4 + 1]; /* hexadecimal digits */
};

struct wt_build_stream {
	struct wt_rec_stream rec;
	uint32_t id;
	uint32_t ran_on; /* id of the device on which its kernels ran, 0: none seen */
	bool anywhere;   /* what runs on it does not tell its device */
	uint64_t ended_ns;
};

/* One life of a kernel object's address. */
struct wt_build_symbol {
	uint32_t id;
	uint32_t born, dead;
	uint64_t executable;
	uint32_t older; /* index + 1 of the symbol that had this address before */
	enum wt_blit blit;
};

struct wt_build_thread {
	uint32_t id;
	bool written;
};

/*
 * Operations held back for a clock pair to come, over all devices: about
 * 100 MB. With more than that the builder waits; what follows is safe in the
 * segment. Pairs come four times a second: that is 4 M operations a second.
 */
#define WT_BUILD_HELD_MAX (1u << 20)

struct wt_build_process {
	uint32_t number, id;
	bool started, ended, left_out;
	struct wt_frame_process start;
	struct wt_frame_process_end end;
	bool tsc;
	WT_VEC(struct wt_build_device) devices;
	WT_VEC(struct wt_build_queue) queues;
	WT_VEC(struct wt_build_stream) streams;
	WT_VEC(struct wt_build_symbol) symbols;
	WT_VEC(struct wt_build_thread) threads;
	struct wt_map device_of, queue_of, stream_of, thread_of; /* number → index or id */
	size_t last_thread;                                      /* index of the one found last */
	uint32_t last_thread_index;                              /* its number, 0: none */
	struct wt_map symbol_of;                /* kernel object → index of the newest symbol */
	struct wt_map next_position;            /* ring → position behind what was taken in */
	struct wt_map open_calls;               /* ring → 1: its call in progress was taken in */
	struct wt_map blocks;                   /* correlation >> bits → first dense id */
	uint64_t block_key, block_base;         /* the last one used */
	WT_VEC(struct wt_rec_sdma) open_copies; /* their ends have not come yet, oldest first */
	struct wt_places places;                /* whose memory lies where */
	char *hip_visible, *cuda_visible; /* variables that number GPUs; NULL: not set */
	uint32_t setting_cnt, setting_row_cnt;
	bool settings_told; /* all variables have come */
	bool hip_loaded;
	unsigned hip_major, hip_minor; /* 0: not known */
	uint64_t by_row[WT_LOST_CNT]; /* what operations lack that are in the trace */
	uint64_t unknown_records;
};

struct wt_build {
	struct wt_segment_reader heads; /* definitions and clocks */
	struct wt_segment_reader events;
	struct wt_build_options options;
	char *segment, *output;
	struct wt_store *store;
	struct wt_clock_line cpu;
	WT_VEC(struct wt_build_process *) processes;
	struct wt_map process_of; /* number → index */
	WT_VEC(char *) metas;     /* seen before the store was open: key NUL value */
	uint32_t next_thread, next_device, next_queue, next_stream, next_symbol;
	uint64_t next_block; /* first id of the next block */
	uint64_t session_id;
	uint64_t held_cnt;
	bool all_known;  /* the segment is complete: no clock pair is still to come */
	uint32_t want;   /* enum wt_want bits */
	bool calls;      /* HIP calls are recorded */
	uint64_t end_ns; /* of the trace, when its end frame was seen */
	bool complete;
	bool args_named[WT_HIP_CNT]; /* the names of its arguments are in the store */
	struct wt_build_stats stats;
};

/* NULL: out of memory, or a number that makes no sense. */
struct wt_build_process *wt_build__process(struct wt_build *build, uint32_t number);

/* build_definitions.c */
int wt_build__definition(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec *rec, uint32_t bytes);
struct wt_build_device *wt_build__device(
	struct wt_build *build, struct wt_build_process *process, uint32_t number);
struct wt_build_queue *wt_build__queue(
	struct wt_build *build, struct wt_build_process *process, uint32_t number, uint32_t device);
const struct wt_build_symbol *wt_build__symbol(
	const struct wt_build_process *process, uint64_t kernel_object, uint32_t generation);
int wt_build__write_queues(struct wt_build *build, struct wt_build_process *process);

/* build_devices.c */
int wt_build__add_device(
	struct wt_build *build, struct wt_build_process *process, const struct wt_rec *rec);
int wt_build__add_setting(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec *rec, uint32_t bytes);
int wt_build__write_devices(struct wt_build *build, struct wt_build_process *process);

/* build_ops.c */
int wt_build__ops(struct wt_build *build, struct wt_build_process *process,
	const struct wt_frame_ops *head, const struct wt_op_raw *ops, size_t cnt);
/* What is held and has its clock pair by now; `all`: whatever is held. */
int wt_build__release_held(struct wt_build *build, struct wt_build_process *process, bool all);
int wt_build__write_op(struct wt_build *build, const struct wt_store_op *op);

/* build_sdma.c */
int wt_build__sdma(struct wt_build_process *process, const struct wt_rec_sdma *rec);
int wt_build__sdma_end(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec_sdma_end *end);
int wt_build__flush_sdma(struct wt_build *build, struct wt_build_process *process);

/* build_copies.c: kind and places of a copy or fill with its addresses; `asked`: by DMA, or NULL */
void wt_build__place_copy(struct wt_build *build, struct wt_build_process *process,
	struct wt_store_op *op, const struct wt_rec_sdma *asked);

/* build_memory.c; `call`: its own; `in_trace`: that is a row */
int wt_build__memory(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec_memory *rec, const struct wt_store_api *call, bool in_trace);

/* build_calls.c */
int wt_build__thread_record(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec *rec, uint32_t bytes);
int wt_build__open_call(struct wt_build *build, struct wt_build_process *process, uint32_t ring,
	const struct wt_frame_call_open *open);
int wt_build__left_out(struct wt_build *build, struct wt_build_process *process,
	const struct wt_frame_left_out *calls, size_t cnt);
int wt_build__write_threads(struct wt_build *build, struct wt_build_process *process);
/* The thread of that number, made where it is new; NULL: out of memory, or too many. */
struct wt_build_thread *wt_build__thread(
	struct wt_build *build, struct wt_build_process *process, uint32_t index);
/* The trace's id of a correlation; 0 for 0, or out of memory. */
uint64_t wt_build__dense(struct wt_build *build, struct wt_build_process *process, uint64_t corr);
/* CLOCK_BOOTTIME of a *_tsc value; WT_ABSENT where it cannot be told. */
uint64_t wt_build__cpu_ns(
	struct wt_build *build, const struct wt_build_process *process, uint64_t tsc);

/* build_streams.c */
int wt_build__stream(struct wt_build *build, struct wt_build_process *process,
	const struct wt_rec_stream *rec);
int wt_build__stream_end(
	struct wt_build_process *process, const struct wt_rec_stream_end *rec);
/* 0: not known. */
uint32_t wt_build__stream_id(const struct wt_build_process *process, uint32_t number);
/* A kernel that a launch on that stream asked for was seen on a device. */
void wt_build__stream_ran(
	const struct wt_build_process *process, uint32_t number, uint32_t device_id);
void wt_build__stream_replays(const struct wt_build_process *process, uint32_t number);
/* Counts what is not known of an operation: of which stream it is, which call asked for it. */
void wt_build__producer(const struct wt_build *build, struct wt_build_process *process,
	uint64_t corr, uint32_t number);
int wt_build__write_streams(struct wt_build *build, struct wt_build_process *process);

#endif
