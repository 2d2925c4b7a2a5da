// SPDX-License-Identifier: MIT
/* Files of the session as a traced process makes them. */
#ifndef WT_CAPTURE_FILES_H
#define WT_CAPTURE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "core/session.h"

/*
 * A zeroed, fully allocated mapping of `bytes`, as the session's file of that
 * name or, where the directory has no room, as a memfd that the collector was
 * handed. NULL: neither, or over the session's cap. May block briefly.
 */
void *wt_files__create(enum wt_file_kind kind, uint32_t process, uint32_t number, size_t bytes);

/* Tells the collector (with fd >= 0: hands it that memfd). False: it does not answer. */
bool wt_files__hello(enum wt_file_kind kind, uint32_t process, uint32_t number, int fd);

#endif
