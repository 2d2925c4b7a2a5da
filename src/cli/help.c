// SPDX-License-Identifier: MIT
/* --help, the man page and the completion, from the rows in commands.c. */
#include <stddef.h>
#include <string.h>

#include "cli/commands.h"

#define LEFT_COLUMNS 28
#define HELP_COLUMNS 80

/* Breaks `text` between words; the first line begins at column `at`. */
static void put_wrapped(FILE *file, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t length = strcspn(text, " ");

		if (at + length > HELP_COLUMNS && at > indent) {
			fprintf(file, "\n%*s", (int)indent, "");
			at = indent;
		}
		fprintf(file, "%.*s", (int)length, text);
		at += length;
		text += length;
		if (*text == ' ') {
			text++;
			if (at < HELP_COLUMNS && at + 1 + strcspn(text, " ") <= HELP_COLUMNS) {
				fputc(' ', file);
				at++;
			} else {
				at = HELP_COLUMNS + 1;
			}
		}
	}
	fputc('\n', file);
}

static void put_option(FILE *file, const struct wt_option *option)
{
	char left[96];
	size_t length;

	snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", option->letter ? '-' : ' ',
		option->letter ? option->letter : ' ', option->letter ? ',' : ' ', option->name,
		option->argument ? " " : "", option->argument ? option->argument : "");
	length = strlen(left);
	fputs(left, file);
	if (length + 2 > LEFT_COLUMNS)
		fprintf(file, "\n%*s", LEFT_COLUMNS, "");
	else
		fprintf(file, "%*s", (int)(LEFT_COLUMNS - length), "");
	put_wrapped(file, option->help, LEFT_COLUMNS, LEFT_COLUMNS);
}

void wt_help__command(FILE *file, const struct wt_command *command)
{
	bool has_options = false;

	if (!command)
		return;
	for (const struct wt_option *option = command->options; option && option->name; option++)
		has_options |= option->help != NULL;
	fprintf(file, "wavetap %s: %s\n\nusage: wavetap %s%s%s%s\n", command->name,
		command->summary ? command->summary : "internal", command->name,
		has_options ? " [options]" : "", command->operands[0] ? " " : "",
		command->operands);
	if (command->alias)
		fprintf(file, "alias: wavetap %s\n", command->alias);
	if (command->text)
		fprintf(file, "\n%s\n", command->text);
	fputs("\noptions:\n", file);
	for (const struct wt_option *option = command->options; option && option->name; option++)
		if (option->help)
			put_option(file, option);
	fprintf(file, "  -h, --help%*sthis text\n", LEFT_COLUMNS - 12, "");
	if (command->examples)
		fprintf(file, "\nexamples:\n%s\n", command->examples);
}

void wt_help__all(FILE *file)
{
	fputs("wavetap: records what a program does on AMD GPUs, for every trace viewer\n\n"
	      "usage: wavetap COMMAND [options] [operands]\n\ncommands:\n",
		file);
	for (const struct wt_command *command = wt_commands; command->name; command++)
		if (command->summary)
			fprintf(file, "  %-14s  %s\n", command->name, command->summary);
	fputs("\nwavetap COMMAND --help says more; wavetap --version prints the version.\n"
	      "\nexamples:\n"
	      "  wavetap trace ./app            record; the trace is wavetap-HOST-PID.db\n"
	      "  wavetap summary FILE           what took the time\n"
	      "  wavetap info FILE              what was captured, what was lost\n",
		file);
}

/* ---- man page ----------------------------------------------------------- */

/* troff: a backslash, a leading dot and a dash mean something */
static void put_troff(FILE *file, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", file);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", file);
		else if (*text == '-')
			fputs("\\-", file);
		else
			fputc(*text, file);
	}
}

static void man_options(FILE *file, const struct wt_option *options)
{
	for (const struct wt_option *option = options; option && option->name; option++) {
		if (!option->help)
			continue;
		fputs(".TP\n.B ", file);
		if (option->letter)
			fprintf(file, "\\-%c, ", option->letter);
		fputs("\\-\\-", file);
		put_troff(file, option->name);
		if (option->argument) {
			fputs(" \\fI", file);
			put_troff(file, option->argument);
			fputs("\\fR", file);
		}
		fputc('\n', file);
		put_troff(file, option->help);
		fputc('\n', file);
	}
}

void wt_help__man(FILE *file)
{
	fputs(".TH WAVETAP 1 \"\" \"wavetap " WAVETAP_VERSION "\"\n.SH NAME\n"
	      "wavetap \\- record what a program does on AMD GPUs\n.SH SYNOPSIS\n"
	      ".B wavetap\n.I COMMAND\n[options] [operands]\n.SH COMMANDS\n",
		file);
	for (const struct wt_command *command = wt_commands; command->name; command++) {
		if (!command->summary)
			continue;
		fputs(".SS wavetap ", file);
		put_troff(file, command->name);
		fputc(' ', file);
		put_troff(file, command->operands);
		fputc('\n', file);
		put_troff(file, command->summary);
		fputs(".\n", file);
		if (command->text) {
			put_troff(file, command->text);
			fputc('\n', file);
		}
		man_options(file, command->options);
		if (command->examples) {
			fputs(".PP\nExamples:\n.PP\n.nf\n", file);
			put_troff(file, command->examples);
			fputs("\n.fi\n", file);
		}
	}
	fputs(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage.\n"
	      ".B trace\nreturns the exit code of the program, or ends by the signal that ended "
	      "it; before the start 125 for a failure of its own, 126 where the program cannot "
	      "be executed, 127 where it was not found.\n.SH ENVIRONMENT\nEach option of\n"
	      ".B trace\nas WAVETAP_OPTION, with _ for a dash: WAVETAP_OUTPUT, "
	      "WAVETAP_SESSION_DIR. RTL_OUTPUT and RTL_MODE are\n.B \\-\\-output\nand\n"
	      ".B \\-\\-mode\nunder older names. The command line goes before the environment.\n",
		file);
}

/* ---- completion --------------------------------------------------------- */

static void completion_words(FILE *file, const struct wt_command *command)
{
	for (const struct wt_option *option = command->options; option && option->name; option++)
		if (option->help)
			fprintf(file, "--%s ", option->name);
	fputs("--help", file);
}

void wt_help__completion(FILE *file)
{
	fputs("# bash; zsh after: autoload bashcompinit && bashcompinit\n_wavetap() {\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"",
		file);
	for (const struct wt_command *command = wt_commands; command->name; command++)
		if (command->summary && command->run)
			fprintf(file, "%s ", command->name);
	fputs("--help --version\"\n\telse\n\t\tcase \"${COMP_WORDS[1]} $before\" in\n", file);
	for (const struct wt_command *command = wt_commands; command->name; command++)
		for (const struct wt_option *option = command->options; option && option->name;
			option++) {
			if (!option->help || option->type != WT_OPTION_CHOICE)
				continue;
			fprintf(file, "\t\t'%s --%s') words='", command->name, option->name);
			for (const char *at = option->argument; *at; at++)
				fputc(*at == '|' ? ' ' : *at, file);
			fputs("';;\n", file);
		}
	for (const struct wt_command *command = wt_commands; command->name; command++) {
		if (!command->summary || !command->run)
			continue;
		fprintf(file, "\t\t'%s '*) [[ $word == -* ]] && words='", command->name);
		completion_words(file, command);
		fputs("';;\n", file);
	}
	fputs("\t\tesac\n\tfi\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
	      "complete -o default -F _wavetap wavetap\n",
		file);
}

/* ---- the command -------------------------------------------------------- */

struct settings {
	int man, completion;
};

const struct wt_option wt_options_help[] = {
	{0, "man", NULL, WT_OPTION_FLAG, offsetof(struct settings, man), "print the man page"},
	{0, "completion", NULL, WT_OPTION_FLAG, offsetof(struct settings, completion),
		"print the completion for bash and zsh"},
	{0},
};

int wt_cmd_help(int argc, char **argv)
{
	struct settings settings = {0};
	const struct wt_command *command;
	int operand_cnt, code;

	if (wt_options__parse(
		    "help", wt_options_help, &settings, argc, argv, false, &operand_cnt, &code))
		return code;
	if (settings.man || settings.completion) {
		(settings.man ? wt_help__man : wt_help__completion)(stdout);
		return 0;
	}
	if (!operand_cnt) {
		wt_help__all(stdout);
		return 0;
	}
	command = wt_command__find(argv[1]);
	if (!command)
		return wt_usage_error(NULL, "unknown command: %s", argv[1]);
	wt_help__command(stdout, command);
	return 0;
}
