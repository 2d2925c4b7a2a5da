// SPDX-License-Identifier: MIT
/* A libamdhip64 that makes threads and nothing else. */
#ifndef FAKE_HIP_THREADS_H
#define FAKE_HIP_THREADS_H

#include <pthread.h>

/* A thread that begins in this library, with `object` as its argument, and runs `run` then. */
pthread_t fake_hip__thread(void *object, void *(*run)(void *), void *arg);
/* The same in a libamdhip64.so.6. */
pthread_t fake_hip6__thread(void *object, void *(*run)(void *), void *arg);

#endif
