// SPDX-License-Identifier: MIT
/* Files of the session as a traced process makes them. */
#ifndef WT_CAPTURE_FILES_H
#define WT_CAPTURE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/session.h"

/* A file of the session in the making. */
struct wt_new_file {
	enum wt_file_kind kind;
	uint32_t process, number;
	void *map;
	size_t bytes;
	int fd;		/* a memfd that the collector has not got yet; -1: a file in the directory */
};

/*
 * A zeroed, fully allocated mapping of `bytes`, as the session's file of that
 * name or, where the directory has no room, as a memfd. NULL: neither, or over
 * the session's cap. Fill it in, then publish it.
 */
void *wt_files__create(struct wt_new_file *file, enum wt_file_kind kind, uint32_t process,
	uint32_t number, size_t bytes);

/*
 * The content makes sense now: hands a memfd to the collector, and tells it of
 * a new process. False: it does not answer, and the mapping is gone. May block
 * briefly.
 */
bool wt_files__publish(struct wt_new_file *file);

/* The beginning of a file, with a NUL behind it; its length, 0 where it cannot be read. */
size_t wt_files__read(const char *path, char *text, size_t bytes);

#endif
