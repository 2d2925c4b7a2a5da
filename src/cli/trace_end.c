// SPDX-License-Identifier: MIT
/*
 * What `wavetap trace` says at the end: on a terminal a few lines and the top
 * kernels; in a pipe, and for ranks above 0, nothing but warnings. On stderr,
 * for stdout belongs to the program.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/trace.h"
#include "collect/output.h"
#include "collect/starter.h"

/* The path as one would type it: below the working directory without it. */
static const char *shorten(const char *path)
{
	char here[4096];
	size_t length;

	if (!getcwd(here, sizeof(here)))
		return path;
	length = strlen(here);
	return !strncmp(path, here, length) && path[length] == '/' ? path + length + 1 : path;
}

/* Were operations asked for at all? */
static bool wants_operations(const struct trace_settings *settings)
{
	return !settings->types || strstr(settings->types, "kernel") ||
	       strstr(settings->types, "copy");
}

/* One line and a hint where a trace holds nothing, or nothing of a GPU. */
static bool say_nothing_recorded(
	const struct trace_settings *settings, const char *output, const struct wt_starter *starter)
{
	bool gpu = !access("/dev/kfd", R_OK | W_OK);

	if (starter->kernels || starter->copies || (starter->calls && !wants_operations(settings)))
		return false;
	if (starter->processes)
		fprintf(stderr,
			"wavetap: no GPU work was recorded%s: trace=%s\n"
			"hint: wavetap info %s tells more\n",
			gpu ? "" : ", for there is no GPU (/dev/kfd)", output, output);
	else if (settings->follow)
		fprintf(stderr,
			"wavetap: nothing was recorded: the program itself used no HIP and no "
			"HSA: trace=%s\nhint: --follow no leaves its children alone; --follow "
			"yes traces them\n",
			output);
	else
		fprintf(stderr,
			"wavetap: nothing was recorded: the program used no HIP and no "
			"HSA%s: trace=%s\nhint: wavetap doctor tells what is there for "
			"tracing\n",
			gpu ? "" : ", and there is no GPU (/dev/kfd)", output);
	return true;
}

/* "1 kernel, ", "2 kernels, " */
static void say_count(uint64_t cnt, const char *one, const char *many, const char *after)
{
	char text[WT_UNITS_BYTES];

	fprintf(stderr, "%s %s%s", wt_units__count(text, cnt), cnt == 1 ? one : many, after);
}

static void say_counts(const char *output, const struct wt_starter *s)
{
	char a[WT_UNITS_BYTES], b[WT_UNITS_BYTES];
	uint64_t ops = s->kernels + s->copies;

	fprintf(stderr, "wavetap: %s (%s, written in %s)\nwavetap: captured ", output,
		wt_units__size(a, s->bytes), wt_units__time(b, s->ns));
	say_count(s->kernels, "kernel", "kernels", ", ");
	say_count(s->copies, "copy or fill", "copies and fills", ", ");
	say_count(s->calls, "call", "calls", "; ");
	fprintf(stderr, "%s without times, %s in flight; lost ", wt_units__count(a, s->untimed),
		wt_units__count(b, s->in_flight));
	fprintf(stderr, "%s\nwavetap: ", s->lost ? wt_units__count(a, s->lost) : "nothing");
	say_count(s->processes, "process", "processes", "; ");
	fprintf(stderr, "%s of the operations with the call they came from\n",
		wt_units__percent(b, (double)s->attributed, (double)ops));
}

static void say_top(const char *output)
{
	char *argv[] = {(char *)"summary", (char *)"--table", (char *)"-n", (char *)"5",
		(char *)(uintptr_t)output, NULL};

	fflush(stderr);
	wt_cmd_summary(5, argv);
	fflush(stdout);
}

void wt_trace__say_end(
	const struct trace_settings *settings, const char *path, const struct wt_starter *starter)
{
	const char *output = shorten(path), *rank = wt_output__rank();
	bool talk = isatty(STDERR_FILENO) && (!*rank || !strcmp(rank, "0"));

	if (settings->quiet && !settings->summary)
		return;
	if (!starter->done) {
		/* where it failed, the collector has said why and what to do */
		if (!starter->failed)
			fprintf(stderr,
				"wavetap: the collector is gone; what it recorded is kept: "
				"`wavetap recover %s` finishes the trace\n",
				starter->session_dir);
		return;
	}
	if (say_nothing_recorded(settings, output, starter))
		return;
	if (talk && !settings->quiet)
		say_counts(output, starter);
	if ((talk || settings->summary) && !settings->no_summary &&
		(starter->kernels || starter->copies))
		say_top(output);
	if (talk && !settings->quiet)
		fprintf(stderr, "next: wavetap summary %s\n", output);
}
