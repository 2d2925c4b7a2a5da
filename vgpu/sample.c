// SPDX-License-Identifier: MIT
/*
 * Kernel times from a recorded run: a text file of names and durations. Names are compared without
 * blanks and without what tools append, since demanglers differ in their blanks.
 */
#include "timing.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_BUCKETS 256

struct vg_samples {
	struct vg_sample_set **buckets;
	size_t bucket_cnt, set_cnt;
};

/* In place; "_Z3fooi.kd", "foo(int) [clone .kd]" and "foo( int )" are kernels foo(int). */
static void normalize(char *name)
{
	static const char *const appended[] = {"[clone.kd]", ".kd"};
	char *to = name;
	size_t len;

	for (const char *from = name; *from; from++)
		if (!isspace((unsigned char)*from))
			*to++ = *from;
	*to = 0;
	len = (size_t)(to - name);
	for (size_t i = 0; i < sizeof appended / sizeof *appended; i++) {
		size_t n = strlen(appended[i]);

		if (len > n && !strcmp(name + len - n, appended[i])) {
			name[len - n] = 0;
			return;
		}
	}
}

static struct vg_sample_set **bucket_of(const struct vg_samples *s, const char *name)
{
	return &s->buckets[vg_key_of_text(0, name) % s->bucket_cnt];
}

static struct vg_sample_set *look_up(const struct vg_samples *s, const char *name)
{
	struct vg_sample_set *set = *bucket_of(s, name);

	while (set && strcmp(set->name, name))
		set = set->next;
	return set;
}

const struct vg_sample_set *vg_samples__find(const struct vg_samples *s, const char *name)
{
	char *copy = strdup(name);
	const struct vg_sample_set *set;

	if (!copy)
		return NULL;
	normalize(copy);
	set = look_up(s, copy);
	free(copy);
	return set;
}

static int grow(struct vg_samples *s)
{
	struct vg_samples larger = {.bucket_cnt = s->bucket_cnt * 2, .set_cnt = s->set_cnt};

	larger.buckets = calloc(larger.bucket_cnt, sizeof *larger.buckets);
	if (!larger.buckets)
		return -ENOMEM;
	for (size_t i = 0; i < s->bucket_cnt; i++)
		for (struct vg_sample_set *set = s->buckets[i], *next; set; set = next) {
			struct vg_sample_set **bucket = bucket_of(&larger, set->name);

			next = set->next;
			set->next = *bucket;
			*bucket = set;
		}
	free(s->buckets);
	*s = larger;
	return 0;
}

/* The set of that (normalized) name, a new one if need be; NULL: out of memory. */
static struct vg_sample_set *set_of(struct vg_samples *s, const char *name)
{
	struct vg_sample_set *set = look_up(s, name), **bucket;

	if (set)
		return set;
	if (s->set_cnt >= s->bucket_cnt && grow(s))
		return NULL;
	set = calloc(1, sizeof *set);
	if (!set)
		return NULL;
	set->name = strdup(name);
	if (!set->name) {
		free(set);
		return NULL;
	}
	bucket = bucket_of(s, name);
	set->next = *bucket;
	*bucket = set;
	s->set_cnt++;
	return set;
}

static int add(struct vg_sample_set *set, uint64_t ns)
{
	if ((set->cnt & (set->cnt - 1)) == 0) { /* full: its room is the next power of two */
		size_t room = set->cnt ? (size_t)set->cnt * 2 : 1;
		uint64_t *larger = realloc(set->ns, room * sizeof *larger);

		if (!larger || set->cnt == UINT32_MAX / 2 + 1)
			return -ENOMEM;
		set->ns = larger;
	}
	set->ns[set->cnt++] = vg_whole_ticks(ns);
	return 0;
}

/* NAME, a tab, durations; or NAME, blanks, one duration. Changes the line. */
static int read_line(struct vg_samples *s, char *line, const char **why)
{
	char *numbers = strchr(line, '\t'), *end = line + strlen(line), *word, *rest;
	struct vg_sample_set *set;
	unsigned cnt = 0;

	*why = "a name, a tab and durations in ns are needed";
	while (end > line && isspace((unsigned char)end[-1]))
		*--end = 0;
	if (!*line || *line == '#')
		return 0;
	if (!numbers || numbers >= end) {
		for (numbers = end; numbers > line && !isspace((unsigned char)numbers[-1]);)
			numbers--;
		if (numbers == line)
			return -EINVAL;
		numbers--;
	}
	*numbers++ = 0;
	normalize(line);
	if (!*line)
		return -EINVAL;
	set = set_of(s, line);
	if (!set)
		return -ENOMEM;
	for (word = strtok_r(numbers, " \t", &rest); word;
		word = strtok_r(NULL, " \t", &rest), cnt++) {
		uint64_t ns;

		if (!vg_parse_ns(word, strlen(word), &ns)) {
			*why = "a duration is a whole number of ns of at most 15 digits";
			return -EINVAL;
		}
		if (add(set, ns))
			return -ENOMEM;
	}
	return cnt ? 0 : -EINVAL;
}

/* By system calls: libc's are interposed in the process that this runs in. */
static char *read_file(const char *path, int *err)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	size_t room = 1 << 16, used = 0;
	char *text = fd < 0 ? NULL : malloc(room);
	long n = 0;

	*err = fd < 0 ? -errno : 0;
	while (text && (n = syscall(SYS_read, fd, text + used, room - used - 1)) > 0) {
		char *larger = text;

		used += (size_t)n;
		if (room - used < 2 && !(larger = realloc(text, room *= 2))) {
			free(text);
			text = NULL;
			break;
		}
		text = larger;
	}
	if (text && n < 0) {
		*err = -errno;
		free(text);
		text = NULL;
	} else if (text) {
		text[used] = 0;
	} else if (!*err) {
		*err = -ENOMEM;
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	return text;
}

int vg_samples__read(
	const char *path, struct vg_samples **samples, unsigned long *line, const char **why)
{
	struct vg_samples *s = calloc(1, sizeof *s);
	char *text, *next;
	int err;

	*samples = NULL;
	*line = 0;
	text = read_file(path, &err);
	if (s) {
		s->bucket_cnt = FIRST_BUCKETS;
		s->buckets = calloc(s->bucket_cnt, sizeof *s->buckets);
	}
	if (!err && (!s || !s->buckets))
		err = -ENOMEM;
	for (char *at = text; !err && at && *at; at = next) {
		next = at + strcspn(at, "\n");
		if (*next)
			*next++ = 0;
		++*line;
		err = read_line(s, at, why);
	}
	if (!err && !s->set_cnt) {
		err = -EINVAL;
		*line = 0;
		*why = "no durations in it";
	}
	if (err && err != -EINVAL)
		*why = strerror(-err);
	free(text);
	if (err) {
		vg_samples__free(s);
		return err;
	}
	*samples = s;
	return 0;
}

void vg_samples__free(struct vg_samples *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->buckets && i < s->bucket_cnt; i++)
		for (struct vg_sample_set *set = s->buckets[i], *next; set; set = next) {
			next = set->next;
			free(set->name);
			free(set->ns);
			free(set);
		}
	free(s->buckets);
	free(s);
}
