// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"

int wt_usage_error(const char *command, const char *format, ...)
{
	va_list args;

	fputs("wavetap: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nhint: wavetap %s%s--help\n", command ? command : "", command ? " " : "");
	return WT_EXIT_USAGE;
}

/* ---- did you mean ------------------------------------------------------- */

#define NEAR_MAX 31

/* Edits between two words; swapped neighbours count as one. */
static size_t distance(const char *a, const char *b)
{
	size_t a_length = strlen(a), b_length = strlen(b), rows[3][NEAR_MAX + 1];

	if (a_length > NEAR_MAX || b_length > NEAR_MAX)
		return NEAR_MAX;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);

			best = above[j] + 1 < best ? above[j] + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[a_length % 3][b_length];
}

const char *wt_nearest(const char *word, const char *const *words, size_t word_cnt)
{
	const char *best = "";
	size_t best_distance = strlen(word) < 4 ? 2 : 3;

	for (size_t i = 0; i < word_cnt; i++) {
		size_t edits = distance(word, words[i]);

		/* a beginning is as good as one edit */
		if (strlen(word) > 1 && !strncmp(word, words[i], strlen(word)) && edits > 1)
			edits = 1;
		if (edits < best_distance) {
			best_distance = edits;
			best = words[i];
		}
	}
	return best;
}

/* ---- values ------------------------------------------------------------- */

static int parse_choice(const struct wt_option *option, const char *value, unsigned *index)
{
	const char *word = option->argument;
	size_t length = strlen(value);

	if (!length || strchr(value, '|'))
		return -EINVAL;
	for (*index = 0; word; (*index)++) {
		if (!strncmp(word, value, length) && (word[length] == '|' || !word[length]))
			return 0;
		word = strchr(word, '|');
		word = word ? word + 1 : NULL;
	}
	return -EINVAL;
}

static int parse_number(const struct wt_option *option, const char *value, uint64_t *number)
{
	switch (option->type) {
	case WT_OPTION_SIZE:
		return wt_units__parse_size(value, number);
	case WT_OPTION_DURATION:
		return wt_units__parse_duration(value, number);
	default:
		return wt_units__parse_count(value, number);
	}
}

static const char *wanted(const struct wt_option *option)
{
	switch (option->type) {
	case WT_OPTION_SIZE:
		return "a size such as 512M";
	case WT_OPTION_DURATION:
		return "a time such as 1.5s, 20ms or 300us";
	case WT_OPTION_COUNT:
		return "a number";
	default:
		return option->argument;
	}
}

/* Stores a value; `value` is NULL for options without argument. 0 or -EINVAL. */
static int store_value(const struct wt_option *option, void *settings, const char *value)
{
	void *target = (char *)settings + option->offset;
	uint64_t number;
	unsigned choice;

	switch (option->type) {
	case WT_OPTION_FLAG:
	case WT_OPTION_NO:
		*(int *)target = option->type == WT_OPTION_FLAG;
		return 0;
	case WT_OPTION_MORE:
		++*(int *)target;
		return 0;
	case WT_OPTION_TEXT:
		*(const char **)target = value;
		return 0;
	case WT_OPTION_CHOICE:
		if (parse_choice(option, value, &choice))
			return -EINVAL;
		*(unsigned *)target = choice;
		return 0;
	default:
		if (parse_number(option, value, &number))
			return -EINVAL;
		*(uint64_t *)target = number;
		return 0;
	}
}

/* ---- the command line --------------------------------------------------- */

struct parser {
	const char *command;
	const struct wt_option *options;
	void *settings;
	int argc;
	char **argv;
	int at;
};

static const struct wt_option *find_option(
	const struct parser *parser, const char *name, size_t length, char letter)
{
	for (const struct wt_option *option = parser->options; option && option->name; option++)
		if (letter ? option->letter == letter
			   : strlen(option->name) == length && !strncmp(option->name, name, length))
			return option;
	return NULL;
}

static int unknown_option(const struct parser *parser, const char *name)
{
	const char *names[128];
	const char *near;
	size_t cnt = 0;

	for (const struct wt_option *option = parser->options; option && option->name && cnt < 127;
		option++)
		if (option->help)
			names[cnt++] = option->name;
	names[cnt++] = "help";
	near = wt_nearest(name, names, cnt);
	if (!near[0])
		return wt_usage_error(parser->command, "unknown option: --%s", name);
	fprintf(stderr, "wavetap: unknown option: --%s\nhint: did you mean --%s?\n", name, near);
	return WT_EXIT_USAGE;
}

/* `value`: what follows "=" or the letter, NULL: nothing. Returns 0 or an exit code. */
static int take_option(struct parser *parser, const struct wt_option *option, const char *value)
{
	if (option->argument && !value) {
		if (parser->at + 1 >= parser->argc)
			return wt_usage_error(parser->command, "--%s needs a value: %s",
				option->name, option->argument);
		value = parser->argv[++parser->at];
	}
	if (!option->argument && value)
		return wt_usage_error(
			parser->command, "--%s takes no value: %s", option->name, value);
	if (option->type == WT_OPTION_LATER)
		return wt_usage_error(
			parser->command, "not yet: --%s comes in a later version", option->name);
	if (store_value(option, parser->settings, value))
		return wt_usage_error(parser->command, "--%s is not understood: %s (expected %s)",
			option->name, value, wanted(option));
	return 0;
}

static int take_long(struct parser *parser, const char *name, bool *help)
{
	size_t length = strcspn(name, "=");
	const struct wt_option *option = find_option(parser, name, length, 0);
	char own[64];

	if (option)
		return take_option(parser, option, name[length] ? name + length + 1 : NULL);
	*help = !strcmp(name, "help");
	if (*help)
		return 0;
	snprintf(own, sizeof(own), "%.*s", (int)(length < 63 ? length : 63), name);
	return unknown_option(parser, own);
}

static int take_letters(struct parser *parser, const char *letters, bool *help)
{
	for (; *letters; letters++) {
		const struct wt_option *option = find_option(parser, NULL, 0, *letters);
		int code;

		if (!option && *letters == 'h') {
			*help = true;
			return 0;
		}
		if (!option)
			return wt_usage_error(parser->command, "unknown option: -%c", *letters);
		if (option->argument)
			return take_option(parser, option, letters[1] ? letters + 1 : NULL);
		code = take_option(parser, option, NULL);
		if (code)
			return code;
	}
	return 0;
}

int wt_options__parse(const char *command, const struct wt_option *options, void *settings,
	int argc, char **argv, bool stop_early, int *operand_cnt, int *exit_code)
{
	struct parser parser = {command, options, settings, argc, argv, 1};
	bool only_operands = false, help = false;

	*operand_cnt = 0;
	*exit_code = 0;
	for (; parser.at < argc; parser.at++) {
		char *word = argv[parser.at];

		if (only_operands || word[0] != '-' || !word[1]) {
			only_operands |= stop_early;
			argv[++*operand_cnt] = word;
			continue;
		}
		if (!strcmp(word, "--")) {
			only_operands = true;
			continue;
		}
		*exit_code = word[1] == '-' ? take_long(&parser, word + 2, &help)
					    : take_letters(&parser, word + 1, &help);
		if (help)
			wt_help__command(stdout, wt_command__find(command));
		if (help || *exit_code)
			return -1;
	}
	argv[*operand_cnt + 1] = NULL;
	return 0;
}

/* ---- the environment ---------------------------------------------------- */

static int flag_value(const char *text)
{
	static const char *const words[] = {"0", "1", "no", "yes", "off", "on", "false", "true"};

	for (int i = 0; i < 8; i++)
		if (!strcasecmp(text, words[i]))
			return i & 1;
	return -EINVAL;
}

/* The value of WAVETAP_<NAME>, NULL where there is none. */
static const char *variable(const struct wt_option *option, char name[64])
{
	size_t length = strlen(strcpy(name, "WAVETAP_"));
	const char *value;

	for (const char *at = option->name; *at && length < 63; at++)
		name[length++] = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
	name[length] = 0;
	value = getenv(name);
	return value && *value ? value : NULL;
}

const char *wt_options__later_in_environment(const struct wt_option *options, char name[64])
{
	for (const struct wt_option *option = options; option->name; option++) {
		const char *value = variable(option, name);

		if (option->type == WT_OPTION_LATER && value &&
			(option->argument || flag_value(value)))
			return name;
	}
	return NULL;
}

int wt_options__from_environment(const struct wt_option *options, void *settings, int *exit_code)
{
	*exit_code = 0;
	for (const struct wt_option *option = options; option->name; option++) {
		char name[64];
		const char *value = variable(option, name);
		int flag;

		if (!value || option->type == WT_OPTION_LATER)
			continue;
		if (option->argument) {
			flag = store_value(option, settings, value);
		} else {
			flag = flag_value(value);
			if (flag == 1)
				store_value(option, settings, NULL);
		}
		if (flag < 0) {
			fprintf(stderr,
				"wavetap: environment variable is not understood: %s=%s\nhint: it "
				"takes %s\n",
				name, value, option->argument ? wanted(option) : "1 or 0");
			*exit_code = WT_EXIT_USAGE;
			return -1;
		}
	}
	return 0;
}
