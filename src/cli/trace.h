// SPDX-License-Identifier: MIT
/* Shared by the files of `wavetap trace`. */
#ifndef WT_CLI_TRACE_H
#define WT_CLI_TRACE_H

#include <stdint.h>

#include "cli/options.h"
#include "collect/settings.h"

struct wt_starter;

struct trace_settings {
	const char *output, *dir, *session_dir, *types, *mode;
	int force, append, no_dlsym, strict, summary, no_summary, quiet, verbose;
	struct wt_settings_words words;
	unsigned follow, wait, schema;
	uint64_t buffer, delay, duration;
};

/*
 * What trace and collect take from the environment: RTL_MODE, the WAVETAP_*
 * variables, WAVETAP_MODE; each goes before the one in front of it, and the
 * command line goes before all of them. 0, or -1 and the exit code.
 */
int wt_cli__words_from_environment(const struct wt_option *options, void *settings,
	struct wt_settings_words *words, const char **mode, int *code);

/* trace_end.c: what is said when the trace is finished, or cannot be. */
void wt_trace__say_end(const struct trace_settings *settings, const char *output,
	const struct wt_starter *starter);

#endif
