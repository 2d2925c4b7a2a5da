// SPDX-License-Identifier: MIT
/*
 * The collector of a program that was started by hand (LD_PRELOAD and
 * WAVETAP_OUTPUT, no `wavetap trace` above it).
 *
 * The child is made by clone() without an exit signal: the program gets no
 * SIGCHLD and its wait() never sees a child that it did not make.
 */
#include "capture/capture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 65536
#define READY_MS    10000

struct launch {
	char *argv[8];
	char *envp[64];
	int ready_fd;
};

/* Shares our memory until it execs: system calls only. */
static int child(void *arg)
{
	struct launch *launch = arg;
	sigset_t none;

	/* the program's handlers would run here, in its memory */
	for (int i = 1; i < NSIG; i++) {
		struct sigaction action;

		if (!sigaction(i, NULL, &action) && action.sa_handler != SIG_IGN &&
			action.sa_handler != SIG_DFL) {
			memset(&action, 0, sizeof(action));
			sigaction(i, &action, NULL);
		}
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	syscall(SYS_fcntl, launch->ready_fd, F_SETFD, 0);
	syscall(SYS_execve, launch->argv[0], launch->argv, launch->envp);
	syscall(SYS_exit, 127);
	return 127;
}

static bool find_program(char path[PATH_MAX])
{
	static const char *const places[] = {"%s/wavetap", "%s/../bin/wavetap",
		"%s/../../bin/wavetap"};
	const char *named = getenv("WAVETAP_COLLECTOR");
	char dir[PATH_MAX];
	Dl_info self;
	char *slash;

	if (named && *named) {
		snprintf(path, PATH_MAX, "%s", named);
		return !access(path, X_OK);
	}
	if (!dladdr((void *)find_program, &self) || !realpath(self.dli_fname, dir))
		return false;
	slash = strrchr(dir, '/');
	if (!slash)
		return false;
	*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		int n = snprintf(path, PATH_MAX, places[i], dir);
#pragma GCC diagnostic pop
		if (n < PATH_MAX && !access(path, X_OK))
			return true;
	}
	return false;
}

/* The settings travel by environment; nothing else of ours or of a preload does. */
static void choose_environment(struct launch *launch)
{
	static const char *const kept[] = {"WAVETAP_", "RTL_", "PATH=", "HOME=", "TMPDIR=",
		"XDG_RUNTIME_DIR=", "LANG", "LC_", "OMPI_COMM_WORLD_RANK=", "PMI_RANK=",
		"PMIX_RANK=", "SLURM_", "RANK="};
	size_t cnt = 0;

	for (char **at = environ; at && *at && cnt + 1 < sizeof(launch->envp) / sizeof(char *);
		at++)
		for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
			if (!strncmp(*at, kept[i], strlen(kept[i]))) {
				launch->envp[cnt++] = *at;
				break;
			}
	launch->envp[cnt] = NULL;
}

/* One line: "session DIR" or "error: TEXT". */
static bool read_ready(int fd, char *dir, size_t dir_bytes)
{
	char line[512];
	size_t got = 0;
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	char *end = NULL;

	while (!end && got < sizeof(line) - 1) {
		ssize_t n;

		if (poll(&wait, 1, READY_MS) <= 0)
			break; /* signals are held: it was time */
		n = read(fd, line + got, sizeof(line) - 1 - got);
		if (n <= 0)
			break;
		got += (size_t)n;
		line[got] = 0;
		end = strchr(line, '\n');
	}
	if (!end) {
		wt_say("the collector did not start; running on untraced", NULL);
		return false;
	}
	*end = 0;
	if (strncmp(line, "session ", 8) || strlen(line + 8) >= dir_bytes) {
		wt_say("not tracing", strncmp(line, "error: ", 7) ? line : line + 7);
		return false;
	}
	strcpy(dir, line + 8);
	return true;
}

bool wt_spawn__collector(char *dir, size_t dir_bytes)
{
	char program[PATH_MAX], fd_text[16];
	struct launch launch = {.ready_fd = -1};
	int pipe_fds[2], status;
	void *stack;
	pid_t pid;
	bool ok;

	if (!find_program(program)) {
		wt_say("cannot find the wavetap program beside libwavetap.so; running on untraced",
			NULL);
		return false;
	}
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return false;
	if (pipe2(pipe_fds, O_CLOEXEC)) {
		munmap(stack, STACK_BYTES);
		return false;
	}
	snprintf(fd_text, sizeof(fd_text), "%d", pipe_fds[1]);
	launch.argv[0] = program;
	launch.argv[1] = (char *)"collect";
	launch.argv[2] = (char *)"--output";
	launch.argv[3] = getenv("WAVETAP_OUTPUT");
	launch.argv[4] = (char *)"--ready-fd";
	launch.argv[5] = fd_text;
	launch.ready_fd = pipe_fds[1];
	choose_environment(&launch);
	pid = clone(child, (char *)stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, &launch);
	close(pipe_fds[1]);
	ok = pid > 0 && read_ready(pipe_fds[0], dir, dir_bytes);
	close(pipe_fds[0]);
	if (pid > 0)
		while (waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
			;
	munmap(stack, STACK_BYTES);
	return ok;
}
