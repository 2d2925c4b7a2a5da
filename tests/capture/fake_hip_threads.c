// SPDX-License-Identifier: MIT
#include "fake_hip_threads.h"

static void *(*to_run)(void *);
static void *its_arg;
static pthread_barrier_t begun;

static void *begin(void *object)
{
	void *(*run)(void *) = to_run;
	void *arg = its_arg;

	(void)object;
	pthread_barrier_wait(&begun);
	return run(arg);
}

__attribute__((visibility("default"))) pthread_t FAKE_HIP_THREAD(
	void *object, void *(*run)(void *), void *arg)
{
	pthread_t thread;

	to_run = run;
	its_arg = arg;
	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&thread, NULL, begin, object);
	pthread_barrier_wait(&begun);
	return thread;
}
