// SPDX-License-Identifier: MIT
/*
 * The store: trace.db, one SQLite file. The truth is in compact tables
 * (wt_*), documented in docs/FORMAT.md; rocpd_* and the other names that RPD's
 * and RTL's readers know are views over them.
 *
 * Writing: open, add rows in any order (a row may refer to an id that is added
 * later, but before close), close. One thread. Times are CLOCK_BOOTTIME
 * nanoseconds; the store keeps them relative to the trace's origin.
 *
 * "Absent" is a NULL in the file, never 0 or -1. In these structs an absent
 * id is 0, absent times are WT_ABSENT, other absent values are marked in the
 * field's comment.
 */
#ifndef WT_STORE_STORE_H
#define WT_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#define WT_ABSENT     UINT64_MAX
#define WT_STORE_HOST UINT32_MAX /* in place of a device: the host's memory */

struct wt_err; /* base/err.h */
struct wt_store;

enum wt_schema { WT_SCHEMA_WAVETAP = 0, WT_SCHEMA_RPD = 1 };

enum wt_store_exists {
	WT_STORE_REFUSE = 0, /* an existing file is an error that says how to go on */
	WT_STORE_REPLACE = 1,
	WT_STORE_APPEND = 2, /* add this run; an older RPD schema is migrated */
};

struct wt_store_options {
	uint32_t size; /* of this struct */
	enum wt_schema schema;
	enum wt_store_exists exists;
	uint64_t origin_ns;           /* start of the trace */
	uint64_t origin_realtime_ns;  /* the same moment in CLOCK_REALTIME, … */
	uint64_t origin_monotonic_ns; /* … and in CLOCK_MONOTONIC */
};

/*
 * A process at an index: ids given by the caller, from 1, unique in the run.
 * With WT_STORE_APPEND the store shifts all ids behind those of the file.
 */
struct wt_store_process {
	uint32_t id;
	uint32_t parent_id; /* 0: not a process of this trace */
	int32_t pid;
	int32_t parent_pid;
	uint64_t start_ticks; /* of /proc/PID/stat: tells a reused pid */
	uint64_t joined_ns;
	uint64_t ended_ns; /* WT_ABSENT: not seen */
	int32_t exit_kind; /* 0 not known, 1 exited, 2 killed or crashed, 3 exec'ed */
	bool forked;
	const char *image, *command, *host, *rank; /* "" absent */
};

struct wt_store_thread {
	uint32_t id, process_id;
	int64_t tid;
	const char *name; /* "" absent */
};

struct wt_store_device {
	uint32_t id, process_id;
	uint32_t number;                              /* in its process, from 0: RPD's gpuId */
	uint64_t uuid;                                /* 0 absent */
	uint32_t node, bdf;                           /* UINT32_MAX absent, as of all that follow … */
	uint32_t compute_units, clock_mhz;            /* … and 0 absent, too */
	const char *arch, *name;
	uint32_t hip_ordinal;
	const char *isa, *uuid_text;
	uint32_t domain, partition;
	const char *compute_partition, *memory_partition;
	uint32_t xccs; /* of this and what follows 0 is absent, too, except asic_revision */
	uint64_t memory_bytes;
	uint32_t memory_clock_mhz, memory_width_bits;
	uint32_t wavefront_size, lds_bytes, workgroup_max;
	uint32_t waves_per_cu, simds_per_cu, shader_engines, l2_bytes;
	uint32_t chip_id, asic_revision;
};

struct wt_store_setting {
	uint32_t process_id;
	const char *name;
	const char *value;    /* "": it is set to nothing */
	uint64_t whole_bytes; /* of the value, where it was cut; WT_ABSENT: it was not */
};

struct wt_store_version {
	uint32_t process_id;
	const char *part;
	const char *version; /* "" absent: it is there, and does not say */
};

struct wt_store_queue {
	uint32_t id, process_id, device_id;
	uint64_t hsa_id;
	uint32_t size;
	uint64_t created_ns, ended_ns;
	const char *mode;    /* "slots", "pool", "intercept", "untimed" */
	uint32_t type;       /* 0 several producers, 1 one, 2 cooperative; UINT32_MAX absent */
	uint32_t priority;   /* 0 low, 1 normal, 2 high; UINT32_MAX absent: never set */
	const char *cu_mask; /* in hexadecimal, the highest compute unit first; "" absent: never set */
};

struct wt_store_stream {
	uint32_t id, process_id, device_id; /* device 0 absent */
	uint32_t number;                    /* in its process, from 1 */
	uint64_t handle;
	uint64_t created_ns, ended_ns;
	const char *kind; /* "created", "found", "null", "per-thread" */
	int32_t priority;
	uint32_t flags;
};

/* A kernel symbol: name and what the code object says. One row a (process, object, generation). */
struct wt_store_symbol {
	uint32_t id, process_id, device_id;
	const char *name; /* mangled, as in the code object */
	uint64_t kernel_object;
	uint64_t loaded_ns, unloaded_ns; /* WT_ABSENT: not known / still there */
	/* what follows: UINT32_MAX absent */
	uint32_t group_bytes, private_bytes, kernarg_bytes;
	uint32_t vgprs, agprs, sgprs, vgpr_spills, sgpr_spills;
	uint32_t workgroup_max, wavefront_size, dynamic_stack;
};

enum wt_op_kind { WT_OP_KERNEL = 1, WT_OP_COPY = 2, WT_OP_FILL = 3 };

/* One operation on a GPU. */
struct wt_store_op {
	enum wt_op_kind kind;
	uint32_t process_id, device_id;
	uint32_t queue_id;         /* 0: a DMA engine */
	uint32_t stream_id;        /* 0 absent */
	uint64_t packet;           /* index in the queue; WT_ABSENT */
	uint64_t api_id;           /* of the call that asked for it; 0 absent */
	uint64_t start_ns, end_ns; /* both WT_ABSENT: no times */
	uint32_t untimed;          /* enum wt_lost of an operation that ran and has no times; 0 */
	bool in_flight;            /* submitted, not finished when its process ended */
	bool overlaps;             /* dispatched with barrier bit 0 */
	/* kernels, and copies and fills that a kernel did */
	uint32_t symbol_id; /* 0 absent: the kernel's name is not known */
	uint64_t kernel_object;
	uint32_t grid[3], block[3];
	uint32_t group_bytes;
	uint32_t private_bytes; /* UINT32_MAX absent */
	/* copies and fills */
	uint32_t copy_kind;       /* enum wt_copy_kind (core/record.h) */
	uint64_t bytes, dst, src; /* WT_ABSENT */
	uint32_t dst_device_id, src_device_id; /* whose memory; WT_STORE_HOST; 0 absent */
	/* graph replays */
	bool in_graph;
	uint32_t node; /* ordinal << 8 | packet number */
};

#define WT_STORE_ARGS 6 /* of one call, at most */

/* One API call. `id` is the correlation id of the trace: from 1, dense, given by the caller. */
struct wt_store_api {
	uint64_t id;
	uint32_t process_id, thread_id;
	const char *name;   /* "hipLaunchKernel"; the pointer may be used as a cache key: static
			       strings */
	const char *domain; /* "hip" */
	uint64_t start_ns;
	uint64_t end_ns; /* WT_ABSENT: had not returned when its process ended */
	int32_t ret;
	uint32_t stream_id;
	bool no_ret; /* the function has no return code */
	enum { WT_API_PLAIN = 0, WT_API_LAUNCH, WT_API_COPY, WT_API_ARGS } detail;
	union {
		struct {
			uint64_t function;
			uint32_t grid[3], block[3], shared_bytes;
		} launch;
		struct {
			uint64_t dst, src, bytes; /* WT_ABSENT */
			uint32_t kind;            /* enum wt_copy_kind */
		} copy;
		struct {
			uint64_t value[WT_STORE_ARGS];
			uint32_t cnt; /* named by wt_store__add_arg_name */
		} args;
	};
};

/* What a call did to memory: it gave some, or ended what lies at an address. */
struct wt_store_memory {
	uint32_t process_id;
	uint64_t address, bytes; /* bytes: WT_ABSENT */
	uint32_t kind;           /* enum wt_memory_kind (core/record.h) */
	uint32_t device_id;      /* whose; WT_STORE_HOST; 0 absent */
	uint32_t stream_id;      /* 0: none */
	uint64_t api_id;         /* 0: the call is no row of the trace */
	uint64_t time_ns;        /* when it returned; of what ends memory, when it began */
};

struct wt_store_lost {
	uint32_t process_id; /* 0: the whole trace */
	const char *cause;   /* wt_lost__name() */
	uint64_t count;
};

/* Calls that were made, but not to be recorded (--hip, -t). */
struct wt_store_unrecorded {
	uint32_t process_id;
	const char *domain, *name; /* as of wt_store_api */
	uint64_t count;
};

struct wt_store_clock {                 /* one calibration */
	uint32_t process_id, device_id; /* device 0: CPU clock */
	uint64_t taken_ns;
	uint64_t ticks;                     /* of the CPU or GPU clock … */
	uint64_t ns;                        /* … which is this time */
	uint64_t realtime_ns, monotonic_ns; /* of CPU samples; WT_ABSENT */
	uint64_t width_ns;                  /* uncertainty; WT_ABSENT */
};

struct wt_store_status {
	uint32_t process_id; /* 0: the collector */
	const char *source;  /* "hsa", "hip", "collector" */
	const char *level;   /* "info", "degraded", "off" */
	const char *text;
};

/* All return 0 or a negative errno with the cause in *err (never NULL on failure). */
int wt_store__open(struct wt_store **store, const char *path,
	const struct wt_store_options *options, struct wt_err **err);
int wt_store__add_process(struct wt_store *store, const struct wt_store_process *row);
int wt_store__add_thread(struct wt_store *store, const struct wt_store_thread *row);
int wt_store__add_device(struct wt_store *store, const struct wt_store_device *row);
int wt_store__add_setting(struct wt_store *store, const struct wt_store_setting *row);
int wt_store__add_version(struct wt_store *store, const struct wt_store_version *row);
int wt_store__add_queue(struct wt_store *store, const struct wt_store_queue *row);
int wt_store__add_stream(struct wt_store *store, const struct wt_store_stream *row);
int wt_store__add_symbol(struct wt_store *store, const struct wt_store_symbol *row);
int wt_store__add_op(struct wt_store *store, const struct wt_store_op *row);
int wt_store__add_api(struct wt_store *store, const struct wt_store_api *row);
/* How argument `position` (from 0) of that function's calls is called. Once each. */
int wt_store__add_arg_name(
	struct wt_store *store, const char *function, uint32_t position, const char *name);
int wt_store__add_memory(struct wt_store *store, const struct wt_store_memory *event);
int wt_store__add_lost(struct wt_store *store, const struct wt_store_lost *row);
int wt_store__add_unrecorded(struct wt_store *store, const struct wt_store_unrecorded *row);
int wt_store__add_clock(struct wt_store *store, const struct wt_store_clock *row);
int wt_store__add_status(struct wt_store *store, const struct wt_store_status *row);
/* Free text about the run: "command", "settings", "version", … */
int wt_store__add_meta(struct wt_store *store, const char *key, const char *value);

/*
 * Commits everything, makes indices and views, and closes. The add functions
 * remember the first failure; close reports it. The store is freed either way.
 */
int wt_store__close(struct wt_store *store, struct wt_err **err);

/* Gives up: nothing is put in its place, what was written so far is removed. NULL is allowed. */
void wt_store__abort(struct wt_store *store);

#endif
