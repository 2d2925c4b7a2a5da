// SPDX-License-Identifier: MIT
/*
 * A text table that fits the terminal, and the same as CSV. Cells are copied;
 * the widest flexible column gives way first, its texts end in "…".
 */
#ifndef WT_BASE_TABLE_H
#define WT_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum wt_table_flag {
	WT_TABLE_RIGHT = 1 << 0, /* numbers */
	WT_TABLE_FLEX = 1 << 1,  /* may be shortened */
	WT_TABLE_DROP = 1 << 2,  /* left out when the terminal is narrow, the last such first */
	WT_TABLE_HIDE = 1 << 3,  /* left out when all its cells are empty */
};

struct wt_table_column {
	const char *title;
	unsigned flags; /* enum wt_table_flag */
};

struct wt_table;

/* `columns` must live as long as the table. NULL: out of memory. */
struct wt_table *wt_table__new(const struct wt_table_column *columns, size_t column_cnt);
/* Appends a cell, row after row; NULL is an empty one. 0 or -ENOMEM. */
int wt_table__add(struct wt_table *table, const char *text);
size_t wt_table__row_cnt(const struct wt_table *table);
/* `width` 0: no limit. */
void wt_table__print(const struct wt_table *table, FILE *file, size_t width);
/* With a line of titles, quoted as RFC 4180 says. */
void wt_table__print_csv(const struct wt_table *table, FILE *file);
void wt_table__free(struct wt_table *table);

/* One CSV field, quoted where needed. */
void wt_table__csv_field(FILE *file, const char *text);

/* Columns of the terminal behind `file`, or $COLUMNS; 0: not a terminal. */
size_t wt_table__terminal_width(FILE *file);

#endif
