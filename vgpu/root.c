// SPDX-License-Identifier: MIT
/*
 * The private directory: a real tree of files, to which paths below /sys, /dev and /proc that
 * concern the GPU are led. It is made at the first such path, removed at the end of the process,
 * and, if the process had no chance to, by the next process that makes one.
 *
 * Name: vgpu-NAMESPACE-PID-START. The start time makes a recycled process number harmless, the
 * pid namespace keeps containers that share /tmp apart.
 */
#include "vgpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Raw system calls where a libc function is interposed by this library itself. */
static int raw_openat(int dir, const char *name, int flags)
{
	return (int)syscall(SYS_openat, dir, name, flags | O_CLOEXEC, 0);
}

static uint64_t pid_namespace(void)
{
	struct stat st;

	return syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &st, 0) ? 0 : st.st_ino;
}

static const char *absolute(const char *variable)
{
	const char *dir = getenv(variable);

	return dir && dir[0] == '/' && strlen(dir) < 100 ? dir : NULL;
}

static const char *base_dir(unsigned i)
{
	const char *const dirs[] = {
		absolute("VGPU_DIR"), "/dev/shm", absolute("TMPDIR"), "/tmp", "/var/tmp"};

	for (unsigned k = 0; k < sizeof dirs / sizeof *dirs; k++)
		if (dirs[k] && !i--)
			return dirs[k];
	return NULL;
}

struct linux_dirent {
	uint64_t d_ino;
	int64_t d_off;
	unsigned short d_reclen;
	unsigned char d_type;
	char d_name[];
};

/*
 * Removes the contents of directory `fd`, which it closes. No malloc: _exit may be called in a
 * signal handler. The trees are ours and ten deep.
 */
static void remove_below(int fd, int depth)
{
	_Alignas(8) char buf[2048];
	long n;

	while ((n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0)
		for (long at = 0; at < n;) {
			const struct linux_dirent *e = (const void *)(buf + at);
			int sub;

			at += e->d_reclen;
			if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
				!unlinkat(fd, e->d_name, 0) || depth == 16)
				continue;
			sub = raw_openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
			if (sub >= 0)
				remove_below(sub, depth + 1);
			unlinkat(fd, e->d_name, AT_REMOVEDIR);
		}
	syscall(SYS_close, fd);
}

static void remove_tree(int base, const char *name)
{
	int fd = raw_openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

	if (fd >= 0)
		remove_below(fd, 0);
	unlinkat(base, name, AT_REMOVEDIR);
}

/* Is it the directory of a process that is gone (or of an earlier image of this very process)? */
static bool is_stale(int base, const char *name, uint64_t ns)
{
	unsigned long long in_ns, start;
	struct stat st;
	int pid, end = 0;

	if (sscanf(name, "vgpu-%llu-%d-%llu%n", &in_ns, &pid, &start, &end) != 3 || name[end])
		return false;
	if (in_ns != ns || pid <= 0)
		return false;
	if (syscall(SYS_newfstatat, base, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode) ||
		st.st_uid != geteuid())
		return false;
	return pid == getpid() || vg_start_time(pid) != start;
}

static void clean_base(const char *base, uint64_t ns)
{
	int fd = raw_openat(AT_FDCWD, base, O_RDONLY | O_DIRECTORY);
	struct dirent *e;
	DIR *d;

	if (fd < 0)
		return;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, "vgpu-", 5) && is_stale(fd, e->d_name, ns))
			remove_tree(fd, e->d_name);
	closedir(d);
}

void vg_root__clean_stale(void)
{
	uint64_t ns = pid_namespace();

	for (unsigned i = 0; base_dir(i); i++)
		clean_base(base_dir(i), ns);
}

void vg_root__clean_own(void)
{
	uint64_t ns, start;
	char name[96];

	if (atomic_load(&vg_proc()->root_ready))
		return; /* this image's own */
	ns = pid_namespace();
	start = vg_start_time(getpid());
	snprintf(name, sizeof name, "vgpu-%llu-%d-%llu", (unsigned long long)ns, (int)getpid(),
		(unsigned long long)start);
	for (unsigned i = 0; base_dir(i); i++) {
		int fd = raw_openat(AT_FDCWD, base_dir(i), O_PATH | O_DIRECTORY);

		if (fd < 0)
			continue;
		if (is_stale(fd, name, ns))
			remove_tree(fd, name);
		close(fd);
	}
}

static void root_make(struct vg_proc *p)
{
	uint64_t ns = pid_namespace();

	p->pid = getpid();
	vg_root__clean_stale();
	for (unsigned i = 0; base_dir(i); i++) {
		int err;

		snprintf(p->root, sizeof p->root, "%s/vgpu-%llu-%d-%llu", base_dir(i),
			(unsigned long long)ns, (int)p->pid,
			(unsigned long long)vg_start_time(p->pid));
		if (mkdir(p->root, 0700))
			continue;
		err = vg_sysfs__build(p->root, &p->conf);
		if (!err) {
			p->root_len = strlen(p->root);
			return;
		}
		remove_tree(AT_FDCWD, p->root); /* a tiny tmpfs: try the next */
	}
	p->root[0] = 0;
	vg_trace("no directory for the emulated /sys could be made (tried /dev/shm, $TMPDIR, "
		 "/tmp): %s",
		strerror(errno));
}

const char *vg_root(void)
{
	struct vg_proc *p = vg_proc();
	int saved = errno;

	vg_once(&p->root_ready, root_make);
	errno = saved;
	return p->root_len ? p->root : NULL;
}

void vg_root__remove(void)
{
	struct vg_proc *p = vg_proc();
	int saved = errno;

	/* The pid check is for a vfork child, which sees its parent's state. */
	if (atomic_load(&p->root_ready) == 2 && p->root_len && p->pid == getpid()) {
		p->root_len = 0;
		remove_tree(AT_FDCWD, p->root);
	}
	errno = saved;
}
