// SPDX-License-Identifier: MIT
/*
 * Options and commands as rows. --help, the man page and the shell completion
 * are made from the same rows.
 *
 * A command's file declares its rows and parses into a struct of its own:
 *
 *   struct settings { const char *output; int force; uint64_t limit; unsigned by; };
 *
 *   const struct wt_option wt_options_example[] = {
 *           {'o', "output", "FILE", WT_OPTION_TEXT, offsetof(struct settings, output),
 *                   "where the result goes"},
 *           {'f', "force", NULL, WT_OPTION_FLAG, offsetof(struct settings, force),
 *                   "replace an existing file"},
 *           {0, "by", "kernel|api", WT_OPTION_CHOICE, offsetof(struct settings, by),
 *                   "what a row is (default kernel)"},
 *           {0},
 *   };
 *
 * and has a row in commands.c.
 */
#ifndef WT_CLI_OPTIONS_H
#define WT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define WT_EXIT_FAILED 1
#define WT_EXIT_USAGE  2

enum wt_option_type {
	WT_OPTION_FLAG,     /* int: becomes 1 */
	WT_OPTION_NO,       /* int: becomes 0; a row "no-x" beside the row "x" */
	WT_OPTION_MORE,     /* int: counts up, -vv */
	WT_OPTION_TEXT,     /* const char * */
	WT_OPTION_COUNT,    /* uint64_t */
	WT_OPTION_SIZE,     /* uint64_t, bytes: 512M */
	WT_OPTION_DURATION, /* uint64_t, nanoseconds: 1.5s */
	WT_OPTION_CHOICE,   /* unsigned: index of the word in `argument`, "a|b|c" */
	WT_OPTION_LATER,    /* refused with "not yet", with an argument where one is named */
};

struct wt_option {
	char letter;          /* 0: none */
	const char *name;     /* NULL ends the rows */
	const char *argument; /* NULL: takes none */
	enum wt_option_type type;
	size_t offset;    /* in the command's struct */
	const char *help; /* NULL: not listed */
};

struct wt_command {
	const char *name;                  /* NULL ends the rows */
	const char *alias;                 /* NULL: none */
	const char *operands;              /* "FILE", "[options] CMD…" */
	const char *summary;               /* one line; NULL: not listed */
	const char *text;                  /* more lines for --help, NULL: none */
	const char *examples;              /* lines */
	const struct wt_option *options;   /* NULL: none */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name; NULL: not yet */
};

extern const struct wt_command wt_commands[];
const struct wt_command *wt_command__find(const char *name);

/*
 * Parses argv[1…] into `settings`. Operands are moved to the front; *operand_cnt
 * of them begin at argv[1]. With `stop_early` options end at the first operand,
 * as for `trace`: what follows belongs to CMD. "--" ends the options.
 *
 * Returns 0, or -1 when the caller shall return *exit_code: 0 after --help,
 * WT_EXIT_USAGE after a mistake that has been printed.
 */
int wt_options__parse(const char *command, const struct wt_option *options, void *settings,
	int argc, char **argv, bool stop_early, int *operand_cnt, int *exit_code);

/*
 * For options that may also come as WAVETAP_<NAME> (dashes become underscores).
 * Call it before wt_options__parse. A flag takes 1, 0, yes, no. Same returns.
 */
int wt_options__from_environment(const struct wt_option *options, void *settings, int *exit_code);

/* The variable that asks for an option that is still to come, in `name`; NULL: none does. */
const char *wt_options__later_in_environment(const struct wt_option *options, char name[64]);

/* A mistake in usage: prints "wavetap: …" and where help is; returns WT_EXIT_USAGE. */
int wt_usage_error(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The word of `words` nearest to `word`, "" when none is near. */
const char *wt_nearest(const char *word, const char *const *words, size_t word_cnt);

/* help.c */
void wt_help__command(FILE *file, const struct wt_command *command);
void wt_help__all(FILE *file);
void wt_help__man(FILE *file);
void wt_help__completion(FILE *file);

#endif
