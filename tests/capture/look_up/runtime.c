// SPDX-License-Identifier: MIT
/*
 * Stands for libamdhip64 where functions are looked up: each returns a number
 * that tells which runtime (NUMBER) and which version of it was reached.
 */
#include <dlfcn.h>
#include <stddef.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN int hipDeviceSynchronize(void);
int hipDeviceSynchronize(void)
{
	return NUMBER;
}

SHOWN int hipDeviceReset(void);
int hipDeviceReset(void)
{
	return NUMBER + 1;
}

/* two versions of one function */
SHOWN int free_old(void *ptr);
int free_old(void *ptr)
{
	(void)ptr;
	return NUMBER + 2;
}

SHOWN int free_new(void *ptr);
int free_new(void *ptr)
{
	(void)ptr;
	return NUMBER + 3;
}
__asm__(".symver free_old, hipFree@hip_4.2\n	.symver free_new, hipFree@@hip_6.0");

SHOWN int hipOfNoPrototype(void);
int hipOfNoPrototype(void)
{
	return NUMBER + 4;
}

/* As hipGetProcAddress does: the runtime looks itself up. */
SHOWN void *hipLooksItselfUp(const char *name);
void *hipLooksItselfUp(const char *name)
{
	Dl_info self;
	void *handle, *fn = NULL;

	if (dladdr((void *)hipLooksItselfUp, &self) &&
		(handle = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD))) {
		fn = dlsym(handle, name);
		dlclose(handle);
	}
	return fn;
}
