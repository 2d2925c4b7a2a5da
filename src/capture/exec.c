// SPDX-License-Identifier: MIT
/*
 * Children keep taking part: the exec and spawn functions add WAVETAP_SESSION
 * (and the preload, where the caller's environment dropped it) to the
 * environment that the caller passes; with --follow no they take these out.
 * Nothing else of it changes; where the process never joined a session,
 * nothing changes at all.
 *
 * Runs in vfork children too: no allocation but alloca, no lock.
 */
#include "capture/capture.h"

#include <alloca.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_ENTRIES 65536
#define BASE_NAME   "libwavetap.so"

static const char *own_path(void)
{
	static const char *_Atomic path;
	const char *known = atomic_load_explicit(&path, memory_order_relaxed);
	Dl_info self;

	if (!known && dladdr((void *)own_path, &self)) {
		known = self.dli_fname;
		atomic_store_explicit(&path, known, memory_order_relaxed);
	}
	return known;
}

static bool is_setting(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(entry, name, n) && entry[n] == '=';
}

static size_t count(char *const *envp)
{
	size_t n = 0;

	while (envp && envp[n] && n < MAX_ENTRIES)
		n++;
	return n;
}

/* Room for the caller's entries and ours, on the caller's stack. */
struct child_env {
	char **envp;
	char *preload, *tools;
};

/* "NAME=<old><sep><ours>", or NULL when `old` names us already. */
static char *joined(char *room, const char *name, const char *old, const char *ours, char sep)
{
	const char *value = old ? old + strlen(name) + 1 : "";

	const char *base = strrchr(ours, '/');

	if (strstr(value, base ? base + 1 : ours))
		return NULL;
	sprintf(room, "%s=%s%.*s%s", name, ours, *value ? 1 : 0, &sep, value);
	return room;
}

/* `old` without the entries that name us; NULL when nothing else is left. */
static char *without(char *room, const char *name, const char *old, const char *separators)
{
	const char *at = old + strlen(name) + 1;
	char *end = room + sprintf(room, "%s=", name);
	bool any = false;

	while (*at) {
		size_t n = strcspn(at, separators), gap;

		if (n && !memmem(at, n, BASE_NAME, strlen(BASE_NAME))) {
			end += sprintf(end, "%s%.*s", any ? (char[2]){separators[0], 0} : "",
				(int)n, at);
			any = true;
		}
		gap = strspn(at + n, separators);
		at += n + gap;
	}
	return any ? room : NULL;
}

static void fill(struct child_env *out, char *const *envp, size_t n, const char *setting,
	const char *self)
{
	bool follow = *setting;
	char *preload = NULL, *tools = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_setting(envp[i], "WAVETAP_SESSION") ||
			(!follow && is_setting(envp[i], "WAVETAP_OUTPUT")))
			continue;
		if (is_setting(envp[i], "LD_PRELOAD")) {
			preload = envp[i];
			continue;
		}
		if (is_setting(envp[i], "HSA_TOOLS_LIB")) {
			tools = envp[i];
			continue;
		}
		out->envp[kept++] = envp[i];
	}
	if (follow) {
		out->envp[kept++] = (char *)setting;
		if (self && joined(out->preload, "LD_PRELOAD", preload, self, ':'))
			preload = out->preload;
		if (self && joined(out->tools, "HSA_TOOLS_LIB", tools, self, ' '))
			tools = out->tools;
	} else {
		preload = preload ? without(out->preload, "LD_PRELOAD", preload, ": ") : NULL;
		tools = tools ? without(out->tools, "HSA_TOOLS_LIB", tools, " ") : NULL;
	}
	if (preload)
		out->envp[kept++] = preload;
	if (tools)
		out->envp[kept++] = tools;
	out->envp[kept] = NULL;
}

static size_t text_room(char *const *envp, size_t n, const char *name, const char *self)
{
	size_t room = strlen(name) + (self ? strlen(self) : 0) + 4;

	for (size_t i = 0; i < n; i++)
		if (is_setting(envp[i], name))
			room += strlen(envp[i]);
	return room;
}

/* Declares `with`: the environment to pass on. A macro because alloca must be the caller's. */
#define WITH_SESSION(with, envp)                                                             \
	char *const *with = (envp);                                                          \
	const char *setting_ = wt_session__child_setting();                                  \
	if (setting_ && (envp)) {                                                            \
		const char *self_ = own_path();                                              \
		size_t n_ = count(envp);                                                     \
		struct child_env out_ = {                                                    \
			.envp = alloca((n_ + 4) * sizeof(char *)),                           \
			.preload = alloca(text_room(envp, n_, "LD_PRELOAD", self_)),         \
			.tools = alloca(text_room(envp, n_, "HSA_TOOLS_LIB", self_)),        \
		};                                                                           \
		fill(&out_, envp, n_, setting_, self_);                                      \
		with = out_.envp;                                                            \
	}

#define REAL(name)                                                                           \
	static __typeof__(&name) real;                                                       \
	if (!real)                                                                           \
		real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define REAL_OR(name, failed)                                                                \
	REAL(name);                                                                          \
	if (!real) {                                                                         \
		errno = ENOSYS;                                                              \
		return failed;                                                               \
	}

wt_export int execve(const char *path, char *const argv[], char *const envp[])
{
	REAL_OR(execve, -1);
	WITH_SESSION(with, envp);
	return real(path, argv, with);
}

wt_export int execvpe(const char *file, char *const argv[], char *const envp[])
{
	REAL_OR(execvpe, -1);
	WITH_SESSION(with, envp);
	return real(file, argv, with);
}

wt_export int fexecve(int fd, char *const argv[], char *const envp[])
{
	REAL_OR(fexecve, -1);
	WITH_SESSION(with, envp);
	return real(fd, argv, with);
}

wt_export int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

wt_export int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

/* The variadic three: collect the arguments, then as above. */
#define COLLECT(argv, first, args)                                                           \
	size_t argc_ = 1;                                                                    \
	va_list args;                                                                        \
	va_start(args, first);                                                               \
	while (va_arg(args, char *))                                                         \
		argc_++;                                                                     \
	va_end(args);                                                                        \
	char **argv = alloca((argc_ + 1) * sizeof(char *));                                  \
	va_start(args, first);                                                               \
	argv[0] = (char *)first;                                                             \
	for (size_t i_ = 1; i_ <= argc_; i_++)                                               \
		argv[i_] = va_arg(args, char *)

wt_export int execl(const char *path, const char *arg, ...)
{
	COLLECT(argv, arg, args);
	va_end(args);
	return execve(path, argv, environ);
}

wt_export int execlp(const char *file, const char *arg, ...)
{
	COLLECT(argv, arg, args);
	va_end(args);
	return execvpe(file, argv, environ);
}

wt_export int execle(const char *path, const char *arg, ...)
{
	char *const *envp;

	COLLECT(argv, arg, args);
	envp = va_arg(args, char *const *);
	va_end(args);
	return execve(path, argv, envp);
}

wt_export int posix_spawn(pid_t *restrict pid, const char *restrict path,
	const posix_spawn_file_actions_t *restrict actions, const posix_spawnattr_t *restrict attr,
	char *const argv[restrict], char *const envp[restrict])
{
	REAL_OR(posix_spawn, ENOSYS);
	WITH_SESSION(with, envp);
	return real(pid, path, actions, attr, argv, with);
}

wt_export int posix_spawnp(pid_t *restrict pid, const char *restrict file,
	const posix_spawn_file_actions_t *restrict actions, const posix_spawnattr_t *restrict attr,
	char *const argv[restrict], char *const envp[restrict])
{
	REAL_OR(posix_spawnp, ENOSYS);
	WITH_SESSION(with, envp);
	return real(pid, file, actions, attr, argv, with);
}
