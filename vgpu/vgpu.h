// SPDX-License-Identifier: MIT
/*
 * Internal interface of libvgpu.so, the virtual GPU. docs/VGPU.md explains the whole.
 *
 *   shim_*.c   interposed libc calls: what is ours, what is passed on
 *   conf.c     settings from the environment
 *   duration.c how long kernels take;  cost.c: packets and copies
 *   sample.c   recorded times of kernels, read;  recorded.c: found by name
 *   slots.c    how many kernels run at a time
 *   state.c    the state of this process, which a forked child gets afresh
 *   root.c     the private directory with the emulated /sys and /dev files, its cleaning up
 *   sysfs*.c, metrics.c, tree.c, overlay.c   the contents of that directory
 *   device.c   the memory files behind /dev/kfd and the render nodes
 *   clock.c    the GPUs' clocks against the machine's;  clock_parse.c: their option
 *   clock_now.c  the clocks' readings;  shim_clock.c: what the program reads
 *   model.c    the facts about each GPU model
 *   kfd.c      KFD ioctls;  drm.c: DRM ioctls;  drm_info.c: what a GPU says about itself
 *   mem.c      buffers and address translation;  file.c: their memory;  event.c: KFD events
 *   queue.c    user queues;  queue_log.c: their lines in the log
 *   wait.c     the queues' threads and the watcher;  aql.c, sdma.c: what they execute
 *   code.c     kernel object to name;  elf.c: the code object in memory
 *   blit.c     kernels that move data
 *   spool.c    the log, in memory that survives the process;  spool_json.c: its conversion
 *
 * Lock order: queue lock, then memory lock; the event lock and the kernel table's lock are leaves.
 */
#ifndef VGPU_VGPU_H
#define VGPU_VGPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "abi.h"
#include "clock.h"
#include "model.h"
#include "spool.h"
#include "timing.h"

#define VG_MAX_GPUS  8
#define VG_MINOR0    128                       /* first render minor */
#define VG_GPU_ID(i) (0x5601u + (uint32_t)(i)) /* any non-zero number will do */
#define VG_TICK_NS   10                        /* simulated durations are multiples of it */
#define VG_NAME_MAX  64
#define VG_HIDDEN    __attribute__((visibility("hidden")))
#define VG_EXPORT    __attribute__((visibility("default")))

/* A lock that is unlocked when zero. */
struct vg_lock {
	_Atomic uint32_t word; /* 0 free, 1 held, 2 held and waited for */
};
void vg_lock(struct vg_lock *lock);
bool vg_trylock(struct vg_lock *lock);
void vg_unlock(struct vg_lock *lock);

/* ---- conf.c ---- */

struct vg_conf {
	int gpu_cnt;
	const struct vg_model *model;
	struct vg_kernel_times kernel;
	struct vg_costs cost;
	const char *durations; /* NULL: no recorded times */
	bool draw_durations;   /* at random instead of in order */
	int concurrency;       /* kernels that a GPU runs at a time, 0: no limit */
	int trace;             /* 1 ioctls, 2 packets and events, 3 paths: lines on stderr */
	int kfd_minor;
	bool always_stamp;
	bool strict_doorbell;
	bool svm;        /* there is the SVM call */
	const char *log; /* NULL: no log */
	struct vg_clock clock;
	const char *fault, *kernels; /* VGPU_FAULT, VGPU_KERNELS */
};

void vg_conf__load(struct vg_conf *conf);

/* ---- clock_now.c; clock.h tells the times apart ---- */

int vg_clock__real(clockid_t id, struct timespec *now); /* libc's clock_gettime */
uint64_t vg_now(void);                                  /* machine time */
uint64_t vg_gpu_now(int gpu);                           /* gpu time, rounded down to a tick */
uint64_t vg_gpu_ticks(int gpu, uint64_t time);          /* the counter at a gpu time */
struct vg_clock_reading {
	uint64_t system, raw, ticks;
};
/* As the driver reads them; gpu -1: no counter. */
struct vg_clock_reading vg_clock__read(int gpu);

uint64_t vg_start_time(pid_t pid); /* field 22 of /proc/PID/stat, 0 if there is no such process */

/* ---- trace lines ---- */

void vg_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define TRACE(level, ...)                                                                          \
	do {                                                                                       \
		if (vg_proc()->conf.trace >= (level))                                              \
			vg_trace(__VA_ARGS__);                                                     \
	} while (0)

/* ---- alias.c ---- */

struct vg_alias_map; /* GPU ranges whose CPU address differs */

/* One entry of cache for translations: valid while the map's generation is `gen`. */
struct vg_va_cache {
	uint64_t gen, lo, hi, delta;
};

struct vg_alias_map *vg_alias__new(void);
void vg_alias__free(struct vg_alias_map *map);
int vg_alias__add(struct vg_alias_map *map, uint64_t gpu, uint64_t cpu, uint64_t size);
int vg_alias__del(struct vg_alias_map *map, uint64_t gpu);
/* Any thread, lock-free, never blocks for long (a writer holds readers up for one memmove). */
uint64_t vg_alias__look(struct vg_alias_map *map, uint64_t va, struct vg_va_cache *cache);

/* ---- ranges.c ---- */

#define VG_MAX_RANGES (1u << 18) /* address space only; touched as it fills */

struct vg_ranges {
	uint32_t cnt;
	struct vg_range {
		uint64_t start, end;
		uint64_t reach; /* greatest end up to here */
		uint32_t number;
	} entry[VG_MAX_RANGES];
};

/* `number` is the caller's, not 0. false: no room, or no range. */
bool vg_ranges__add(struct vg_ranges *r, uint64_t start, uint64_t size, uint32_t number);
void vg_ranges__del(struct vg_ranges *r, uint64_t start, uint32_t number);
/* In which va lies; of several the one that starts last. 0: in none. */
uint32_t vg_ranges__find(const struct vg_ranges *r, uint64_t va);
/* The `nth` from 0 on that starts at va or above it. 0: there is none. */
uint32_t vg_ranges__from(const struct vg_ranges *r, uint64_t va, uint32_t nth);

/* ---- mem.c ---- */

struct kfd_ioctl_alloc_memory_of_gpu_args;
int vg_mem__alloc(struct kfd_ioctl_alloc_memory_of_gpu_args *args);
int vg_mem__free(uint64_t handle);
bool vg_mem__range(uint64_t va, uint64_t *base, uint64_t *size);
bool vg_mem__covers(uint64_t va, uint64_t size);   /* of buffers or of the program's own memory */
bool vg_mem__overlaps(uint64_t va, uint64_t size); /* with a buffer */
int vg_mem__vram_gpu(uint64_t va); /* whose own memory it is, -1: the host's */
uint64_t vg_mem__vram_used(int gpu);

struct vg_bo {
	int gpu;
	uint32_t flags; /* KFD_IOC_ALLOC_MEM_FLAGS_* */
	uint64_t va, size;
	uint64_t offset; /* for mmap of the render node; USERPTR: the host address */
	int file;        /* file.c; -1: none */
	uint64_t dev, ino;
};
bool vg_mem__bo(uint64_t handle, struct vg_bo *out);
/* A mapping of the render node, as mmap(): the address or -errno. */
int64_t vg_mem__mmap(uint64_t at, uint64_t size, int prot, int flags, uint64_t offset);

/* dma-buf: a descriptor of the buffer's memory. All return 0 or -errno. */
int vg_mem__export(uint64_t handle); /* the descriptor */
int vg_mem__export_gem(uint32_t handle);
int vg_mem__import(int fd, uint64_t va, uint64_t *handle);
int vg_mem__import_gem(int gpu, int fd, uint32_t *handle);
int vg_mem__close_gem(uint32_t handle);
int vg_mem__map_gem(uint32_t handle, uint64_t va, uint64_t size, uint64_t offset);
int vg_mem__unmap_gem(uint64_t va, uint64_t size);
bool vg_mem__gem(uint32_t handle, struct vg_bo *out);

struct abi_kfd_ipc_export;
struct abi_kfd_ipc_import;
int vg_mem__ipc_export(struct abi_kfd_ipc_export *args);
int vg_mem__ipc_import(struct abi_kfd_ipc_import *args);

/* ---- svm.c: the program's own memory, at its own address ---- */

int vg_svm__call(void *arg, uint32_t bytes);        /* a struct kfd_ioctl_svm_args; 0 or -errno */
void vg_svm__forget(uint64_t start, uint64_t size); /* something else lies there now */
/* How many bytes from va on a GPU may reach, looking for so many: 0, none; they may be gone soon.
 */
uint64_t vg_svm__room(uint64_t va, uint64_t most);

/* GPU virtual address to host pointer. */
void *vg_va(uint64_t va, struct vg_va_cache *cache);

/* ---- file.c: the memory file of a buffer. Any thread; the calls wait for a thread of ours ---- */

struct vg_file_info {
	int gpu;
	uint32_t flags; /* KFD_IOC_ALLOC_MEM_FLAGS_* that it was made with */
	uint64_t size;
	uint64_t ino, dev;
	bool sealed; /* its size is fixed for ever */
};
/* What user space attached to it; everybody who has the buffer sees it. */
struct vg_file_meta {
	uint32_t size; /* of data */
	uint32_t pad;
	uint64_t flags, tiling;
	unsigned char data[256];
};
int vg_file__create(struct vg_file_info *info);        /* a file (0 and up) or -errno */
int vg_file__adopt(int fd, struct vg_file_info *info); /* of a dma-buf of the program */
void vg_file__drop(int file);
int vg_file__map(int file, uint64_t *at, uint64_t size, int prot, int flags, uint64_t offset);
int vg_file__open(int file);                             /* a new descriptor or -errno */
int vg_file__inspect(int fd, struct vg_file_info *info); /* 0, -EINVAL: not one of ours */

int vg_file__get_meta(int file, struct vg_file_meta *meta);
int vg_file__set_meta(int file, struct vg_file_meta *meta);
int vg_file__read_meta(int fd, const struct vg_file_info *info, struct vg_file_meta *meta);

/* Where another process finds it while this one has it. */
struct vg_file_place {
	pid_t pid, tid;
	int fd;
	uint32_t low_ino;
};
int vg_file__tell(int file, uint32_t low_ino, struct vg_file_place *place);
int vg_file__adopt_from(const struct vg_file_place *place, struct vg_file_info *info);

/* ---- event.c ---- */

struct kfd_ioctl_create_event_args;
struct kfd_ioctl_wait_events_args;
int vg_event__create(struct kfd_ioctl_create_event_args *args);
int vg_event__destroy(uint32_t id);
int vg_event__set(uint32_t id);
int vg_event__reset(uint32_t id);
int vg_event__wait(struct kfd_ioctl_wait_events_args *args);
void vg_event__interrupt(uint32_t id); /* the GPU raised it */
struct kfd_hsa_memory_exception_data;
struct kfd_hsa_hw_exception_data;
void vg_event__memory_exception(const struct kfd_hsa_memory_exception_data *d);
void vg_event__hw_exception(const struct kfd_hsa_hw_exception_data *d);

/* ---- slots.c ---- */

#define VG_MAX_CONCURRENCY 128

struct vg_proc;
/* When a kernel that could start then does start, for lack of a place before. */
uint64_t vg_slots__take(struct vg_proc *p, int gpu, uint64_t start, uint64_t ns);

/* ---- recorded.c ---- */

void vg_recorded__load(struct vg_proc *p); /* once, when the device is opened */
/* The recorded times of a kernel, by its mangled or its demangled name; NULL: none. */
const struct vg_sample_set *vg_recorded(const char *mangled);

/* ---- code.c, elf.c, blit.c ---- */

enum vg_effect {
	VG_EFFECT_NONE,
	VG_EFFECT_COPY,
	VG_EFFECT_COPY_RECT,
	VG_EFFECT_FILL,
	VG_EFFECT_FILL_2D,
	VG_EFFECT_RAW, /* a kernel without a code object around it: ROCr's own blits */
	VG_EFFECT_STREAM_WRITE, /* from here on: stream_op.c */
	VG_EFFECT_STREAM_WAIT,
	VG_EFFECT_STREAM_BATCH,
};

#define VG_MAX_ARGS    64
#define VG_BATCH_WIDTH 64 /* operations of a batch that wait at a time */

struct vg_kernel {
	uint64_t object;
	uint32_t gen;
	uint32_t id; /* 1 and up; in the log */
	enum vg_effect effect;
	bool aligned;  /* CLR's ...Aligned kernels count in elements */
	bool own_time; /* a pattern or a recorded time names it */
	bool dead;     /* its memory was freed */
	struct vg_duration time;
	const struct vg_sample_set *samples; /* recorded times, instead of `time` */
	uint64_t key;                        /* of its random times */
	unsigned arg_cnt;
	uint32_t arg_offset[VG_MAX_ARGS], arg_size[VG_MAX_ARGS];
	char *name;
	const struct vgpu_kernel *user; /* what VGPU_KERNELS provides for it */
	struct vg_kernel *next;
};

/* Reads the code object that lies in [base, base + room): false if there is none, or if it has no
 * kernel descriptor at `object`. The name is written without ".kd". Never reads outside. */
bool vg_elf__kernel(uint64_t base, uint64_t room, uint64_t object, char *name, size_t name_size,
	unsigned *arg_cnt, uint32_t *arg_offset, uint32_t *arg_size);

struct vg_queue;
struct vg_proc;
const struct vg_kernel *vg_kernel__find(struct vg_queue *q, uint64_t object);
uint64_t vg_kernel__ns(struct vg_queue *q, const struct vg_kernel *kernel); /* of its next run */
void vg_kernel__forget(uint64_t va, uint64_t size);
void vg_kernel__invalidate(void);
void vg_kernel__classify(struct vg_kernel *kernel, bool has_elf);

/* What a kernel that moves data did. kind: VG_REC_DISPATCH (nothing), _COPY or _FILL. */
struct vg_blit_result {
	uint8_t kind;
	uint64_t bytes;
	uint64_t from, to; /* first bytes; from: of a copy */
	bool faults;       /* nothing was done: this is no memory of the program's */
	uint64_t fault_va;
};
struct vg_blit_result vg_blit__run(const struct vg_kernel *kernel, const char *kernarg,
	uint32_t grid_x, struct vg_va_cache *cache);

/* ---- stream_op.c ---- */

/* What a kernel that waits polls. Any thread may read it while the queue is parked. */
struct vg_stream_wait {
	const void *at;
	bool wide; /* 64 bits */
	uint32_t condition;
	uint64_t value, mask;
};

static inline bool vg_stream_op__is(const struct vg_kernel *k)
{
	return k->effect >= VG_EFFECT_STREAM_WRITE;
}
/* Carries out what may be: false while a wait does not hold yet, then q->op_wait is what for. */
bool vg_stream_op__run(struct vg_queue *q, const struct vg_kernel *k,
	const struct abi_dispatch_packet *d, struct vg_blit_result *did);
bool vg_stream_op__unblocked(const struct vg_queue *q); /* after false: it can go on */

/* ---- queue.c ---- */

enum vg_queue_state { VG_Q_RUNNING, VG_Q_PARKED };
enum vg_step { VG_STEP_DONE, VG_STEP_IDLE, VG_STEP_BLOCKED, VG_STEP_LATER, VG_STEP_STALLED };

#define VG_MAX_FLIGHT 1024 /* kernels of one queue that run at the same time */

struct vg_flight {
	uint64_t start, end;
	uint64_t index;
	struct abi_signal *signal;
	struct vg_rec *rec;
	struct vg_spool_block *block;
};

struct vg_queue {
	uint32_t id;  /* the KFD's */
	uint32_t seq; /* in the log: never used twice in a process */
	uint32_t type;
	int gpu;
	char *ring;
	uint64_t ring_bytes;
	uint64_t *rptr, *wptr, *bell;
	uint32_t bell_slot;
	const struct abi_queue *aql; /* NULL for SDMA queues */
	unsigned long thread;
	pid_t tid;
	_Atomic uint32_t state; /* futex */
	_Atomic bool live;      /* seen by the watcher */
	_Atomic bool blocked;   /* parked for a signal, not for a packet */
	_Atomic bool stop;
	_Atomic bool paused;
	_Atomic bool stalled; /* a fault: until stall_until */
	_Atomic bool halted;  /* a fault: for good, with everything that runs */
	const struct abi_save_area *save_area;
	struct vg_lock look; /* the watcher looks at a parked queue; the thread leaves the park */

	/* From here on the queue's thread only (and the watcher, holding `look`, while it is
	 * parked). */
	struct vg_queue_setting setting; /* under the table's lock */
	struct vg_rec_queue *rec;        /* its record in the log, if there is one */
	struct vg_spool_block *rec_block;

	uint64_t cpu_ns; /* already accounted for */
	bool announced;
	bool spinning;
	int64_t bell_seen;      /* newest packet that a doorbell covered */
	uint64_t seen_at;       /* when that was noticed */
	uint64_t bare_since;    /* since when a valid packet waits uncovered */
	uint64_t now;           /* last look at the clock; all times here are gpu times */
	uint64_t floor;         /* no later packet starts before this */
	uint64_t next_floor;    /* SDMA: the same for what follows the command in progress */
	uint64_t last_end;      /* latest end of all launched packets */
	uint64_t waiting_since; /* the packet at the head waits for its signals since then */
	union abi_packet head;  /* while blocked: the packet */
	uint32_t sdma_head[ABI_SDMA_MAX_DWORDS];
	uint64_t packets;
	uint64_t read, published; /* AQL: the next packet, and what the program knows of it */
	bool bare;                /* the packet at the head runs uncovered */
	/* Of the kernel at the head, if it does stream operations: the first that are done, of
	 * those behind them the done ones, and what the others wait for. */
	uint32_t op_next;
	uint64_t op_done;
	unsigned op_wait_cnt;
	struct vg_stream_wait op_wait[VG_BATCH_WIDTH];
	struct vg_va_cache va_signal, va_data;
	uint64_t args_base, args_size;          /* the buffer that the last arguments were in */
	struct vg_flight flight[VG_MAX_FLIGHT]; /* heap, earliest end first */
	unsigned flight_cnt;
	struct vg_spool_cursor spool;
	struct vg_flight copy; /* SDMA: the copy that is being put together */
	uint8_t copy_kind;     /* VG_REC_NONE: none */
	uint8_t copy_way;      /* enum vg_way */
	bool reached_out;      /* SDMA: the packet wanted `reached_va`, which is in no buffer */
	uint64_t reached_va;
	bool in_command;       /* SDMA: between a start time stamp and the completion */
	uint64_t copy_seq;
	uint64_t fault_next;  /* rules have been asked about all packets below */
	uint64_t stall_until; /* 0: not stalled */
	unsigned fault_rule;
	bool fault_strikes; /* the packet at the head */
	bool fault_asked;   /* SDMA: about the copy that is being put together */
	uint32_t kcache_gen;
	const struct vg_kernel *kcache[64];
	uint32_t *runs; /* by number of the kernel: how often it ran, if its time varies */
	uint32_t run_cap;
};

struct kfd_ioctl_create_queue_args;
struct kfd_ioctl_update_queue_args;
struct kfd_ioctl_set_cu_mask_args;
int vg_queue__create(struct kfd_ioctl_create_queue_args *args);
int vg_queue__destroy(uint32_t id);
int vg_queue__update(const struct kfd_ioctl_update_queue_args *args);
int vg_queue__set_cu_mask(const struct kfd_ioctl_set_cu_mask_args *args);
void vg_queue__hint(void);           /* the program begins to wait: look at the doorbells now */
void vg_queue__signal_changed(void); /* the GPU changed a signal that others may wait for */
void vg_queue__account_all(void);    /* brings the CPU time in the log up to date */
void vg_queue__announce(struct vg_queue *q); /* at each packet: the first goes into its line */
/* What a copy or fill reads and writes first, and whose memory that is. */
void vg_queue__places(struct vg_rec *r, uint64_t from, uint64_t to);
void vg_queue__log_open(struct vg_proc *p);

enum vg_step vg_aql__step(struct vg_queue *q);
bool vg_aql__ready(const struct vg_queue *q); /* a packet that a doorbell covers waits */
bool vg_aql__bare(const struct vg_queue *q);  /* a valid packet waits that no doorbell covers */
bool vg_aql__unblocked(struct vg_queue *q);   /* the head packet's signals allow it */
void vg_aql__complete_due(struct vg_queue *q);
#define VG_BARE_NS 1000000u /* so long it may wait before it runs */
enum vg_step vg_sdma__step(struct vg_queue *q);
bool vg_sdma__ready(const struct vg_queue *q);
bool vg_sdma__unblocked(struct vg_queue *q);

/* Pure parts of the engine, for tests. */
bool vg_condition_holds(int64_t value, uint32_t condition, int64_t reference);
bool vg_sdma_compare(uint32_t value, uint32_t function, uint32_t reference);
unsigned vg_sdma_length(const uint32_t *dwords); /* in dwords; 0: unknown */
void vg_flight__push(struct vg_queue *q, const struct vg_flight *f);
struct vg_flight vg_flight__pop(struct vg_queue *q);

/* ---- packet.c ---- */

struct vg_fault_code;
/* Why the packet processor refuses this packet; NULL: it does not. */
const struct vg_fault_code *vg_packet__wrong(const union abi_packet *p);

/* ---- fault.c: faults on request ---- */

enum vg_fault_act { VG_FAULT_NONE, VG_FAULT_STALLS, VG_FAULT_STRIKES };

void vg_fault__open(struct vg_proc *p);
/* Asks the rules about a packet, once; kernel_object 0: no dispatch. */
enum vg_fault_act vg_fault__packet(
	struct vg_queue *q, uint64_t index, uint64_t start, uint64_t kernel_object);
bool vg_fault__stalled(struct vg_queue *q); /* still; else what follows starts after the stall */
void vg_fault__strike(struct vg_queue *q, uint64_t index, uint64_t start);
/* The packet reads or writes what is no memory of the program's. */
void vg_fault__access(struct vg_queue *q, uint64_t index, uint64_t start, uint64_t va);
/* Stops the queue for good, and tells its program. */
void vg_fault__queue_error(struct vg_queue *q, const struct vg_fault_code *code);
void vg_fault__interrupt(struct vg_queue *q, uint64_t index, uint32_t event);
int vg_fault__call(int kind, int gpu, uint64_t bytes); /* 0, or the error it fails with */
bool vg_fault__gpu_lost(int gpu);

/* ---- effect.c: kernels with effect ---- */

struct vgpu_kernel;
int vg_effect__load(const char *list); /* 0, or -ELIBBAD after a message */
const struct vgpu_kernel *vg_effect__find(const char *name);
void vg_effect__run(struct vg_queue *q, const struct vg_kernel *k, uint64_t index,
	const struct abi_dispatch_packet *d);

/* ---- root.c, sysfs.c, device.c ---- */

const char *vg_root(void); /* NULL when no directory could be made */
void vg_root__remove(void);
void vg_root__clean_stale(void);
void vg_root__clean_own(void); /* of an earlier image of this process */
int vg_sysfs__build(const char *root, const struct vg_conf *conf); /* 0 or -errno */
void vg_sysfs__refresh(const char *path); /* before it is opened */
#define VG_KFD_MAJOR 510 /* any dynamic number */

#define VG_BELLS      1024 /* doorbells of a GPU */
#define VG_BELL_BYTES (VG_BELLS * 8ull)
/*
 * Layout of the sparse file behind /dev/kfd: an mmap offset is an offset in it, so a plain mmap
 * works. Doorbell pages lie 4 GiB apart because the 5.2 thunk splits the offset that CREATE_QUEUE
 * returns at bit 32 for the first queue of a GPU, and at 8 KiB afterwards.
 */
#define VG_BELL_OFFSET(gpu) ((uint64_t)(gpu) << 32)
#define VG_MMIO_OFFSET(gpu) (((uint64_t)VG_MAX_GPUS << 32) + (uint64_t)(gpu)*4096)
#define VG_KFD_BYTES        VG_MMIO_OFFSET(VG_MAX_GPUS)

enum { VG_FD_NONE = -1, VG_FD_KFD = 0 /* 1 + i: render node of GPU i */ };

int vg_gpu_index(uint32_t gpu_id); /* of the driver's number of a GPU; -1: there is none */
int vg_device__start(void);        /* 0 or -errno */
int vg_device__fd_kind(int fd); /* VG_FD_* */
int vg_device__open(int kind, bool cloexec);
const char *vg_path(const char *path, char *buf); /* buf: PATH_MAX; path itself if not ours */
const char *vg_path_open(const char *path, char *buf); /* and its contents are of now */
bool vg_path_is_ours(const char *path);
int vg_path_device(const char *path); /* VG_FD_*, whether or not there is such a GPU */
int vg_kfd__ioctl(unsigned long request, void *arg); /* 0 or -errno */
int vg_drm__ioctl(int gpu, unsigned long request, void *arg);
int vg_drm__info(int gpu, void *arg);

/* ---- state.c: everything that a process may change, zero in a forked child ---- */

#define VG_MAX_QUEUES 1024
#define VG_MAX_EVENTS 8192 /* upper half: not of the signal type */

struct vg_mem_state;
struct vg_svm_state;
struct vg_file_state;
struct vg_event_state;
struct vg_code_state;
struct vg_queue_table;
struct vg_fault_state;

struct vg_proc {
	_Atomic uint32_t conf_ready; /* 0, 1 being read, 2 */
	struct vg_conf conf;
	char log_path[4096];
	char durations_path[4096];
	_Atomic uint32_t samples_ready;
	struct vg_samples *samples;
	struct vg_slots *slots;

	/* root.c */
	_Atomic uint32_t root_ready;
	char root[192];
	size_t root_len;
	pid_t pid;

	/* device.c */
	_Atomic uint32_t device_ready;
	int kfd_fd, drm_fd[VG_MAX_GPUS];
	uint64_t file_dev, kfd_ino, drm_ino[VG_MAX_GPUS];
	char *bells[VG_MAX_GPUS];
	_Atomic uint32_t runtime_enabled; /* kfd.c */

	struct vg_mem_state *mem;
	struct vg_svm_state *svm;
	struct vg_file_state *file;
	struct vg_event_state *event;
	struct vg_code_state *code;
	struct vg_queue_table *queue;
	struct vg_fault_state *fault; /* NULL: none */
	struct vg_spool spool;
	_Atomic uint32_t extras_ready; /* faults and kernels */
	int extras_error;
};

struct vg_proc *vg_proc(void);
/* Runs fn once a process (a forked child runs it again); `once` is a word in struct vg_proc. */
void vg_once(_Atomic uint32_t *once, void (*fn)(struct vg_proc *));
void *vg_zalloc(
	size_t bytes); /* zeroed pages, zero again in a forked child; NULL if there are none */
/* What *place (a pointer in struct vg_proc) leads to, made of zeroes where there is nothing yet; NULL:
 * no memory. Any thread. */
void *vg_part(void *place, size_t bytes);
void vg_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);
void vg_futex_wake(_Atomic uint32_t *word, int cnt);

#endif
