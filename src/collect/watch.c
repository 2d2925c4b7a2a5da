// SPDX-License-Identifier: MIT
#include "collect/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/segment.h"
#include "collect/starter.h"

/* Those that people and batch systems send; the rest does to us what it always does. */
static const int passed_on[] = {
	SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGURG};

static volatile sig_atomic_t program;     /* its pid while it runs */
static volatile sig_atomic_t interrupted; /* signals that came after its end */
static int wake[2] = {-1, -1};

/*
 * A terminal sends Ctrl-C, Ctrl-\ and its hang-up to the whole process group:
 * the program has it already. Anything that was sent to us alone is passed on.
 */
static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (!program) {
		interrupted++;
		(void)!write(wake[1], "", 1);
	} else if (info->si_code != SI_KERNEL) {
		kill((pid_t)program, number);
	}
	errno = saved;
}

static void on_child(int number)
{
	int saved = errno;

	(void)number;
	(void)!write(wake[1], "", 1);
	errno = saved;
}

void wt_watch__begin(pid_t pid)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
	struct sigaction before;

	if (pipe2(wake, O_CLOEXEC | O_NONBLOCK))
		wake[0] = wake[1] = -1;
	program = pid;
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++) {
		/* ignored before us (nohup): the program ignores it, too, and so do we */
		if (!sigaction(passed_on[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(passed_on[i], &action, NULL);
	}
	sigaction(SIGCHLD, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void drain_wake(void)
{
	char bytes[64];

	while (read(wake[0], bytes, sizeof(bytes)) > 0) {
	}
}

/* True when the program has ended. */
static bool reap(struct wt_watch_result *result)
{
	pid_t pid = (pid_t)program;

	if (!pid)
		return true;
	if (waitpid(pid, &result->status, WNOHANG) != pid)
		return false;
	program = 0;
	return true;
}

static void tell_end(struct wt_starter *starter, int status)
{
	char line[32];

	snprintf(line, sizeof(line), "ended %d\n",
		WIFSIGNALED(status) ? WT_EXIT_KILLED : WT_EXIT_EXITED);
	wt_starter__tell(starter, line);
}

static void show_progress(bool *shown)
{
	if (!*shown && isatty(STDERR_FILENO))
		fputs("wavetap: finishing the trace (Ctrl-C: do not wait for other processes)",
			stderr);
	*shown = true;
}

static void hide_progress(bool shown)
{
	if (shown && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

void wt_watch__finish(struct wt_starter *starter, bool show)
{
	bool shown = false, told = false;

	while (starter->control_fd >= 0 && !starter->done && !starter->failed) {
		struct pollfd fds[2] = {{.fd = starter->control_fd, .events = POLLIN},
			{.fd = wake[0], .events = POLLIN}};
		int rc = poll(fds, 2, 500);

		if (!rc && show)
			show_progress(&shown);
		if (interrupted && !told) {
			wt_starter__tell(starter, "stop\n");
			told = true;
		}
		drain_wake();
		if (!wt_starter__read(starter))
			break;
	}
	hide_progress(shown);
}

void wt_watch__run(struct wt_starter *starter, struct wt_watch_result *result)
{
	memset(result, 0, sizeof(*result));
	while (!reap(result)) {
		struct pollfd fds[2] = {{.fd = starter->control_fd, .events = POLLIN},
			{.fd = wake[0], .events = POLLIN}};

		poll(fds, 2, 1000);
		drain_wake();
		if (fds[0].revents)
			wt_starter__read(starter);
	}
	tell_end(starter, result->status);
	wt_watch__finish(starter, true);
}

int wt_watch__exit_code(const struct wt_watch_result *result)
{
	struct rlimit none = {0, 0};
	int number;
	sigset_t set;

	if (!WIFSIGNALED(result->status))
		return WEXITSTATUS(result->status);
	/* the same signal, without a core of our own */
	number = WTERMSIG(result->status);
	setrlimit(RLIMIT_CORE, &none);
	fflush(NULL);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number;
}
