// SPDX-License-Identifier: MIT
#include "producer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

static int fail(const char *what)
{
	fprintf(stderr, "producer: %s: %s\n", what, strerror(errno));
	return -1;
}

static int hello(
	struct producer *p, enum wt_file_kind kind, uint32_t process, uint32_t number, int fd)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct wt_hello message = {
		.session_id = p->session->session_id,
		.kind = kind,
		.process = process,
		.number = number,
	};
	struct iovec part = {&message, sizeof(message)};
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {.space = {0}};
	struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc;

	snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d/" WT_SOCKET_FILE, p->dir_fd);
	if (fd >= 0) {
		head.msg_control = control.space;
		head.msg_controllen = sizeof(control.space);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	rc = connect(sock, (struct sockaddr *)&to, sizeof(to)) ||
	     sendmsg(sock, &head, MSG_NOSIGNAL) != sizeof(message);
	close(sock);
	return rc ? -1 : 0;
}

static void *make_file(struct producer *p, enum wt_file_kind kind, uint32_t process,
	uint32_t number, size_t bytes, int *memfd)
{
	char name[32];
	void *map;
	int fd;

	wt_session__file_name(name, kind, process, number);
	fd = p->memfd ? memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)
		      : openat(p->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, (off_t)bytes)) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*memfd = p->memfd ? fd : -1;
	if (!p->memfd)
		close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static uint64_t own_start_ticks(void)
{
	char text[1024] = "";
	const char *at;
	FILE *file = fopen("/proc/self/stat", "re");

	if (file) {
		if (!fgets(text, sizeof(text), file))
			text[0] = 0;
		fclose(file);
	}
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

int producer__join(struct producer *p, const char *session_dir, bool memfd)
{
	uint32_t number;
	int fd, process_fd = -1;

	memset(p, 0, sizeof(*p));
	p->memfd = memfd;
	snprintf(p->dir, sizeof(p->dir), "%s", session_dir);
	p->dir_fd = open(session_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir_fd < 0)
		return fail(session_dir);
	fd = openat(p->dir_fd, WT_SESSION_FILE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail("session");
	p->session = mmap(NULL, WT_SESSION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p->session == MAP_FAILED || p->session->magic != WT_SESSION_MAGIC ||
		atomic_load(&p->session->state) != WT_COLLECTOR_RUNNING)
		return fail("session is not running");
	number = atomic_fetch_add(&p->session->process_cnt, 1);
	p->shared = make_file(p, WT_FILE_PROCESS, number, 0, WT_PROCESS_FILE_BYTES, &process_fd);
	if (!p->shared)
		return fail("process file");
	p->shared->version = WT_SESSION_VERSION;
	p->shared->number = number;
	p->shared->pid = getpid();
	p->shared->parent_pid = getppid();
	p->shared->start_ticks = own_start_ticks();
	p->shared->joined_ns = wt_clock__boottime_ns();
	p->shared->cpu_clock = WT_CPU_CLOCK_BOOTTIME;
	snprintf(p->shared->image, sizeof(p->shared->image), "/bin/producer");
	snprintf(p->shared->command, sizeof(p->shared->command), "producer");
	gethostname(p->shared->host, sizeof(p->shared->host) - 1);
	wt_ring__init(&p->definitions, (char *)p->shared + WT_PROCESS_RING_OFFSET,
		WT_DEFINITION_RING_BYTES, number, UINT32_MAX);
	__atomic_store_n(&p->shared->magic, WT_PROCESS_MAGIC, __ATOMIC_RELEASE);
	atomic_store(&p->shared->state, WT_PROCESS_JOINED);
	if (hello(p, WT_FILE_PROCESS, number, 0, process_fd))
		fail("hello");
	if (process_fd >= 0)
		close(process_fd);
	return 0;
}

static void hand_over(struct producer *p, enum wt_file_kind kind, uint32_t number, int fd)
{
	if (fd < 0)
		return;
	if (hello(p, kind, p->shared->number, number, fd))
		fail("hand over");
	close(fd);
}

int producer__thread(struct producer *p, struct producer_thread *t, uint32_t capacity)
{
	uint32_t number = atomic_fetch_add(&p->shared->ring_cnt, 1);
	struct wt_rec_thread *rec;
	int fd = -1;
	void *map = make_file(
		p, WT_FILE_RING, p->shared->number, number, WT_RING_HEADER_BYTES + capacity, &fd);

	memset(t, 0, sizeof(*t));
	if (!map)
		return fail("ring");
	wt_ring__init(&t->ring, map, capacity, p->shared->number, number);
	t->index = atomic_fetch_add(&p->shared->thread_cnt, 1) + 1;
	atomic_store(&t->ring.shared->thread_index, t->index);
	rec = wt_ring__reserve(&t->ring, sizeof(*rec));
	*rec = (struct wt_rec_thread){
		.rec = {WT_REC_THREAD, sizeof(*rec) / 8, t->index},
		.tid = gettid(),
		.name = "thread",
	};
	wt_ring__commit(&t->ring, sizeof(*rec));
	hand_over(p, WT_FILE_RING, number, fd);
	return 0;
}

int producer__slots(struct producer *p, struct producer_slots *s, uint32_t capacity, uint32_t queue,
	uint32_t device)
{
	uint32_t number = atomic_fetch_add(&p->shared->slots_cnt, 1);
	int fd = -1;
	char *map = make_file(
		p, WT_FILE_SLOTS, p->shared->number, number, wt_slots__file_bytes(capacity), &fd);

	memset(s, 0, sizeof(*s));
	if (!map)
		return fail("slots");
	s->shared = (void *)map;
	s->producer = p;
	s->capacity = capacity;
	s->slots = (void *)(map + WT_SLOTS_HEADER_BYTES);
	s->signals = (void *)(map + WT_SLOTS_HEADER_BYTES + (size_t)capacity * 64);
	s->shared->version = 1;
	s->shared->process = p->shared->number;
	s->shared->number = number;
	s->shared->queue = queue;
	s->shared->device = device;
	s->shared->capacity = capacity;
	s->shared->slots_offset = WT_SLOTS_HEADER_BYTES;
	s->shared->signals_offset = WT_SLOTS_HEADER_BYTES + (uint64_t)capacity * 64;
	__atomic_store_n(&s->shared->magic, WT_SLOTS_MAGIC, __ATOMIC_RELEASE);
	hand_over(p, WT_FILE_SLOTS, number, fd);
	return 0;
}

/* ---- definitions -------------------------------------------------------------- */

void producer__define(struct producer *p, struct wt_rec *rec, size_t bytes, const char *text)
{
	size_t length = text ? strlen(text) : 0, whole = bytes + ((length + 7) & ~(size_t)7);
	char *to;

	while (!(to = wt_ring__reserve(&p->definitions, (uint32_t)whole)))
		usleep(1000);
	rec->size8 = (uint16_t)(whole / 8);
	memset(to, 0, whole);
	memcpy(to, rec, bytes);
	if (length)
		memcpy(to + bytes, text, length);
	wt_ring__commit(&p->definitions, (uint32_t)whole);
}

void producer__device(struct producer *p, uint32_t number)
{
	struct wt_rec_device rec = {
		.rec = {WT_REC_DEVICE, 0, number},
		.agent = 0x1000 + number,
		.uuid = 0xabc0 + number,
		.node = number + 1,
		.bdf = number << 8,
		.compute_units = 104,
		.clock_mhz = 1700,
		.arch = "gfx90a",
		.name = "Emulated GPU",
	};

	producer__define(p, &rec.rec, sizeof(rec), NULL);
}

void producer__queue(struct producer *p, uint32_t number, uint32_t device, uint32_t slot_file)
{
	struct wt_rec_queue rec = {
		.rec = {WT_REC_QUEUE, 0, number},
		.hsa_id = 100 + number,
		.created_ns = wt_clock__boottime_ns(),
		.device = device,
		.size = 1024,
		.mode = WT_QUEUE_SLOTS,
		.slot_file = slot_file,
	};

	producer__define(p, &rec.rec, sizeof(rec), NULL);
}

void producer__symbol(struct producer *p, uint64_t object, uint64_t executable, uint32_t generation,
	const char *name)
{
	struct wt_rec_symbol rec = {
		.rec = {WT_REC_SYMBOL, 0, generation},
		.kernel_object = object,
		.executable = executable,
		.name_bytes = (uint32_t)strlen(name),
	};

	producer__define(p, &rec.rec, sizeof(rec), name);
}

void producer__symbols_end(struct producer *p, uint64_t executable, uint32_t generation)
{
	struct wt_rec_symbols_end rec = {
		.rec = {WT_REC_SYMBOLS_END, 0, generation},
		.executable = executable,
	};

	producer__define(p, &rec.rec, sizeof(rec), NULL);
}

void producer__gpu_clock(struct producer *p, uint32_t device, uint64_t ticks, uint64_t ns)
{
	struct wt_rec_gpu_clock rec = {
		.rec = {WT_REC_GPU_CLOCK, 0, device},
		.ticks = ticks,
		.ns = ns,
		.taken_ns = ns,
	};

	producer__define(p, &rec.rec, sizeof(rec), NULL);
}

void producer__stream(struct producer *p, uint32_t number, uint32_t device)
{
	struct wt_rec_stream rec = {
		.rec = {WT_REC_STREAM, 0, number},
		.handle = 0x5000 + number,
		.created_ns = wt_clock__boottime_ns(),
		.device = device,
		.kind = WT_STREAM_CREATED,
	};

	producer__define(p, &rec.rec, sizeof(rec), NULL);
}

/* ---- events -------------------------------------------------------------------- */

uint64_t producer__call(struct producer_thread *t, uint32_t api, uint64_t start, uint64_t end)
{
	uint64_t corr = WT_CORR((uint64_t)t->index, ++t->count);
	struct wt_rec_call *rec = wt_ring__reserve(&t->ring, sizeof(*rec));

	if (!rec)
		return corr;
	*rec = (struct wt_rec_call){
		.rec = {WT_REC_CALL, sizeof(*rec) / 8, api},
		.start_tsc = start,
		.end_tsc = end,
		.corr = corr,
	};
	wt_ring__commit(&t->ring, sizeof(*rec));
	return corr;
}

uint64_t producer__copy_call(struct producer_thread *t, uint32_t api, uint64_t start, uint64_t end,
	uint64_t bytes, uint32_t kind)
{
	uint64_t corr = WT_CORR((uint64_t)t->index, ++t->count);
	struct wt_rec_copy *rec = wt_ring__reserve(&t->ring, sizeof(*rec));

	if (!rec)
		return corr;
	*rec = (struct wt_rec_copy){
		.call =
			{
				.rec = {WT_REC_CALL_COPY, sizeof(*rec) / 8, api},
				.start_tsc = start,
				.end_tsc = end,
				.corr = corr,
			},
		.dst = 0xd000,
		.src = 0x5000,
		.bytes = bytes,
		.kind = kind,
	};
	wt_ring__commit(&t->ring, sizeof(*rec));
	return corr;
}

bool producer__dispatch(struct producer_slots *s, uint64_t corr, uint64_t object,
	uint32_t generation, uint8_t flags, uint64_t *index)
{
	uint64_t i = s->write++;
	struct wt_slot *slot = &s->slots[i % s->capacity];
	struct wt_signal *signal = &s->signals[i % s->capacity];
	union wt_slot_word word = {.raw = atomic_load_explicit(&slot->word, memory_order_acquire)};
	bool is_free = word.state == WT_SLOT_FREE;

	*index = i;
	if (is_free) {
		word = (union wt_slot_word){.lap = (uint32_t)(i / s->capacity),
			.state = WT_SLOT_RESERVED,
			.kind = WT_SLOT_DISPATCH,
			.flags = flags,
			.untimed = flags & WT_SLOT_TIMED ? 0 : WT_LOST_TIME_DEPTH};
		atomic_store_explicit(&slot->word, word.raw, memory_order_relaxed);
		slot->corr = corr;
		slot->kernel_object = object;
		slot->grid[0] = 256;
		slot->grid[1] = slot->grid[2] = 1;
		slot->block[0] = 64;
		slot->block[1] = slot->block[2] = 1;
		slot->private_dwords = WT_SLOT_PRIVATE_UNKNOWN;
		slot->stream = 1;
		slot->code_generation = generation;
		signal->kind = 1;
		atomic_store_explicit(&signal->start_ticks, 0, memory_order_relaxed);
		atomic_store_explicit(&signal->end_ticks, 0, memory_order_relaxed);
		atomic_store_explicit(&signal->value, 1, memory_order_relaxed);
		word.state = WT_SLOT_SUBMITTED;
		atomic_store_explicit(&slot->word, word.raw, memory_order_release);
	} else {
		s->busy++;
		atomic_fetch_add(&s->producer->shared->lost[WT_LOST_OP_SLOT_BUSY], 1);
	}
	atomic_store_explicit(&s->shared->submitted, i + 1, memory_order_release);
	return is_free;
}

void producer__complete(struct producer_slots *s, uint64_t index, uint64_t start, uint64_t end)
{
	struct wt_signal *signal = &s->signals[index % s->capacity];

	atomic_store_explicit(&signal->start_ticks, start, memory_order_relaxed);
	atomic_store_explicit(&signal->end_ticks, end, memory_order_relaxed);
	atomic_store_explicit(&signal->value, 0, memory_order_release);
}

/* ---- all at once ------------------------------------------------------------------ */

struct worker {
	struct producer *p;
	uint64_t calls, pause_every;
	uint32_t queue;
	int rc;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct producer_thread thread;
	struct producer_slots slots;

	w->rc = producer__thread(w->p, &thread, 1u << 16);
	if (!w->rc)
		w->rc = producer__slots(w->p, &slots, 4096, w->queue, 0);
	if (w->rc)
		return NULL;
	for (uint64_t i = 0; i < w->calls; i++) {
		uint64_t start = wt_clock__boottime_ns(), index;
		uint64_t corr = producer__call(&thread, 0, start, wt_clock__boottime_ns());

		if (producer__dispatch(&slots, corr, 0x100, 1, WT_SLOT_TIMED, &index))
			producer__complete(&slots, index, start / 10, start / 10 + 50);
		if (w->pause_every && i % w->pause_every == w->pause_every - 1)
			usleep(1000);
	}
	return NULL;
}

int producer__work(struct producer *p, uint32_t threads, uint64_t calls, uint64_t pause_every)
{
	struct worker workers[64];
	pthread_t ids[64];
	uint64_t now;
	int rc = 0;

	if (threads > 64)
		return -1;
	now = wt_clock__boottime_ns();
	producer__device(p, 0);
	producer__gpu_clock(p, 0, now / 10, now / 10 * 10);
	producer__stream(p, 1, 0);
	producer__symbol(p, 0x100, 1, 1, "_Z6kernelPf.kd");
	for (uint32_t i = 0; i < threads; i++) {
		producer__queue(p, i, 0, i);
		workers[i] = (struct worker){
			.p = p, .calls = calls, .queue = i, .pause_every = pause_every};
		if (pthread_create(&ids[i], NULL, work, &workers[i]))
			return fail("thread");
	}
	for (uint32_t i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		rc |= workers[i].rc;
	}
	now = wt_clock__boottime_ns();
	producer__gpu_clock(p, 0, now / 10, now / 10 * 10);
	atomic_store(&p->shared->state, WT_PROCESS_LEFT);
	return rc;
}

int producer__run(
	const char *session_dir, uint32_t threads, uint64_t calls, bool memfd, uint64_t pause_every)
{
	struct producer p;

	return producer__join(&p, session_dir, memfd)
		       ? -1
		       : producer__work(&p, threads, calls, pause_every);
}
