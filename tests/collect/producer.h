// SPDX-License-Identifier: MIT
/*
 * A traced process without a GPU: makes the files that core/session.h, ring.h
 * and slot.h describe, from nothing but those headers. Times are
 * CLOCK_BOOTTIME (WT_CPU_CLOCK_BOOTTIME) unless a test says otherwise; a GPU
 * tick is 10 ns.
 */
#ifndef WT_TEST_PRODUCER_H
#define WT_TEST_PRODUCER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/record.h"
#include "core/ring.h"
#include "core/session.h"
#include "core/slot.h"

struct producer {
	char dir[PATH_MAX];
	int dir_fd;
	bool memfd; /* hand everything over by the socket */
	struct wt_session_shared *session;
	struct wt_process_shared *shared;
	struct wt_ring definitions;
};

struct producer_slots {
	struct wt_slots_shared *shared;
	struct wt_slot *slots;
	struct wt_signal *signals;
	uint32_t capacity;
	uint64_t write; /* next packet index */
	uint64_t busy;  /* slots found in use: counted as lost, as the library does */
	struct producer *producer;
};

struct producer_thread {
	struct wt_ring ring;
	uint32_t index;
	uint64_t count;
};

/* 0, or -1 with a line on stderr. */
int producer__join(struct producer *p, const char *session_dir, bool memfd);
int producer__thread(struct producer *p, struct producer_thread *t, uint32_t capacity);
int producer__slots(struct producer *p, struct producer_slots *s, uint32_t capacity, uint32_t queue,
	uint32_t device);

/* Definitions; wait for room. */
void producer__define(struct producer *p, struct wt_rec *rec, size_t bytes, const char *text);
void producer__device(struct producer *p, uint32_t number);
void producer__queue(struct producer *p, uint32_t number, uint32_t device, uint32_t slot_file);
void producer__symbol(struct producer *p, uint64_t object, uint64_t executable, uint32_t generation,
	const char *name);
void producer__symbols_end(struct producer *p, uint64_t executable, uint32_t generation);
void producer__gpu_clock(struct producer *p, uint32_t device, uint64_t ticks, uint64_t ns);
void producer__stream(struct producer *p, uint32_t number, uint32_t device);

/* One call; its correlation, also when the ring had no room. */
uint64_t producer__call(struct producer_thread *t, uint32_t api, uint64_t start, uint64_t end);
uint64_t producer__copy_call(struct producer_thread *t, uint32_t api, uint64_t start, uint64_t end,
	uint64_t bytes, uint32_t kind);

/* Reserves, fills and submits one dispatch; false: its slot was in use (counted). */
bool producer__dispatch(struct producer_slots *s, uint64_t corr, uint64_t object,
	uint32_t generation, uint8_t flags, uint64_t *index);
/* What the GPU does. 0 ticks: completes without stamps. */
void producer__complete(struct producer_slots *s, uint64_t index, uint64_t start, uint64_t end);

/* What a process does once it joined, the slots' GPU included: `calls` calls with an operation each. */
int producer__work(struct producer *p, uint32_t threads, uint64_t calls, uint64_t pause_every);
/* All at once. */
int producer__run(const char *session_dir, uint32_t threads, uint64_t calls, bool memfd,
	uint64_t pause_every);

#endif
