// SPDX-License-Identifier: MIT
/*
 * The collector's writes, each of which a test can make fail. In the product
 * the hook is NULL and this is write(2).
 */
#ifndef WT_COLLECT_FAULT_H
#define WT_COLLECT_FAULT_H

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* Returns 0 to let the call through, else the errno it fails with. */
extern int (*wt_fault_hook)(const char *what);

static inline int wt_fault__check(const char *what)
{
	return wt_fault_hook ? wt_fault_hook(what) : 0;
}

static inline ssize_t wt_fault_write(int fd, const void *bytes, size_t length)
{
	int fault = wt_fault__check("write");

	if (!fault)
		return write(fd, bytes, length);
	/* half of it arrives, as on a disk that fills up */
	if (length > 1 && write(fd, bytes, length / 2) < 0) {
		/* fails anyway */
	}
	errno = fault;
	return -1;
}

#endif
