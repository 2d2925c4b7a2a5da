// SPDX-License-Identifier: MIT
/* What `summary` counts: rows by kernel, API call, copy, stream, device or process. */
#ifndef WT_CLI_SUMMARY_H
#define WT_CLI_SUMMARY_H

#include <regex.h>

#include "base/strset.h"
#include "cli/demangle.h"
#include "cli/facts.h"

enum wt_column {
	WT_COLUMN_END = 0,
	WT_COLUMN_SHARE, /* of all rows' total */
	WT_COLUMN_TOTAL,
	WT_COLUMN_COUNT,
	WT_COLUMN_AVERAGE,
	WT_COLUMN_MIN,
	WT_COLUMN_MAX,
	WT_COLUMN_BYTES,
	WT_COLUMN_RATE, /* bytes a second of total */
	WT_COLUMN_FAILED,
	WT_COLUMN_UNRETURNED,
	WT_COLUMN_KERNELS,
	WT_COLUMN_COPIES,
	WT_COLUMN_BUSY,       /* time in which at least one operation ran */
	WT_COLUMN_BUSY_SHARE, /* of the span */
	WT_COLUMN_CALLS,
	WT_COLUMN_CALL_TIME,
	WT_COLUMN_NAME,
};

struct wt_summary_by {
	const char *name;  /* --by; NULL ends the rows */
	const char *title; /* of the name's column */
	const char *what;  /* "kernels": for "no kernels in …" */
	bool kernel_names; /* the first column is a mangled name */
	/*
	 * By kind of file, NULL: such files do not tell. Columns: name, count, total,
	 * min, max, extra 0, extra 1; ?1 and ?2 bound the start.
	 */
	const char *sql[2];
	/* (name, start, duration) in order of name and start, for the time in which anything ran */
	const char *busy_sql[2];
	enum wt_column extra[2]; /* what the extra columns are */
	enum wt_column columns[12];
};

extern const struct wt_summary_by wt_summary_bys[];

#define WT_SUMMARY_ABSENT UINT64_MAX

struct wt_summary_row {
	uint64_t count, total_ns, min_ns, max_ns, busy_ns;
	uint64_t extra[2]; /* WT_SUMMARY_ABSENT: not told */
	uint32_t name;     /* in names */
};

struct wt_summary {
	const struct wt_summary_by *by;
	struct wt_strset names;
	WT_VEC(struct wt_summary_row) rows; /* by name - 1 */
	uint64_t total_ns, span_ns;
};

struct wt_summary_filter {
	int64_t since, until; /* file's time */
	enum wt_names names;
	const regex_t *group; /* NULL: none */
};

int wt_summary__count(struct wt_summary *summary, struct wt_trace *trace,
	const struct wt_summary_filter *filter, struct wt_err **err);
void wt_summary__free(struct wt_summary *summary);

#endif
