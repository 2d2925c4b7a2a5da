// SPDX-License-Identifier: MIT
#include "base/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"
#include "base/vec.h"

#define GAP      2
#define FLEX_MIN 12

struct wt_table {
	const struct wt_table_column *columns;
	size_t column_cnt;
	WT_VEC(char *) cells;
};

struct wt_table *wt_table__new(const struct wt_table_column *columns, size_t column_cnt)
{
	struct wt_table *table = calloc(1, sizeof(*table));

	if (table) {
		table->columns = columns;
		table->column_cnt = column_cnt;
	}
	return table;
}

int wt_table__add(struct wt_table *table, const char *text)
{
	char *copy = strdup(text ? text : "");

	if (!copy || wt_vec__push(&table->cells, copy)) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

size_t wt_table__row_cnt(const struct wt_table *table)
{
	return table->cells.cnt / table->column_cnt;
}

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Columns on the terminal: code points, near enough for kernel and function names. */
static size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += !is_continuation(*text);
	return width;
}

static void put_blanks(FILE *file, size_t cnt)
{
	fprintf(file, "%*s", (int)cnt, "");
}

/* Names come from the traced program: control characters must not reach the terminal. */
static void put_text(FILE *file, const char *text, size_t width)
{
	for (; *text && (width || is_continuation(*text)); text++) {
		width -= !is_continuation(*text);
		fputc((unsigned char)*text < 32 || *text == 127 ? '?' : *text, file);
	}
}

static void put_cell(FILE *file, const char *text, size_t width, bool right, bool last)
{
	size_t own = text_width(text);

	if (own > width) {
		put_text(file, text, width - 1);
		fputs("\342\200\246", file);
		return;
	}
	if (right)
		put_blanks(file, width - own);
	put_text(file, text, own);
	if (!right && !last)
		put_blanks(file, width - own);
}

static size_t total_width(const struct wt_table *table, const size_t *width)
{
	size_t total = 0;

	for (size_t i = 0; i < table->column_cnt; i++)
		if (width[i])
			total += width[i] + (total ? GAP : 0);
	return total;
}

/* The widest column that may still shrink; column_cnt: none. */
static size_t widest_flexible(const struct wt_table *table, const size_t *width)
{
	size_t best = table->column_cnt;

	for (size_t i = 0; i < table->column_cnt; i++)
		if (table->columns[i].flags & WT_TABLE_FLEX && width[i] > FLEX_MIN &&
			(best == table->column_cnt || width[i] > width[best]))
			best = i;
	return best;
}

/*
 * First leaves out droppable columns until the flexible ones keep half of the
 * line or what they need, then shrinks the flexible ones.
 */
static void fit(const struct wt_table *table, size_t *width, size_t limit)
{
	for (size_t i = table->column_cnt; limit && i-- > 0;) {
		size_t flexible = widest_flexible(table, width);
		size_t total = total_width(table, width), spare = 0;

		if (total <= limit)
			return;
		if (flexible < table->column_cnt && width[flexible] > limit / 2)
			spare = width[flexible] - limit / 2;
		if (total - spare <= limit)
			break;
		if (table->columns[i].flags & WT_TABLE_DROP)
			width[i] = 0;
	}
	while (limit && total_width(table, width) > limit) {
		size_t flexible = widest_flexible(table, width);

		if (flexible == table->column_cnt)
			return;
		width[flexible]--;
	}
}

static void put_row(const struct wt_table *table, FILE *file, const size_t *width, size_t row)
{
	bool first = true;

	for (size_t i = 0; i < table->column_cnt; i++) {
		const struct wt_table_column *column = &table->columns[i];
		const char *text =
			row ? table->cells.data[(row - 1) * table->column_cnt + i] : column->title;

		if (!width[i])
			continue;
		if (!first)
			put_blanks(file, GAP);
		first = false;
		put_cell(file, text, width[i], column->flags & WT_TABLE_RIGHT,
			i + 1 == table->column_cnt);
	}
	fputc('\n', file);
}

static bool is_empty(const struct wt_table *table, size_t column)
{
	for (size_t row = 0; row < wt_table__row_cnt(table); row++)
		if (table->cells.data[row * table->column_cnt + column][0])
			return false;
	return true;
}

void wt_table__print(const struct wt_table *table, FILE *file, size_t limit)
{
	size_t *width = calloc(table->column_cnt, sizeof(*width));
	size_t row_cnt = wt_table__row_cnt(table);

	if (!width)
		return;
	for (size_t i = 0; i < table->column_cnt; i++) {
		width[i] = text_width(table->columns[i].title);
		for (size_t row = 0; row < row_cnt; row++) {
			size_t own = text_width(table->cells.data[row * table->column_cnt + i]);

			width[i] = own > width[i] ? own : width[i];
		}
		width[i] = width[i] ? width[i] : 1;
		if (table->columns[i].flags & WT_TABLE_HIDE && is_empty(table, i))
			width[i] = 0;
	}
	fit(table, width, limit);
	for (size_t row = 0; row <= row_cnt; row++)
		put_row(table, file, width, row);
	free(width);
}

void wt_table__csv_field(FILE *file, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, file);
		return;
	}
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

void wt_table__print_csv(const struct wt_table *table, FILE *file)
{
	for (size_t i = 0; i < table->column_cnt; i++) {
		wt_table__csv_field(file, table->columns[i].title);
		fputc(i + 1 < table->column_cnt ? ',' : '\n', file);
	}
	for (size_t i = 0; i < wt_table__row_cnt(table) * table->column_cnt; i++) {
		wt_table__csv_field(file, table->cells.data[i]);
		fputc((i + 1) % table->column_cnt ? ',' : '\n', file);
	}
}

void wt_table__free(struct wt_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->cells.cnt; i++)
		free(table->cells.data[i]);
	wt_vec__free(&table->cells);
	free(table);
}

size_t wt_table__terminal_width(FILE *file)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t width;

	if (!ioctl(fileno(file), TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	if (columns && !wt_units__parse_count(columns, &width) && width >= 20 && width < 10000)
		return (size_t)width;
	return 0;
}
