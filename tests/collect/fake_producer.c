// SPDX-License-Identifier: MIT
/*
 * A program for `wavetap trace`: joins the session of WAVETAP_SESSION and
 * makes events. fake_producer [-t THREADS] [-n CALLS] [-m] [-p PAUSE_EVERY]
 * [-x exit|kill|exec|hang] [-c CODE]; with hang it prints its pid first
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "producer.h"

int main(int argc, char **argv)
{
	const char *dir = getenv("WAVETAP_SESSION"), *end = "exit";
	uint32_t threads = 1;
	uint64_t calls = 1000, pause_every = 500;
	bool memfd = false;
	int option, code = 0;

	while ((option = getopt(argc, argv, "t:n:mp:x:c:")) != -1) {
		switch (option) {
		case 't':
			threads = (uint32_t)atoi(optarg);
			break;
		case 'n':
			calls = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			memfd = true;
			break;
		case 'p':
			pause_every = strtoull(optarg, NULL, 0);
			break;
		case 'x':
			end = optarg;
			break;
		case 'c':
			code = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (dir && producer__run(dir, threads, calls, memfd, pause_every))
		return 3;
	if (!strcmp(end, "kill"))
		raise(SIGKILL);
	if (!strcmp(end, "exec"))
		execl("/proc/self/exe", argv[0], "-n", "10", NULL);
	if (!strcmp(end, "hang")) {
		/* all events are made: whoever waits for that may go on */
		printf("%d\n", (int)getpid());
		fflush(stdout);
		pause();
	}
	return code;
}
