// SPDX-License-Identifier: MIT
/* SQLite with the project's errors. */
#ifndef WT_STORE_SQL_H
#define WT_STORE_SQL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct wt_err;

/* The negative errno that stands for what `db` failed with last. */
int wt_sql__errno(sqlite3 *db);
/* Starts an error with SQLite's message; `format` says what was done. Returns the code. */
int wt_sql__error(sqlite3 *db, struct wt_err **err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Runs statements that return nothing. */
int wt_sql__exec(sqlite3 *db, const char *sql, struct wt_err **err);
int wt_sql__execf(sqlite3 *db, struct wt_err **err, const char *format, ...);

int wt_sql__prepare(sqlite3 *db, sqlite3_stmt **stmt, const char *sql, struct wt_err **err);

/* The first column of the first row; `absent` when there is no row or it is NULL. */
int wt_sql__int(sqlite3 *db, const char *sql, int64_t absent, int64_t *value, struct wt_err **err);

/*
 * False on file systems without locks (some NFS and Lustre mounts), which SQLite
 * cannot tell from a file that somebody has locked. Call it while the process
 * has no other lock on the file: closing the probe would drop it.
 */
bool wt_sql__can_lock(const char *path);

/* True when `name` is a table (not a view) of the file, and has the column, if one is named. */
bool wt_sql__has_table(sqlite3 *db, const char *name);
bool wt_sql__has_column(sqlite3 *db, const char *table, const char *column);

#endif
