// SPDX-License-Identifier: MIT
/* Shared by the files of `wavetap trace`. */
#ifndef WT_CLI_TRACE_H
#define WT_CLI_TRACE_H

#include <stdint.h>

struct wt_starter;

struct trace_settings {
	const char *output, *dir, *session_dir, *types, *mode;
	int force, append, no_dlsym, strict, summary, no_summary, quiet, verbose;
	unsigned hip, graph, depth, source, follow, wait, schema;
	uint64_t buffer;
};

/* trace_end.c: what is said when the trace is finished, or cannot be. */
void wt_trace__say_end(const struct trace_settings *settings, const char *output,
	const struct wt_starter *starter);

#endif
