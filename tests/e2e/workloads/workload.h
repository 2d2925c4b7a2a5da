// SPDX-License-Identifier: MIT
// What the HIP test programs share.
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		hipError_t error_ = (call);                                                        \
		if (error_ != hipSuccess) {                                                        \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				hipGetErrorString(error_));                                        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static inline int argument(int argc, char **argv, int at, int fallback)
{
	return argc > at && atoi(argv[at]) > 0 ? atoi(argv[at]) : fallback;
}

#endif
