// SPDX-License-Identifier: MIT
/* The session's socket: one message a connection. */
#ifndef WT_COLLECT_HELLO_H
#define WT_COLLECT_HELLO_H

#include <sys/types.h>

#include "core/session.h"

/* A new connection (non-blocking), -1: none. */
int wt_hello__accept(int listen_fd);

/*
 * 1: *hello arrived, *fd is the descriptor that came with it (-1: none), *pid
 * its sender as the kernel says (0: in a pid namespace that we do not see).
 * 0: nothing yet. -EINVAL: no message of ours. The connection stays open.
 */
int wt_hello__receive(int connection, struct wt_hello *hello, int *fd, pid_t *pid);

#endif
