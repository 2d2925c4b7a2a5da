// SPDX-License-Identifier: MIT
/* One function and one list of option rows a command; see options.h. */
#ifndef WT_CLI_COMMANDS_H
#define WT_CLI_COMMANDS_H

#include "cli/options.h"

/* argv[0] is the command's name; the result is the exit code. */
int wt_cmd_trace(int argc, char **argv);
int wt_cmd_collect(int argc, char **argv);
int wt_cmd_recover(int argc, char **argv);
int wt_cmd_summary(int argc, char **argv);
int wt_cmd_info(int argc, char **argv);
int wt_cmd_sql(int argc, char **argv);
int wt_cmd_doctor(int argc, char **argv);
int wt_cmd_help(int argc, char **argv);

extern const struct wt_option wt_options_trace[], wt_options_collect[], wt_options_recover[],
	wt_options_summary[], wt_options_info[], wt_options_sql[], wt_options_doctor[],
	wt_options_help[];

#endif
