// SPDX-License-Identifier: MIT
/*
 * The HSA source: operations of the GPUs, seen at the HSA runtime's tables.
 *
 *   tool.c	OnLoad/OnUnload: takes the tables, replaces entries
 *   devices.c	GPUs and pairs of their clocks
 *   describe.c	what is known of a GPU
 *   versions.c	what runs below
 *   counters.c	the driver's word on a clock
 *   queue.c	virtual write index: queues, and what the doorbell submits
 *   index.c	producers reserve packets
 *   packet.c	what a packet is, into its slot
 *   signals.c	operations on signals
 *   slots.c	a queue's slot table
 *   selftest.c	does the GPU stamp that memory?
 *   pending.c	operations whose stamps lie in a signal that is not ours
 *   properties.c	priorities and CU masks of queues, and hsa_amd_queue_create
 *   copies.c	hsa_amd_memory_async_copy*
 *   blits.c	what the HIP runtime's own kernels copy and fill
 *   places.c	whose memory lies where
 *   symbols.c	kernel symbols and their generations
 *   registers.c	what their code objects say of them
 *   metadata.c	… and how that is read
 *   loader.c	where an executable's code lies
 *   keeper.c	wavetap's own thread: clock pairs, pending signals, rescue
 *   follow.c	queues that another tool made interceptible
 */
#ifndef WT_HSA_HSA_H
#define WT_HSA_HSA_H

#include "capture/capture.h"
#include "capture/sources/hsa/abi.h"
#include "capture/sources/hsa/metadata.h"
#include "core/slot.h"

#define HSA_CORE_MAX 128
#define HSA_AMD_MAX  96
#define HSA_DEVICES  256 /* eight cards of 32 partitions */

/* A counter and CLOCK_BOOTTIME at one moment. */
struct wt_reading {
	uint64_t ticks, ns;
	uint64_t width_ns; /* the counter was read at most so long before the clock */
};

struct wt_device {
	hsa_agent agent;
	uint32_t number;
	_Atomic uint8_t stamps;	/* the self-test's result: selftest.c */
	uint32_t kfd_id;	/* the driver's number; 0: not known, or its word is not taken */
	_Atomic uint64_t seed_ticks; /* a tick, and the time it was converted to; 0: none yet */
	uint64_t seed_ns;
	double ticks_per_ns;
	struct wt_reading last; /* the keeper's */
	_Atomic bool runtime_off; /* the runtime converts what is not so: it knows of no suspend */
};

struct wt_hsa {
	_Atomic bool active;	/* tables are ours */
	uint32_t generation;	/* of the process that took them: a fork's child is another */
	uint32_t load_cnt;	/* counts OnLoad: the runtime may come and go */
	bool foreign;		/* another tool had replaced entries before us */
	void *core_fn[HSA_CORE_MAX]; /* originals */
	void *amd_fn[HSA_AMD_MAX];   /* originals, in the old order's numbering */
	struct wt_device devices[HSA_DEVICES];
	_Atomic uint32_t device_cnt;
	uint32_t unknown_device_cnt; /* GPUs for which there is no room */
	_Atomic uint32_t code_generation;
};

extern struct wt_hsa wt_hsa;

#define CORE(name, type) ((type *)wt_hsa.core_fn[HSA_CORE_##name])
#define AMD(name, type)	 ((type *)wt_hsa.amd_fn[HSA_AMD_##name])

/*
 * In the process that took the tables, and until the runtime ends. A forked
 * child inherits queues and pending signals in its memory and shares the slot
 * tables: they are the parent's, and the wrappers pass its calls through.
 */
static inline bool wt_hsa__here(void)
{
	return wt_process.live &&
	       atomic_load_explicit(&wt_process.live->hsa_here, memory_order_relaxed);
}

/* Recording, in the process that took the tables. */
static inline bool wt_hsa__recording(void)
{
	return wt_recording_now() && wt_hsa.generation == wt_process.generation;
}

/* ---- devices.c ---- */
void wt_devices__find(void);
struct wt_device *wt_device__of(hsa_agent agent); /* NULL: not a GPU */
void wt_device__seed(struct wt_device *device, uint64_t ticks);
void wt_device__sample(struct wt_device *device);
/* gap_ns: the machine was suspended, no longer ago than that; 0: it was not. */
void wt_devices__sample_all(uint32_t gap_ns);

/* The runtime's conversions of this GPU's stamps can be believed. */
bool wt_device__runtime_holds(uint32_t number);

/* ---- describe.c ---- */
/* Fills in what the runtime and the driver say of the device; the rest is marked as not known. */
void wt_device__describe(hsa_agent agent, struct wt_rec_device *rec);

/* ---- versions.c ---- */
void wt_versions__tell(void); /* once a process */

/* ---- counters.c ---- */
uint32_t wt_counter__of_node(uint32_t node); /* the driver's number of a GPU; 0: none */
bool wt_counter__read(uint32_t kfd_id, struct wt_reading *reading);
/* It may be the clock that stamped these ticks just before. */
bool wt_counter__follows(const struct wt_reading *reading, uint64_t ticks);

/* ---- queue.c ---- */
#define WT_VQ_MARKS 8u
#define WT_SLOTS_AHEAD 8u /* how far the caches are warmed */

struct wt_vq {
	/* set at creation */
	struct hsa_queue *queue;
	uint8_t *ring;
	uint64_t read_index_size; /* packets in the ring */
	struct wt_slots_shared *shared; /* NULL: no slot table */
	struct wt_slot *slots;
	struct wt_signal *signals;
	uint64_t signals_gpu;	/* the GPU's address of `signals` */
	hsa_signal *pool;	/* POOL mode: HSA signals, one for index % WT_POOL_SIGNALS */
	uint32_t capacity;	/* slots, power of two */
	uint32_t lap_shift;
	uint32_t number;
	uint32_t slot_file;
	struct wt_device *device;
	enum wt_queue_mode mode;
	bool proxied;		/* the runtime or another tool keeps the index, we follow packets */
	struct wt_vq *next_free;
	/* written by producers */
	_Alignas(64) _Atomic uint64_t write_index; /* the one that the application sees */
	/* that packet and all before it are over: the highest that is known */
	_Alignas(64) _Atomic uint64_t passed;
	/* written by whoever rings */
	_Alignas(64) _Atomic uint32_t busy;	   /* 0 idle, 1 somebody submits, 2 and must look again */
	_Atomic uint32_t stalled;		   /* a doorbell covered packets that were not valid yet */
	uint64_t next;				   /* first packet not yet with the hardware */
	uint64_t read_seen;
	_Atomic uint64_t rung;			   /* highest doorbell value + 1 */
	_Atomic uint64_t marks[WT_VQ_MARKS];	   /* last packets that wait for all before and have our signal */
	uint32_t mark_at;
	bool bypassed;				   /* its doorbell was written past us */
};

#define WT_POOL_SIGNALS 4096u

struct wt_vq *wt_vq__find(const struct hsa_queue *queue);
void wt_vq__leave_all(void); /* the runtime ends: no queue is known any more */
/* Somebody may write to doorbells without telling: counts what went past. By the keeper. */
void wt_vq__look_for_bypass(void);
void wt_vq__rescue(void); /* rings again where a doorbell came before its packets */
void wt_queue__install(struct hsa_table *core, struct hsa_table *amd);
/* Takes note of a queue of the application's; mode SLOTS or INTERCEPT. NULL: not followed. */
struct wt_vq *wt_queue__adopt(struct hsa_queue *queue, hsa_agent agent, enum wt_queue_mode mode);
/* A packet that waited for all before it is over. */
void wt_vq__passed(struct wt_vq *vq, uint64_t index);
/* True: packet `index` of the queue that had that number is certainly over. */
bool wt_vq__has_passed(struct wt_vq *vq, uint32_t number, uint64_t index);
/* Submits what is ready and not yet with the hardware, unless another thread is at it, which then does. */
void wt_vq__ring(struct wt_vq *vq);

/* ---- index.c ---- */
void wt_index__install(struct hsa_table *core);

/* ---- packet.c ---- */
/* Describes a dispatch in its slot; may give it a completion signal. Notes what others use. */
void wt_packet__describe(struct wt_vq *vq, uint64_t index, struct hsa_dispatch_packet *packet);
/* A reserved slot of what is no operation. */
void wt_packet__free_slot(struct wt_vq *vq, uint64_t index);

/* ---- signals.c ---- */
bool wt_signal__is_doorbell(hsa_signal signal);
void wt_signals__install(struct hsa_table *core);

/* ---- slots.c ---- */
bool wt_slots__make(struct wt_vq *vq);
void wt_slots__retire(struct wt_vq *vq);
/* As above, but the memory stays: somebody may still write there. */
void wt_slots__leave(struct wt_vq *vq);

/* ---- selftest.c ---- */
/* Does the GPU write to that signal? Once a device; others wait for the result, not for long. */
bool wt_selftest__passes(struct wt_device *device, struct wt_signal *signal, uint64_t signal_gpu);
void wt_selftest__settle(void); /* before the runtime goes down */

/* ---- pending.c ---- */
enum wt_pending_kind {
	WT_PENDING_NOTHING = 0,
	WT_PENDING_OP,
	WT_PENDING_COPY,
	WT_PENDING_USED, /* by something that is not timed, and may be in flight */
};

struct wt_pending {
	enum wt_pending_kind kind;
	struct wt_vq *vq;	/* OP, USED; NULL: not known, or several */
	uint32_t vq_number;	/* USED: the queue that it was then */
	uint32_t uses;		/* USED: how many may be in flight */
	uint64_t index;		/* OP, USED: packet; of USED the last one */
	int64_t old_value;	/* USED: the signal's before the use */
	bool ordered;		/* OP: the packet waits for all before it */
	uint64_t old_end;	/* OP: end_ts before; COPY: the value before */
	uint64_t copy_number;	/* COPY: of its WT_REC_SDMA */
	uint32_t device;	/* COPY: number of the GPU that copies */
};

/* False: no room, or the signal is in use in a way that leaves no time to be sure of. */
bool wt_pending__add(uint64_t signal, const struct wt_pending *what, enum wt_lost *why);
/* Something is about to happen to that signal: read what it has. True: it is settled now. */
bool wt_pending__look(uint64_t signal);
/* Something that is not timed is about to use it. NULL: not a queue's packet. */
void wt_pending__use(uint64_t signal, struct wt_vq *vq, uint64_t index);
/* A value is about to be stored: look, and know that its value tells nothing of what runs. */
void wt_pending__store(uint64_t signal);
/* The same, for the last time. False: somebody may still be looking at the signal's memory. */
bool wt_pending__part(uint64_t signal);
bool wt_pending__scan(void);			   /* true: some were */
/* Settles what is pending for this queue, NULL: everything. False: somebody is still at it. */
bool wt_pending__forget(const struct wt_vq *vq);
uint32_t wt_pending__count(void);
uint32_t wt_pending__copies(void);

/* ---- registers.c ---- */
extern const struct wt_kernel_facts wt_no_facts;
/* A code object was loaded; its bytes are there now, and may be gone later. Takes the code lock. */
void wt_registers__loaded(hsa_executable executable, hsa_agent agent, hsa_loaded_code loaded);
/* Under the code lock. Never NULL. */
const struct wt_kernel_facts *wt_registers__of(
	hsa_executable executable, hsa_agent agent, const char *name, size_t length);
/* Under the code lock. NULL: of all. */
void wt_registers__forget(const hsa_executable *executable);

/* ---- loader.c ---- */
bool wt_loader__get(struct hsa_loader *loader);
/* Calls `take` for each place where the executable's code was loaded to. */
void wt_loader__places(hsa_executable executable,
	void (*take)(uint32_t device, uint64_t address, uint64_t bytes));

/* ---- blits.c ---- */
#define WT_BLITS       512u /* of all GPUs */
#define WT_BLIT_PROBES 8u

/* A kernel whose arguments tell what it moves. */
struct wt_blit {
	_Atomic uint64_t kernel_object; /* 0: none */
	uint64_t executable;
	uint32_t layout;
};
extern struct wt_blit wt_blits[WT_BLITS];

static inline uint32_t wt_blit__place(uint64_t kernel_object)
{
	return (uint32_t)(kernel_object >> 6 ^ kernel_object >> 15) % WT_BLITS;
}

/* NULL: a kernel like any other. Of each dispatch, so mostly one load. */
static inline const struct wt_blit *wt_blit__find(uint64_t kernel_object)
{
	for (uint32_t i = 0; i < WT_BLIT_PROBES; i++) {
		const struct wt_blit *blit =
			&wt_blits[(wt_blit__place(kernel_object) + i) % WT_BLITS];
		/* acquire: pairs with the release in wt_blits__add() */
		uint64_t seen = atomic_load_explicit(&blit->kernel_object, memory_order_acquire);

		if (seen == kernel_object)
			return blit;
		if (wt_likely(!seen))
			return NULL;
	}
	return NULL;
}

/* Which layout the arguments of a kernel have; 0: it moves nothing, or they are not known. */
uint32_t wt_blits__layout(const char *name, size_t length, const struct wt_kernel_facts *facts);
/* Under the code lock: it is callable from now on, and until its executable ends. */
void wt_blits__add(uint32_t layout, uint64_t kernel_object, uint64_t executable);
void wt_blits__remove(uint64_t executable);
void wt_blits__remove_all(void);
/* False: it is not told. */
bool wt_blit__read(const struct wt_blit *blit, const void *arguments, struct wt_moves *to);

/* ---- places.c ---- */
void wt_places__install(struct hsa_table *core, struct hsa_table *amd);
void wt_place__begins(uint32_t device, uint64_t address, uint64_t bytes);
void wt_place__ends(uint64_t address);

/* ---- the others ---- */
void wt_properties__install(struct hsa_table *amd);
void wt_copies__install(struct hsa_table *amd);
void wt_symbols__install(struct hsa_table *core);
void wt_symbols__leave_all(void); /* the runtime ends, and its executables with it */
struct wt_lock *wt_code_lock(void);
bool wt_keeper__start(void); /* false: there is none, and none can be made */
void wt_keeper__stop(void);
bool wt_keeper__slept(void); /* the machine was suspended since the keeper last looked */
void wt_keeper__bar(void); /* from now on none is started in this process */
bool wt_keeper__running(void);
void wt_follow__install(struct hsa_table *amd);
bool wt_follow__register(struct wt_vq *vq); /* packets of a proxied queue come to us */

struct wt_replaced {
	unsigned index; /* of the core table */
	void *fn;
};

void wt_hsa__replace_core(struct hsa_table *core, const struct wt_replaced *replaced, size_t cnt);

/* Replaces entry `old_index` (old numbering) of the AMD table. */
void wt_hsa__replace_amd(struct hsa_table *amd, unsigned old_index, void *fn);

#endif
