// SPDX-License-Identifier: MIT
#include "collect/hello.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int wt_hello__accept(int listen_fd)
{
	return accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static int take_descriptor(struct msghdr *message)
{
	int kept = -1;

	for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head;
		head = CMSG_NXTHDR(message, head)) {
		size_t cnt;

		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		cnt = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < cnt; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(head) + i * sizeof(fd), sizeof(fd));
			if (kept < 0)
				kept = fd;
			else
				close(fd);
		}
	}
	return kept;
}

int wt_hello__receive(int connection, struct wt_hello *hello, int *fd, pid_t *pid)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {hello, sizeof(*hello)};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof(control.space),
	};
	struct ucred peer = {0};
	socklen_t length = sizeof(peer);
	ssize_t n;

	*fd = -1;
	n = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EINVAL;
	*fd = take_descriptor(&message);
	if (n != (ssize_t)sizeof(*hello) ||
		getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length)) {
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		return -EINVAL;
	}
	*pid = peer.pid;
	return 1;
}
