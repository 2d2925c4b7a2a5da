// SPDX-License-Identifier: MIT
/*
 * The collector as its starter sees it: starting it, and the lines that they
 * exchange (see collector.h).
 */
#ifndef WT_COLLECT_STARTER_H
#define WT_COLLECT_STARTER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct wt_err;

struct wt_starter {
	int control_fd; /* -1 once it is gone */
	char session_dir[PATH_MAX];
	char text[PATH_MAX + 1024]; /* received, not yet a line */
	size_t text_bytes;
	bool done, failed; /* its last word has come */
	bool quiet;        /* its warnings are not passed on */
	/* from "done" */
	uint64_t bytes, ns, kernels, copies, calls, untimed, in_flight, attributed, lost, processes;
};

/*
 * Runs argv (NULL-terminated; argv[0] is the program's path) with
 * "--ready-fd" and "--control-fd" appended, apart from us: neither LD_PRELOAD
 * nor HSA_TOOLS_LIB reach it. Waits until it is ready.
 */
int wt_starter__start(struct wt_starter *starter, char *const *argv, struct wt_err **err);

/* One line to it. */
void wt_starter__tell(struct wt_starter *starter, const char *line);

/* Reads what it has said; warnings go to stderr. False: it is gone. */
bool wt_starter__read(struct wt_starter *starter);

void wt_starter__close(struct wt_starter *starter);

#endif
