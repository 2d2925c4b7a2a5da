// SPDX-License-Identifier: MIT
/* A library whose indirect function is resolved before those in front of it are relocated. */
#include <dlfcn.h>

#include "plugin.h"

static int yes(void)
{
	return 1;
}

static int no(void)
{
	return 0;
}

__attribute__((used)) static int (*resolve(void))(void)
{
	return dlsym(RTLD_DEFAULT, "malloc") ? yes : no;
}

int early_answer(void) __attribute__((ifunc("resolve")));
