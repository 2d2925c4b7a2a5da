// SPDX-License-Identifier: MIT
/*
 * looked_up WAY CODE_OBJECT [ROUNDS [cleared|kept]]: a HIP program that is not linked with HIP. It
 * looks each function up when it needs it, as WAY says: handle     dlsym on what dlopen returned
 *   default    dlsym(RTLD_DEFAULT), the runtime is loaded for everybody
 *   versioned  dlvsym, the oldest version
 *   proc       hipGetProcAddress
 *   proc-spt   the same, for functions to which the null stream is the thread's own
 *   entry      hipGetDriverEntryPoint
 *   reopened   as handle, and before that the runtime is closed and opened again, unused
 * In the end it becomes a program that prints its environment, of which it gets nothing, or what is
 * preloaded. Exit code 77: this runtime has no such way.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 4096, HTOD = 1, DTOH = 2, NO_WAY = 77 };

static const char *way;
static void *library;
static int (*get_proc)(const char *name, void **fn, int version, uint64_t flags, int *status);
static int (*get_entry)(const char *name, void **fn, unsigned long long flags, int *status);

static void fail(const char *what, const char *why)
{
	printf("%s: %s\n", what, why ? why : "failed");
	exit(1);
}

static void open_library(void)
{
	static const char *const names[] = {
		"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
	int scope = strcmp(way, "default") ? RTLD_LOCAL : RTLD_GLOBAL;

	library = NULL;
	for (size_t i = 0; !library && i < sizeof(names) / sizeof(*names); i++)
		library = dlopen(names[i], RTLD_NOW | scope);
	if (!library)
		fail("dlopen", dlerror());
}

static void *look_up(const char *name)
{
	void *fn = NULL;
	int status = -1, error = 0;

	if (!strcmp(way, "default"))
		fn = dlsym(RTLD_DEFAULT, name);
	else if (!strcmp(way, "versioned"))
		fn = dlvsym(library, name, "hip_4.2");
	else if (!strncmp(way, "proc", 4))
		error = get_proc(name, &fn, 700, strcmp(way, "proc") ? 2 : 0, &status);
	else if (!strcmp(way, "entry"))
		error = get_entry(name, &fn, 0, &status);
	else
		fn = dlsym(library, name);
	if (error || !fn)
		fail(name, error ? "the runtime does not know it" : dlerror());
	return fn;
}

#define CALL(name, types, ...)                                                                     \
	do {                                                                                       \
		int error_ = ((int(*) types)look_up(#name))(__VA_ARGS__);                          \
		if (error_) {                                                                      \
			printf("%s: error %d\n", #name, error_);                                   \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static void work(void *function, int round)
{
	static unsigned char in[BYTES], out[BYTES];
	void *device = NULL, *stream = NULL, *arguments[] = {&device};
	size_t bytes = (size_t)(round % 7 + 1) * 512;

	memset(in, round, sizeof(in));
	memset(out, 0, sizeof(out));
	CALL(hipMalloc, (void **, size_t), &device, BYTES);
	CALL(hipMemcpy, (void *, const void *, size_t, int), device, in, bytes, HTOD);
	CALL(hipStreamCreate, (void **), &stream);
	CALL(hipModuleLaunchKernel,
		(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			void *, void **, void **),
		function, 1 + round % 5, 1, 1, 64, 1, 1, 0, stream, arguments, NULL);
	CALL(hipStreamSynchronize, (void *), stream);
	CALL(hipStreamDestroy, (void *), stream);
	CALL(hipMemcpy, (void *, const void *, size_t, int), out, device, bytes, DTOH);
	if (memcmp(in, out, bytes))
		fail("round trip", "other bytes came back");
	CALL(hipFree, (void *), device);
}

static void become_env(int kept)
{
	char preload[4096] = "LD_PRELOAD=";
	char *argv[] = {(char *)"env", NULL}, *envp[] = {(char *)"A=1", NULL, NULL};

	if (kept && getenv("LD_PRELOAD")) {
		strncat(preload, getenv("LD_PRELOAD"), sizeof(preload) - strlen(preload) - 1);
		envp[1] = preload;
	}
	fflush(stdout);
	execve("/usr/bin/env", argv, envp);
	fail("/usr/bin/env", NULL);
}

/* Which one it is of several that the name may mean. */
static const char *told(const char *name)
{
	Dl_info info;

	return dladdr(look_up(name), &info) && info.dli_sname ? info.dli_sname : "unknown";
}

int main(int argc, char **argv)
{
	int rounds = argc > 3 ? atoi(argv[3]) : 20;
	void *module = NULL, *function = NULL;

	if (argc < 3)
		return 2;
	way = argv[1];
	open_library();
	*(void **)&get_proc = dlsym(library, "hipGetProcAddress");
	*(void **)&get_entry = dlsym(library, "hipGetDriverEntryPoint");
	if ((!strncmp(way, "proc", 4) && !get_proc) || (!strcmp(way, "entry") && !get_entry))
		return NO_WAY;
	if (!strcmp(way, "reopened")) {
		for (int round = 0; round < rounds; round++) {
			look_up("hipMalloc");
			dlclose(library);
			open_library();
		}
		rounds = 1;
	}
	CALL(hipModuleLoad, (void **, const char *), &module, argv[2]);
	CALL(hipModuleGetFunction, (void **, void *, const char *), &function, module,
		"module_kernel_000000");
	for (int round = 0; round < rounds; round++)
		work(function, round);
	CALL(hipModuleUnload, (void *), module);
	printf("looked up by %s: %d rounds, hipMemcpy is %s\n", way, rounds, told("hipMemcpy"));
	if (argc > 4)
		become_env(!strcmp(argv[4], "kept"));
	return 0;
}
