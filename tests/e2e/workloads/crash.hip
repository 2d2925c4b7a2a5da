// SPDX-License-Identifier: MIT
// crash HOW: does GPU work and ends badly: segv, abort, _exit, exit-thread, quick_exit, exec-missing.
// Everything but the last few launches was finished before.
#include "workload.h"
#include <csignal>
#include <cstring>
#include <thread>
#include <unistd.h>

__global__ void before_the_end(int *data)
{
	if (data)
		data[0] = 1;
}

__global__ void at_the_end(int *data)
{
	if (data)
		data[0] = 2;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "segv";
	hipStream_t stream;
	CHECK(hipStreamCreate(&stream));
	for (int i = 0; i < 500; i++)
		before_the_end<<<1 + i % 5, 64, 0, stream>>>(nullptr);
	CHECK(hipGetLastError());
	CHECK(hipStreamSynchronize(stream));
	printf("crash: %s\n", how);
	fflush(stdout);
	for (int i = 0; i < 20; i++)
		at_the_end<<<2, 64, 0, stream>>>(nullptr);
	if (!strcmp(how, "segv"))
		*(volatile int *)8 = 1;
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "_exit"))
		_exit(7);
	else if (!strcmp(how, "quick_exit"))
		quick_exit(8);
	else if (!strcmp(how, "kill"))
		raise(SIGKILL);
	else if (!strcmp(how, "exit-thread"))
		std::thread([] { exit(9); }).join();
	return 1;
}
