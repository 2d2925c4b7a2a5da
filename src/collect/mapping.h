// SPDX-License-Identifier: MIT
/*
 * A file of the session, mapped. The file belongs to a process that may do
 * anything with it: cut it short, for one, which makes every access to the
 * mapping a SIGBUS. wt_mapping__guard installs a handler that puts zero pages
 * in the place of the lost ones and marks the mapping; where the file is a
 * memfd it is sealed against shrinking instead.
 */
#ifndef WT_COLLECT_MAPPING_H
#define WT_COLLECT_MAPPING_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct wt_mapping {
	void *address; /* NULL: not mapped */
	size_t bytes;
	volatile sig_atomic_t lost;      /* pages were taken away: what is read is zeros */
	struct wt_mapping *next, **prev; /* the handler's list */
};

/* Process-wide, once. 0 or a negative errno. */
int wt_mapping__guard(void);

/*
 * Maps the whole of a regular file of our own user, read and write. Takes
 * over `fd` in every case. -EINVAL: no such file, or smaller than `min_bytes`,
 * or larger than `max_bytes`. The struct must not move while it is mapped.
 * One thread maps, unmaps and reads.
 */
int wt_mapping__open(struct wt_mapping *mapping, int fd, size_t min_bytes, size_t max_bytes);
void wt_mapping__close(struct wt_mapping *mapping);

#endif
