// SPDX-License-Identifier: MIT
/* A tracer that disturbs, one way a function: the calling program must notice each. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

/* hands the arguments on in another order */
EXPORTED int hipMemcpy(void *dst, const void *src, size_t bytes, int kind);
int hipMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
	int (*real)(const void *, void *, size_t, int) =
		(__typeof__(real))dlsym(RTLD_NEXT, __func__);

	return real(src, dst, bytes, kind);
}

/* loses half of a number */
EXPORTED int hipMemset(void *dst, int value, size_t bytes);
int hipMemset(void *dst, int value, size_t bytes)
{
	int (*real)(void *, int, size_t) = (__typeof__(real))dlsym(RTLD_NEXT, __func__);

	return real(dst, value, (unsigned int)bytes);
}

/* changes the return code */
EXPORTED int hipFree(void *memory);
int hipFree(void *memory)
{
	int (*real)(void *) = (__typeof__(real))dlsym(RTLD_NEXT, __func__);

	return real(memory) & ~1;
}

/* changes errno */
EXPORTED int hipSetDevice(int device);
int hipSetDevice(int device)
{
	int (*real)(int) = (__typeof__(real))dlsym(RTLD_NEXT, __func__);
	int ret = real(device);

	errno = ENOTTY;
	return ret;
}

/* calls the runtime itself, which changes the last error */
EXPORTED int hipDeviceSynchronize(void);
int hipDeviceSynchronize(void)
{
	int (*real)(void) = (__typeof__(real))dlsym(RTLD_NEXT, __func__);
	int (*get_device)(int *) = (__typeof__(get_device))dlsym(RTLD_NEXT, "hipGetDevice");
	int ret = real(), device;

	get_device(&device);
	return ret;
}

/* calls nobody */
EXPORTED int hipStreamQuery(void *stream);
int hipStreamQuery(void *stream)
{
	(void)stream;
	return 0;
}

/* writes memory of the program */
EXPORTED int hipEventCreate(void **event);
int hipEventCreate(void **event)
{
	int (*real)(void **) = (__typeof__(real))dlsym(RTLD_NEXT, __func__);

	if (event)
		*event = NULL;
	return real(event);
}
