// SPDX-License-Identifier: MIT
/* The SQL of both schemas, as data. Described in docs/FORMAT.md. */
#ifndef WT_STORE_SCHEMA_H
#define WT_STORE_SCHEMA_H

/* "WTAP", in the file's header (PRAGMA application_id) */
#define WT_STORE_APPLICATION_ID 0x57544150
/* PRAGMA user_version: counts up when a table changes its meaning */
#define WT_STORE_VERSION 1

/* The tables of the wavetap schema, in the order in which they are made. */
enum wt_table {
	WT_T_META,
	WT_T_RUN,
	WT_T_STRING,
	WT_T_PROCESS,
	WT_T_THREAD,
	WT_T_DEVICE,
	WT_T_SETTING,
	WT_T_VERSION,
	WT_T_QUEUE,
	WT_T_STREAM,
	WT_T_SYMBOL,
	WT_T_LANE,
	WT_T_SHAPE,
	WT_T_STATE,
	WT_T_OP,
	WT_T_COPY,
	WT_T_CALL,
	WT_T_LAUNCH,
	WT_T_API,
	WT_T_API_COPY,
	WT_T_API_ARGS,
	WT_T_ARG_NAME,
	WT_T_UNRECORDED,
	WT_T_MEMORY,
	WT_T_LOST,
	WT_T_CLOCK,
	WT_T_STATUS,
	WT_T_UNKNOWN,
	WT_T_CNT
};

struct wt_table_schema {
	const char *name;
	unsigned column_cnt;
	const char *columns; /* what stands between the parentheses of CREATE TABLE */
};

extern const struct wt_table_schema wt_tables[WT_T_CNT];

/* wt_string rows that every file begins with: what rocpd_op.opType_id refers to. */
enum wt_fixed_string {
	WT_STRING_EMPTY = 1,
	WT_STRING_KERNEL,
	WT_STRING_COPY_HTOH,
	WT_STRING_COPY_HTOD,
	WT_STRING_COPY_DTOH,
	WT_STRING_COPY_DTOD,
	WT_STRING_COPY,
	WT_STRING_FILL,
	WT_STRING_FIXED_CNT = WT_STRING_FILL
};

extern const char *const wt_fixed_strings[WT_STRING_FIXED_CNT + 1];

/* Empty tables, views and triggers that RPD's and RTL's readers expect; made at the end. */
extern const char wt_schema_views[];
/* The views of --schema rpd; ends with a NULL name. Those of an older file are replaced. */
struct wt_rpd_view {
	const char *name, *sql;
};
extern const struct wt_rpd_view wt_rpd_views[];
/* What wt_unknown holds: view, column, sentinel, meaning; ends with a NULL view. */
struct wt_unknown_row {
	const char *view, *column, *sentinel, *meaning;
};
extern const struct wt_unknown_row wt_unknown_rows[];

#endif
