// SPDX-License-Identifier: MIT
#include "capture/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "capture/capture.h"

/* With fd >= 0: hands over that memfd. */
static bool say_hello(enum wt_file_kind kind, uint32_t process, uint32_t number, int fd)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct wt_hello hello = {
		.session_id = wt_process.session->session_id,
		.kind = kind,
		.process = process,
		.number = number,
	};
	struct iovec part = {&hello, sizeof(hello)};
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.space = {0}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	bool sent = false;
	int sock;

	if (snprintf(to.sun_path, sizeof(to.sun_path), "%s/%s", wt_process.session_dir,
		    WT_SOCKET_FILE) >= (int)sizeof(to.sun_path))
		return false;
	/* never blocks: a collector with a full backlog is told by nobody */
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return false;
	if (fd >= 0) {
		message.msg_control = control.space;
		message.msg_controllen = sizeof(control.space);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	for (int tries = 0; tries < 50 && !sent; tries++) {
		if (!connect(sock, (struct sockaddr *)&to, sizeof(to)))
			sent = sendmsg(sock, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(hello);
		else if (errno == EAGAIN)
			usleep(1000); /* backlog full for a moment; only at a first event */
		else
			break;
	}
	close(sock);
	return sent;
}

static void *map_whole(int fd, size_t bytes)
{
	void *map;

	/* allocate first: a mapping without pages behind it would die of SIGBUS later */
	if (posix_fallocate(fd, 0, (off_t)bytes))
		return NULL;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	return map == MAP_FAILED ? NULL : map;
}

static void *as_file(enum wt_file_kind kind, uint32_t process, uint32_t number, size_t bytes)
{
	char name[32], path[PATH_MAX];
	void *map;
	int fd;

	wt_session__file_name(name, kind, process, number);
	if (snprintf(path, sizeof(path), "%s/%s", wt_process.session_dir, name) >=
		(int)sizeof(path))
		return NULL;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return NULL;
	map = map_whole(fd, bytes);
	if (!map)
		unlink(path);
	close(fd);
	return map;
}

static void *as_memfd(size_t bytes, int *out)
{
	int fd = memfd_create("wavetap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *map;

	if (fd < 0)
		return NULL;
	map = map_whole(fd, bytes);
	if (!map) {
		close(fd);
		return NULL;
	}
	/* the collector maps it: nobody may shrink it under its feet */
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	*out = fd;
	return map;
}

static void give_back(size_t bytes)
{
	atomic_fetch_sub_explicit(&wt_process.session->buffer_used_bytes, bytes,
		memory_order_relaxed);
}

void *wt_files__create(struct wt_new_file *file, enum wt_file_kind kind, uint32_t process,
	uint32_t number, size_t bytes)
{
	struct wt_session_shared *session = wt_process.session;
	struct wt_hold hold;

	*file = (struct wt_new_file){kind, process, number, NULL, bytes, -1};
	if (atomic_fetch_add_explicit(&session->buffer_used_bytes, bytes, memory_order_relaxed) +
			bytes >
		wt_process.settings.buffer_bytes) {
		give_back(bytes);
		return NULL;
	}
	/* older kernels give an allocation up at any signal, as a profiler's timer */
	wt_hold__begin(&hold);
	file->map = as_file(kind, process, number, bytes);
	if (!file->map)
		file->map = as_memfd(bytes, &file->fd);
	wt_hold__end(&hold);
	if (!file->map)
		give_back(bytes);
	return file->map;
}

bool wt_files__publish(struct wt_new_file *file)
{
	bool told = true;

	if (file->fd >= 0 || file->kind == WT_FILE_PROCESS)
		told = say_hello(file->kind, file->process, file->number, file->fd);
	if (file->fd < 0)
		return true; /* the collector finds files by their numbers */
	close(file->fd);
	file->fd = -1;
	if (told)
		return true;
	munmap(file->map, file->bytes);
	give_back(file->bytes);
	return false;
}

size_t wt_files__read(const char *path, char *text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, bytes - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		n = 0;
	text[n] = 0;
	return (size_t)n;
}
