// SPDX-License-Identifier: MIT
/*
 * wavetap collect: the collector, started by `wavetap trace`, or by the
 * library in a program that was started by hand. Not for people.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/trace.h"
#include "collect/collector.h"
#include "collect/output.h"
#include "collect/settings.h"

struct collect_settings {
	const char *output, *dir, *session_dir, *types, *mode, *command;
	int force, append, verbose, quiet, foreground, interactive;
	struct wt_settings_words words;
	unsigned follow, wait, schema;
	uint64_t buffer, primary, ready_fd, control_fd, delay, duration;
};

#define AT(field) offsetof(struct collect_settings, field)

const struct wt_option wt_options_collect[] = {
	{'o', "output", "FILE", WT_OPTION_TEXT, AT(output), "the trace; %h %p %r %j %q{VAR}"},
	{'d', "dir", "DIR", WT_OPTION_TEXT, AT(dir), "directory for it"},
	{'f', "force", NULL, WT_OPTION_FLAG, AT(force), "replace an existing file"},
	{0, "append", NULL, WT_OPTION_FLAG, AT(append), "add this run to it"},
	{'t', "types", "LIST", WT_OPTION_TEXT, AT(types), "what to record"},
	{0, "hip", "work|all|off", WT_OPTION_CHOICE, AT(words.hip), "HIP calls"},
	{0, "graph", "node|graph|off", WT_OPTION_CHOICE, AT(words.graph), "graph replays"},
	{0, "depth", "full|standard|lite", WT_OPTION_CHOICE, AT(words.depth),
		"which operations are timed"},
	{0, "source", "auto|hsa|hip|sdk|roctracer", WT_OPTION_CHOICE, AT(words.source),
		"where operations come from"},
	{0, "mode", "WORD", WT_OPTION_TEXT, AT(mode), "any of these words"},
	{0, "delay", "DUR", WT_OPTION_DURATION, AT(delay), "begin to record later"},
	{0, "for", "DUR", WT_OPTION_DURATION, AT(duration), "record for a time"},
	{0, "follow", "yes|no", WT_OPTION_CHOICE, AT(follow), "children take part"},
	{0, "wait", "all|primary", WT_OPTION_CHOICE, AT(wait), "for whom the trace waits"},
	{0, "buffer", "SIZE", WT_OPTION_SIZE, AT(buffer), "shared memory of the session"},
	{0, "session-dir", "DIR", WT_OPTION_TEXT, AT(session_dir), "where the session lives"},
	{0, "schema", "wavetap|rpd", WT_OPTION_CHOICE, AT(schema), "tables of the file"},
	{0, "command", "TEXT", WT_OPTION_TEXT, AT(command), "what is traced, for the trace"},
	{0, "primary", "PID", WT_OPTION_COUNT, AT(primary), "the traced command"},
	{0, "ready-fd", "FD", WT_OPTION_COUNT, AT(ready_fd), "gets one line when it is ready"},
	{0, "control-fd", "FD", WT_OPTION_COUNT, AT(control_fd), "socket to the starter"},
	{0, "interactive", NULL, WT_OPTION_FLAG, AT(interactive), "the starter is on a terminal"},
	{0, "foreground", NULL, WT_OPTION_FLAG, AT(foreground), "do not go into the background"},
	{'q', "quiet", NULL, WT_OPTION_FLAG, AT(quiet), "no warnings"},
	{'v', "verbose", NULL, WT_OPTION_MORE, AT(verbose), "say more"},
	{0},
};

/*
 * Away from the program that started it: no child of it, in no session or
 * process group of it, so that no signal or wait() of it reaches us.
 */
static void detach(void)
{
	pid_t pid = fork();

	if (pid > 0)
		_exit(0);
	setsid();
	pid = fork();
	if (pid > 0)
		_exit(0);
	(void)!chdir("/");
}

static bool keeps(const struct collect_settings *s, int fd)
{
	return fd == (int)s->ready_fd || fd == (int)s->control_fd;
}

/*
 * A pipe on stdout or stderr would hold up its reader after the program's end;
 * a terminal or a file does not. With a starter, what we say goes to it.
 */
static void leave_descriptors(const struct collect_settings *s)
{
	struct stat st;
	int null = open("/dev/null", O_RDWR);
	unsigned last = 3;

	if (s->control_fd) {
		dup2((int)s->control_fd, STDERR_FILENO);
	} else if (fstat(STDERR_FILENO, &st) || (!S_ISREG(st.st_mode) && !isatty(STDERR_FILENO))) {
		dup2(null, STDERR_FILENO);
	}
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	/* the ranges between the ones that stay; where the call is missing, one by one */
	for (int fd = 3; fd < 65536; fd++) {
		if (!keeps(s, fd))
			continue;
		if ((unsigned)fd > last)
			syscall(SYS_close_range, last, (unsigned)fd - 1, 0u);
		last = (unsigned)fd + 1;
	}
	if (syscall(SYS_close_range, last, ~0u, 0u))
		for (int fd = 3; fd < 1024; fd++)
			if (!keeps(s, fd))
				close(fd);
}

static void leave_environment(void)
{
	static const char *const names[] = {"LD_PRELOAD", "HSA_TOOLS_LIB", "LD_AUDIT"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	for (char **at = environ; *at;) {
		char name[128];

		if (strncmp(*at, "WAVETAP_", 8)) {
			at++;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*at, "="), *at);
		/* the list moves up: look at the same place again */
		if (unsetenv(name))
			at++;
	}
}

static void ignore_signals(void)
{
	static const int signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTERM, SIGUSR1, SIGUSR2,
		SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_IGN);
}

int wt_cli__words_from_environment(const struct wt_option *options, void *settings,
	struct wt_settings_words *words, const char **mode, int *code)
{
	const char *rtl = getenv("RTL_MODE");
	WT_ERR_AUTO err = NULL;
	char later[64];
	int rc = 0;

	if (wt_options__later_in_environment(wt_options_trace, later)) {
		rc = wt_err__new(&err, -EINVAL, "not yet: %s comes in a later version", later);
		wt_err__hint(&err, "unset %s", later);
	} else if (rtl && *rtl && wt_settings__mode(words, rtl, &err)) {
		rc = wt_err__wrap(&err, -EINVAL, "RTL_MODE=%s", rtl);
	}
	if (!rc && wt_options__from_environment(options, settings, code))
		return -1;
	if (!rc && *mode && wt_settings__mode(words, *mode, &err))
		rc = wt_err__wrap(&err, -EINVAL, "WAVETAP_MODE=%s", *mode);
	*mode = NULL;
	*code = rc ? WT_EXIT_USAGE : 0;
	wt_err__print(stderr, err);
	return rc ? -1 : 0;
}

/* The collector leaves the folder that it was started in. */
static const char *absolute(const char *dir)
{
	static char path[PATH_MAX];

	return dir && *dir && *dir != '/' && realpath(dir, path) ? path : dir;
}

static int fill(struct collect_settings *s, struct wt_collect_options *o, struct wt_err **err)
{
	int rc;

	wt_settings__defaults(&o->settings);
	o->settings.follow = !s->follow;
	o->schema = s->schema ? WT_SCHEMA_RPD : WT_SCHEMA_WAVETAP;
	o->exists = s->append ? WT_STORE_APPEND : s->force ? WT_STORE_REPLACE : WT_STORE_REFUSE;
	o->session_dir = absolute(s->session_dir);
	o->command = s->command;
	o->wait_primary = s->wait;
	o->delay_ns = s->delay;
	o->for_ns = s->duration;
	o->interactive = s->interactive || s->verbose;
	o->primary = (pid_t)s->primary;
	o->ready_fd = s->ready_fd ? (int)s->ready_fd : -1;
	o->control_fd = s->control_fd ? (int)s->control_fd : -1;
	rc = s->types ? wt_settings__want(&o->settings, s->types, err) : 0;
	if (!rc && s->mode)
		rc = wt_settings__mode(&s->words, s->mode, err);
	if (!rc)
		rc = wt_settings__take(&o->settings, &s->words, err);
	if (!rc)
		rc = wt_settings__buffer(&o->settings, s->buffer, err);
	if (!rc)
		rc = wt_output__resolve(o->output, sizeof(o->output), s->output, s->dir,
			s->primary ? (pid_t)s->primary : getppid(), err);
	if (!rc && s->dir)
		rc = wt_output__check(o->output, o->exists, 1, err);
	return rc;
}

int wt_cmd_collect(int argc, char **argv)
{
	struct collect_settings s = {.buffer = WT_BUFFER_BYTES_DEFAULT};
	struct wt_collect_options *options = calloc(1, sizeof(*options));
	WT_ERR_AUTO err = NULL;
	int operands, code;

	if (!options)
		return WT_EXIT_FAILED;
	if (wt_cli__words_from_environment(wt_options_collect, &s, &s.words, &s.mode, &code) ||
		wt_options__parse(
			"collect", wt_options_collect, &s, argc, argv, false, &operands, &code)) {
		free(options);
		return code;
	}
	wt_log__set_level(s.quiet ? WT_LOG_QUIET : WT_LOG_WARN + s.verbose);
	/* names are resolved where we were started, and before our parent is another one */
	if (fill(&s, options, &err)) {
		if (options->ready_fd >= 0)
			dprintf(options->ready_fd, "error: %s\t%s%s\n", wt_err__text(err),
				*wt_err__hint_text(err) ? "hint: " : "", wt_err__hint_text(err));
		free(options);
		return WT_EXIT_FAILED;
	}
	if (!s.foreground) {
		detach();
		leave_descriptors(&s);
	}
	leave_environment();
	ignore_signals();
	prctl(PR_SET_NAME, "wavetap-collect");
	code = wt_collector__run(options);
	free(options);
	return code;
}
