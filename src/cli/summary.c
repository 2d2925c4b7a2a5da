// SPDX-License-Identifier: MIT
/* wavetap summary: what took the time. First what was captured and lost, then the table. */
#include "cli/summary.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/commands.h"

/* Words of --by: those of wt_summary_bys first, in the same order, then those to come. */
#define BY_WORDS     "kernel|api|copy|stream|device|process|range|graph|wait|path|rank"
#define SORT_WORDS   "total|count|average|max|name"
#define ROWS_DEFAULT 20
#define UNSET        UINT64_MAX

struct settings {
	unsigned by, sort, names;
	uint64_t limit, since, until;
	const char *group;
	int json, csv, table;
};

#define AT(field) offsetof(struct settings, field)

const struct wt_option wt_options_summary[] = {
	{0, "by", BY_WORDS, WT_OPTION_CHOICE, AT(by),
		"what a row is (default kernel); range, graph, wait, path and rank come later"},
	{'n', "limit", "N", WT_OPTION_COUNT, AT(limit), "rows to print (default 20, 0: all)"},
	{0, "sort", SORT_WORDS, WT_OPTION_CHOICE, AT(sort), "order of the rows (default total)"},
	{0, "group", "REGEX", WT_OPTION_TEXT, AT(group),
		"add rows up by what the extended regular expression matches in their name, or its"
		" first bracket; the rest is (other)"},
	{0, "since", "TIME", WT_OPTION_DURATION, AT(since),
		"count what began this long after the trace's start (1.5s, 20ms)"},
	{0, "until", "TIME", WT_OPTION_DURATION, AT(until), "count what began before this"},
	{0, "names", "short|full|mangled", WT_OPTION_CHOICE, AT(names),
		"kernel names: without namespaces and parameters (default), in full, or as stored"},
	{0, "json", NULL, WT_OPTION_FLAG, AT(json), "print JSON, times in integer nanoseconds"},
	{0, "csv", NULL, WT_OPTION_FLAG, AT(csv), "print CSV, times in integer nanoseconds"},
	/* for the end of `wavetap trace`, which has said the rest */
	{0, "table", NULL, WT_OPTION_FLAG, AT(table), NULL},
	{0},
};

/* ---- columns ------------------------------------------------------------ */

enum kind { KIND_NAME, KIND_TIME, KIND_COUNT, KIND_SIZE, KIND_RATE, KIND_SHARE };

static const struct column {
	const char *title, *key;
	enum kind kind;
	unsigned flags;
} columns[] = {
	[WT_COLUMN_SHARE] = {"Share", "share", KIND_SHARE, 0},
	[WT_COLUMN_TOTAL] = {"Total", "total_ns", KIND_TIME, 0},
	[WT_COLUMN_COUNT] = {"Count", "count", KIND_COUNT, 0},
	[WT_COLUMN_AVERAGE] = {"Average", "average_ns", KIND_TIME, WT_TABLE_DROP},
	[WT_COLUMN_MIN] = {"Min", "min_ns", KIND_TIME, WT_TABLE_DROP},
	[WT_COLUMN_MAX] = {"Max", "max_ns", KIND_TIME, WT_TABLE_DROP},
	[WT_COLUMN_BYTES] = {"Bytes", "bytes", KIND_SIZE, WT_TABLE_DROP},
	[WT_COLUMN_RATE] = {"Rate", "bytes_per_second", KIND_RATE, 0},
	[WT_COLUMN_FAILED] = {"Failed", "failed", KIND_COUNT, 0},
	[WT_COLUMN_UNRETURNED] = {"Open", "not_returned", KIND_COUNT, WT_TABLE_DROP},
	[WT_COLUMN_KERNELS] = {"Kernels", "kernels", KIND_COUNT, 0},
	[WT_COLUMN_COPIES] = {"Copies", "copies", KIND_COUNT, 0},
	[WT_COLUMN_BUSY] = {"Busy", "busy_ns", KIND_TIME, 0},
	[WT_COLUMN_BUSY_SHARE] = {"Share", "busy_share", KIND_SHARE, 0},
	[WT_COLUMN_CALLS] = {"API calls", "api_calls", KIND_COUNT, 0},
	[WT_COLUMN_CALL_TIME] = {"In calls", "api_total_ns", KIND_TIME, WT_TABLE_DROP},
	[WT_COLUMN_NAME] = {"Name", "name", KIND_NAME, WT_TABLE_FLEX},
};

/* A cell's number; shares and rates are fractions. Negative: there is none. */
static double value_of(
	const struct wt_summary *summary, const struct wt_summary_row *row, enum wt_column column)
{
	for (int i = 0; i < 2; i++)
		if (summary->by->extra[i] == column)
			return row->extra[i] == WT_SUMMARY_ABSENT ? -1 : (double)row->extra[i];
	switch (column) {
	case WT_COLUMN_SHARE:
		return summary->total_ns ? (double)row->total_ns / (double)summary->total_ns : -1;
	case WT_COLUMN_TOTAL:
		return (double)row->total_ns;
	case WT_COLUMN_COUNT:
		return (double)row->count;
	case WT_COLUMN_AVERAGE:
		return row->count ? (double)(row->total_ns / row->count) : -1;
	case WT_COLUMN_MIN:
		return row->min_ns == UINT64_MAX ? -1 : (double)row->min_ns;
	case WT_COLUMN_MAX:
		return row->min_ns == UINT64_MAX ? -1 : (double)row->max_ns;
	case WT_COLUMN_RATE:
		if (row->extra[0] == WT_SUMMARY_ABSENT)
			return -1;
		return row->total_ns ? (double)row->extra[0] * 1e9 / (double)row->total_ns : -1;
	case WT_COLUMN_BUSY:
		return (double)row->busy_ns;
	case WT_COLUMN_BUSY_SHARE:
		return summary->span_ns ? (double)row->busy_ns / (double)summary->span_ns : -1;
	default:
		return -1;
	}
}

/* Columns of failures: empty, and so left out of the table, where there were none. */
static bool is_all_zero(const struct wt_summary *summary, enum wt_column column)
{
	if (column != WT_COLUMN_FAILED && column != WT_COLUMN_UNRETURNED)
		return false;
	for (size_t i = 0; i < summary->rows.cnt; i++)
		if (value_of(summary, &summary->rows.data[i], column) > 0)
			return false;
	return true;
}

/* For people. */
static void format_cell(char text[WT_UNITS_BYTES], enum kind kind, double value)
{
	static const char *const rates[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
	int unit = 0;

	if (value < 0) {
		text[0] = '\0';
		return;
	}
	switch (kind) {
	case KIND_TIME:
		wt_units__time(text, (uint64_t)value);
		break;
	case KIND_COUNT:
		wt_units__count(text, (uint64_t)value);
		break;
	case KIND_SIZE:
		wt_units__size(text, (uint64_t)value);
		break;
	case KIND_SHARE:
		wt_units__percent(text, value, 1);
		if (value > 0 && value < 0.0005)
			snprintf(text, WT_UNITS_BYTES, "<0.1 %%");
		break;
	default:
		for (; value >= 999.5 && unit < 4; unit++)
			value /= 1000;
		snprintf(text, WT_UNITS_BYTES, "%.*f %s",
			value < 9.95   ? 2
			: value < 99.5 ? 1
				       : 0,
			value, rates[unit]);
	}
}

/* For programs. */
static void format_plain(char text[WT_UNITS_BYTES], enum kind kind, double value)
{
	if (value < 0)
		text[0] = '\0';
	else if (kind == KIND_SHARE)
		snprintf(text, WT_UNITS_BYTES, "%.6f", value);
	else
		snprintf(text, WT_UNITS_BYTES, "%.0f", value);
}

/* ---- output ------------------------------------------------------------- */

static int print_table(const struct wt_summary *summary, size_t row_cnt, bool csv)
{
	struct wt_table_column heads[12];
	bool blank[12];
	struct wt_table *table;
	size_t column_cnt = 0;
	int code = 0;

	for (; summary->by->columns[column_cnt]; column_cnt++) {
		const struct column *column = &columns[summary->by->columns[column_cnt]];
		bool name = column->kind == KIND_NAME;

		blank[column_cnt] = !csv && is_all_zero(summary, summary->by->columns[column_cnt]);
		heads[column_cnt] = (struct wt_table_column){csv    ? column->key
							     : name ? summary->by->title
								    : column->title,
			column->flags | (name ? 0 : WT_TABLE_RIGHT | WT_TABLE_HIDE)};
	}
	table = wt_table__new(heads, column_cnt);
	for (size_t i = 0; table && i < row_cnt; i++) {
		const struct wt_summary_row *row = &summary->rows.data[i];

		for (size_t c = 0; c < column_cnt && !code; c++) {
			enum wt_column column = summary->by->columns[c];
			double value = blank[c] ? -1 : value_of(summary, row, column);
			char text[WT_UNITS_BYTES];

			(csv ? format_plain : format_cell)(text, columns[column].kind, value);
			code = wt_table__add(
				table, column == WT_COLUMN_NAME
					       ? wt_strset__text(&summary->names, row->name)
					       : text);
		}
	}
	if (!table || code) {
		wt_table__free(table);
		return -ENOMEM;
	}
	if (csv)
		wt_table__print_csv(table, stdout);
	else
		wt_table__print(table, stdout, wt_table__terminal_width(stdout));
	wt_table__free(table);
	return 0;
}

static void print_json(const struct wt_summary *summary, const struct wt_facts *facts,
	const struct wt_trace *trace, size_t row_cnt)
{
	struct wt_json json = {.file = stdout, .indent = 2};

	wt_json__object(&json);
	wt_json__key_string(&json, "trace", trace->path);
	wt_facts__json(facts, &json);
	wt_json__key_string(&json, "by", summary->by->name);
	wt_json__key_uint(&json, "row_count", summary->rows.cnt);
	wt_json__key(&json, "rows");
	wt_json__array(&json);
	for (size_t i = 0; i < row_cnt; i++) {
		const struct wt_summary_row *row = &summary->rows.data[i];

		wt_json__object(&json);
		wt_json__key(&json, "name");
		wt_json__bytes(&json, wt_strset__text(&summary->names, row->name),
			wt_strset__length(&summary->names, row->name));
		for (const enum wt_column *c = summary->by->columns; *c; c++) {
			double value = value_of(summary, row, *c);

			if (*c == WT_COLUMN_NAME)
				continue;
			wt_json__key(&json, columns[*c].key);
			if (value < 0)
				wt_json__null(&json);
			else if (columns[*c].kind == KIND_SHARE)
				wt_json__double(&json, value);
			else
				wt_json__uint(&json, (uint64_t)value);
		}
		wt_json__end(&json);
	}
	wt_json__end(&json);
	wt_json__end(&json);
}

/* ---- order -------------------------------------------------------------- */

struct order {
	unsigned sort;
	const struct wt_summary *summary;
};

static uint64_t sort_key(const struct wt_summary_row *row, unsigned sort)
{
	switch (sort) {
	case 1:
		return row->count;
	case 2:
		return row->count ? row->total_ns / row->count : 0;
	case 3:
		return row->max_ns;
	default:
		return row->total_ns;
	}
}

static int compare(const void *left, const void *right, void *context)
{
	const struct wt_summary_row *a = left, *b = right;
	const struct order *order = context;
	uint64_t a_key = sort_key(a, order->sort), b_key = sort_key(b, order->sort);

	if (order->sort != 4 && a_key != b_key)
		return a_key < b_key ? 1 : -1;
	if (order->sort != 4 && a->extra[0] != b->extra[0])
		return a->extra[0] < b->extra[0] ? 1 : -1;
	return strcmp(wt_strset__text(&order->summary->names, a->name),
		wt_strset__text(&order->summary->names, b->name));
}

/* ---- the command -------------------------------------------------------- */

static int print_all(struct wt_summary *summary, const struct wt_facts *facts,
	const struct wt_trace *trace, const struct settings *settings)
{
	bool plain = settings->json || settings->csv;
	uint64_t limit = settings->limit == UNSET ? plain ? 0 : ROWS_DEFAULT : settings->limit;
	size_t row_cnt = limit && limit < summary->rows.cnt ? limit : summary->rows.cnt;
	struct order order = {settings->sort, summary};
	char more[WT_UNITS_BYTES];

	if (row_cnt)
		qsort_r(summary->rows.data, summary->rows.cnt, sizeof(*summary->rows.data), compare,
			&order);
	if (settings->json) {
		print_json(summary, facts, trace, row_cnt);
		return 0;
	}
	if (settings->csv)
		return print_table(summary, row_cnt, true);
	if (!settings->table) {
		wt_facts__print(facts, trace, stdout);
		putchar('\n');
	}
	if (!facts->op_cnt && !facts->api_cnt) {
		wt_facts__print_empty(facts, stdout);
		return 0;
	}
	if (!row_cnt) {
		printf("No %s with times%s.\n", summary->by->what,
			settings->since || settings->until != UNSET
				? " began between --since and --until"
				: " in this trace");
		return 0;
	}
	if (print_table(summary, row_cnt, false))
		return -ENOMEM;
	if (row_cnt < summary->rows.cnt)
		printf("%s more row%s; -n 0 prints all\n",
			wt_units__count(more, summary->rows.cnt - row_cnt),
			summary->rows.cnt - row_cnt == 1 ? "" : "s");
	return 0;
}

static int64_t file_time(const struct wt_facts *facts, const struct wt_trace *trace, uint64_t ns)
{
	/* an RPD file has no origin: its first event is */
	int64_t base = trace->kind == WT_TRACE_RPD ? facts->first_ns : 0, time;

	if (ns > INT64_MAX || __builtin_add_overflow(base, (int64_t)ns, &time))
		return INT64_MAX;
	return time;
}

static int summarise(const char *path, const struct settings *settings, const regex_t *group,
	struct wt_err **err)
{
	struct wt_summary summary = {.by = &wt_summary_bys[settings->by]};
	struct wt_summary_filter filter = {.names = settings->names, .group = group};
	struct wt_facts facts;
	struct wt_trace trace;
	int code = wt_trace__open(&trace, path, err);

	if (code)
		return code;
	code = wt_facts__read(&facts, &trace, err);
	if (code)
		goto out;
	filter.since = settings->since ? file_time(&facts, &trace, settings->since) : INT64_MIN;
	filter.until = file_time(&facts, &trace, settings->until);
	if (facts.last_ns > facts.first_ns)
		summary.span_ns = (uint64_t)facts.last_ns - (uint64_t)facts.first_ns;
	code = wt_summary__count(&summary, &trace, &filter, err);
	if (!code && print_all(&summary, &facts, &trace, settings))
		code = wt_err__new(err, -ENOMEM, "out of memory");
	wt_facts__free(&facts);
out:
	wt_summary__free(&summary);
	wt_trace__close(&trace);
	return code;
}

/* One of the words of --by that are still to come. */
static int refuse_by(unsigned by)
{
	const char *word = BY_WORDS;

	for (; by; by--)
		word = strchr(word, '|') + 1;
	fprintf(stderr,
		"wavetap: not yet: --by %.*s comes in a later version\nhint: --by kernel, api, "
		"copy, stream, device or process\n",
		(int)strcspn(word, "|"), word);
	return WT_EXIT_USAGE;
}

int wt_cmd_summary(int argc, char **argv)
{
	struct settings settings = {.limit = UNSET, .until = UNSET};
	WT_ERR_AUTO err = NULL;
	int operand_cnt, code;
	regex_t group;

	if (wt_options__parse("summary", wt_options_summary, &settings, argc, argv, false,
		    &operand_cnt, &code))
		return code;
	if (operand_cnt != 1)
		return wt_usage_error(
			"summary", operand_cnt ? "one FILE at a time" : "which FILE?");
	if (settings.by >= 6)
		return refuse_by(settings.by);
	if (settings.json && settings.csv)
		return wt_usage_error("summary", "--json and --csv exclude each other");
	if (settings.group && (code = regcomp(&group, settings.group, REG_EXTENDED))) {
		char text[128];

		regerror(code, &group, text, sizeof(text));
		return wt_usage_error("summary", "--group is not a regular expression: %s: %s",
			settings.group, text);
	}
	code = summarise(argv[1], &settings, settings.group ? &group : NULL, &err);
	if (settings.group)
		regfree(&group);
	wt_err__print(stderr, err);
	return code ? WT_EXIT_FAILED : 0;
}
