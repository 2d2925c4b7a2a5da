// SPDX-License-Identifier: MIT
#include "collect/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"

/* A number whose file is not there is tried again: at once for a while, then now and then. */
#define EAGER_PASSES 256
#define RETRY_PASSES 64

static int open_file(int dir_fd, enum wt_file_kind kind, uint32_t process, uint32_t number)
{
	char name[32];
	int fd;

	wt_session__file_name(name, kind, process, number);
	fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int wt_process__open(struct wt_process **out, int dir_fd, uint32_t number, int fd)
{
	struct wt_process *p = calloc(1, sizeof(*p));
	int rc = p ? 0 : -ENOMEM;

	*out = NULL;
	if (fd < 0)
		fd = open_file(dir_fd, WT_FILE_PROCESS, number, 0);
	if (fd < 0 || rc) {
		if (fd >= 0)
			close(fd);
		free(p);
		return rc ? rc : fd;
	}
	p->number = number;
	p->dir_fd = dir_fd;
	p->pid_fd = -1;
	p->ended_ns = UINT64_MAX;
	rc = wt_mapping__open(&p->mapping, fd, WT_PROCESS_FILE_BYTES, WT_RING_MAX_BYTES);
	if (rc)
		goto out;
	p->shared = p->mapping.address;
	if (__atomic_load_n(&p->shared->magic, __ATOMIC_ACQUIRE) != WT_PROCESS_MAGIC ||
		p->shared->version != WT_SESSION_VERSION || p->shared->number != number) {
		rc = -EINVAL;
		goto out;
	}
	rc = wt_ring_reader__open(&p->definitions.reader,
		(uint8_t *)p->mapping.address + WT_PROCESS_RING_OFFSET,
		p->mapping.bytes - WT_PROCESS_RING_OFFSET);
	p->definitions.process = number;
	p->definitions.number = WT_FRAME_DEFINITIONS;
out:
	if (rc) {
		wt_process__free(p);
		return rc;
	}
	*out = p;
	return 0;
}

static void close_ring(struct wt_ring_source *ring)
{
	if (!ring)
		return;
	wt_mapping__close(&ring->mapping);
	free(ring);
}

static void close_slots(struct wt_slots_source *slots)
{
	if (!slots)
		return;
	wt_slots_reader__close(&slots->reader);
	wt_mapping__close(&slots->mapping);
	free(slots);
}

static void close_files(struct wt_process *p)
{
	for (size_t i = 0; i < p->rings.cnt; i++)
		close_ring(p->rings.data[i]);
	for (size_t i = 0; i < p->slots.cnt; i++)
		close_slots(p->slots.data[i]);
	wt_vec__free(&p->rings);
	wt_vec__free(&p->slots);
	wt_mapping__close(&p->mapping);
	p->shared = NULL;
}

void wt_process__free(struct wt_process *p)
{
	if (!p)
		return;
	close_files(p);
	if (p->pid_fd >= 0)
		close(p->pid_fd);
	free(p);
}

/* ---- identity --------------------------------------------------------------- */

uint64_t wt_process__start_ticks(pid_t pid)
{
	char path[32], text[1024], *at;
	unsigned long long ticks = 0;
	char state = 'Z';
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	at = strrchr(text, ')'); /* the name in front may hold anything */
	if (!at || sscanf(at + 1,
			   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
			   "%*d %*d %*d %*d %llu",
			   &state, &ticks) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : ticks;
}

void wt_process__identify(struct wt_process *p, pid_t pid)
{
	pid_t own = p->shared->pid;
	uint64_t ticks;

	if (p->pid)
		return;
	if (pid <= 0) {
		/* its own word counts only where the start time agrees: else another namespace's */
		ticks = own > 0 ? wt_process__start_ticks(own) : 0;
		if (!ticks || ticks != p->shared->start_ticks)
			return;
		pid = own;
	} else {
		p->from_socket = true;
		ticks = wt_process__start_ticks(pid);
	}
	p->pid = pid;
	p->start_ticks = ticks ? ticks : p->shared->start_ticks;
	if (!p->from_socket || ticks)
		p->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* the pid could have gone to another between the two */
	if (p->pid_fd >= 0 && ticks && wt_process__start_ticks(pid) != ticks) {
		close(p->pid_fd);
		p->pid_fd = -1;
	}
	if (p->pid_fd >= 0)
		(void)fcntl(p->pid_fd, F_SETFD, FD_CLOEXEC);
}

/*
 * A process whose pid we cannot see (pid namespace of a container: the socket
 * says pid 0) counts as alive until it says that it leaves; the caller ends
 * the trace without it when all others, the traced command among them, are
 * gone.
 */
bool wt_process__alive(const struct wt_process *p)
{
	if (p->exited)
		return false;
	if (p->pid_fd >= 0) {
		struct pollfd gone = {.fd = p->pid_fd, .events = POLLIN};

		return poll(&gone, 1, 0) != 1;
	}
	if (p->pid > 0) {
		uint64_t ticks = wt_process__start_ticks(p->pid);

		return ticks && (!p->start_ticks || ticks == p->start_ticks);
	}
	return atomic_load_explicit(&p->shared->state, memory_order_acquire) != WT_PROCESS_LEFT;
}

/* ---- files ------------------------------------------------------------------- */

static int open_ring(struct wt_process *p, uint32_t number, int fd)
{
	struct wt_ring_source *ring = calloc(1, sizeof(*ring));
	int rc;

	if (!ring) {
		close(fd);
		return -ENOMEM;
	}
	rc = wt_mapping__open(&ring->mapping, fd, WT_RING_HEADER_BYTES + WT_RING_MIN_BYTES,
		WT_RING_HEADER_BYTES + WT_RING_MAX_BYTES);
	if (!rc)
		rc = wt_ring_reader__open(
			&ring->reader, ring->mapping.address, ring->mapping.bytes);
	if (rc) {
		close_ring(ring);
		return rc;
	}
	ring->process = p->number;
	ring->number = number;
	p->rings.data[number] = ring;
	return 0;
}

static int open_slots(struct wt_process *p, uint32_t number, int fd)
{
	struct wt_slots_source *slots = calloc(1, sizeof(*slots));
	int rc;

	if (!slots) {
		close(fd);
		return -ENOMEM;
	}
	rc = wt_mapping__open(&slots->mapping, fd, WT_SLOTS_HEADER_BYTES,
		wt_slots__file_bytes(WT_SLOTS_MAX_CAPACITY) + 4096);
	if (!rc)
		rc = wt_slots_reader__open(
			&slots->reader, slots->mapping.address, slots->mapping.bytes);
	if (rc) {
		close_slots(slots);
		return rc;
	}
	slots->process = p->number;
	slots->number = number;
	p->slots.data[number] = slots;
	return 0;
}

/* Numbers below `cnt` get a place. */
static int know(struct wt_process *p, enum wt_file_kind kind, uint32_t cnt)
{
	uint32_t max = kind == WT_FILE_RING ? WT_PROCESS_MAX_RINGS : WT_PROCESS_MAX_SLOTS;

	if (cnt > max)
		cnt = max;
	while (kind == WT_FILE_RING && p->rings.cnt < cnt)
		if (wt_vec__push(&p->rings, NULL))
			return -ENOMEM;
	while (kind == WT_FILE_SLOTS && p->slots.cnt < cnt)
		if (wt_vec__push(&p->slots, NULL))
			return -ENOMEM;
	return 0;
}

int wt_process__adopt(struct wt_process *p, enum wt_file_kind kind, uint32_t number, int fd)
{
	bool ring = kind == WT_FILE_RING;
	int rc = -EINVAL;

	if (ring ? number < WT_PROCESS_MAX_RINGS
		 : kind == WT_FILE_SLOTS && number < WT_PROCESS_MAX_SLOTS)
		rc = know(p, kind, number + 1);
	if (!rc && (ring ? (void *)p->rings.data[number] : (void *)p->slots.data[number]))
		rc = -EEXIST;
	if (rc) {
		close(fd);
		return rc;
	}
	return ring ? open_ring(p, number, fd) : open_slots(p, number, fd);
}

void wt_process__look(struct wt_process *p)
{
	uint32_t rings = atomic_load_explicit(&p->shared->ring_cnt, memory_order_acquire);
	uint32_t slots = atomic_load_explicit(&p->shared->slots_cnt, memory_order_acquire);

	if (rings > p->rings.cnt || slots > p->slots.cnt)
		p->passes = 0;
	if (know(p, WT_FILE_RING, rings) || know(p, WT_FILE_SLOTS, slots))
		return;
	if (p->passes++ > EAGER_PASSES && p->passes % RETRY_PASSES)
		return;
	for (uint32_t i = 0; i < p->rings.cnt; i++) {
		int fd = p->rings.data[i] ? -1 : open_file(p->dir_fd, WT_FILE_RING, p->number, i);

		if (fd >= 0)
			open_ring(p, i, fd);
	}
	for (uint32_t i = 0; i < p->slots.cnt; i++) {
		int fd = p->slots.data[i] ? -1 : open_file(p->dir_fd, WT_FILE_SLOTS, p->number, i);

		if (fd >= 0)
			open_slots(p, i, fd);
	}
}

static void unlink_file(struct wt_process *p, enum wt_file_kind kind, uint32_t number, size_t bytes)
{
	char name[32];

	wt_session__file_name(name, kind, p->number, number);
	unlinkat(p->dir_fd, name, 0);
	if (p->session) {
		uint64_t used =
			atomic_load_explicit(&p->session->buffer_used_bytes, memory_order_relaxed);

		while (!atomic_compare_exchange_weak_explicit(&p->session->buffer_used_bytes, &used,
			used > bytes ? used - bytes : 0, memory_order_relaxed,
			memory_order_relaxed)) {
		}
	}
}

/* ---- life --------------------------------------------------------------------- */

int wt_process__write_start(struct wt_process *p, struct wt_segment_writer *writer)
{
	struct wt_frame_process frame = {.pid = p->pid, .start_ticks = p->start_ticks};

	memcpy(frame.shared, p->shared, sizeof(frame.shared));
	return wt_segment__add(writer, WT_FRAME_PROCESS, p->number, 0, 0, &frame, sizeof(frame));
}

/*
 * Slots before rings before definitions: what a record refers to was written
 * before it, so it is read after it, in the same pass at the latest.
 */
static int drain_all(struct wt_process *p, struct wt_drain *drain, bool final)
{
	int rc = 0;

	for (size_t i = 0; i < p->slots.cnt && !rc; i++)
		if (p->slots.data[i])
			rc = wt_drain__slots(drain, p->slots.data[i], final);
	for (size_t i = 0; i < p->rings.cnt && !rc; i++)
		if (p->rings.data[i])
			rc = wt_drain__ring(drain, p->rings.data[i]);
	return rc ? rc : wt_drain__ring(drain, &p->definitions);
}

/* Queues that are gone give their memory back, once all of it is in the segment. */
static int close_retired(struct wt_process *p, struct wt_drain *drain)
{
	int rc;

	for (uint32_t i = 0; i < p->slots.cnt; i++) {
		struct wt_slots_source *slots = p->slots.data[i];

		if (!slots || !slots->reader.slots || slots->mapping.lost ||
			!atomic_load_explicit(&slots->reader.shared->retired, memory_order_acquire))
			continue;
		rc = wt_drain__slots(drain, slots, true);
		if (!rc)
			rc = wt_drain__commit(drain);
		if (rc)
			return rc;
		if (!wt_slots_reader__finished(&slots->reader))
			continue;
		p->off_cnt += atomic_load_explicit(
			&slots->reader.shared->off_cnt, memory_order_relaxed);
		unlink_file(p, WT_FILE_SLOTS, i, slots->mapping.bytes);
		wt_slots_reader__close(&slots->reader);
		wt_mapping__close(&slots->mapping);
		/* the empty struct stays: the number is used up */
		slots->mapping.lost = 1;
	}
	return 0;
}

int wt_process__drain(struct wt_process *p, struct wt_drain *drain)
{
	int rc;

	wt_process__look(p);
	rc = drain_all(p, drain, false);
	return rc ? rc : close_retired(p, drain);
}

static int write_open_calls(struct wt_process *p, struct wt_segment_writer *writer)
{
	for (size_t i = 0; i < p->rings.cnt; i++) {
		struct wt_ring_source *ring = p->rings.data[i];
		struct wt_frame_call_open open;
		int rc;

		if (!ring || ring->mapping.lost)
			continue;
		open = (struct wt_frame_call_open){
			.api = atomic_load(&ring->reader.shared->call_api),
			.thread_index = atomic_load(&ring->reader.shared->thread_index),
			.start_tsc = atomic_load(&ring->reader.shared->call_start_tsc),
			.corr = atomic_load(&ring->reader.shared->call_corr),
		};
		if (!open.start_tsc)
			continue;
		rc = wt_segment__add(writer, WT_FRAME_CALL_OPEN, p->number, ring->number, 0, &open,
			sizeof(open));
		if (rc)
			return rc;
	}
	return 0;
}

static int write_left_out(struct wt_process *p, struct wt_segment_writer *writer)
{
	struct wt_frame_left_out calls[WT_RING_LEFT_OUT + 2];
	uint64_t dispatches = p->off_cnt;
	uint64_t copies = atomic_load_explicit(&p->shared->off_copies, memory_order_relaxed);
	size_t cnt = 0;

	for (uint32_t api = 0; api < WT_RING_LEFT_OUT; api++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < p->rings.cnt; i++)
			if (p->rings.data[i])
				sum += atomic_load_explicit(
					&p->rings.data[i]->reader.shared->left_out[api],
					memory_order_relaxed);
		if (sum)
			calls[cnt++] = (struct wt_frame_left_out){.api = api, .cnt = sum};
	}
	for (size_t i = 0; i < p->slots.cnt; i++)
		if (p->slots.data[i] && p->slots.data[i]->reader.slots)
			dispatches += atomic_load_explicit(
				&p->slots.data[i]->reader.shared->off_cnt, memory_order_relaxed);
	if (dispatches)
		calls[cnt++] = (struct wt_frame_left_out){.api = WT_LEFT_OUT_DISPATCH, .cnt = dispatches};
	if (copies)
		calls[cnt++] = (struct wt_frame_left_out){.api = WT_LEFT_OUT_COPY, .cnt = copies};
	if (!cnt)
		return 0;
	return wt_segment__add(
		writer, WT_FRAME_LEFT_OUT, p->number, 0, 0, calls, cnt * sizeof(*calls));
}

static int write_end(struct wt_process *p, struct wt_segment_writer *writer)
{
	struct wt_frame_process_end end = {
		.ended_ns = p->ended_ns,
		.exit_kind = p->exit_kind,
		.ring_dropped = p->dropped,
		.corrupt_bytes = p->corrupt_bytes + p->definitions.reader.corrupt,
		.interrupted_ns = atomic_load(&p->shared->interrupted_ns),
		.definitions_dropped = atomic_load(&p->definitions.reader.shared->dropped),
	};

	for (size_t i = 0; i < p->rings.cnt; i++) {
		struct wt_ring_source *ring = p->rings.data[i];

		if (!ring)
			continue;
		end.ring_dropped += atomic_load(&ring->reader.shared->dropped);
		end.corrupt_bytes += ring->reader.corrupt;
	}
	for (int i = 0; i < 64; i++)
		end.lost[i] = atomic_load(&p->shared->lost[i]);
	return wt_segment__add(writer, WT_FRAME_PROCESS_END, p->number, 0, 0, &end, sizeof(end));
}

int wt_process__finish(struct wt_process *p, struct wt_drain *drain)
{
	int rc;

	if (p->finished)
		return 0;
	p->passes = 0;
	wt_process__look(p);
	rc = drain_all(p, drain, true);
	if (!rc)
		rc = wt_drain__commit(drain);
	if (!rc)
		rc = write_open_calls(p, drain->writer);
	if (!rc)
		rc = write_left_out(p, drain->writer);
	if (!rc)
		rc = write_end(p, drain->writer);
	if (!rc)
		rc = wt_drain__commit(drain);
	p->finished = !rc;
	return rc;
}

void wt_process__unlink(struct wt_process *p)
{
	for (uint32_t i = 0; i < p->rings.cnt; i++)
		if (p->rings.data[i])
			unlink_file(p, WT_FILE_RING, i, p->rings.data[i]->mapping.bytes);
	for (uint32_t i = 0; i < p->slots.cnt; i++)
		if (p->slots.data[i] && p->slots.data[i]->reader.slots)
			unlink_file(p, WT_FILE_SLOTS, i, p->slots.data[i]->mapping.bytes);
	unlink_file(p, WT_FILE_PROCESS, 0, p->mapping.bytes);
	close_files(p);
}
