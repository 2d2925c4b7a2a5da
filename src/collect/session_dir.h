// SPDX-License-Identifier: MIT
/* The session directory: making, finding stale ones, removing. */
#ifndef WT_COLLECT_SESSION_DIR_H
#define WT_COLLECT_SESSION_DIR_H

#include <limits.h>
#include <stdbool.h>

#include "collect/mapping.h"
#include "core/session.h"

struct wt_err;

/* In the directory, beside what core/session.h lists: a symbolic link to the segment file. */
#define WT_SEGMENT_LINK "segment"
/* And an empty file, where somebody was told that the trace is unfinished. */
#define WT_MENTIONED_FILE "mentioned"

struct wt_session_dir {
	char path[PATH_MAX - 64];
	int fd;      /* of the directory */
	int lock_fd; /* of `session`, flock'ed while the collector lives */
	struct wt_mapping mapping;
	struct wt_session_shared *shared;
	int listen_fd;
};

/*
 * Makes wavetap-<uid>-<hex> in the first directory that can hold it:
 * `wanted` alone when it is given, else /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR,
 * /tmp. The session's state is STARTING.
 */
int wt_session_dir__create(struct wt_session_dir *dir, const char *wanted,
	const struct wt_settings *settings, struct wt_err **err);

/* For recover: -EBUSY when its collector lives. No socket is opened. */
int wt_session_dir__open(struct wt_session_dir *dir, const char *path, struct wt_err **err);

/* Unmaps and closes; the files stay. */
void wt_session_dir__close(struct wt_session_dir *dir);

/* Removes all files of the directory, then itself. Nothing but files that we know. */
void wt_session_dir__remove(struct wt_session_dir *dir);

/*
 * Looks through the usual places for directories of collectors that died:
 * those that were done are removed, and those whose segment file has been gone
 * for a day; the others are named, once, where `mention` is set.
 */
void wt_session_dir__clean_stale(const char *wanted, bool mention);

#endif
