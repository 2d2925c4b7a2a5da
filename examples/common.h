// SPDX-License-Identifier: MIT
// What every example needs: an error check that says where.
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

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

// A kernel launch returns nothing; its error is the runtime's last one.
#define LAUNCHED() CHECK(hipGetLastError())

static inline int argument(int argc, char **argv, int fallback)
{
	return argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : fallback;
}

#endif
