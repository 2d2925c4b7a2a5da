// SPDX-License-Identifier: MIT
#include "collect/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

int wt_launch__find_library(char path[PATH_MAX], struct wt_err **err)
{
	static const char *const places[] = {
		"", "../lib/wavetap/", "../lib/", "../lib64/wavetap/", "../lib64/"};
	char self[PATH_MAX], found[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int rc;

	self[n < 0 ? 0 : n] = 0;
	if (strrchr(self, '/'))
		strrchr(self, '/')[1] = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(found, sizeof(found), "%s%slibwavetap.so", self, places[i]);
		if (!access(found, R_OK) && realpath(found, path))
			goto check;
	}
	rc = wt_err__new(err, -ENOENT, "cannot find libwavetap.so beside %swavetap", self);
	wt_err__hint(err, "it belongs beside the program, or into ../lib/wavetap or ../lib");
	return rc;
check:
	/* LD_PRELOAD and HSA_TOOLS_LIB are lists, without a way to quote */
	if (!path[strcspn(path, " :")])
		return 0;
	rc = wt_err__new(
		err, -EINVAL, "the loader cannot preload %s: a blank or colon in its path", path);
	wt_err__hint(err, "install wavetap in a directory without them");
	return rc;
}

/* 0, -ENOENT or -EACCES */
static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == EACCES ? -EACCES : -ENOENT;
	if (S_ISDIR(st.st_mode) || access(path, X_OK))
		return -EACCES;
	return 0;
}

static int search(const char *name)
{
	const char *at = getenv("PATH");
	int rc = -ENOENT;

	if (!at)
		at = "/bin:/usr/bin";
	for (;;) {
		size_t length = strcspn(at, ":");
		char path[PATH_MAX];
		int one;

		snprintf(
			path, sizeof(path), "%.*s%s%s", (int)length, at, length ? "/" : "./", name);
		one = check_file(path);
		if (!one)
			return 0;
		if (one == -EACCES)
			rc = one;
		if (!at[length])
			return rc;
		at += length + 1;
	}
}

int wt_launch__check(const char *name, struct wt_err **err)
{
	int rc = strchr(name, '/') ? check_file(name) : search(name);

	if (!*name)
		rc = -ENOENT;
	if (!rc)
		return 0;
	if (rc == -EACCES) {
		wt_err__new(err, rc, "cannot execute %s: not an executable file", name);
		wt_err__hint(
			err, "chmod +x makes it one; a script can be given to its interpreter");
		return 126;
	}
	wt_err__new(err, rc, "cannot find the program %s", name);
	wt_err__hint(err,
		strchr(name, '/') ? "check the path"
				  : "it is in no directory of PATH; ./%s names a file "
				    "here",
		name);
	return 127;
}

/* `name`=first + separator + what it had; `first` once only. */
static int prepend(const char *name, const char *first, const char *separators)
{
	const char *old = getenv(name);
	size_t length = strlen(first), bytes = length + (old ? strlen(old) : 0) + 2;
	char *value;
	int rc;

	for (const char *at = old; at && *at; at += strspn(at, separators)) {
		size_t entry = strcspn(at, separators);

		if (entry == length && !memcmp(at, first, length))
			return 0;
		at += entry;
	}
	value = malloc(bytes);
	if (!value)
		return -ENOMEM;
	snprintf(value, bytes, "%s%c%s", first, old && *old ? *separators : 0, old ? old : "");
	rc = setenv(name, value, 1) ? -errno : 0;
	free(value);
	return rc;
}

/* libwavetap_register.so beside libwavetap.so: "" where it is not installed. */
static void register_library(const char *library, char *path, size_t bytes)
{
	const char *slash = strrchr(library, '/');

	snprintf(path, bytes, "%.*s/libwavetap_register.so", (int)(slash ? slash - library : 0),
		library);
	if (!slash || access(path, R_OK))
		*path = 0;
}

/* What travels through the pipe to the waiting child. */
struct go {
	char library[PATH_MAX], session_dir[PATH_MAX], source[32];
	int no_dlsym;
};

static void child(int go_fd, int exec_fd, char *const *argv)
{
	struct go *go = calloc(1, sizeof(*go));
	char second[PATH_MAX + 32];
	size_t got = 0;
	ssize_t n;
	int rc;

	while (go && got < sizeof(*go)) {
		n = read(go_fd, (char *)go + got, sizeof(*go) - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(125); /* cancelled */
		got += (size_t)n;
	}
	if (!go)
		_exit(125);
	register_library(go->library, second, sizeof(second));
	rc = *second ? prepend("LD_PRELOAD", second, ": ") : 0;
	if (!rc)
		rc = prepend("LD_PRELOAD", go->library, ": ");
	if (!rc)
		rc = prepend("HSA_TOOLS_LIB", go->library, " ");
	setenv("WAVETAP_SESSION", go->session_dir, 1);
	if (*go->source)
		setenv("WAVETAP_SOURCE", go->source, 1);
	if (go->no_dlsym)
		setenv("WAVETAP_NO_DLSYM", "1", 1);
	if (!rc) {
		execvp(argv[0], argv);
		rc = -errno;
	}
	(void)!write(exec_fd, &rc, sizeof(rc));
	_exit(rc == -ENOENT ? 127 : 126);
}

int wt_launch__fork(struct wt_launch *launch, char *const *argv, struct wt_err **err)
{
	int go[2], done[2], rc;

	*launch = (struct wt_launch){.pid = -1, .go_fd = -1, .exec_fd = -1};
	if (pipe2(go, O_CLOEXEC))
		return wt_err__errno(err, -errno, "cannot start %s", argv[0]);
	if (pipe2(done, O_CLOEXEC)) {
		rc = wt_err__errno(err, -errno, "cannot start %s", argv[0]);
		close(go[0]);
		close(go[1]);
		return rc;
	}
	launch->pid = fork();
	if (!launch->pid) {
		close(go[1]);
		child(go[0], done[1], argv);
	}
	rc = launch->pid < 0 ? -errno : 0;
	close(go[0]);
	close(done[1]);
	launch->go_fd = go[1];
	launch->exec_fd = done[0];
	if (!rc)
		return 0;
	wt_launch__cancel(launch);
	return wt_err__errno(err, rc, "cannot start %s", argv[0]);
}

int wt_launch__go(struct wt_launch *launch, const struct wt_launch_environment *environment)
{
	struct go go = {.no_dlsym = environment->no_dlsym};
	ssize_t n;
	int rc = 0;

	snprintf(go.library, sizeof(go.library), "%s", environment->library);
	snprintf(go.session_dir, sizeof(go.session_dir), "%s", environment->session_dir);
	if (environment->source)
		snprintf(go.source, sizeof(go.source), "%s", environment->source);
	for (size_t done = 0; done < sizeof(go); done += (size_t)n) {
		n = write(launch->go_fd, (char *)&go + done, sizeof(go) - done);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0) {
			rc = -errno;
			break;
		}
	}
	close(launch->go_fd);
	launch->go_fd = -1;
	/* closed by exec: nothing to read */
	do {
		n = read(launch->exec_fd, &rc, sizeof(rc));
	} while (n < 0 && errno == EINTR);
	close(launch->exec_fd);
	launch->exec_fd = -1;
	return rc;
}

void wt_launch__cancel(struct wt_launch *launch)
{
	if (launch->go_fd >= 0)
		close(launch->go_fd);
	if (launch->exec_fd >= 0)
		close(launch->exec_fd);
	while (launch->pid > 0 && waitpid(launch->pid, NULL, 0) < 0 && errno == EINTR) {
	}
	*launch = (struct wt_launch){.pid = -1, .go_fd = -1, .exec_fd = -1};
}
