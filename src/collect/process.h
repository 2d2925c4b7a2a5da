// SPDX-License-Identifier: MIT
/*
 * One traced process as the collector sees it: its header, its definition
 * ring, its thread rings and slot files.
 */
#ifndef WT_COLLECT_PROCESS_H
#define WT_COLLECT_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "collect/drain.h"
#include "collect/mapping.h"
#include "core/session.h"

/* More than any program has; a wild count in a hostile header costs no more. */
#define WT_PROCESS_MAX_RINGS 65536u
#define WT_PROCESS_MAX_SLOTS 4096u

struct wt_process {
	uint32_t number;
	int dir_fd;                        /* of the session; borrowed */
	struct wt_session_shared *session; /* borrowed; NULL in recover */
	struct wt_mapping mapping;
	struct wt_process_shared *shared;
	struct wt_ring_source definitions;
	WT_VEC(struct wt_ring_source *) rings; /* by number; NULL: not there (yet) */
	WT_VEC(struct wt_slots_source *) slots;
	uint64_t passes;
	/* identity */
	pid_t pid;            /* as we see it; 0: in a pid namespace that we do not see */
	uint64_t start_ticks; /* of that pid; 0: not known */
	int pid_fd;           /* -1: asked by kill(pid, 0) */
	bool from_socket;     /* pid comes from SO_PEERCRED, not from its own word */
	bool exited;          /* seen to be gone */
	bool heard;           /* and all that it said before that was taken */
	uint32_t exit_kind;   /* enum wt_exit_kind */
	uint64_t ended_ns;
	bool finished;    /* its end is in the segment */
	uint64_t dropped; /* by rings that were closed before its end */
	uint64_t corrupt_bytes;
	uint64_t off_cnt; /* dispatches while recording was off, of queues that were closed before */
};

/*
 * Opens p<N>. -ENOENT, -EINVAL: not there or not complete yet. `fd` >= 0: a
 * memfd that stands for the file, taken over.
 */
int wt_process__open(struct wt_process **process, int dir_fd, uint32_t number, int fd);
void wt_process__free(struct wt_process *process);

/* A memfd that stands for r<N>-<I> or q<N>-<I>; taken over. */
int wt_process__adopt(struct wt_process *process, enum wt_file_kind kind, uint32_t number, int fd);

/* `pid` from the socket, or 0: take the header's word if /proc confirms it. */
void wt_process__identify(struct wt_process *process, pid_t pid);

/* False once it is gone (pid_fd readable, or pid free, or somebody else's). */
bool wt_process__alive(const struct wt_process *process);

int wt_process__write_start(struct wt_process *process, struct wt_segment_writer *writer);

/* Looks for new files, then drains all. 0 or what writing the segment returned. */
int wt_process__drain(struct wt_process *process, struct wt_drain *drain);

/*
 * The last drain, and the end's own frames. Repeat on failure. The files stay
 * until wt_process__unlink, which is for after the commit.
 */
int wt_process__finish(struct wt_process *process, struct wt_drain *drain);
/* Removes its files and gives their memory back; `shared` is NULL then. */
void wt_process__unlink(struct wt_process *process);

/* Opens the files that are there by now; wt_process__drain does so itself. */
void wt_process__look(struct wt_process *process);

/* Start time of a process in clock ticks (field 22 of /proc/PID/stat); 0: none, or a zombie. */
uint64_t wt_process__start_ticks(pid_t pid);

#endif
