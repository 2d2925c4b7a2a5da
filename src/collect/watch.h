// SPDX-License-Identifier: MIT
/*
 * `wavetap trace` while its program runs: passes signals on, waits for the
 * program and then for the collector, and ends the way the program did.
 */
#ifndef WT_COLLECT_WATCH_H
#define WT_COLLECT_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

struct wt_starter;

struct wt_watch_result {
	int status; /* of waitpid */
};

/* Takes over the signals that would end us. Process-wide. */
void wt_watch__begin(pid_t program);

/*
 * Waits for the program, tells the collector, waits for its last word. Signals
 * while the program runs go to it; after its end the first one stops waiting
 * for other processes, and the trace is finished at once.
 */
void wt_watch__run(struct wt_starter *starter, struct wt_watch_result *result);

/* Waits for the collector's last word alone. */
void wt_watch__finish(struct wt_starter *starter, bool show);

/* The program's exit code; does not return where a signal ended it. */
int wt_watch__exit_code(const struct wt_watch_result *result);

#endif
