// SPDX-License-Identifier: MIT
#include "collect/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

#define ARGUMENTS_MAX 48
#define READY_MS      30000

static void run(char *const *argv, int ready_fd, int control_fd)
{
	char ready[16], control[16];
	char *all[ARGUMENTS_MAX + 5];
	size_t cnt = 0;
	sigset_t none;

	while (argv[cnt] && cnt < ARGUMENTS_MAX) {
		all[cnt] = argv[cnt];
		cnt++;
	}
	snprintf(ready, sizeof(ready), "%d", ready_fd);
	snprintf(control, sizeof(control), "%d", control_fd);
	all[cnt++] = (char *)"--ready-fd";
	all[cnt++] = ready;
	all[cnt++] = (char *)"--control-fd";
	all[cnt++] = control;
	all[cnt] = NULL;
	fcntl(ready_fd, F_SETFD, 0);
	fcntl(control_fd, F_SETFD, 0);
	unsetenv("LD_PRELOAD");
	unsetenv("HSA_TOOLS_LIB");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(all[0], all);
	dprintf(ready_fd, "error: cannot run %s: %s\n", all[0], strerror(errno));
	_exit(127);
}

/* "session DIR", or "error: TEXT" with "\thint: TEXT" behind it. */
static int read_ready(struct wt_starter *starter, int fd, struct wt_err **err)
{
	char line[PATH_MAX + 512];
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	size_t got = 0;
	char *hint;
	int rc;

	line[0] = 0;
	while (got < sizeof(line) - 1 && !strchr(line, '\n')) {
		ssize_t n;

		rc = poll(&wait, 1, READY_MS);
		if (rc < 0 && errno == EINTR)
			continue;
		if (rc <= 0)
			break;
		n = read(fd, line + got, sizeof(line) - 1 - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
		line[got] = 0;
	}
	line[strcspn(line, "\n")] = 0;
	if (!strncmp(line, "session /", 9)) {
		if (strlen(line + 8) >= sizeof(starter->session_dir))
			return wt_err__errno(err, -ENAMETOOLONG, "%s", line + 8);
		strcpy(starter->session_dir, line + 8);
		return 0;
	}
	hint = strstr(line, "\thint: ");
	if (hint)
		*hint = 0;
	if (!strncmp(line, "error: ", 7))
		rc = wt_err__new(err, -EIO, "%s", line + 7);
	else
		rc = wt_err__new(
			err, -EIO, "the collector did not start%s%s", *line ? ": " : "", line);
	if (hint)
		wt_err__hint(err, "%s", hint + 7);
	return rc;
}

int wt_starter__start(struct wt_starter *starter, char *const *argv, struct wt_err **err)
{
	int ready[2], control[2], rc;
	pid_t pid;

	memset(starter, 0, sizeof(*starter));
	starter->control_fd = -1;
	if (pipe2(ready, O_CLOEXEC))
		return wt_err__errno(err, -errno, "cannot start the collector");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control)) {
		rc = wt_err__errno(err, -errno, "cannot start the collector");
		close(ready[0]);
		close(ready[1]);
		return rc;
	}
	pid = fork();
	if (!pid)
		run(argv, ready[1], control[1]);
	close(ready[1]);
	close(control[1]);
	starter->control_fd = control[0];
	rc = pid < 0 ? wt_err__errno(err, -errno, "cannot start the collector")
		     : read_ready(starter, ready[0], err);
	close(ready[0]);
	/* what we started has gone into the background by now */
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
	}
	if (rc)
		wt_starter__close(starter);
	return rc;
}

void wt_starter__tell(struct wt_starter *starter, const char *line)
{
	if (starter->control_fd >= 0)
		(void)!send(starter->control_fd, line, strlen(line), MSG_NOSIGNAL);
}

static uint64_t number_of(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void take_line(struct wt_starter *starter, const char *line)
{
	if (!strncmp(line, "done ", 5)) {
		starter->done = true;
		starter->bytes = number_of(line, " bytes=");
		starter->ns = number_of(line, " ns=");
		starter->kernels = number_of(line, " kernels=");
		starter->copies = number_of(line, " copies=");
		starter->calls = number_of(line, " calls=");
		starter->untimed = number_of(line, " untimed=");
		starter->in_flight = number_of(line, " in_flight=");
		starter->attributed = number_of(line, " attributed=");
		starter->lost = number_of(line, " lost=");
		starter->processes = number_of(line, " processes=");
	} else if (!strncmp(line, "failed ", 7)) {
		starter->failed = true;
	} else if (strncmp(line, "progress ", 9) && *line && !starter->quiet) {
		fprintf(stderr, "%s\n", line);
	}
}

bool wt_starter__read(struct wt_starter *starter)
{
	ssize_t n;
	char *end;

	if (starter->control_fd < 0)
		return false;
	n = recv(starter->control_fd, starter->text + starter->text_bytes,
		sizeof(starter->text) - 1 - starter->text_bytes, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0) {
		wt_starter__close(starter);
		return false;
	}
	starter->text_bytes += (size_t)n;
	starter->text[starter->text_bytes] = 0;
	while ((end = strchr(starter->text, '\n'))) {
		*end = 0;
		take_line(starter, starter->text);
		starter->text_bytes -= (size_t)(end + 1 - starter->text);
		memmove(starter->text, end + 1, starter->text_bytes + 1);
	}
	if (starter->text_bytes == sizeof(starter->text) - 1)
		starter->text_bytes = 0;
	return true;
}

void wt_starter__close(struct wt_starter *starter)
{
	if (starter->control_fd >= 0)
		close(starter->control_fd);
	starter->control_fd = -1;
}
