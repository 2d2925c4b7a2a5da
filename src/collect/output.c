// SPDX-License-Identifier: MIT
#include "collect/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/segment.h"

static const char *first_of(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);

		if (value && *value)
			return value;
	}
	return "";
}

const char *wt_output__rank(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
		"MV2_COMM_WORLD_RANK", "SLURM_PROCID", "RANK", NULL};

	return first_of(names);
}

static const char *job_id(void)
{
	static const char *const names[] = {
		"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID", NULL};

	return first_of(names);
}

struct text {
	char *at;
	size_t left;
	int full;
};

/* What a name takes from its surroundings must not become a path of its own. */
static void append(struct text *to, const char *from, size_t length, int foreign)
{
	for (size_t i = 0; i < length; i++) {
		if (to->left <= 1) {
			to->full = 1;
			return;
		}
		*to->at++ = foreign && from[i] == '/' ? '_' : from[i];
		to->left--;
	}
	*to->at = 0;
}

static const char *append_variable(struct text *to, const char *at)
{
	const char *end = strchr(at, '}');
	char name[128];
	const char *value;

	if (*at != '{' || !end || end - at >= (ptrdiff_t)sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(end - at - 1), at + 1);
	value = getenv(name);
	if (value)
		append(to, value, strlen(value), 1);
	return end;
}

static int expand(struct text *to, const char *pattern, pid_t pid, struct wt_err **err)
{
	char host[256] = "", number[16];

	for (const char *at = pattern; *at; at++) {
		const char *value = NULL;

		if (*at != '%' || !at[1]) {
			append(to, at, 1, 0);
			continue;
		}
		switch (*++at) {
		case '%':
			append(to, "%", 1, 0);
			continue;
		case 'h':
			gethostname(host, sizeof(host) - 1);
			host[strcspn(host, ".")] = 0;
			value = host;
			break;
		case 'p':
			snprintf(number, sizeof(number), "%d", (int)pid);
			value = number;
			break;
		case 'r':
			value = wt_output__rank();
			break;
		case 'j':
			value = job_id();
			break;
		case 'q':
			at = append_variable(to, at + 1);
			if (at)
				continue;
			return wt_err__new(
				err, -EINVAL, "%%q needs {NAME} in the name %s", pattern);
		default: {
			int rc = wt_err__new(
				err, -EINVAL, "%%%c in the name %s means nothing", *at, pattern);

			wt_err__hint(err, "%%h host, %%p pid, %%r rank, %%j job id, %%q{VAR}, "
					  "%%%% a percent sign");
			return rc;
		}
		}
		append(to, value, strlen(value), 1);
	}
	return 0;
}

int wt_output__resolve(char *path, size_t bytes, const char *pattern, const char *dir, pid_t pid,
	struct wt_err **err)
{
	char here[PATH_MAX] = "";
	struct text to = {.at = path, .left = bytes};
	int rc;

	if (!pattern || !*pattern)
		pattern = *wt_output__rank() ? WT_OUTPUT_DEFAULT_RANK : WT_OUTPUT_DEFAULT;
	*path = 0;
	if (*pattern != '/') {
		if ((!dir || *dir != '/') && !getcwd(here, sizeof(here)))
			return wt_err__errno(err, -errno, "cannot tell the working directory");
		if (*here) {
			append(&to, here, strlen(here), 0);
			append(&to, "/", 1, 0);
		}
		if (dir && *dir) {
			append(&to, dir, strlen(dir), 0);
			append(&to, "/", 1, 0);
		}
	}
	rc = expand(&to, pattern, pid, err);
	if (!rc && to.full)
		rc = wt_err__errno(err, -ENAMETOOLONG, "%s", pattern);
	return rc;
}

/* Makes the directories above the last '/' of `path`. */
static int make_parents(const char *path)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *at = copy + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		if (mkdir(copy, 0777) && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return 0;
}

int wt_output__check(
	const char *path, enum wt_store_exists exists, int make_dir, struct wt_err **err)
{
	char dir[PATH_MAX];
	struct stat st;
	int rc;

	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = 0;
	if (make_dir) {
		rc = make_parents(path);
		if (rc) {
			wt_err__errno(err, rc, "cannot make the directory %s", dir);
			wt_err__hint(err, "-d DIR names another place");
			return rc;
		}
	}
	if (stat(*dir ? dir : "/", &st)) {
		rc = wt_err__errno(err, -errno, "cannot write to the directory %s", dir);
		wt_err__hint(err, "-d DIR makes it; -o FILE names another place");
		return rc;
	}
	if (access(*dir ? dir : "/", W_OK | X_OK)) {
		rc = wt_err__errno(err, -errno, "cannot write to the directory %s", dir);
		wt_err__hint(err, "-o FILE names another place");
		return rc;
	}
	if (lstat(path, &st))
		return 0;
	if (S_ISDIR(st.st_mode)) {
		rc = wt_err__new(err, -EISDIR, "%s is a directory", path);
		wt_err__hint(err, "-d %s puts the trace into it", path);
		return rc;
	}
	if (exists == WT_STORE_REFUSE) {
		rc = wt_err__new(err, -EEXIST, "%s is there already", path);
		wt_err__hint(err, "-f replaces it, --append adds this run to it");
		return rc;
	}
	if (exists == WT_STORE_APPEND && (stat(path, &st) || access(path, R_OK | W_OK)))
		return wt_err__errno(err, -errno, "cannot add to %s", path);
	return 0;
}

int wt_output__segment(char *segment, size_t bytes, const char *path)
{
	return snprintf(segment, bytes, "%s" WT_SEGMENT_SUFFIX, path) < (int)bytes ? 0
										   : -ENAMETOOLONG;
}
