// SPDX-License-Identifier: MIT
/*
 * Children keep taking part: the exec and spawn functions add WAVETAP_SESSION
 * (and the preload, where the caller's environment dropped it) to the
 * environment that the caller passes; with --follow no they take these out.
 * Nothing else of it changes; where the process never joined a session,
 * nothing changes at all.
 *
 * Runs in vfork children too: no lock, no malloc. What is added is built on the
 * caller's stack while it is small, else in pages of its own, given back if
 * the call returns; an environment that says it all already is passed as it is.
 */
#include "capture/capture.h"

#include <alloca.h>
#include <dlfcn.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/dl.h"
#include "capture/elf.h"

#define PRELOADS    "libwavetap.so", "libwavetap_register.so"
#define STACK_BYTES 2048u /* of the caller, who may be a thread with the smallest stack there is */

/* What children are to load: the tool of HSA, and what is preloaded, one or both of our libraries. */
struct own {
	const char *tools, *preload;
};

static bool is_register(const struct wt_elf *elf, void *path)
{
	if (!wt_elf__is_named(elf, "libwavetap_register"))
		return false;
	*(const char **)path = elf->path;
	return true;
}

/* Threads that come here at once all write the same. */
static struct own own_paths(void)
{
	static char both[2 * PATH_MAX];
	static const char *_Atomic preload;
	static const char *_Atomic tools;
	const char *known = atomic_load_explicit(&preload, memory_order_acquire), *second;
	Dl_info self;

	if (!known && dladdr((void *)own_paths, &self)) {
		known = self.dli_fname;
		atomic_store_explicit(&tools, known, memory_order_relaxed);
		if (wt_elf__each(is_register, &second) &&
			strlen(known) + strlen(second) + 2 <= sizeof(both)) {
			strcpy(stpcpy(stpcpy(both, known), ":"), second);
			known = both;
		}
		/* release: the text and the other path are there */
		atomic_store_explicit(&preload, known, memory_order_release);
	}
	return (struct own){atomic_load_explicit(&tools, memory_order_relaxed), known};
}

static bool is_setting(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(entry, name, n) && entry[n] == '=';
}

static size_t count(char *const *envp)
{
	size_t n = 0;

	while (envp && envp[n])
		n++;
	return n;
}

/* Room for the caller's entries and ours. */
struct child_env {
	char **envp;
	char *preload, *tools;
	void *room;
	size_t bytes, entries, preload_bytes;
	bool mapped;
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

static bool is_ours(const char *entry, size_t bytes)
{
	static const char *const names[] = {PRELOADS};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (memmem(entry, bytes, names[i], strlen(names[i])))
			return true;
	return false;
}

/* `old` without the entries that name us; NULL when nothing else is left. */
static char *without(char *room, const char *name, const char *old, const char *separators)
{
	const char *at = old + strlen(name) + 1;
	char *end = room + sprintf(room, "%s=", name);
	bool any = false;

	while (*at) {
		size_t n = strcspn(at, separators), gap;

		if (n && !is_ours(at, n)) {
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
	struct own self)
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
		if (self.tools && joined(out->preload, "LD_PRELOAD", preload, self.preload, ':'))
			preload = out->preload;
		if (self.tools && joined(out->tools, "HSA_TOOLS_LIB", tools, self.tools, ' '))
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

/* The last one stands for both, as joined() sees it. */
static bool names(const char *entry, const char *ours)
{
	const char *base = ours ? strrchr(ours, '/') : NULL;

	return ours && strstr(entry, base ? base + 1 : ours);
}

/* Does it say already what children are to find? */
static bool says_it(char *const *envp, const char *setting, struct own self)
{
	unsigned session = 0, named = 0;

	for (; *envp; envp++) {
		if (is_setting(*envp, "WAVETAP_SESSION"))
			session += strcmp(*envp, setting) ? 2 : 1;
		else if (!*setting && is_setting(*envp, "WAVETAP_OUTPUT"))
			session = 2;
		else if (is_setting(*envp, "LD_PRELOAD"))
			named += names(*envp, *setting ? self.preload : self.tools);
		else if (is_setting(*envp, "HSA_TOOLS_LIB"))
			named += names(*envp, self.tools);
	}
	return *setting ? session == 1 && (named == 2 || !self.tools) : !session && !named;
}

/* What a copy of the environment needs; 0 bytes: it needs none. */
static struct child_env measure(char *const *envp, const char *setting, struct own self)
{
	struct child_env out = {0};

	if (!setting || !envp || says_it(envp, setting, self))
		return out;
	out.entries = count(envp);
	out.preload_bytes = text_room(envp, out.entries, "LD_PRELOAD", self.preload);
	out.bytes = (out.entries + 4) * sizeof(char *) + out.preload_bytes +
		    text_room(envp, out.entries, "HSA_TOOLS_LIB", self.tools);
	if (out.bytes <= STACK_BYTES)
		return out;
	out.mapped = true;
	out.room = mmap(NULL, out.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	if (out.room == MAP_FAILED)
		out = (struct child_env){0};
	return out;
}

static char *const *child_environment(struct child_env *out, char *const *envp,
	const char *setting, struct own self)
{
	if (!out->bytes)
		return envp;
	out->envp = out->room;
	out->preload = (char *)(out->envp + out->entries + 4);
	out->tools = out->preload + out->preload_bytes;
	fill(out, envp, out->entries, setting, self);
	return out->envp;
}

/* The call came back. */
static int done(const struct child_env *out, int ret)
{
	int saved = errno;

	if (out->mapped)
		munmap(out->room, out->bytes);
	errno = saved;
	return ret;
}

/* Declares `with`: the environment to pass on. A macro because alloca must be the caller's. */
#define WITH_SESSION(with, envp)                                                             \
	const char *setting_ = wt_session__child_setting();                                  \
	struct own self_ = setting_ ? own_paths() : (struct own){NULL, NULL};                \
	struct child_env out_ = measure(envp, setting_, self_);                              \
	if (out_.bytes && !out_.mapped)                                                      \
		out_.room = alloca(out_.bytes);                                              \
	char *const *with = child_environment(&out_, envp, setting_, self_)

#define REAL(name)                                                                           \
	static __typeof__(&name) real;                                                       \
	if (!real)                                                                           \
		real = (__typeof__(&name))wt_dl__next(#name)

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
	return done(&out_, real(path, argv, with));
}

wt_export int execvpe(const char *file, char *const argv[], char *const envp[])
{
	REAL_OR(execvpe, -1);
	WITH_SESSION(with, envp);
	return done(&out_, real(file, argv, with));
}

wt_export int fexecve(int fd, char *const argv[], char *const envp[])
{
	REAL_OR(fexecve, -1);
	WITH_SESSION(with, envp);
	return done(&out_, real(fd, argv, with));
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
	return done(&out_, real(pid, path, actions, attr, argv, with));
}

wt_export int posix_spawnp(pid_t *restrict pid, const char *restrict file,
	const posix_spawn_file_actions_t *restrict actions, const posix_spawnattr_t *restrict attr,
	char *const argv[restrict], char *const envp[restrict])
{
	REAL_OR(posix_spawnp, ENOSYS);
	WITH_SESSION(with, envp);
	return done(&out_, real(pid, file, actions, attr, argv, with));
}
