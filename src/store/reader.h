// SPDX-License-Identifier: MIT
/*
 * Reading a trace, which may come from anywhere: the file is treated as
 * hostile. It is opened read-only, only real tables are asked (a view of the
 * file could run for ever), and the work a query may do is bounded by the
 * file's size.
 */
#ifndef WT_STORE_READER_H
#define WT_STORE_READER_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct wt_err;

enum wt_trace_kind {
	WT_TRACE_WAVETAP = 0,
	WT_TRACE_RPD = 1, /* RPD of any version, RTL, --schema rpd */
};

struct wt_trace {
	sqlite3 *db;
	const char *path; /* the caller's */
	enum wt_trace_kind kind;
	uint64_t file_bytes;
	uint64_t budget; /* VDBE steps left, in thousands */
};

/* 0 or a negative errno. `trace` need not be closed after a failure. */
int wt_trace__open(struct wt_trace *trace, const char *path, struct wt_err **err);
void wt_trace__close(struct wt_trace *trace);

/* Lifts the bound, for queries that the user typed. */
void wt_trace__unbound(struct wt_trace *trace);

/* `stmt` is NULL after a failure; finalize it with sqlite3_finalize. */
int wt_trace__prepare(
	struct wt_trace *trace, sqlite3_stmt **stmt, const char *sql, struct wt_err **err);
/* 1 a row, 0 no more, negative errno. */
int wt_trace__step(struct wt_trace *trace, sqlite3_stmt *stmt, struct wt_err **err);

/* One value of a query of one row. */
int wt_trace__int(struct wt_trace *trace, const char *sql, int64_t absent, int64_t *value,
	struct wt_err **err);

/* A column whatever its type: never NULL, never negative. */
const char *wt_trace__text(sqlite3_stmt *stmt, int column);
uint64_t wt_trace__uint(sqlite3_stmt *stmt, int column);

#endif
