// SPDX-License-Identifier: MIT
/*
 * The life of a log: FILE.spool/ collects one file a process; when the tree has ended they become
 * JSON lines in FILE. A vgpu-run that was killed leaves FILE.spool/ behind; the next one with the
 * same FILE finishes that log first and keeps it as FILE.old.
 */
#include "run.h"
#include "spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void spool_dir(char *to, size_t size, const char *file)
{
	snprintf(to, size, "%s" VG_SPOOL_SUFFIX, file);
}

static int is_spool(const struct dirent *e)
{
	return e->d_name[0] >= '0' && e->d_name[0] <= '9';
}

/* Field 22 of /proc/PID/stat; 0 if there is no such process or only its corpse. */
static unsigned long long start_time(int pid)
{
	char path[40], text[1024], *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || p[2] == 'Z')
		return 0;
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

static int alive_cnt(const char *dir)
{
	struct dirent **list;
	int cnt = scandir(dir, &list, is_spool, NULL), alive = 0;

	for (int i = 0; i < cnt; i++) {
		unsigned long long start;
		int pid;

		if (sscanf(list[i]->d_name, "%d-%llu", &pid, &start) == 2 &&
			start_time(pid) == start)
			alive++;
		free(list[i]);
	}
	if (cnt >= 0)
		free(list);
	return alive;
}

void run_log__wait(const char *file, volatile sig_atomic_t *stop)
{
	struct timespec pause = {0, 1000000};
	char dir[PATH_MAX];

	spool_dir(dir, sizeof dir, file);
	while (!*stop) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			; /* orphans that became our children */
		if (!alive_cnt(dir))
			return;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 50000000)
			pause.tv_nsec *= 2;
	}
}

/* Oldest process first: the file names begin with numbers, so sort by the header's time. */
static uint64_t opened_ns(const char *dir, const char *name)
{
	struct vg_spool_header h = {0};
	char path[PATH_MAX + 300];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fread(&h, sizeof h, 1, f) != 1)
		h.opened_ns = 0;
	fclose(f);
	return h.opened_ns;
}

struct entry {
	char *name;
	uint64_t opened;
};

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->opened < y->opened ? -1 : x->opened > y->opened ? 1 : strcmp(x->name, y->name);
}

static int convert_all(const char *dir, FILE *out)
{
	struct dirent **list;
	int cnt = scandir(dir, &list, is_spool, NULL), err = 0;
	uint64_t lines = 0;
	struct entry *e;

	if (cnt < 0)
		return errno == ENOENT ? 0 : -errno;
	e = calloc((size_t)cnt + 1, sizeof *e);
	for (int i = 0; e && i < cnt; i++)
		e[i] = (struct entry){list[i]->d_name, opened_ns(dir, list[i]->d_name)};
	if (e && cnt)
		qsort(e, (size_t)cnt, sizeof *e, by_time);
	for (int i = 0; e && i < cnt && err != -EIO && err != -ENOMEM; i++) {
		char path[PATH_MAX + 300];
		int r;

		snprintf(path, sizeof path, "%s/%s", dir, e[i].name);
		r = vg_spool__to_json(path, out, &lines);
		if (r == -EPROTO)
			fprintf(stderr,
				"vgpu-run: %s is damaged: what could be read is in the log\n",
				path);
		if (r)
			err = r;
		else
			unlink(path);
	}
	for (int i = 0; i < cnt; i++)
		free(list[i]);
	free(list);
	if (!e)
		return -ENOMEM;
	free(e);
	return err;
}

int run_log__finish(const char *file)
{
	char dir[PATH_MAX];
	FILE *out;
	int err;

	spool_dir(dir, sizeof dir, file);
	if (alive_cnt(dir))
		return run_fail(EXIT_OWN, "end it, then: vgpu-run --finish-log FILE",
			"a running program still writes the log %s", file);
	out = fopen(file, "ae");
	if (!out)
		return run_fail(EXIT_OWN, "name a file in a folder that you can write to",
			"cannot write the log %s: %s", file, strerror(errno));
	err = convert_all(dir, out);
	if (fclose(out) && !err)
		err = -errno;
	if (err)
		return run_fail(EXIT_OWN, "make room, then: vgpu-run --finish-log FILE",
			"the log %s is not complete (%s); the rest is in %s", file, strerror(-err),
			dir);
	if (rmdir(dir) && errno != ENOENT)
		return run_fail(EXIT_OWN, "is another program still running with this log?",
			"cannot remove %s: %s", dir, strerror(errno));
	return 0;
}

static int keep_old(const char *file, const char *dir)
{
	char old[PATH_MAX];
	int code;

	if (alive_cnt(dir))
		return run_fail(EXIT_OWN, "use another --log FILE, or end that program",
			"a running program still writes the log %s", file);
	code = run_log__finish(file);
	if (code)
		return code;
	snprintf(old, sizeof old, "%s.old", file);
	if (rename(file, old))
		return run_fail(EXIT_OWN, "move it away by hand", "cannot rename %s to %s: %s",
			file, old, strerror(errno));
	fprintf(stderr, "vgpu-run: the log of an interrupted run is in %s\n", old);
	return 0;
}

int run_log__begin(const char *file)
{
	char dir[PATH_MAX];
	struct stat st;
	FILE *out;
	int code;

	if (strlen(file) + sizeof VG_SPOOL_SUFFIX + 64 > PATH_MAX)
		return run_fail(EXIT_OWN, "use a shorter path", "the log's path is too long");
	spool_dir(dir, sizeof dir, file);
	if (!stat(dir, &st)) {
		code = keep_old(file, dir);
		if (code)
			return code;
	}
	out = fopen(file, "we");
	if (!out)
		return run_fail(EXIT_OWN, "name a file in a folder that you can write to",
			"cannot write the log %s: %s", file, strerror(errno));
	fclose(out);
	if (mkdir(dir, 0700))
		return run_fail(EXIT_OWN, "name a file in a folder that you can write to",
			"cannot make %s: %s", dir, strerror(errno));
	return 0;
}
