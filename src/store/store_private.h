// SPDX-License-Identifier: MIT
/* The store's insides, shared by its files. */
#ifndef WT_STORE_PRIVATE_H
#define WT_STORE_PRIVATE_H

#include <sqlite3.h>

#include "base/map.h"
#include "base/strset.h"
#include "base/vec.h"
#include "store/schema.h"
#include "store/store.h"

#define WT_STORE_RECENT 16384 /* power of two */

struct wt_started {
	uint32_t launch_id, symbol_id; /* without their bases */
};

/*
 * Events are inserted several rows a statement: half of what SQLite does for a
 * row, it does once a statement. Only tables of integers.
 */
#define WT_STORE_BATCH         32
#define WT_STORE_BATCH_COLUMNS 9

struct wt_batch {
	enum wt_table table;
	unsigned column_cnt, row_cnt;
	sqlite3_stmt *insert_many;       /* WT_STORE_BATCH rows */
	uint32_t absent[WT_STORE_BATCH]; /* bit a column: NULL */
	int64_t values[WT_STORE_BATCH][WT_STORE_BATCH_COLUMNS];
};

struct wt_store {
	struct wt_store_options options;
	char *path;      /* where the trace will be, absolute when it exists */
	char *work_path; /* the wavetap tables while they are written */
	char *rpd_path;  /* RPD's tables, made at close; NULL: not asked for */
	sqlite3 *db;     /* work_path */
	sqlite3 *source; /* the file that is added to, held locked; NULL: none */
	const char *source_vfs;
	bool work_created, rpd_created; /* this store made the files, and removes them */

	int failed;         /* the first failure, … */
	struct wt_err *err; /* … and its cause */

	sqlite3_stmt *insert[WT_T_CNT];
	struct wt_batch ops, apis;
	sqlite3_stmt *insert_memory; /* memory.c; NULL: none came yet */
	int64_t base[WT_T_CNT]; /* ids of this run lie behind those of the file */
	int64_t next[WT_T_CNT]; /* tables whose ids the store gives */
	int64_t shift_ns;       /* file's time = time - origin + shift */

	/* rows that many events share: the bytes of a key → its id - base */
	struct wt_strset strings, lanes, shapes, states, calls, launches;
	struct wt_map string_of_pointer; /* API names and domains are static strings */
	WT_VEC(int64_t) string_ids;      /* ids in the file, by id in `strings` - 1 */

	/*
	 * Which kernels a launch started: the launches of the last calls are
	 * remembered, an operation finds its own there. Those that come later
	 * do not matter: the same launch is seen many times.
	 */
	struct wt_strset started;        /* struct wt_started, each pair once */
	WT_VEC(uint32_t) launch_symbols; /* the last symbol, by launch: saves the look-up */
	struct {
		uint64_t api_id;
		uint32_t launch_id;
	} recent[WT_STORE_RECENT];
};

/* VFS for the file being built: nobody else knows it, so that locks are not needed. Tests replace
 * it. */
extern const char *wt_store__vfs;

/* row.c: inserts the rows that wait in the batches. */
int wt_store_write__flush(struct wt_store *store);

/* work.c: tables and statements of the work file; `fresh` when it has no rows yet. */
int wt_store_write__begin(struct wt_store *store, bool fresh, struct wt_err **err);
/* What only the end can know, then the views. */
int wt_store_write__finish(struct wt_store *store, bool fresh, struct wt_err **err);
/* memory.c: matches allocations and frees. */
int wt_store_write__memory(struct wt_store *store, struct wt_err **err);
void wt_store_write__free(struct wt_store *store);

/* rpd.c: brings `db` (new, or RPD's of any version, or RTL's) to RPD's schema 3. */
int wt_store_rpd__migrate(sqlite3 *db, struct wt_err **err);
/* Adds the rows of the wavetap file at `path`, ids behind those that are there. */
int wt_store_rpd__fill(sqlite3 *db, const char *path, struct wt_err **err);

#endif
