// SPDX-License-Identifier: MIT
/*
 * The state of this process. It lies in pages that the kernel wipes in a forked child (raw clone
 * included), so a child starts with nothing open, no lock held and no thread: it becomes a new
 * user of the virtual GPU if and when it opens the device. A vfork child shares memory with its
 * parent, is not wiped, and so changes nothing.
 */
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void *vg_zalloc(size_t bytes)
{
	long p = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p < 0 && p > -4096)
		return NULL;
	madvise((void *)p, bytes, MADV_WIPEONFORK);
	return (void *)p;
}

void *vg_part(void *place, size_t bytes)
{
	void **at = place, *none = NULL, *part = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	if (part)
		return part;
	part = vg_zalloc(bytes);
	if (!part)
		return NULL;
	/* Release: pairs with the acquire above; the pages are zero already. */
	if (!__atomic_compare_exchange_n(
		    at, &none, part, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		munmap(part, bytes);
		part = none;
	}
	return part;
}

struct vg_proc *vg_proc(void)
{
	static _Atomic(struct vg_proc *) proc;
	static struct vg_proc fallback; /* no memory: nothing works, but nothing crashes either */
	struct vg_proc *p = atomic_load_explicit(&proc, memory_order_acquire);

	if (!p) {
		struct vg_proc *expected = NULL;

		p = vg_zalloc(sizeof *p);
		if (!p)
			p = &fallback;
		/* Release: pairs with the acquire above; the pages are zero already. */
		if (!atomic_compare_exchange_strong_explicit(
			    &proc, &expected, p, memory_order_acq_rel, memory_order_acquire)) {
			if (p != &fallback)
				munmap(p, sizeof *p);
			p = expected;
		}
	}
	if (atomic_load_explicit(&p->conf_ready, memory_order_acquire) != 2) {
		/* Twice at worst, with the same result: no lock is needed. */
		struct vg_conf conf = {0};

		p->conf.model = vg_model_at(0);
		vg_conf__load(&conf);
		if (conf.log && strlen(conf.log) < sizeof p->log_path) {
			strcpy(p->log_path, conf.log);
			conf.log = p->log_path;
		}
		if (conf.durations && strlen(conf.durations) < sizeof p->durations_path) {
			strcpy(p->durations_path, conf.durations);
			conf.durations = p->durations_path;
		}
		p->conf = conf;
		atomic_store_explicit(&p->conf_ready, 2, memory_order_release);
	}
	return p;
}

void vg_once(_Atomic uint32_t *once, void (*fn)(struct vg_proc *))
{
	uint32_t v = atomic_load_explicit(once, memory_order_acquire);

	while (v != 2) {
		if (v == 0 && atomic_compare_exchange_strong(once, &v, 1)) {
			fn(vg_proc());
			atomic_store_explicit(once, 2, memory_order_release);
			vg_futex_wake(once, INT32_MAX);
			return;
		}
		if (v == 1)
			vg_futex_wait(once, 1, 0);
		v = atomic_load_explicit(once, memory_order_acquire);
	}
}

void vg_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec ts = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns ? &ts : NULL, NULL, 0);
}

void vg_futex_wake(_Atomic uint32_t *word, int cnt)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, cnt, NULL, NULL, 0);
}

void vg_lock(struct vg_lock *lock)
{
	uint32_t v = 0;

	if (atomic_compare_exchange_strong_explicit(
		    &lock->word, &v, 1, memory_order_acquire, memory_order_relaxed))
		return;
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire))
		vg_futex_wait(&lock->word, 2, 0);
}

bool vg_trylock(struct vg_lock *lock)
{
	uint32_t v = 0;

	return atomic_compare_exchange_strong_explicit(
		&lock->word, &v, 1, memory_order_acquire, memory_order_relaxed);
}

void vg_unlock(struct vg_lock *lock)
{
	if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
		vg_futex_wake(&lock->word, 1);
}

uint64_t vg_start_time(pid_t pid)
{
	char text[1024], path[48], *p;
	long n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = syscall(SYS_read, fd, text, sizeof text - 1);
	syscall(SYS_close, fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	/* The name in field 2 may contain anything; field 3 follows the last parenthesis. */
	p = strrchr(text, ')');
	if (p && p[1] && (p[2] == 'Z' || p[2] == 'X'))
		return 0; /* only its corpse, which nobody has collected yet */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return 0;
	return strtoull(p, NULL, 10);
}

void vg_trace(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n = snprintf(line, sizeof line, "vgpu[%ld]: ", syscall(SYS_gettid));

	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof line - 2)
		n = (int)sizeof line - 2;
	line[n++] = '\n';
	syscall(SYS_write, 2, line, (size_t)n);
}
