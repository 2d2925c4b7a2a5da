// SPDX-License-Identifier: MIT
#include "capture/register/sdk.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "capture/elf.h"

#define CONFIGURE "rocprofiler_configure"
#define SET_TABLE "rocprofiler_set_api_table"
#define REGISTER  "librocprofiler-register"
#define OURSELF   "libwavetap_register"
#define SDK       "librocprofiler-sdk.so"

/* ---- what the environment says ------------------------------------------------------ */

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

/* ROCPROFILER_REGISTER_LIBRARY, unless it means this library. */
static const char *named_library(void)
{
	const char *name = setting("ROCPROFILER_REGISTER_LIBRARY"), *file = strrchr(name, '/');

	return strncmp(file ? file + 1 : name, OURSELF, strlen(OURSELF)) ? name : "";
}

/* Numbers are false if 0; so are off, false, no, n, f. */
static bool is_true(const char *value)
{
	static const char *const no[] = {"off", "false", "no", "n", "f"};

	if (!value[strspn(value, "0123456789")])
		return strtol(value, NULL, 10) != 0;
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (!strcasecmp(value, no[i]))
			return false;
	return true;
}

static bool environment_wants(void)
{
	const char *force = getenv("ROCPROFILER_REGISTER_FORCE_LOAD");

	return force && *force ? is_true(force)
			       : *named_library() || *setting("ROCP_TOOL_LIBRARIES");
}

/* ---- what is in the process ----------------------------------------------------------- */

static bool is_ours(const void *fn)
{
	struct wt_elf self, other;

	return wt_elf__at((void *)is_ours, &self) && wt_elf__at(fn, &other) &&
	       self.start == other.start;
}

static void *search_all(const char *name)
{
	void *volatile first = dlsym(RTLD_DEFAULT, name);

	if (first && is_ours(first))
		first = dlsym(RTLD_NEXT, name);
	return first;
}

/* Libraries by path, to be opened once the loader's list is not walked any more. */
struct paths {
	char (*path)[PATH_MAX];
	size_t cnt, room;
};

#define MAX_PATHS 4096

static bool take_path(const struct wt_elf *elf, void *data)
{
	struct paths *paths = data;

	if (*elf->path == '/' && strlen(elf->path) < PATH_MAX && paths->cnt < paths->room)
		strcpy(paths->path[paths->cnt++], elf->path);
	return false;
}

static bool defines(const struct wt_elf *elf, void *name)
{
	void *fn = wt_elf__find(elf, name);

	return fn && !is_ours(fn);
}

/*
 * librocprofiler-register sees what is in one family with it: some library that
 * needs both it and the one that defines `name`, by whatever way round (PyTorch
 * is loaded so).
 */
static void *search_family(const char *name)
{
	struct paths paths = {.room = MAX_PATHS};
	void *found = NULL;

	if (!wt_elf__each(defines, (void *)(uintptr_t)name))
		return NULL;
	paths.path = malloc(sizeof(*paths.path) * paths.room);
	if (!paths.path)
		return NULL;
	wt_elf__each(take_path, &paths);
	for (size_t i = 0; !found && i < paths.cnt; i++) {
		void *family = dlopen(paths.path[i], RTLD_LAZY | RTLD_NOLOAD);
		void *fn = family ? dlsym(family, name) : NULL;

		if (fn && !is_ours(fn) && dlsym(family, "rocprofiler_register_library_api_table"))
			found = fn;
		if (family)
			dlclose(family);
	}
	free(paths.path);
	return found;
}

bool wt_sdk__is_wanted(void)
{
	return environment_wants() || search_all(CONFIGURE) || search_family(CONFIGURE);
}

/* ---- the SDK ---------------------------------------------------------------------------- */

static void *function_of(void *handle)
{
	void *fn = handle ? dlsym(handle, SET_TABLE) : NULL;

	return fn && !is_ours(fn) ? fn : NULL;
}

static void *load(void)
{
	const char *name = named_library();
	const char *file;
	char beside[2 * PATH_MAX];
	struct wt_elf library;
	void *handle;

	if (!*name)
		name = SDK;
	file = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
	handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle)
		handle = dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
	if (!handle && wt_elf__named(REGISTER, &library) && strrchr(library.path, '/')) {
		snprintf(beside, sizeof(beside), "%.*s/%s",
			(int)(strrchr(library.path, '/') - library.path), library.path, file);
		handle = dlopen(beside, RTLD_LAZY | RTLD_GLOBAL);
	}
	if (!handle)
		handle = dlopen(file, RTLD_LAZY | RTLD_GLOBAL);
	return function_of(handle);
}

static void complain(void)
{
	static const char line[] = "wavetap: a tool asks for rocprofiler-sdk, which cannot be "
				   "loaded: " SDK " is not there\n";
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set_explicit(&said, memory_order_relaxed))
		(void)!write(STDERR_FILENO, line, sizeof(line) - 1);
}

wt_set_api_table_fn *wt_sdk__set_api_table(void)
{
	static _Atomic(void *) known;
	void *fn = atomic_load_explicit(&known, memory_order_acquire);

	if (fn)
		return (wt_set_api_table_fn *)fn;
	fn = search_all(SET_TABLE);
	if (!fn)
		fn = search_family(SET_TABLE);
	if (!fn)
		fn = load();
	if (fn)
		atomic_store_explicit(&known, fn, memory_order_release);
	else
		complain();
	return (wt_set_api_table_fn *)fn;
}
