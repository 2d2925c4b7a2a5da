// SPDX-License-Identifier: MIT
/*
 * wavetap trace: runs a program with the library in it and a collector beside
 * it. Before the program starts, anything of ours that fails refuses the run
 * (125); once it runs, nothing of ours changes its code.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/trace.h"
#include "collect/collector.h"
#include "collect/launch.h"
#include "collect/output.h"
#include "collect/settings.h"
#include "collect/starter.h"
#include "collect/watch.h"

#define EXIT_OURS 125 /* our own failure, before the start */

#define AT(field) offsetof(struct trace_settings, field)

const struct wt_option wt_options_trace[] = {
	{'o', "output", "FILE", WT_OPTION_TEXT, AT(output),
		"the trace (default wavetap-%h-%p.db, with a rank wavetap-%h-r%r.db); %h host, %p "
		"pid, %r rank, %j job id, %q{VAR}"},
	{'d', "dir", "DIR", WT_OPTION_TEXT, AT(dir), "directory for it (created)"},
	{'f', "force", NULL, WT_OPTION_FLAG, AT(force), "replace an existing file"},
	{0, "append", NULL, WT_OPTION_FLAG, AT(append), "add this run to an existing file"},
	{'t', "types", "LIST", WT_OPTION_TEXT, AT(types),
		"what to record: kernel,copy,hip,roctx,mem (the default: all of them; roctx, that "
		"is "
		"markers, is not recorded yet; mem are the HIP calls that allocate)"},
	{0, "hip", "work|all|off", WT_OPTION_CHOICE, AT(words.hip),
		"HIP calls: those that do work or fail (default), all, none"},
	{0, "graph", "node|graph|off", WT_OPTION_CHOICE, AT(words.graph),
		"graph replays: every node (default); graph and off: not yet"},
	{0, "depth", "full|standard|lite", WT_OPTION_CHOICE, AT(words.depth),
		"which operations get times: all (default); not those of graph replays; nor those "
		"with a signal of their own"},
	{0, "source", "auto|hsa|hip|sdk|roctracer", WT_OPTION_CHOICE, AT(words.source),
		"where operations come from (default auto, that is hsa); hip, sdk, roctracer: not "
		"yet"},
	{0, "mode", "WORD", WT_OPTION_TEXT, AT(mode),
		"a word of --depth, --hip, --graph or --source; it goes before theirs"},
	{0, "follow", "yes|no", WT_OPTION_CHOICE, AT(follow), "trace children, too (default yes)"},
	{0, "wait", "all|primary", WT_OPTION_CHOICE, AT(wait),
		"the trace ends with all traced processes (default), or with CMD"},
	{0, "buffer", "SIZE", WT_OPTION_SIZE, AT(buffer),
		"shared memory for all processes together (default 512M, at least 8M)"},
	{0, "session-dir", "DIR", WT_OPTION_TEXT, AT(session_dir),
		"where it lives (default /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR, /tmp)"},
	{0, "schema", "wavetap|rpd", WT_OPTION_CHOICE, AT(schema),
		"tables of the file (default wavetap, with RPD's as views)"},
	{0, "no-dlsym", NULL, WT_OPTION_FLAG, AT(no_dlsym),
		"do not interpose dlsym: HIP functions that the program looks up are not seen"},
	{0, "strict", NULL, WT_OPTION_FLAG, AT(strict),
		"without a GPU: refuse instead of running on"},
	{0, "summary", NULL, WT_OPTION_FLAG, AT(summary),
		"print the top kernels at the end (default: on a terminal, rank 0 only)"},
	{0, "no-summary", NULL, WT_OPTION_FLAG, AT(no_summary), "do not"},
	{0, "delay", "DUR", WT_OPTION_DURATION, AT(delay),
		"begin to record that long after the start (20s, 500ms)"},
	{0, "for", "DUR", WT_OPTION_DURATION, AT(duration), "and record no longer than that"},
	{0, "last", "DUR", WT_OPTION_LATER, 0, "keep only the last of it (not yet)"},
	{0, "capture-range", "WHAT", WT_OPTION_LATER, 0, "record inside a range (not yet)"},
	{0, "capture-range-end", "WHAT", WT_OPTION_LATER, 0, "what its end does (not yet)"},
	{0, "ranks", "LIST", WT_OPTION_LATER, 0, "record some ranks (not yet)"},
	{0, "rank-var", "VAR", WT_OPTION_LATER, 0, "where the rank is (not yet)"},
	{0, "lossless", NULL, WT_OPTION_LATER, 0, "wait instead of losing events (not yet)"},
	{0, "max-size", "SIZE", WT_OPTION_LATER, 0, "limit of the trace (not yet)"},
	{0, "collector-cpu", "N", WT_OPTION_LATER, 0, "CPU of the collector (not yet)"},
	{0, "export", "FORMATS", WT_OPTION_LATER, 0, "also write these formats (not yet)"},
	{'q', "quiet", NULL, WT_OPTION_FLAG, AT(quiet), "no warnings"},
	{'v', "verbose", NULL, WT_OPTION_MORE, AT(verbose), "say more"},
	{0},
};

/* ---- before the start ------------------------------------------------------------ */

static int parse(struct trace_settings *s, int argc, char **argv, int *operands, int *code)
{
	s->buffer = WT_BUFFER_BYTES_DEFAULT;
	s->output = getenv("RTL_OUTPUT");
	if (wt_cli__words_from_environment(wt_options_trace, s, &s->words, &s->mode, code) ||
		wt_options__parse("trace", wt_options_trace, s, argc, argv, true, operands, code)) {
		*code = *code ? EXIT_OURS : 0;
		return -1;
	}
	if (*operands)
		return 0;
	wt_usage_error("trace", "trace needs a program to run");
	*code = EXIT_OURS;
	return -1;
}

/* What the words mean is looked at here: the collector would say it too late. */
static int fill(struct trace_settings *s, struct wt_err **err)
{
	struct wt_settings scratch;
	int rc;

	wt_settings__defaults(&scratch);
	rc = s->types ? wt_settings__want(&scratch, s->types, err) : 0;
	if (!rc && s->mode)
		rc = wt_settings__mode(&s->words, s->mode, err);
	if (!rc)
		rc = wt_settings__take(&scratch, &s->words, err);
	if (!rc)
		rc = wt_settings__buffer(&scratch, s->buffer, err);
	if (!rc && s->force && s->append)
		rc = wt_err__new(err, -EINVAL, "--force and --append: one of them");
	if (!rc && s->strict && access("/dev/kfd", R_OK | W_OK)) {
		rc = wt_err__errno(err, -errno, "no GPU: cannot use /dev/kfd");
		wt_err__hint(err, "wavetap doctor tells what is missing; without --strict the "
				  "program runs all the same");
	}
	if (!rc && s->types && scratch.want & WT_WANT_ROCTX)
		wt_warn("markers (roctx) are not recorded yet");
	return rc;
}

static void text_of(char *text, size_t bytes, char *const *argv)
{
	size_t used = 0;

	*text = 0;
	for (; *argv && used + 1 < bytes; argv++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? " " : "", *argv);
}

static int start_collector(const struct trace_settings *s, const char *output, pid_t pid,
	char *const *command, struct wt_starter *starter, struct wt_err **err)
{
	static const char *const depths[] = {"full", "standard", "lite"};
	static const char *const hips[] = {"work", "all", "off"};
	char self[PATH_MAX], primary[16], buffer[32], text[1024], delay[32], duration[32];
	char *argv[40];
	size_t cnt = 0;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = 0;
	snprintf(primary, sizeof(primary), "%d", (int)pid);
	snprintf(buffer, sizeof(buffer), "%llu", (unsigned long long)s->buffer);
	text_of(text, sizeof(text), command);
#define ADD(...)                                                                                   \
	do {                                                                                       \
		const char *words[] = {__VA_ARGS__};                                               \
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)                        \
			argv[cnt++] = (char *)(uintptr_t)words[i];                                 \
	} while (0)
	ADD(self, "collect", "--output", output, "--primary", primary, "--command", text);
	/* the words of --graph and --source that mean something are the defaults */
	ADD("--depth", depths[s->words.depth], "--hip", hips[s->words.hip], "--graph", "node");
	ADD("--source", "auto", "--buffer", buffer);
	ADD("--follow", s->follow ? "no" : "yes", "--wait", s->wait ? "primary" : "all");
	ADD("--schema", s->schema ? "rpd" : "wavetap");
	if (s->delay) {
		snprintf(delay, sizeof(delay), "%lluns", (unsigned long long)s->delay);
		ADD("--delay", delay);
	}
	if (s->duration) {
		snprintf(duration, sizeof(duration), "%lluns", (unsigned long long)s->duration);
		ADD("--for", duration);
	}
	if (s->types)
		ADD("--types", s->types);
	if (s->session_dir)
		ADD("--session-dir", s->session_dir);
	if (s->force)
		ADD("--force");
	if (s->append)
		ADD("--append");
	if (isatty(STDERR_FILENO))
		ADD("--interactive");
	if (s->quiet)
		ADD("--quiet");
	if (s->verbose)
		ADD("--verbose");
#undef ADD
	argv[cnt] = NULL;
	starter->quiet = s->quiet;
	return wt_starter__start(starter, argv, err);
}

/* ---- all of it --------------------------------------------------------------------- */

static int run(struct trace_settings *s, char **command, struct wt_err **err)
{
	char library[PATH_MAX], output[PATH_MAX];
	struct wt_launch_environment environment = {.library = library, .no_dlsym = s->no_dlsym};
	struct wt_starter starter = {.control_fd = -1};
	struct wt_launch launch;
	struct wt_watch_result result;
	int code;

	code = wt_launch__check(command[0], err);
	if (code)
		return code;
	if (wt_launch__find_library(library, err) || wt_launch__fork(&launch, command, err))
		return EXIT_OURS;
	if (wt_output__resolve(output, sizeof(output), s->output, s->dir, launch.pid, err) ||
		wt_output__check(output,
			s->append  ? WT_STORE_APPEND
			: s->force ? WT_STORE_REPLACE
				   : WT_STORE_REFUSE,
			s->dir != NULL, err) ||
		start_collector(s, output, launch.pid, command, &starter, err)) {
		wt_launch__cancel(&launch);
		return EXIT_OURS;
	}
	environment.session_dir = starter.session_dir;
	wt_watch__begin(launch.pid);
	code = wt_launch__go(&launch, &environment);
	if (code) {
		wt_starter__tell(&starter, "discard\n");
		wt_watch__finish(&starter, false);
		wt_err__errno(err, code, "cannot execute %s", command[0]);
		wt_err__hint(err, "is it a program for this machine?");
		wt_launch__cancel(&launch);
		return code == -ENOENT ? 127 : 126;
	}
	wt_watch__run(&starter, &result);
	wt_trace__say_end(s, output, &starter);
	wt_starter__close(&starter);
	return wt_watch__exit_code(&result);
}

int wt_cmd_trace(int argc, char **argv)
{
	struct trace_settings s = {0};
	WT_ERR_AUTO err = NULL;
	int operands, code;

	if (parse(&s, argc, argv, &operands, &code))
		return code;
	wt_log__set_level(s.quiet ? WT_LOG_QUIET : WT_LOG_WARN + s.verbose);
	code = fill(&s, &err) ? EXIT_OURS : run(&s, argv + 1, &err);
	wt_err__print(stderr, err);
	return code;
}
