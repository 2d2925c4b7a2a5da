// SPDX-License-Identifier: MIT
/* wavetap recover: finishes a trace whose collector was killed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/units.h"
#include "cli/commands.h"
#include "collect/output.h"
#include "collect/recover.h"

struct recover_settings {
	const char *output;
	int force;
};

const struct wt_option wt_options_recover[] = {
	{'o', "output", "FILE", WT_OPTION_TEXT, offsetof(struct recover_settings, output),
		"where the trace goes (default: where it was to go)"},
	{'f', "force", NULL, WT_OPTION_FLAG, offsetof(struct recover_settings, force),
		"replace an existing file"},
	{0},
};

static int print(const struct wt_recover_result *result)
{
	uint64_t op_cnt = result->stats.op_cnt + result->stats.copy_cnt;
	char ops[WT_UNITS_BYTES], calls[WT_UNITS_BYTES], lost[WT_UNITS_BYTES];

	if (result->was_complete) {
		printf("%s was complete already\n", *result->output ? result->output : "the trace");
		return 0;
	}
	printf("%s: %s operation%s, %s call%s, %s lost\n", result->output,
		wt_units__count(ops, op_cnt), op_cnt == 1 ? "" : "s",
		wt_units__count(calls, result->stats.call_cnt),
		result->stats.call_cnt == 1 ? "" : "s",
		wt_units__count(lost, result->stats.lost_cnt));
	return 0;
}

int wt_cmd_recover(int argc, char **argv)
{
	struct recover_settings s = {0};
	struct wt_recover_result *result;
	WT_ERR_AUTO err = NULL;
	char output[PATH_MAX];
	int operands, code;

	if (wt_options__parse(
		    "recover", wt_options_recover, &s, argc, argv, false, &operands, &code))
		return code;
	if (operands != 1)
		return wt_usage_error("recover", "recover takes one session directory or segment "
						 "file");
	result = calloc(1, sizeof(*result));
	if (!result)
		return WT_EXIT_FAILED;
	if (s.output && wt_output__resolve(output, sizeof(output), s.output, NULL, 0, &err))
		code = WT_EXIT_FAILED;
	else if (wt_recover__run(argv[1], s.output ? output : NULL, s.force, result, &err))
		code = WT_EXIT_FAILED;
	else
		code = print(result);
	wt_err__print(stderr, err);
	free(result);
	return code;
}
