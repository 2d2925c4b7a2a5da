// SPDX-License-Identifier: MIT
/* A library that looks up on its own behalf: whether it needs the runtime is the linker's word. */
#include <dlfcn.h>

#include "plugin.h"

/* volatile: these must not become jumps, the loader looks who called */
void *plugin_default(const char *name)
{
	void *volatile fn = dlsym(RTLD_DEFAULT, name);

	return fn;
}

void *plugin_next(const char *name)
{
	void *volatile fn = dlsym(RTLD_NEXT, name);

	return fn;
}
