// SPDX-License-Identifier: MIT
/*
 * The memory behind VRAM and GTT buffers: a memory file each, so that a dma-buf *is* the buffer's
 * file. The kernel then keeps the memory until the last process has let go of it, whoever was
 * killed when, and a mapping of the dma-buf in any program shows what the GPU sees.
 *
 * The program must not find a descriptor a buffer among its own. They live in the private
 * descriptor table of a thread (`vgpu-mem`), which also makes the mappings; when a table is full
 * (RLIMIT_NOFILE counts for each), another thread begins.
 *
 * What a file is, its name and its seals tell: "vgpu-bo GPU FLAGS", of a size that nobody can
 * change any more. Everything that comes from outside is checked for both. One page behind the
 * buffer carries what user space attaches to it (GEM_METADATA); lseek() and fstat() hide it.
 */
#include "queue.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_HOLDERS 64
#define FD_BITS     20
#define TAIL_BYTES  4096u
#define SEALS       (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define NAME_FORMAT "vgpu-bo %d %x"

enum holder_word { IDLE, ASKED, ANSWERED };

struct request {
	int (*run)(struct request *r);
	struct vg_file_info info;
	char path[64];
	int fd;
	uint64_t at, size, offset;
	int prot, flags;
	struct vg_file_meta *meta;
	int result;
};

static_assert(sizeof(struct vg_file_meta) <= TAIL_BYTES, "metadata fit their page");

struct holder {
	struct vg_lock lock; /* of those who ask */
	_Atomic uint32_t word;
	pid_t tid; /* 0: there is none */
	struct request request;
};

struct vg_file_state {
	_Atomic uint32_t first_with_room;
	struct holder holders[MAX_HOLDERS];
};

static struct vg_file_state *state(void)
{
	return vg_part(&vg_proc()->file, sizeof(struct vg_file_state));
}

/* ---- what runs on a holder's thread: raw system calls on its own descriptor table ---- */

/* The library interposes open() and fstat() itself. */
static int raw_open(const char *path, int flags)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

static void raw_close(int fd)
{
	syscall(SYS_close, fd);
}

int vg_file__inspect(int fd, struct vg_file_info *info)
{
	static const char prefix[] = "/memfd:";
	char path[48], name[128];
	unsigned gpu_flags;
	struct stat st;
	int gpu, end = 0, seals;
	long n;

	if (fd < 0 || syscall(SYS_fstat, fd, &st))
		return -EBADF;
	snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, path, name, sizeof name - 1);
	if (!S_ISREG(st.st_mode) || st.st_nlink || n <= 0)
		return -EINVAL;
	name[n] = 0;
	if (strncmp(name, prefix, sizeof prefix - 1) ||
		sscanf(name + sizeof prefix - 1, NAME_FORMAT "%n", &gpu, &gpu_flags, &end) != 2 ||
		strcmp(name + sizeof prefix - 1 + end, " (deleted)"))
		return -EINVAL;
	if (st.st_size <= (off_t)TAIL_BYTES || st.st_size % 4096)
		return -EINVAL;
	seals = (int)syscall(SYS_fcntl, fd, F_GET_SEALS);
	if (gpu < 0 || gpu >= VG_MAX_GPUS)
		return -EINVAL;
	if (seals >= 0 && (seals & (SEALS | F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != SEALS)
		return -EINVAL;
	/* F_GET_SEALS fails on an O_PATH descriptor: then the caller opens it and asks again. */
	*info = (struct vg_file_info){gpu, gpu_flags, (uint64_t)st.st_size - TAIL_BYTES, st.st_ino,
		st.st_dev, seals >= 0};
	return 0;
}

static int do_create(struct request *r)
{
	char name[48];
	struct stat st;
	int fd;

	snprintf(name, sizeof name, NAME_FORMAT, r->info.gpu, r->info.flags);
	fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)(r->info.size + TAIL_BYTES)) ||
		syscall(SYS_fcntl, fd, F_ADD_SEALS, SEALS) || syscall(SYS_fstat, fd, &st)) {
		raw_close(fd);
		return -ENOMEM;
	}
	r->info.ino = st.st_ino;
	r->info.dev = st.st_dev;
	return fd;
}

/*
 * The path may lead to anything: first a descriptor that opens nothing (a FIFO would block, a
 * device could act), and only what looks like one of our files is opened.
 */
static int do_adopt(struct request *r)
{
	int look = raw_open(r->path, O_PATH), fd, err;
	char path[48];

	if (look < 0)
		return look;
	err = vg_file__inspect(look, &r->info);
	if (err) {
		raw_close(look);
		return err;
	}
	snprintf(path, sizeof path, "/proc/thread-self/fd/%d", look);
	fd = raw_open(path, O_RDWR);
	raw_close(look);
	if (fd < 0)
		return fd;
	err = vg_file__inspect(fd, &r->info);
	if (err || !r->info.sealed) {
		raw_close(fd);
		return err ? err : -EINVAL;
	}
	return fd;
}

static int do_drop(struct request *r)
{
	raw_close(r->fd);
	return 0;
}

static int do_map(struct request *r)
{
	long at = syscall(
		SYS_mmap, r->at, r->size, r->prot, r->flags, r->fd, (unsigned long)r->offset);

	if (at == -1)
		return -errno;
	r->at = (uint64_t)at;
	return 0;
}

int vg_file__read_meta(int fd, const struct vg_file_info *info, struct vg_file_meta *meta)
{
	if (pread(fd, meta, sizeof *meta, (off_t)info->size) != (ssize_t)sizeof *meta)
		return -EIO;
	if (meta->size > sizeof meta->data) /* whoever has the file can write there */
		meta->size = 0;
	return 0;
}

static int do_read_meta(struct request *r)
{
	int err = vg_file__inspect(r->fd, &r->info);

	return err ? err : vg_file__read_meta(r->fd, &r->info, r->meta);
}

static int do_write_meta(struct request *r)
{
	int err = vg_file__inspect(r->fd, &r->info);

	if (err)
		return err;
	return pwrite(r->fd, r->meta, sizeof *r->meta, (off_t)r->info.size) ==
			       (ssize_t)sizeof *r->meta
		       ? 0
		       : -EIO;
}

static int do_leave_table(struct request *r)
{
	(void)r;
	if (!syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE))
		return 0;
	if (!syscall(SYS_unshare, CLONE_FILES)) {
		for (int fd = 0; fd < 65536; fd++)
			raw_close(fd);
		return 0;
	}
	return -errno; /* a sandbox: the files stay visible among the program's own */
}

static void *holder_main(void *arg)
{
	struct holder *h = arg;

	pthread_setname_np(pthread_self(), "vgpu-mem");
	h->tid = (pid_t)syscall(SYS_gettid);
	for (;;) {
		uint32_t word = atomic_load_explicit(&h->word, memory_order_acquire);

		if (word != ASKED) {
			vg_futex_wait(&h->word, word, 0);
			continue;
		}
		h->request.result = h->request.run(&h->request);
		/* Release: pairs with the acquire in ask(). */
		atomic_store_explicit(&h->word, ANSWERED, memory_order_release);
		vg_futex_wake(&h->word, INT32_MAX);
	}
	return NULL;
}

/* ---- asking a holder ---- */

/* The holder's lock is held. */
static int ask(struct holder *h, struct request *r)
{
	h->request = *r;
	atomic_store_explicit(&h->word, ASKED, memory_order_release);
	vg_futex_wake(&h->word, INT32_MAX);
	while (atomic_load_explicit(&h->word, memory_order_acquire) != ANSWERED)
		vg_futex_wait(&h->word, ASKED, 0);
	*r = h->request;
	return r->result;
}

/* The holder's lock is held. */
static int start(struct holder *h)
{
	struct request r = {.run = do_leave_table};
	pthread_t thread;
	int err;

	if (h->tid)
		return 0;
	err = vg_queue__start_thread(&thread, holder_main, h, true);
	if (err) {
		vg_trace("the thread that holds the GPU's memory could not be started: %s",
			strerror(-err));
		return -ENOMEM;
	}
	err = ask(h, &r);
	if (err)
		TRACE(1, "buffers stay among the program's descriptors: %s", strerror(-err));
	return 0;
}

static int file_of(unsigned holder, int fd)
{
	return (int)(holder << FD_BITS | (unsigned)fd);
}

static struct holder *holder_of(int file)
{
	struct vg_file_state *s = __atomic_load_n(&vg_proc()->file, __ATOMIC_ACQUIRE);
	unsigned i = (unsigned)file >> FD_BITS;

	return s && file >= 0 && i < MAX_HOLDERS && s->holders[i].tid ? &s->holders[i] : NULL;
}

/* Runs the request on the first holder whose table has room for a descriptor. */
static int obtain(struct request *r)
{
	struct vg_file_state *s = state();
	unsigned first;

	if (!s)
		return -ENOMEM;
	first = atomic_load_explicit(&s->first_with_room, memory_order_relaxed);
	for (unsigned i = first; i < MAX_HOLDERS; i++) {
		struct holder *h = &s->holders[i];
		int err;

		vg_lock(&h->lock);
		err = start(h);
		if (!err)
			err = ask(h, r);
		vg_unlock(&h->lock);
		if (err >= 0)
			return err < 1 << FD_BITS ? file_of(i, err) : -EMFILE;
		if (err != -EMFILE)
			return err;
		atomic_store_explicit(&s->first_with_room, i + 1, memory_order_relaxed);
	}
	return -ENOMEM;
}

int vg_file__create(struct vg_file_info *info)
{
	struct request r = {.run = do_create, .info = *info};
	int file = obtain(&r);

	if (file >= 0)
		*info = r.info;
	return file;
}

int vg_file__adopt(int fd, struct vg_file_info *info)
{
	struct request r = {.run = do_adopt};
	int file;

	snprintf(r.path, sizeof r.path, "/proc/self/task/%ld/fd/%d", syscall(SYS_gettid), fd);
	file = obtain(&r);
	if (file >= 0)
		*info = r.info;
	return file == -ENOENT ? -EBADF : file;
}

void vg_file__drop(int file)
{
	struct request r = {.run = do_drop, .fd = file & ((1 << FD_BITS) - 1)};
	struct holder *h = holder_of(file);
	struct vg_file_state *s = vg_proc()->file;
	unsigned i = (unsigned)file >> FD_BITS;

	if (!h)
		return;
	vg_lock(&h->lock);
	ask(h, &r);
	vg_unlock(&h->lock);
	if (i < atomic_load_explicit(&s->first_with_room, memory_order_relaxed))
		atomic_store_explicit(&s->first_with_room, i, memory_order_relaxed);
}

/* The holder of the file's descriptor does it; r->fd is set here. */
static int ask_of(int file, struct request *r)
{
	struct holder *h = holder_of(file);
	int err;

	if (!h)
		return -EBADF;
	r->fd = file & ((1 << FD_BITS) - 1);
	vg_lock(&h->lock);
	err = ask(h, r);
	vg_unlock(&h->lock);
	return err;
}

int vg_file__map(int file, uint64_t *at, uint64_t size, int prot, int flags, uint64_t offset)
{
	struct request r = {.run = do_map,
		.at = *at,
		.size = size,
		.offset = offset,
		.prot = prot,
		.flags = flags};
	int err = ask_of(file, &r);

	*at = r.at;
	return err;
}

static int ask_about(int file, int (*run)(struct request *r), struct vg_file_meta *meta)
{
	struct request r = {.run = run, .meta = meta};

	return ask_of(file, &r);
}

int vg_file__get_meta(int file, struct vg_file_meta *meta)
{
	return ask_about(file, do_read_meta, meta);
}

int vg_file__set_meta(int file, struct vg_file_meta *meta)
{
	return ask_about(file, do_write_meta, meta);
}

int vg_file__open(int file)
{
	struct holder *h = holder_of(file);
	char path[64];
	int fd;

	if (!h)
		return -EBADF;
	snprintf(path, sizeof path, "/proc/self/task/%d/fd/%d", (int)h->tid,
		file & ((1 << FD_BITS) - 1));
	fd = raw_open(path, O_RDWR);
	if (fd < 0)
		vg_trace("a buffer cannot be exported: %s: %s", path, strerror(-fd));
	return fd;
}

/* ---- between processes, without a descriptor ---- */

int vg_file__tell(int file, uint32_t low_ino, struct vg_file_place *place)
{
	struct holder *h = holder_of(file);

	if (!h)
		return -EBADF;
	*place = (struct vg_file_place){getpid(), h->tid, file & ((1 << FD_BITS) - 1), low_ino};
	return 0;
}

int vg_file__adopt_from(const struct vg_file_place *place, struct vg_file_info *info)
{
	struct request r = {.run = do_adopt};
	int file;

	if (place->pid <= 0 || place->tid <= 0 || place->fd < 0)
		return -EINVAL;
	snprintf(r.path, sizeof r.path, "/proc/%d/task/%d/fd/%d", (int)place->pid, (int)place->tid,
		place->fd);
	file = obtain(&r);
	if (file < 0) {
		TRACE(1, "memory of another process: %s: %s", r.path, strerror(-file));
		/* Gone is not there any more; another user's process cannot be looked into. */
		return file == -EACCES ? -EPERM : file == -ENOMEM ? file : -EINVAL;
	}
	if ((uint32_t)r.info.ino != place->low_ino) { /* the number has another file by now */
		vg_file__drop(file);
		return -EINVAL;
	}
	*info = r.info;
	return file;
}
