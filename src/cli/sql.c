// SPDX-License-Identifier: MIT
/* wavetap sql: queries on a trace, read-only. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/table.h"
#include "base/vec.h"
#include "cli/commands.h"
#include "store/reader.h"
#include "store/sql.h"

struct settings {
	int json, csv;
};

const struct wt_option wt_options_sql[] = {
	{0, "json", NULL, WT_OPTION_FLAG, offsetof(struct settings, json),
		"print an array of objects, one a row"},
	{0, "csv", NULL, WT_OPTION_FLAG, offsetof(struct settings, csv), "print CSV"},
	{0},
};

/* A table is laid out before it is printed; more rows than people read go out as they come. */
#define TABLE_ROWS 100000

static void json_value(struct wt_json *json, sqlite3_stmt *stmt, int column)
{
	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_NULL:
		wt_json__null(json);
		break;
	case SQLITE_INTEGER:
		wt_json__int(json, sqlite3_column_int64(stmt, column));
		break;
	case SQLITE_FLOAT:
		wt_json__double(json, sqlite3_column_double(stmt, column));
		break;
	default:
		wt_json__bytes(json, wt_trace__text(stmt, column),
			(size_t)sqlite3_column_bytes(stmt, column));
	}
}

static int print_json(struct wt_trace *trace, sqlite3_stmt *stmt, struct wt_err **err)
{
	struct wt_json json = {.file = stdout, .indent = 2};
	int step;

	wt_json__array(&json);
	while ((step = wt_trace__step(trace, stmt, err)) == 1) {
		wt_json__object(&json);
		for (int column = 0; column < sqlite3_column_count(stmt); column++) {
			wt_json__key(&json, sqlite3_column_name(stmt, column));
			json_value(&json, stmt, column);
		}
		wt_json__end(&json);
	}
	wt_json__end(&json);
	return step;
}

static int print_csv(struct wt_trace *trace, sqlite3_stmt *stmt, struct wt_err **err)
{
	int column_cnt = sqlite3_column_count(stmt), step;

	for (int column = 0; column < column_cnt; column++) {
		wt_table__csv_field(stdout, sqlite3_column_name(stmt, column));
		putchar(column + 1 < column_cnt ? ',' : '\n');
	}
	while ((step = wt_trace__step(trace, stmt, err)) == 1)
		for (int column = 0; column < column_cnt; column++) {
			wt_table__csv_field(stdout, wt_trace__text(stmt, column));
			putchar(column + 1 < column_cnt ? ',' : '\n');
		}
	return step;
}

static int fill_table(struct wt_trace *trace, sqlite3_stmt *stmt, struct wt_table *table,
	bool *numbers, struct wt_err **err)
{
	int column_cnt = sqlite3_column_count(stmt), step;

	while ((step = wt_trace__step(trace, stmt, err)) == 1)
		for (int column = 0; column < column_cnt; column++) {
			int type = sqlite3_column_type(stmt, column);

			numbers[column] &= type != SQLITE_TEXT && type != SQLITE_BLOB;
			if (wt_table__add(table,
				    type == SQLITE_NULL ? "NULL" : wt_trace__text(stmt, column)))
				return wt_err__new(err, -ENOMEM, "out of memory");
			if (wt_table__row_cnt(table) == TABLE_ROWS)
				return wt_err__new(err, -E2BIG,
					"more than %d rows: use --csv or --json, or LIMIT",
					TABLE_ROWS);
		}
	return step;
}

static int print_table(struct wt_trace *trace, sqlite3_stmt *stmt, struct wt_err **err)
{
	int column_cnt = sqlite3_column_count(stmt), code = -ENOMEM;
	struct wt_table_column *heads = calloc((size_t)column_cnt, sizeof(*heads));
	bool *numbers = calloc((size_t)column_cnt, sizeof(*numbers));
	struct wt_table *table = NULL;

	if (heads && numbers) {
		for (int column = 0; column < column_cnt; column++) {
			heads[column].title = sqlite3_column_name(stmt, column);
			numbers[column] = true;
		}
		table = wt_table__new(heads, (size_t)column_cnt);
	}
	if (!table)
		wt_err__new(err, code, "out of memory");
	else
		code = fill_table(trace, stmt, table, numbers, err);
	for (int column = 0; table && column < column_cnt; column++)
		heads[column].flags = numbers[column] ? WT_TABLE_RIGHT : WT_TABLE_FLEX;
	if (!code)
		wt_table__print(table, stdout, wt_table__terminal_width(stdout));
	wt_table__free(table);
	free(numbers);
	free(heads);
	return code;
}

/* All statements of `sql`; dot commands and writing are refused by SQLite itself. */
static int run(struct wt_trace *trace, const char *sql, const struct settings *settings,
	struct wt_err **err)
{
	int code = 0;

	while (!code && sql[strspn(sql, " \t\r\n;")]) {
		sqlite3_stmt *stmt = NULL;

		if (sqlite3_prepare_v2(trace->db, sql, -1, &stmt, &sql) != SQLITE_OK)
			return wt_err__new(err, -EINVAL, "%s", sqlite3_errmsg(trace->db));
		if (!stmt)
			continue; /* a comment */
		if (!sqlite3_column_count(stmt))
			code = wt_trace__step(trace, stmt, err);
		else if (settings->json)
			code = print_json(trace, stmt, err);
		else
			code = (settings->csv ? print_csv : print_table)(trace, stmt, err);
		sqlite3_finalize(stmt);
	}
	return code;
}

/* In new memory. */
static char *read_queries(FILE *file)
{
	WT_VEC(char) text = {0};
	int byte;

	while ((byte = getc(file)) != EOF)
		if (wt_vec__push(&text, (char)byte))
			break;
	if (byte != EOF || wt_vec__push(&text, '\0'))
		wt_vec__free(&text);
	return text.data;
}

static void add_hint(struct wt_err **err, int code, const char *path)
{
	const char *text = wt_err__text(*err);

	if (strstr(text, "readonly"))
		wt_err__hint(err, "wavetap sql only reads");
	else if (strstr(text, "no such"))
		wt_err__hint(err,
			"wavetap sql %s 'SELECT name, sql FROM sqlite_master' lists what there is",
			path);
	wt_err__wrap(err, code, "cannot answer the query");
}

int wt_cmd_sql(int argc, char **argv)
{
	struct settings settings = {0};
	WT_ERR_AUTO err = NULL;
	struct wt_trace trace;
	int operand_cnt, code;
	char *typed = NULL;

	if (wt_options__parse(
		    "sql", wt_options_sql, &settings, argc, argv, false, &operand_cnt, &code))
		return code;
	if (operand_cnt < 1 || operand_cnt > 2)
		return wt_usage_error("sql", operand_cnt ? "one QUERY, in quotes" : "which FILE?");
	if (settings.json && settings.csv)
		return wt_usage_error("sql", "--json and --csv exclude each other");
	code = wt_trace__open(&trace, argv[1], &err);
	if (!code) {
		wt_trace__unbound(&trace);
		if (operand_cnt == 1)
			typed = read_queries(stdin);
		if (operand_cnt == 1 && !typed)
			code = wt_err__new(&err, -ENOMEM, "out of memory");
		else
			code = run(&trace, typed ? typed : argv[2], &settings, &err);
		if (code)
			add_hint(&err, code, argv[1]);
		free(typed);
		wt_trace__close(&trace);
	}
	wt_err__print(stderr, err);
	return code ? WT_EXIT_FAILED : 0;
}
