// SPDX-License-Identifier: MIT
/*
 * One row on its way into a table: begin, put each column in order, end.
 *
 *   struct wt_row row = wt_row__begin(store, WT_T_LOST);
 *
 *   wt_row__put_null(&row);
 *   …
 *   return wt_row__end(&row);
 */
#ifndef WT_STORE_ROW_H
#define WT_STORE_ROW_H

#include "store/store_private.h"

struct wt_row {
	struct wt_store *store;
	enum wt_table table;
	sqlite3_stmt *stmt;
	struct wt_batch *batch; /* NULL: the row goes into `stmt` */
	int at;
};

struct wt_row wt_row__begin(struct wt_store *store, enum wt_table table);
/* For the tables of events: the row waits until there are WT_STORE_BATCH. Only integers. */
struct wt_row wt_row__begin_batched(struct wt_store *store, struct wt_batch *batch);

void wt_row__put(struct wt_row *row, int64_t value);
void wt_row__put_null(struct wt_row *row);
/* 64-bit patterns (handles, addresses) keep their bits: SQLite's integers are signed. */
void wt_row__put_bits(struct wt_row *row, uint64_t value);
void wt_row__put_bits_unless(struct wt_row *row, uint64_t value, uint64_t absent);
void wt_row__put_unless(struct wt_row *row, uint64_t value, uint64_t absent);
/* An id of the caller, moved behind those of the file; 0 is absent. */
void wt_row__put_id(struct wt_row *row, uint64_t id, enum wt_table of);
/* A device's id, or WT_STORE_HOST, which is 0 in the file: devices count from 1. */
void wt_row__put_place(struct wt_row *row, uint32_t device_id);
/* CLOCK_BOOTTIME to the file's time; WT_ABSENT is absent. */
void wt_row__put_time(struct wt_row *row, uint64_t ns);
/* NULL and "" are absent. The text must live until the row's end. */
void wt_row__put_text(struct wt_row *row, const char *text);
/* Three columns; 0,0,0 is absent. */
void wt_row__put_dimensions(struct wt_row *row, const uint32_t dimensions[3]);

/* 0, or the store's first failure. */
int wt_row__end(struct wt_row *row);

/* Remembers the first failure; always negative. */
int wt_store_write__fail(struct wt_store *store, int code);
/* The file's id of a string, added if it is new; 0: failed. */
int64_t wt_store_write__string(struct wt_store *store, const char *text);

#endif
