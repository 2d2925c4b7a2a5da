// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options.h"

struct settings {
	int flag, summary, verbose;
	const char *output;
	uint64_t limit, bytes, delay;
	unsigned by;
};

#define AT(field) offsetof(struct settings, field)

static const struct wt_option options[] = {
	{'f', "force", NULL, WT_OPTION_FLAG, AT(flag), "x"},
	{0, "summary", NULL, WT_OPTION_FLAG, AT(summary), "x"},
	{0, "no-summary", NULL, WT_OPTION_NO, AT(summary), "x"},
	{'v', "verbose", NULL, WT_OPTION_MORE, AT(verbose), "x"},
	{'o', "output", "FILE", WT_OPTION_TEXT, AT(output), "x"},
	{'n', "limit", "N", WT_OPTION_COUNT, AT(limit), "x"},
	{0, "buffer", "SIZE", WT_OPTION_SIZE, AT(bytes), "x"},
	{0, "delay", "DUR", WT_OPTION_DURATION, AT(delay), "x"},
	{0, "by", "kernel|api|copy", WT_OPTION_CHOICE, AT(by), "x"},
	{0, "later", "X", WT_OPTION_LATER, 0, "x"},
	{0},
};

/* Splits `line` at blanks; returns the exit code, -1: goes on. */
static int parse(const char *line, struct settings *settings, bool stop_early, char **operands)
{
	static char words[256];
	static char *argv[32];
	int argc = 1, operand_cnt, code;

	strcpy(words, line);
	argv[0] = (char *)"x";
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	memset(settings, 0, sizeof(*settings));
	settings->summary = -1;
	if (wt_options__parse("x", options, settings, argc, argv, stop_early, &operand_cnt, &code))
		return code;
	for (int i = 0; i <= operand_cnt && operands; i++)
		operands[i] = argv[i + 1];
	return -1;
}

static void test_values(void **state)
{
	struct settings s;
	char *operands[32];

	(void)state;
	assert_int_equal(parse("a -fvvo out b --limit=7 -n8 --buffer 1.5K --delay 20ms --by copy c",
				 &s, false, operands),
		-1);
	assert_int_equal(s.flag, 1);
	assert_int_equal(s.verbose, 2);
	assert_string_equal(s.output, "out");
	assert_int_equal(s.limit, 8);
	assert_int_equal(s.bytes, 1536);
	assert_int_equal(s.delay, 20000000);
	assert_int_equal(s.by, 2);
	assert_int_equal(s.summary, -1);
	assert_string_equal(operands[0], "a");
	assert_string_equal(operands[1], "b");
	assert_string_equal(operands[2], "c");
	assert_null(operands[3]);
	assert_int_equal(parse("--summary --no-summary", &s, false, NULL), -1);
	assert_int_equal(s.summary, 0);
	assert_int_equal(parse("-o -", &s, false, NULL), -1);
	assert_string_equal(s.output, "-");
}

/* What follows the first operand belongs to the program. */
static void test_stop_early(void **state)
{
	struct settings s;
	char *operands[32];

	(void)state;
	assert_int_equal(parse("-f ./app -f --by x -- y", &s, true, operands), -1);
	assert_string_equal(operands[0], "./app");
	assert_string_equal(operands[1], "-f");
	assert_string_equal(operands[2], "--by");
	assert_string_equal(operands[4], "--");
	assert_int_equal(parse("-f -- -strange --by", &s, true, operands), -1);
	assert_string_equal(operands[0], "-strange");
	assert_string_equal(operands[1], "--by");
	assert_null(operands[2]);
}

static void test_mistakes(void **state)
{
	static const char *const lines[] = {"--nonsense", "-z", "--limit", "-n",
		"--limit=", "--limit x", "--limit -1", "--limit 99999999999999999999",
		"--buffer 1X", "--buffer -1", "--delay 1y", "--delay nan", "--by kern",
		"--by kernel|api", "--by", "--force=1", "--later 3", "-fz",
		"--by=", "--buffer 0x10", "--delay inf", "--buffer 99999999999T"};
	struct settings s;

	(void)state;
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (parse(lines[i], &s, false, NULL) != WT_EXIT_USAGE)
			fail_msg("accepted: %s", lines[i]);
}

static void test_nearest(void **state)
{
	static const char *const words[] = {"summary", "info", "trace", "sql"};

	(void)state;
	assert_string_equal(wt_nearest("sumary", words, 4), "summary");
	assert_string_equal(wt_nearest("tarce", words, 4), "trace");
	assert_string_equal(wt_nearest("sum", words, 4), "summary");
	assert_string_equal(wt_nearest("sq", words, 4), "sql");
	assert_string_equal(wt_nearest("banana", words, 4), "");
	assert_string_equal(wt_nearest("", words, 4), "");
}

static void test_environment(void **state)
{
	struct settings s = {.summary = -1};
	int code;

	(void)state;
	setenv("WAVETAP_OUTPUT", "env.db", 1);
	setenv("WAVETAP_NO_SUMMARY", "yes", 1);
	setenv("WAVETAP_FORCE", "0", 1);
	setenv("WAVETAP_BUFFER", "", 1);
	assert_int_equal(wt_options__from_environment(options, &s, &code), 0);
	assert_string_equal(s.output, "env.db");
	assert_int_equal(s.summary, 0);
	assert_int_equal(s.flag, 0);
	setenv("WAVETAP_LIMIT", "many", 1);
	assert_int_equal(wt_options__from_environment(options, &s, &code), -1);
	assert_int_equal(code, WT_EXIT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_stop_early),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
