// SPDX-License-Identifier: MIT
#include "collect/session_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "collect/fault.h"
#include "collect/segment.h"
#include "core/clock.h"

#define PLACES 4

/* Where a session may live, in this order; NULL entries are left out. */
static void list_places(const char *wanted, const char *places[PLACES])
{
	memset(places, 0, PLACES * sizeof(*places));
	if (wanted && *wanted) {
		places[0] = wanted;
		return;
	}
	places[0] = "/dev/shm";
	places[1] = getenv("XDG_RUNTIME_DIR");
	places[2] = getenv("TMPDIR");
	places[3] = "/tmp";
}

static int make_session_file(struct wt_session_dir *dir, const struct wt_settings *settings)
{
	struct wt_session_shared *shared;
	int fd = openat(dir->fd, WT_SESSION_FILE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return -errno;
	rc = -wt_fault__check("fallocate");
	if (!rc)
		rc = -posix_fallocate(fd, 0, WT_SESSION_BYTES);
	/* waits: somebody who cleans up may be looking at it this moment */
	if (!rc && flock(fd, LOCK_EX))
		rc = -errno;
	dir->lock_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (!rc && dir->lock_fd < 0)
		rc = -errno;
	if (rc) {
		close(fd);
		return rc;
	}
	rc = wt_mapping__open(&dir->mapping, fd, WT_SESSION_BYTES, WT_SESSION_BYTES);
	if (rc)
		return rc;
	shared = dir->shared = dir->mapping.address;
	shared->version = WT_SESSION_VERSION;
	shared->collector_pid = (uint32_t)getpid();
	if (getrandom(&shared->session_id, sizeof(shared->session_id), 0) < 0)
		shared->session_id = wt_clock__boottime_ns() ^ (uint64_t)getpid() << 32;
	shared->session_id |= 1;
	shared->started_ns = wt_clock__boottime_ns();
	shared->settings = *settings;
	atomic_store_explicit(&shared->heartbeat_ns, wt_clock__monotonic_ns(),
		memory_order_relaxed);
	/* the magic goes last: whoever sees it sees the rest */
	__atomic_store_n(&shared->magic, WT_SESSION_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

/* Bound by a path through /proc: the directory's own may be longer than sun_path. */
static int make_socket(struct wt_session_dir *dir)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (strlen(dir->path) + sizeof("/" WT_SOCKET_FILE) <= sizeof(address.sun_path))
		snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/" WT_SOCKET_FILE,
			dir->path);
	else
		snprintf(address.sun_path, sizeof(address.sun_path),
			"/proc/self/fd/%d/" WT_SOCKET_FILE, dir->fd);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 1024)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	dir->listen_fd = fd;
	return 0;
}

static int try_place(
	struct wt_session_dir *dir, const char *place, const struct wt_settings *settings)
{
	unsigned long long hex = 0;
	int rc;

	memset(dir, 0, sizeof(*dir));
	dir->fd = dir->lock_fd = dir->listen_fd = -1;
	if (getrandom(&hex, sizeof(hex), 0) < 0)
		hex = wt_clock__boottime_ns();
	if (snprintf(dir->path, sizeof(dir->path), "%s/wavetap-%u-%016llx", place,
		    (unsigned)geteuid(), hex) >= (int)sizeof(dir->path))
		return -ENAMETOOLONG;
	if (mkdir(dir->path, 0700))
		return -errno;
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	rc = dir->fd < 0 ? -errno : make_session_file(dir, settings);
	if (!rc)
		rc = make_socket(dir);
	if (rc) {
		if (dir->fd >= 0)
			wt_session_dir__remove(dir);
		else
			rmdir(dir->path);
		wt_session_dir__close(dir);
	}
	return rc;
}

int wt_session_dir__create(struct wt_session_dir *dir, const char *wanted,
	const struct wt_settings *settings, struct wt_err **err)
{
	const char *places[PLACES];
	int rc = -ENOENT;

	list_places(wanted, places);
	for (int i = 0; i < PLACES; i++) {
		if (!places[i] || places[i][0] != '/')
			continue;
		rc = try_place(dir, places[i], settings);
		if (!rc)
			return 0;
		wt_info("no session directory there: place=%s cause=%s", places[i], strerror(-rc));
	}
	wt_err__errno(err, rc, "cannot make a session directory in %s",
		wanted && *wanted ? wanted : "/dev/shm, $XDG_RUNTIME_DIR, $TMPDIR or /tmp");
	wt_err__hint(err, "--session-dir DIR names an absolute path with some MiB of room");
	return rc;
}

int wt_session_dir__open(struct wt_session_dir *dir, const char *path, struct wt_err **err)
{
	int fd, rc;

	memset(dir, 0, sizeof(*dir));
	dir->fd = dir->lock_fd = dir->listen_fd = -1;
	snprintf(dir->path, sizeof(dir->path), "%s", path);
	dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir->fd < 0)
		return wt_err__errno(err, -errno, "cannot open the session %s", path);
	fd = openat(dir->fd, WT_SESSION_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) {
		rc = wt_err__errno(err, -errno, "%s is not a session of wavetap", path);
		wt_err__hint(err, "sessions are called wavetap-UID-…, below /dev/shm or /tmp");
		goto out;
	}
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		rc = wt_err__new(err, -EBUSY, "the collector of %s is alive", path);
		wt_err__hint(err, "it finishes the trace itself when the traced programs end");
		goto out;
	}
	dir->lock_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	rc = wt_mapping__open(&dir->mapping, fd, WT_SESSION_BYTES, WT_SESSION_BYTES);
	dir->shared = dir->mapping.address;
	if (rc || dir->shared->magic != WT_SESSION_MAGIC ||
		dir->shared->version != WT_SESSION_VERSION)
		rc = wt_err__new(
			err, -EINVAL, "%s is not a session of this version of wavetap", path);
out:
	if (rc)
		wt_session_dir__close(dir);
	return rc;
}

void wt_session_dir__close(struct wt_session_dir *dir)
{
	wt_mapping__close(&dir->mapping);
	dir->shared = NULL;
	if (dir->listen_fd >= 0)
		close(dir->listen_fd);
	if (dir->lock_fd >= 0)
		close(dir->lock_fd);
	if (dir->fd >= 0)
		close(dir->fd);
	dir->listen_fd = dir->lock_fd = dir->fd = -1;
}

static bool is_ours(const char *name)
{
	unsigned a, b;
	int end = 0;

	if (!strcmp(name, WT_SESSION_FILE) || !strcmp(name, WT_SOCKET_FILE) ||
		!strcmp(name, WT_SEGMENT_LINK) || !strcmp(name, WT_MENTIONED_FILE))
		return true;
	if (sscanf(name, "p%u%n", &a, &end) == 1 && !name[end])
		return true;
	return (name[0] == 'r' || name[0] == 'q') &&
	       sscanf(name + 1, "%u-%u%n", &a, &b, &end) == 2 && !name[1 + end];
}

void wt_session_dir__remove(struct wt_session_dir *dir)
{
	int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (list && (entry = readdir(list)))
		if (is_ours(entry->d_name))
			unlinkat(dir->fd, entry->d_name, 0);
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	rmdir(dir->path);
}

/* Where its segment file is gone for so long, nothing can be made of the rest. */
#define FORGET_S   86400
#define TRACES_MAX 3 /* named one by one */

struct stale {
	bool mention;
	unsigned cnt;
};

static bool is_unfinished(struct wt_session_dir *dir, const struct stat *st, char trace[PATH_MAX])
{
	ssize_t n = readlinkat(dir->fd, WT_SEGMENT_LINK, trace, PATH_MAX - 1);
	char *suffix;

	trace[n < 0 ? 0 : n] = 0;
	if (atomic_load(&dir->shared->state) == WT_COLLECTOR_DONE) {
		wt_session_dir__remove(dir);
		return false;
	}
	if (n < 0 || access(trace, F_OK)) {
		if (time(NULL) - st->st_mtime > FORGET_S)
			wt_session_dir__remove(dir);
		return false;
	}
	suffix = strstr(trace, WT_SEGMENT_SUFFIX);
	if (suffix && !suffix[strlen(WT_SEGMENT_SUFFIX)])
		*suffix = 0;
	return true;
}

/* Said once: a file in it remembers. */
static void mention(struct stale *stale, const struct wt_session_dir *dir, const char *trace)
{
	int fd = openat(dir->fd, WT_MENTIONED_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	close(fd);
	if (stale->cnt++ < TRACES_MAX)
		wt_warn("%s was never finished: `wavetap recover %s` does it, rm -r forgets it",
			trace, dir->path);
}

static void look_at(struct stale *stale, const char *place, const char *name)
{
	char path[PATH_MAX], trace[PATH_MAX];
	struct wt_session_dir dir;
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", place, name) >= (int)sizeof(path) ||
		lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
		wt_session_dir__open(&dir, path, NULL))
		return;
	if (is_unfinished(&dir, &st, trace) && stale->mention)
		mention(stale, &dir, trace);
	wt_session_dir__close(&dir);
}

void wt_session_dir__clean_stale(const char *wanted, bool mention)
{
	struct stale stale = {.mention = mention};
	const char *places[PLACES];
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "wavetap-%u-", (unsigned)geteuid());
	list_places(wanted, places);
	for (int i = 0; i < PLACES; i++) {
		DIR *list = places[i] ? opendir(places[i]) : NULL;
		struct dirent *entry;

		while (list && (entry = readdir(list)))
			if (!strncmp(entry->d_name, prefix, strlen(prefix)))
				look_at(&stale, places[i], entry->d_name);
		if (list)
			closedir(list);
	}
	if (stale.cnt > TRACES_MAX)
		wt_warn("and %u more traces, each with a file \"" WT_MENTIONED_FILE
			"\" in its session directory",
			stale.cnt - TRACES_MAX);
}
