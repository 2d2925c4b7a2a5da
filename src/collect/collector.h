// SPDX-License-Identifier: MIT
/*
 * The collector process: makes the session, reads what traced processes leave
 * in shared memory, and ends with a finished trace. It runs apart from the
 * traced programs and from its starter: nothing of it can end or stop them.
 *
 * With its starter it speaks lines of text. On `ready_fd`: "session DIR" or
 * "error: TEXT", then that descriptor is closed. On `control_fd` (a socket,
 * only from `wavetap trace`): it reads "ended KIND" (the traced command has
 * ended; enum wt_exit_kind), "stop", and "discard" (it was never executed); it
 * writes warnings ("wavetap: …"), and at the end "done …" or "failed …".
 */
#ifndef WT_COLLECT_COLLECTOR_H
#define WT_COLLECT_COLLECTOR_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "collect/build.h"
#include "core/session.h"
#include "store/store.h"

/* 26,000 launches: 25 ms and more at the highest rates, in which the collector gets the CPU. */
#define WT_RING_BYTES_DEFAULT   (2u << 20)
#define WT_BUFFER_BYTES_DEFAULT (512ull << 20)

struct wt_collect_options {
	char output[PATH_MAX]; /* absolute */
	enum wt_schema schema;
	enum wt_store_exists exists;
	const char *session_dir; /* NULL: the usual places */
	const char *command;     /* what is traced, as typed; NULL: not known */
	struct wt_settings settings;
	uint64_t delay_ns;   /* recording begins that long after the start */
	uint64_t for_ns;     /* and goes on so long; 0: to the end */
	bool wait_primary;
	bool interactive;         /* somebody reads what is not about this run, too */
	pid_t primary;            /* of the traced command, 0: not known */
	int ready_fd, control_fd; /* -1: none */
};

/* Runs until the trace is finished. Returns an exit code. */
int wt_collector__run(const struct wt_collect_options *options);

#endif
