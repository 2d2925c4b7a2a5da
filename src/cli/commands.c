// SPDX-License-Identifier: MIT
/* The commands, in the order in which help lists them. */
#include "cli/commands.h"

#include <string.h>

/* A command whose file is not in this build says so itself. */
#if !WT_HAVE_TRACE
#define wt_cmd_trace     NULL
#define wt_options_trace NULL
#endif
#if !WT_HAVE_COLLECT
#define wt_cmd_collect     NULL
#define wt_options_collect NULL
#endif
#if !WT_HAVE_RECOVER
#define wt_cmd_recover     NULL
#define wt_options_recover NULL
#endif

const struct wt_command wt_commands[] = {
	{"trace", "record", "[--] CMD [ARGS...]", "run a program and record what it does on GPUs",
		"Options end at the first word that is none; the rest is the program and its\n"
		"arguments. The exit code is the program's; 125, 126 and 127 where it was not\n"
		"started. Each option may come as a variable, too: WAVETAP_OUTPUT=run.db.",
		"  wavetap trace ./app --size 4096\n"
		"  wavetap trace -o run.db -t kernel,copy python3 train.py\n"
		"  wavetap trace -d /scratch/traces -- mpirun -n 8 ./app",
		wt_options_trace, wt_cmd_trace},
	{"summary", "report", "FILE", "what took the time, in a table",
		"Begins with what was captured and what was lost.",
		"  wavetap summary run.db\n"
		"  wavetap summary run.db --by api -n 10\n"
		"  wavetap summary run.db --group 'gemm|Cijk' --since 2s --until 5s\n"
		"  wavetap summary run.db --csv > kernels.csv",
		wt_options_summary, wt_cmd_summary},
	{"info", NULL, "FILE", "what a trace holds: sources, processes, devices, losses, clocks",
		NULL,
		"  wavetap info run.db\n"
		"  wavetap info run.db --json | jq .lost",
		wt_options_info, wt_cmd_info},
	{"sql", NULL, "FILE [QUERY]", "ask a trace in SQL, read-only",
		"Without QUERY the queries are read from standard input. docs/FORMAT.md describes\n"
		"the tables; the views rocpd_*, top, busy, kernel, api, op are RPD's.",
		"  wavetap sql run.db 'SELECT * FROM top LIMIT 10'\n"
		"  wavetap sql run.db --csv 'SELECT * FROM kernel' > kernels.csv",
		wt_options_sql, wt_cmd_sql},
	{"doctor", NULL, "", "what this machine has for tracing, and what is missing", NULL,
		"  wavetap doctor\n"
		"  wavetap doctor --json",
		wt_options_doctor, wt_cmd_doctor},
	{"recover", NULL, "SESSION", "finish a trace whose collector was ended", NULL,
		"  wavetap recover /dev/shm/wavetap-1000-4242", wt_options_recover, wt_cmd_recover},
	{"graphs", NULL, "FILE", "what graph launches did (not yet)", NULL, NULL, NULL, NULL},
	{"waits", NULL, "FILE", "where the program waited for the GPU (not yet)", NULL, NULL, NULL,
		NULL},
	{"critical-path", NULL, "FILE", "what bounds the run time (not yet)", NULL, NULL, NULL,
		NULL},
	{"export", NULL, "FILE -f FORMAT", "write other tools' formats (not yet)", NULL, NULL, NULL,
		NULL},
	{"import", NULL, "FILE... -o FILE", "read other tools' traces (not yet)", NULL, NULL, NULL,
		NULL},
	{"merge", NULL, "FILE... -o FILE", "make one trace of several (not yet)", NULL, NULL, NULL,
		NULL},
	{"diff", NULL, "A B", "compare two traces (not yet)", NULL, NULL, NULL, NULL},
	{"view", NULL, "FILE", "show a trace in a browser (not yet)", NULL, NULL, NULL, NULL},
	{"top", NULL, "[PID]", "watch a running program (not yet)", NULL, NULL, NULL, NULL},
	{"start", NULL, "PID", "begin to record in a running program (not yet)", NULL, NULL, NULL,
		NULL},
	{"stop", NULL, "PID", "end recording in a running program (not yet)", NULL, NULL, NULL,
		NULL},
	{"snapshot", NULL, "PID", "keep what a running program has recorded (not yet)", NULL, NULL,
		NULL, NULL},
	{"help", NULL, "[COMMAND]", "how to use wavetap, or one of its commands", NULL,
		"  wavetap help summary\n"
		"  wavetap help --man > wavetap.1\n"
		"  source <(wavetap help --completion)",
		wt_options_help, wt_cmd_help},
	{"collect", NULL, "", NULL, NULL, NULL, wt_options_collect, wt_cmd_collect},
	{NULL},
};

const struct wt_command *wt_command__find(const char *name)
{
	for (const struct wt_command *command = wt_commands; command->name; command++)
		if (!strcmp(command->name, name) ||
			(command->alias && !strcmp(command->alias, name)))
			return command;
	return NULL;
}
