// SPDX-License-Identifier: MIT
/* Which of a process's environment variables are told of: those that tune what is traced. */
#ifndef WT_CAPTURE_ENVIRONMENT_H
#define WT_CAPTURE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* `name` has `length` bytes, no NUL. Never those whose name speaks of a secret. */
bool wt_environment__wants(const char *name, size_t length);

/*
 * Tells of them as they are now: of a process that has just joined, on its thread. Bounded in
 * number and size; values over a limit are cut, and marked.
 */
void wt_environment__tell(void);

#endif
