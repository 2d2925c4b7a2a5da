// SPDX-License-Identifier: MIT
/* Another library that interposes dlsym. It takes its own word for what RTLD_NEXT means. */
#include <dlfcn.h>

#include "plugin.h"

static int calls;

int interposer_calls(void)
{
	return calls;
}

SHOWN void *dlsym(void *restrict handle, const char *restrict name)
{
	static void *(*next)(void *, const char *);

	if (!next)
		next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	calls++;
	return next(handle, name);
}
