// SPDX-License-Identifier: MIT
/*
 * What travels through the rings: fixed-width little-endian records, each a
 * multiple of 8 bytes, beginning with struct wt_rec.
 *
 * Two kinds of ring carry them. A *thread ring* is written by one thread on
 * the record path. The *definition ring* (one a process) carries what other
 * records refer to (queues, devices, kernel symbols, clock pairs); its
 * producers take turns under a lock, off the record path.
 *
 * The same bytes are stored in the segment file, so a layout here is a file
 * format: fields are added at the end of a record (readers look at `size8`)
 * and a change of meaning takes a new type.
 *
 * Times: `*_tsc` are raw ticks of the CPU clock that the process header names
 * (see core/clock.h); `*_ticks` are GPU ticks; `*_ns` are CLOCK_BOOTTIME.
 */
#ifndef WT_CORE_RECORD_H
#define WT_CORE_RECORD_H

#include <assert.h>
#include <stdint.h>

#define WT_UNKNOWN UINT64_MAX /* an address or a size */

enum wt_rec_type {
	WT_REC_PAD = 0,		/* skip: fills the end of the ring's buffer */
	/* thread rings */
	WT_REC_THREAD = 1,	/* struct wt_rec_thread; first of each thread */
	WT_REC_CALL = 2,	/* struct wt_rec_call: an API call without detail */
	WT_REC_CALL_LAUNCH = 3,	/* struct wt_rec_launch */
	WT_REC_CALL_COPY = 4,	/* struct wt_rec_copy: copies and fills */
	WT_REC_CALL_ARGS = 5,	/* struct wt_rec_args: numbers, by function */
	WT_REC_CALL_MEMORY = 6,	/* struct wt_rec_memory: allocations and frees */
	/* definition ring */
	WT_REC_DEVICE = 16,	/* struct wt_rec_device */
	WT_REC_QUEUE = 17,	/* struct wt_rec_queue: created */
	WT_REC_QUEUE_END = 18,	/* struct wt_rec_queue_end: destroyed */
	WT_REC_SYMBOL = 19,	/* struct wt_rec_symbol: a kernel became callable */
	WT_REC_SYMBOLS_END = 20, /* struct wt_rec_symbols_end: an executable was destroyed */
	WT_REC_GPU_CLOCK = 21,	/* struct wt_rec_gpu_clock */
	WT_REC_STREAM = 22,	/* struct wt_rec_stream */
	WT_REC_STATUS = 23,	/* struct wt_rec_status: a source says how it is */
	WT_REC_SDMA = 24,	/* struct wt_rec_sdma: a copy was asked for */
	WT_REC_SDMA_END = 25,	/* struct wt_rec_sdma_end: it was made */
	WT_REC_STREAM_END = 26,	/* struct wt_rec_stream_end: destroyed */
	WT_REC_QUEUE_SET = 28,	/* struct wt_rec_queue_set: a property was set */
	WT_REC_SETTING = 27,	/* struct wt_rec_setting */
	WT_REC_PLACE = 32,	/* struct wt_rec_place: addresses are memory of a GPU or of the host */
	WT_REC_PLACE_END = 33,	/* struct wt_rec_place_end: they are not any more */
};

/* Head of every record. */
struct wt_rec {
	uint16_t type;	/* enum wt_rec_type */
	uint16_t size8;	/* whole record, in units of 8 bytes, this head included */
	uint32_t id;	/* API calls: index in core/hip_api.def, and WT_REC_OFF; else see the type */
};
#define WT_REC_OFF (1u << 31) /* recording was off: kept for what the call made or ended */
static_assert(sizeof(struct wt_rec) == 8, "record head");

/*
 * Correlation: thread index (24 bits, from 1) << 40 | count of that thread
 * (40 bits, from 1). 0 is "none". Unique in a process.
 */
#define WT_CORR_COUNT_BITS 40
#define WT_CORR(thread_index, count) ((uint64_t)(thread_index) << WT_CORR_COUNT_BITS | (count))

struct wt_rec_thread {
	struct wt_rec rec;	/* id: thread index */
	int64_t tid;		/* the kernel's thread id, as the process sees it */
	char name[16];		/* comm at the thread's first event */
};
static_assert(sizeof(struct wt_rec_thread) == 32, "thread record");

/* An API call, written when it returns. */
struct wt_rec_call {
	struct wt_rec rec;	/* id: API */
	uint64_t start_tsc;
	uint64_t end_tsc;
	uint64_t corr;
	int32_t ret;		/* the API's return code */
	uint32_t stream;	/* stream number (WT_REC_STREAM), 0: the call names none */
};
static_assert(sizeof(struct wt_rec_call) == 40, "call record");

struct wt_rec_launch {
	struct wt_rec_call call;
	uint64_t function;	/* host function or hipFunction_t; of a graph launch: the exec */
	uint32_t grid[3];	/* in work-items, as dispatched; 0,0,0 for a graph launch */
	uint32_t block[3];
	uint32_t shared_bytes;	/* dynamic */
	uint32_t reserved;
};
static_assert(sizeof(struct wt_rec_launch) == 80, "launch record");

enum wt_copy_kind { /* what the caller asked for; numbers of hipMemcpyKind, then fills */
	WT_COPY_HTOH = 0,
	WT_COPY_HTOD = 1,
	WT_COPY_DTOH = 2,
	WT_COPY_DTOD = 3,
	WT_COPY_DEFAULT = 4,
	WT_COPY_PEER = 5,	/* operations: between two GPUs */
	WT_COPY_FILL = 16,
	WT_COPY_UNKNOWN = 255,
};

struct wt_rec_copy {
	struct wt_rec_call call;
	uint64_t dst;		/* WT_UNKNOWN, e.g. an array */
	uint64_t src;		/* fills: the value */
	uint64_t bytes;		/* WT_UNKNOWN */
	uint32_t kind;		/* enum wt_copy_kind */
	uint32_t reserved;
};
static_assert(sizeof(struct wt_rec_copy) == 72, "copy record");

#define WT_REC_ARGS_MAX 6

struct wt_rec_args {
	struct wt_rec_call call;
	uint64_t value[];	/* at most WT_REC_ARGS_MAX, named by core/hip_api.def */
};
static_assert(sizeof(struct wt_rec_args) == 40, "arguments record");

enum wt_memory_kind {
	WT_MEMORY_FREE = 0,	/* whatever lies at that address ends */
	WT_MEMORY_DEVICE = 1,
	WT_MEMORY_HOST = 2,	/* pinned, by HIP */
	WT_MEMORY_MANAGED = 3,
	WT_MEMORY_ASYNC = 4,	/* of a pool, in the order of a stream */
	WT_MEMORY_ARRAY = 5,	/* address is the array's handle */
	WT_MEMORY_REGISTERED = 6, /* the application's own, pinned */
	WT_MEMORY_PHYSICAL = 7,	/* to be mapped (hipMemCreate): address is the handle */
	WT_MEMORY_RESERVED = 8,	/* addresses alone (hipMemAddressReserve) */
	WT_MEMORY_IPC = 9,	/* another process' */
	WT_MEMORY_RESET = 10,	/* all of that device ends; no address */
};

struct wt_rec_memory {
	struct wt_rec_call call;
	uint64_t address;
	uint64_t bytes;		/* WT_UNKNOWN; of a free 0 */
	uint32_t kind;		/* enum wt_memory_kind */
	uint32_t device;	/* the thread's device, UINT32_MAX: not known */
};
static_assert(sizeof(struct wt_rec_memory) == 64, "memory record");

/* ---- definitions ---------------------------------------------------------- */

struct wt_rec_device {
	struct wt_rec rec;	/* id: device number in this process, from 0, in HSA order of GPUs */
	uint64_t agent;		/* hsa_agent_t handle */
	uint64_t uuid;		/* of the GPU, 0: not known */
	/* of the 32-bit ones UINT32_MAX, and where it cannot be a value 0: not known */
	uint32_t node;		/* driver node */
	uint32_t bdf;		/* PCI bus << 8 | device << 3 | function */
	uint32_t compute_units;
	uint32_t clock_mhz;
	char arch[32];		/* "gfx90a" */
	char name[64];		/* product name */
	uint64_t memory_bytes;	/* its own, 0: not known */
	char isa[64];		/* "gfx90a:sramecc+:xnack-" */
	char uuid_text[24];	/* "GPU-0123456789abcdef" */
	char compute_partition[8]; /* "SPX", "CPX", …; "": not known */
	char memory_partition[8];  /* "NPS1", …; "": not known */
	uint32_t index;		/* among the GPUs that the runtime shows, in its order, … */
	uint32_t shown_cnt;	/* … and how many those are */
	uint32_t domain;	/* PCI */
	uint32_t partition;	/* number in its PCI device, as the driver's location says */
	uint32_t xcc_cnt;
	uint32_t memory_clock_mhz;
	uint32_t memory_width_bits;
	uint32_t wavefront_size;
	uint32_t lds_bytes;	/* of a work-group, at most */
	uint32_t workgroup_max;	/* work-items */
	uint32_t waves_per_cu;
	uint32_t simds_per_cu;
	uint32_t shader_engines;
	uint32_t l2_bytes;
	uint32_t chip_id;	/* PCI device id */
	uint32_t asic_revision;
};
static_assert(sizeof(struct wt_rec_device) == 312, "device record");

/* What a process was set to, and what it runs on. */
enum wt_setting_kind {
	WT_SETTING_VARIABLE = 0, /* of its environment, at its first use of a GPU */
	WT_SETTING_VERSION = 1,	 /* of a part: "hip", "hsa", "kfd", …; "": it has none */
	WT_SETTING_TOLD = 2,	 /* no name: all variables were told of before */
};

struct wt_rec_setting {
	struct wt_rec rec;	/* id: enum wt_setting_kind */
	uint32_t name_bytes;	/* NAME=VALUE follows, no NUL, padded to 8 */
	uint32_t value_bytes;
	uint32_t whole_bytes;	/* of the value; more than value_bytes: it was cut */
	uint32_t number;	/* TOLD: how many variables … */
	uint32_t left_out;	/* … and how many found no room */
	uint32_t reserved;
};
static_assert(sizeof(struct wt_rec_setting) == 32, "setting record");

enum wt_queue_mode {
	WT_QUEUE_SLOTS = 1,	/* the GPU stamps the slot table's signals */
	WT_QUEUE_POOL = 2,	/* HSA signals, read by wavetap's thread */
	WT_QUEUE_INTERCEPT = 3,	/* another tool made it interceptible; we follow */
	WT_QUEUE_UNTIMED = 4,	/* seen, not timed: `info` says why */
};

struct wt_rec_queue {
	struct wt_rec rec;	/* id: queue number in this process, from 0 */
	uint64_t hsa_id;	/* hsa_queue_t.id */
	uint64_t created_ns;
	uint32_t device;
	uint32_t size;		/* packets */
	uint32_t mode;		/* enum wt_queue_mode */
	uint32_t slot_file;	/* number of its slot file, UINT32_MAX: none */
	uint32_t type;		/* hsa_queue_type_t: 0 several producers, 1 one, 2 cooperative */
	uint32_t reserved;
};
static_assert(sizeof(struct wt_rec_queue) == 48, "queue record");

enum wt_queue_property {
	WT_QUEUE_PRIORITY = 1,	/* value: 0 low, 1 normal, 2 high */
	WT_QUEUE_CU_MASK = 2,	/* value: bits, a multiple of 32; as many follow in words of 32, padded to 8 bytes */
};
#define WT_QUEUE_CU_MASK_MAX 1024u

struct wt_rec_queue_set {
	struct wt_rec rec;	/* id: queue number */
	uint32_t what;		/* enum wt_queue_property */
	uint32_t value;
};
static_assert(sizeof(struct wt_rec_queue_set) == 16, "queue property record");

struct wt_rec_queue_end {
	struct wt_rec rec;	/* id: queue number */
	uint64_t ended_ns;
	uint64_t packets;	/* indices handed to the hardware */
};
static_assert(sizeof(struct wt_rec_queue_end) == 24, "queue end record");

/*
 * A kernel symbol lives in the generations [born, dead): the process counts
 * `code generation` up at each executable freeze and destroy, each dispatch
 * carries the generation of its submission. So an address that is used again
 * after a module was unloaded names another symbol.
 */
struct wt_rec_symbol {
	struct wt_rec rec;	/* id: generation in which it was born */
	uint64_t kernel_object;
	uint64_t executable;	/* handle, ties it to WT_REC_SYMBOLS_END */
	uint32_t device;
	uint32_t group_bytes;
	uint32_t private_bytes;
	uint32_t kernarg_bytes;
	uint32_t name_bytes;	/* mangled name follows, no NUL, padded to 8 */
	uint32_t reserved;
	/* as the compiler counted; these, and the bytes above, UINT32_MAX: not known */
	uint32_t vgprs;		/* from gfx90a on with those for accumulation */
	uint32_t agprs;
	uint32_t sgprs;
	uint32_t vgpr_spills;
	uint32_t sgpr_spills;
	uint32_t workgroup_max;	/* work-items that it was compiled for */
	uint32_t wavefront_size;
	uint32_t dynamic_stack;	/* 1: scratch is known only when it runs */
};
static_assert(sizeof(struct wt_rec_symbol) == 80, "symbol record");

struct wt_rec_symbols_end {
	struct wt_rec rec;	/* id: first generation in which they are gone */
	uint64_t executable;
};
static_assert(sizeof(struct wt_rec_symbols_end) == 16, "symbols end record");

/* GPU tick `ticks` is CLOCK_BOOTTIME `ns`, as the driver reads or the runtime converts them. */
struct wt_rec_gpu_clock {
	struct wt_rec rec;	/* id: device number */
	uint64_t ticks;
	uint64_t ns;
	uint64_t taken_ns;
	uint32_t width_ns;	/* the tick began at most so long before; UINT32_MAX: not known */
	uint32_t gap_ns;	/* the machine was suspended, at most so long ago; 0: it was not */
};
static_assert(sizeof(struct wt_rec_gpu_clock) == 40, "GPU clock record");

enum wt_stream_kind {
	WT_STREAM_CREATED = 0,	/* by hipStreamCreate* while recording */
	WT_STREAM_FOUND = 1,	/* a handle whose creation was not seen */
	WT_STREAM_NULL = 2,	/* a device's null stream */
	WT_STREAM_PER_THREAD = 3,
};

#define WT_STREAM_NOT_KNOWN UINT32_MAX /* where a number stands: a stream, but not known which */

/* A stream's identity is its number: a handle handed out again is another stream. */
struct wt_rec_stream {
	struct wt_rec rec;	/* id: stream number in this process, from 1 */
	uint64_t handle;
	uint64_t created_ns;
	uint32_t device;	/* number in this trace; UINT32_MAX: not certain */
	uint32_t kind;		/* enum wt_stream_kind */
	int32_t priority;
	uint32_t flags;
	uint32_t ordinal;	/* HIP's number of its device, UINT32_MAX: not known */
	uint32_t reserved;
};
static_assert(sizeof(struct wt_rec_stream) == 48, "stream record");

struct wt_rec_stream_end {
	struct wt_rec rec;	/* id: stream number */
	uint64_t ended_ns;
};
static_assert(sizeof(struct wt_rec_stream_end) == 16, "stream end record");

/* A source's word on itself; text follows, no NUL, padded to 8. */
struct wt_rec_status {
	struct wt_rec rec;	/* id: 0 information, 1 degraded, 2 off */
	char source[16];	/* "hsa", "hip", … */
	uint32_t text_bytes;
	uint32_t reserved;
};
static_assert(sizeof(struct wt_rec_status) == 32, "status record");

/*
 * A copy by hsa_amd_memory_async_copy*: written before it is submitted, so that
 * it is known of whatever happens. What became of it comes with a
 * WT_REC_SDMA_END of the same number.
 */
struct wt_rec_sdma {
	struct wt_rec rec;	/* id: device number of the GPU that copied */
	uint64_t corr;
	uint64_t dst;
	uint64_t src;
	uint64_t bytes;
	uint64_t number;
	uint32_t stream;
	uint32_t reserved;
	uint32_t dst_device;	/* by the agents that were given; WT_PLACE_HOST: a CPU's */
	uint32_t src_device;
};
static_assert(sizeof(struct wt_rec_sdma) == 64, "SDMA record");

struct wt_rec_sdma_end {
	struct wt_rec rec;	/* id: 0, or enum wt_lost: why there are no times, or: */
#define WT_SDMA_REFUSED UINT32_MAX /* there was no copy: the runtime did not take it */
	uint64_t number;
	uint64_t start_ns;	/* as the runtime converted them */
	uint64_t end_ns;
};
static_assert(sizeof(struct wt_rec_sdma_end) == 32, "SDMA end record");

/*
 * Whose memory lies at some addresses, from the moment when the runtime gave it
 * until just before it was asked to take it back: what tells a copy's direction.
 * Not only allocations of the application's, but whatever the GPU can reach.
 */
struct wt_rec_place {
	struct wt_rec rec;	/* id: device number, or: */
#define WT_PLACE_HOST UINT32_MAX
	uint64_t address;
	uint64_t bytes;
	uint64_t from_ns;
};
static_assert(sizeof(struct wt_rec_place) == 32, "place record");

struct wt_rec_place_end {
	struct wt_rec rec;
	uint64_t address;
	uint64_t end_ns;
};
static_assert(sizeof(struct wt_rec_place_end) == 24, "place end record");

#endif
