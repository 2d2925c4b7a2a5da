// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"

static int unknown_command(const char *name)
{
	const char *names[64];
	const char *near;
	size_t cnt = 0;

	for (const struct wt_command *command = wt_commands; command->name && cnt < 62; command++) {
		if (command->summary)
			names[cnt++] = command->name;
		if (command->alias)
			names[cnt++] = command->alias;
	}
	near = wt_nearest(name, names, cnt);
	if (!near[0])
		return wt_usage_error(NULL, "unknown command: %s", name);
	fprintf(stderr, "wavetap: unknown command: %s\nhint: did you mean wavetap %s?\n", name,
		near);
	return WT_EXIT_USAGE;
}

static int run_command(int argc, char **argv)
{
	const struct wt_command *command = wt_command__find(argv[0]);

	if (!command)
		return unknown_command(argv[0]);
	if (command->run)
		return command->run(argc, argv);
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		wt_help__command(stdout, command);
		return 0;
	}
	return wt_usage_error(NULL, "not yet: wavetap %s comes in a later version", command->name);
}

/* A full disk or a closed pipe shows at the end: what was printed is not all there. */
static int flush_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	perror("wavetap: cannot write the output");
	return code ? code : WT_EXIT_FAILED;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		wt_help__all(stderr);
		return WT_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("wavetap " WAVETAP_VERSION);
		return flush_output(0);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		wt_help__all(stdout);
		return flush_output(0);
	}
	return flush_output(run_command(argc - 1, argv + 1));
}
