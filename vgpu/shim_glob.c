// SPDX-License-Identifier: MIT
/* Interposed libc calls that go through directories by themselves: glob and chdir. */
#include "vgpu.h"
#include "shim.h"

#include <glob.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The results of this call are the last ones of the list. */
static void strip_results(size_t before, size_t cnt, char **paths)
{
	for (size_t i = before; i < cnt; i++)
		vg_strip_root(paths[i]);
}

#define GLOB(name, type)                                                                           \
	VG_EXPORT int name(const char *restrict pattern, int flags,                                \
		int (*on_error)(const char *, int), type *restrict out)                            \
	{                                                                                          \
		char buf[PATH_MAX];                                                                \
		const char *p = vg_path_open(pattern, buf);                                        \
		size_t skipped = flags & GLOB_DOOFFS ? out->gl_offs : 0;                           \
		size_t before = flags & GLOB_APPEND ? out->gl_pathc : 0;                           \
		int r = NEXT(int (*)(const char *, int, int (*)(const char *, int), type *),       \
			#name)(p, flags, on_error, out);                                           \
                                                                                                   \
		if (p != pattern && (!r || r == GLOB_NOMATCH) && out->gl_pathv)                    \
			strip_results(skipped + before, skipped + out->gl_pathc, out->gl_pathv);   \
		return r;                                                                          \
	}

GLOB(glob, glob_t)
GLOB(glob64, glob64_t)

/* What is relative to there is found without any help. */
VG_EXPORT int chdir(const char *path)
{
	char buf[PATH_MAX];

	return (int)syscall(SYS_chdir, vg_path_open(path, buf));
}
