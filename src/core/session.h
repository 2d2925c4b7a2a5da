// SPDX-License-Identifier: MIT
/*
 * What the traced processes and the collector share, beside rings and slots.
 *
 * A session is a directory (0700):
 *
 *   session        struct wt_session_shared, made by the collector
 *   sock           UNIX stream socket: a process says hello (struct wt_hello), then closes
 *   p<N>           process N: struct wt_process_shared, then its definition ring
 *   r<N>-<I>       thread ring I of process N
 *   q<N>-<I>       slot file I of process N
 *
 * Files are allocated whole (posix_fallocate) before they are mapped. Where
 * the directory has no room, a producer makes a memfd of the same layout and
 * hands it over with its hello.
 */
#ifndef WT_CORE_SESSION_H
#define WT_CORE_SESSION_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WT_SESSION_MAGIC   0x314e534553545741ull /* "AWTSESN1" */
#define WT_PROCESS_MAGIC   0x31434f5250545741ull /* "AWTPROC1" */
#define WT_SESSION_VERSION 1u
#define WT_SESSION_BYTES   4096u

#define WT_SESSION_FILE "session"
#define WT_SOCKET_FILE	"sock"

enum wt_collector_state {
	WT_COLLECTOR_STARTING = 0,
	WT_COLLECTOR_RUNNING = 1,
	WT_COLLECTOR_STOPPING = 2, /* producers stop recording */
	WT_COLLECTOR_DONE = 3,
};

/* Values of the settings word. */
enum wt_hip_mode { WT_HIP_WORK = 0, WT_HIP_ALL = 1, WT_HIP_OFF = 2 };
enum wt_graph_mode { WT_GRAPH_NODE = 0, WT_GRAPH_GRAPH = 1, WT_GRAPH_OFF = 2 };
enum wt_depth { WT_DEPTH_FULL = 0, WT_DEPTH_STANDARD = 1, WT_DEPTH_LITE = 2 };
enum wt_want { /* -t */
	WT_WANT_KERNEL = 1 << 0,
	WT_WANT_COPY = 1 << 1,
	WT_WANT_HIP = 1 << 2,
	WT_WANT_ROCTX = 1 << 3,
	WT_WANT_MEM = 1 << 4,
};
#define WT_WANT_DEFAULT 0x1fu

struct wt_settings {
	uint32_t want;		/* enum wt_want bits */
	uint8_t hip;		/* enum wt_hip_mode */
	uint8_t graph;		/* enum wt_graph_mode */
	uint8_t depth;		/* enum wt_depth */
	uint8_t follow;		/* children keep the environment */
	uint64_t buffer_bytes;	/* cap of shared memory, whole session */
	uint32_t ring_bytes;	/* a thread ring's capacity */
	uint32_t reserved;
};
static_assert(sizeof(struct wt_settings) == 24, "settings");

#define WT_COLLECTOR_GONE_NS 5000000000ull /* heartbeat older than this: the collector is gone */

struct wt_session_shared {
	uint64_t magic;
	uint32_t version;
	uint32_t collector_pid;	/* as the collector sees itself */
	uint64_t session_id;	/* random, not 0 */
	uint64_t started_ns;	/* CLOCK_BOOTTIME */
	struct wt_settings settings;
	_Atomic uint32_t primary_pid; /* of the traced command, in the collector's pid namespace; 0: not known */
	_Atomic uint32_t off; /* 1: nothing is recorded, but what exists is followed. By the collector */
	_Alignas(64) _Atomic uint64_t heartbeat_ns; /* CLOCK_MONOTONIC: a suspend is no silence. By the collector, >= 10 Hz */
	_Atomic uint32_t state;			    /* enum wt_collector_state */
	uint32_t reserved1[13];
	_Alignas(64) _Atomic uint32_t process_cnt;  /* numbers given out, from 0 */
	uint32_t reserved2;
	_Atomic uint64_t buffer_used_bytes;	    /* by files and memfds that exist */
	uint64_t reserved3[6];
};
static_assert(offsetof(struct wt_session_shared, settings) == 32, "session");
static_assert(offsetof(struct wt_session_shared, heartbeat_ns) == 64, "session");
static_assert(offsetof(struct wt_session_shared, process_cnt) == 128, "session");
static_assert(sizeof(struct wt_session_shared) == 192, "session");

/* Why something is not in the trace, or is there without times. One meaning each. */
enum wt_lost {
	WT_LOST_NONE = 0,
	WT_LOST_CALL_RING_FULL,		/* API calls: the thread's ring was full */
	WT_LOST_CALL_NO_RING,		/* API calls: no memory for the thread's ring */
	WT_LOST_DEFINITION_RING_FULL,	/* definitions that found no room in time */
	WT_LOST_OP_NO_SLOTS,		/* operations: no memory for the queue's slot table; not recorded */
	WT_LOST_OP_SLOT_BUSY,		/* operations: slot still in use when its index came round; not recorded */
	WT_LOST_OP_BYPASSED,		/* operations: submitted past the wrapped functions; not recorded */
	WT_LOST_TIME_SHARED_SIGNAL,	/* recorded untimed: its signal counts several operations */
	WT_LOST_TIME_SIGNAL_REARMED,	/* recorded untimed: its signal changed before it was read */
	WT_LOST_TIME_NO_ROOM,		/* recorded untimed: too many application signals pending */
	WT_LOST_TIME_NOT_STAMPED,	/* recorded untimed: complete, but the GPU wrote no times */
	WT_LOST_TIME_DEPTH,		/* recorded untimed: --depth asks for it */
	WT_LOST_TIME_OTHER_TOOL,	/* recorded untimed: another tool owns the queue */
	WT_LOST_COLLECTOR_GONE,		/* everything after the collector went away */
	WT_LOST_COPY_UNSEEN,		/* copies whose completion could not be followed */
	WT_LOST_TIME_NO_CLOCK,		/* recorded untimed: the GPU clock's rate was not known */
	WT_LOST_STREAM_UNNAMED,		/* recorded: its call names no stream, or one of a device not known */
	WT_LOST_STREAM_HIDDEN,		/* recorded: submitted by a thread of the runtime's, whose is not known */
	WT_LOST_STREAM_OUTSIDE,		/* recorded: submitted outside of HIP calls */
	WT_LOST_CALLER_WORKER,		/* recorded, call not known: a thread of the runtime's submitted it */
	WT_LOST_CALLER_OUTSIDE,		/* recorded, call not known: submitted outside of HIP calls */
	WT_LOST_CNT
};

/* The name of a cause as stored and printed ("call.ring-full"), and a sentence. Never NULL. */
const char *wt_lost__name(unsigned cause);
const char *wt_lost__sentence(unsigned cause);

enum wt_process_state {
	WT_PROCESS_JOINING = 0,
	WT_PROCESS_JOINED = 1,
	WT_PROCESS_LEFT = 2,	/* said so itself (exec, orderly end); the kernel has the last word */
};

enum wt_cpu_clock {
	WT_CPU_CLOCK_TSC = 1,	   /* *_tsc are TSC ticks */
	WT_CPU_CLOCK_BOOTTIME = 2, /* *_tsc are CLOCK_BOOTTIME nanoseconds */
};

#define WT_DEFINITION_RING_BYTES (1u << 20)

struct wt_process_shared {
	uint64_t magic;
	uint32_t version;
	uint32_t number;
	int32_t pid;		/* in its own pid namespace */
	int32_t parent_pid;
	uint64_t start_ticks;	/* field 22 of /proc/self/stat: with pid, the identity */
	uint64_t joined_ns;
	uint32_t cpu_clock;	/* enum wt_cpu_clock */
	uint32_t forked;	/* 1: a child by fork that has not exec'ed: no HSA sources */
	char image[256];	/* /proc/self/exe, cut at the front if long */
	char command[512];	/* arguments, separated by spaces, cut */
	char rank[32];		/* "" or the number that the launcher gave */
	char host[64];
	uint64_t reserved0[4];
	_Alignas(64) _Atomic uint32_t state;	/* enum wt_process_state */
	_Atomic uint32_t ring_cnt;		/* ring numbers given out */
	_Atomic uint32_t slots_cnt;		/* slot file numbers given out */
	_Atomic uint32_t thread_cnt;		/* thread indices given out, from 1 */
	_Atomic uint64_t interrupted_ns;	/* when recording stopped early, 0: never */
	_Atomic uint64_t off_copies;		/* DMA copies made while recording was off */
	uint64_t reserved1[4];
	_Alignas(64) _Atomic uint64_t lost[64];	/* by enum wt_lost */
};
static_assert(WT_LOST_CNT <= 64, "lost counters");
static_assert(sizeof(struct wt_process_shared) <= 4096, "process header");
/* the definition ring (struct wt_ring_shared and its data) follows here */
#define WT_PROCESS_RING_OFFSET 4096u
#define WT_PROCESS_FILE_BYTES  (WT_PROCESS_RING_OFFSET + 4096u + WT_DEFINITION_RING_BYTES)

enum wt_file_kind { WT_FILE_PROCESS = 1, WT_FILE_RING = 2, WT_FILE_SLOTS = 3 };

/*
 * The one message of a connection, with or without a descriptor (SCM_RIGHTS).
 * Without: "process `process` has joined", its pid comes from SO_PEERCRED.
 * With: the descriptor is a memfd that stands for the file of that name.
 */
struct wt_hello {
	uint64_t session_id;
	uint32_t kind;		/* enum wt_file_kind */
	uint32_t process;
	uint32_t number;
	uint32_t reserved;
};
static_assert(sizeof(struct wt_hello) == 24, "hello");

/* "p3", "r3-1", "q3-0" into name[32]. */
void wt_session__file_name(char name[32], enum wt_file_kind kind, uint32_t process,
	uint32_t number);

#endif
