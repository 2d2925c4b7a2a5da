// SPDX-License-Identifier: MIT
/*
 * The slot table of a queue: where an operation is described by its producer
 * and stamped by the GPU, in memory that the collector reads.
 *
 * A slot file is a struct wt_slots_shared (4 KiB), `capacity` slots of 64
 * bytes, and, from a page boundary on, `capacity` signals of 64 bytes. The
 * signals *are* the amd_signal_t that the packets carry: the GPU decrements
 * the value and writes start and end ticks there. No interrupt is attached
 * (event_mailbox_ptr is 0).
 *
 * Packet index i of the queue uses slot i % capacity. Life of a slot:
 *
 *   FREE ──reserve──> RESERVED ──doorbell──> SUBMITTED ──collector──> FREE
 *   (producer, at the write index)  (whoever rings)  (signal value is 0)
 *
 * Who writes: the state word is stored by the producer while FREE or
 * RESERVED, by the collector while SUBMITTED. `submitted` in the header counts
 * the packets handed to the hardware; the collector looks at slots below it.
 */
#ifndef WT_CORE_SLOT_H
#define WT_CORE_SLOT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define WT_SLOTS_MAGIC	      0x31544f4c53545741ull /* "AWTSLOT1" */
#define WT_SLOTS_HEADER_BYTES 4096u
#define WT_SLOTS_MAX_CAPACITY (1u << 20)

enum wt_slot_state {
	WT_SLOT_FREE = 0,
	WT_SLOT_RESERVED = 1,
	WT_SLOT_SUBMITTED = 2,
};

enum wt_slot_kind {
	WT_SLOT_UNKNOWN = 0,
	WT_SLOT_DISPATCH = 1,
	WT_SLOT_BARRIER = 2,	/* barrier-AND, -OR, barrier-value: no operation, freed unread */
	WT_SLOT_OTHER = 3,	/* vendor packets; no operation */
};

enum wt_slot_flag {
	WT_SLOT_TIMED = 1 << 0,	     /* the signal will carry start and end */
	WT_SLOT_OWN_SIGNAL = 1 << 1, /* the application's signal: stamps are copied here later */
	WT_SLOT_GRAPH = 1 << 2,	     /* part of a graph replay: `node` holds its ordinal */
	WT_SLOT_NO_BARRIER = 1 << 3, /* barrier bit 0: may overlap its predecessor */
	WT_SLOT_NO_PRODUCER = 1 << 4, /* reserved outside the wrapped functions */
	WT_SLOT_MOVES = 1 << 5,	     /* a copy or fill by a kernel whose arguments were read: `moves` */
};

/* The state word, one atomic store. */
union wt_slot_word {
	uint64_t raw;
	struct {
		uint32_t lap;	 /* packet index / capacity, low 32 bits */
		uint8_t state;	 /* enum wt_slot_state */
		uint8_t kind;	 /* enum wt_slot_kind */
		uint8_t flags;	 /* enum wt_slot_flag */
		uint8_t untimed; /* enum wt_lost of a slot that is not TIMED */
	};
};
static_assert(sizeof(union wt_slot_word) == 8, "slot word");

#define WT_SLOT_PRIVATE_UNKNOWN 0xffffu

/* What a copy or a fill does: the first bytes that it writes and reads, how many in all. */
struct wt_moves {
	uint64_t dst;
	uint64_t src; /* fills: 0 */
	uint64_t bytes;
};

struct wt_slot {
	_Atomic uint64_t word;	 /* union wt_slot_word */
	uint64_t corr;		 /* of the API call that reserved it, 0: none */
	uint64_t kernel_object;
	union {
		struct {
			uint32_t grid[3];	 /* work-items */
			uint16_t block[3];	 /* work-items */
			uint16_t private_dwords; /* private segment of a work-item / 4 … */
			uint32_t reserved;	 /* … or WT_SLOT_PRIVATE_UNKNOWN */
		};
		struct wt_moves moves; /* WT_SLOT_MOVES: it has no dimensions then */
	};
	uint32_t stream;	 /* stream number, 0: not known */
	uint32_t node;		 /* ordinal << 8 | packet, with WT_SLOT_GRAPH */
	uint32_t group_bytes;
	uint32_t code_generation;
};
static_assert(sizeof(struct wt_slot) == 64, "slot");

/* amd_signal_t: layout fixed by the AMD HSA ABI (amd_hsa_signal.h). */
struct wt_signal {
	int64_t kind;		/* 1: user */
	_Atomic int64_t value;	/* 1 in flight, 0 done */
	uint64_t event_mailbox_ptr;
	uint32_t event_id;
	uint32_t reserved1;
	_Atomic uint64_t start_ticks;
	_Atomic uint64_t end_ticks;
	uint64_t queue_ptr;
	uint32_t reserved3[2];	/* ours: [0] enum wt_lost of an OWN_SIGNAL operation that has no times */
};
static_assert(sizeof(struct wt_signal) == 64, "amd_signal_t");
static_assert(offsetof(struct wt_signal, value) == 8, "amd_signal_t.value");
static_assert(offsetof(struct wt_signal, event_mailbox_ptr) == 16, "amd_signal_t mailbox");
static_assert(offsetof(struct wt_signal, start_ticks) == 32, "amd_signal_t.start_ts");
static_assert(offsetof(struct wt_signal, queue_ptr) == 48, "amd_signal_t.queue_ptr");

struct wt_slots_shared {
	uint64_t magic;
	uint32_t version;	/* 1 */
	uint32_t process;
	uint32_t number;	/* slot file number in the process */
	uint32_t queue;		/* queue number (WT_REC_QUEUE) */
	uint32_t device;
	uint32_t capacity;	/* slots, power of two, at least twice the ring */
	uint64_t slots_offset;
	uint64_t signals_offset;
	uint64_t reserved0[2];
	_Alignas(64) _Atomic uint64_t submitted; /* packet indices below are with the hardware */
	_Atomic uint32_t retired;		 /* 1: the queue is gone, nothing changes any more */
	uint32_t reserved1;
	_Atomic uint64_t off_cnt;		 /* dispatches made while recording was off */
	uint32_t reserved2[10];
};
static_assert(offsetof(struct wt_slots_shared, submitted) == 64, "slots header");
static_assert(sizeof(struct wt_slots_shared) == 128, "slots header");

/* Slack for the collector: some 40 ms at the highest dispatch rates. */
#define WT_SLOTS_MIN_CAPACITY 32768u

#define WT_SLOTS_FILE_BYTES(capacity)                                                        \
	(WT_SLOTS_HEADER_BYTES +                                                             \
		(size_t)(capacity) * (sizeof(struct wt_slot) + sizeof(struct wt_signal)))

static inline size_t wt_slots__file_bytes(uint32_t capacity)
{
	return WT_SLOTS_FILE_BYTES(capacity);
}

/* One operation as it is stored in the segment file. */
struct wt_op_raw {
	struct wt_slot slot;	/* as read */
	uint64_t index;		/* packet index */
	uint64_t start_ticks;	/* 0,0: no time stamps */
	uint64_t end_ticks;
	uint64_t state;		/* enum wt_op_state */
};
static_assert(sizeof(struct wt_op_raw) == 96, "stored operation");

enum wt_op_state {
	WT_OP_DONE = 0,
	WT_OP_UNTIMED = 1,	/* executed or in flight: not known; slot.word.untimed says why */
	WT_OP_IN_FLIGHT = 2,	/* submitted, not complete when its process ended */
};

#endif
