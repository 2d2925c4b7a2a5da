// SPDX-License-Identifier: MIT
#include "store/row.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "store/sql.h"

struct wt_row wt_row__begin(struct wt_store *store, enum wt_table table)
{
	return (struct wt_row){.store = store, .table = table, .stmt = store->insert[table]};
}

struct wt_row wt_row__begin_batched(struct wt_store *store, struct wt_batch *batch)
{
	batch->absent[batch->row_cnt] = 0;
	return (struct wt_row){.store = store, .table = batch->table, .batch = batch};
}

void wt_row__put_null(struct wt_row *row)
{
	if (row->batch)
		row->batch->absent[row->batch->row_cnt] |= 1u << row->at++;
	else
		sqlite3_bind_null(row->stmt, ++row->at);
}

void wt_row__put(struct wt_row *row, int64_t value)
{
	if (row->batch)
		row->batch->values[row->batch->row_cnt][row->at++] = value;
	else
		sqlite3_bind_int64(row->stmt, ++row->at, value);
}

void wt_row__put_bits(struct wt_row *row, uint64_t value)
{
	wt_row__put(row, (int64_t)value);
}

void wt_row__put_bits_unless(struct wt_row *row, uint64_t value, uint64_t absent)
{
	if (value == absent)
		wt_row__put_null(row);
	else
		wt_row__put_bits(row, value);
}

void wt_row__put_unless(struct wt_row *row, uint64_t value, uint64_t absent)
{
	if (value == absent)
		wt_row__put_null(row);
	else
		wt_row__put_bits(row, value);
}

void wt_row__put_id(struct wt_row *row, uint64_t id, enum wt_table of)
{
	if (id)
		wt_row__put(row, (int64_t)id + row->store->base[of]);
	else
		wt_row__put_null(row);
}

void wt_row__put_place(struct wt_row *row, uint32_t device_id)
{
	if (device_id == WT_STORE_HOST)
		wt_row__put(row, 0);
	else
		wt_row__put_id(row, device_id, WT_T_DEVICE);
}

void wt_row__put_time(struct wt_row *row, uint64_t ns)
{
	const struct wt_store *store = row->store;

	if (ns == WT_ABSENT)
		wt_row__put_null(row);
	else
		wt_row__put(row, (int64_t)(ns - store->options.origin_ns) + store->shift_ns);
}

void wt_row__put_text(struct wt_row *row, const char *text)
{
	if (text && text[0])
		sqlite3_bind_text(row->stmt, ++row->at, text, -1, SQLITE_STATIC);
	else
		wt_row__put_null(row);
}

void wt_row__put_dimensions(struct wt_row *row, const uint32_t dimensions[3])
{
	bool none = !dimensions[0] && !dimensions[1] && !dimensions[2];

	for (int i = 0; i < 3; i++)
		if (none)
			wt_row__put_null(row);
		else
			wt_row__put(row, dimensions[i]);
}

int wt_store_write__fail(struct wt_store *store, int code)
{
	if (!store->failed) {
		store->failed = code;
		if (!store->err)
			wt_err__errno(&store->err, code, "cannot store an event");
	}
	return store->failed;
}

static int insert(struct wt_store *store, enum wt_table table, sqlite3_stmt *stmt)
{
	if (sqlite3_step(stmt) != SQLITE_DONE && !store->failed)
		store->failed = wt_sql__error(
			store->db, &store->err, "cannot add a row to %s", wt_tables[table].name);
	sqlite3_reset(stmt);
	return store->failed;
}

static void bind_row(sqlite3_stmt *stmt, int at, const struct wt_batch *batch, unsigned row)
{
	for (unsigned column = 0; column < batch->column_cnt; column++)
		if (batch->absent[row] >> column & 1)
			sqlite3_bind_null(stmt, ++at);
		else
			sqlite3_bind_int64(stmt, ++at, batch->values[row][column]);
}

/* A full batch by one statement, a part of one row by row. */
static int flush(struct wt_store *store, struct wt_batch *batch)
{
	unsigned row_cnt = batch->row_cnt;

	batch->row_cnt = 0;
	if (row_cnt == WT_STORE_BATCH) {
		for (unsigned row = 0; row < row_cnt; row++)
			bind_row(batch->insert_many, (int)(row * batch->column_cnt), batch, row);
		return insert(store, batch->table, batch->insert_many);
	}
	for (unsigned row = 0; row < row_cnt && !store->failed; row++) {
		bind_row(store->insert[batch->table], 0, batch, row);
		insert(store, batch->table, store->insert[batch->table]);
	}
	return store->failed;
}

int wt_store_write__flush(struct wt_store *store)
{
	flush(store, &store->ops);
	return flush(store, &store->apis);
}

int wt_row__end(struct wt_row *row)
{
	if (!row->batch)
		return insert(row->store, row->table, row->stmt);
	if (++row->batch->row_cnt == WT_STORE_BATCH)
		return flush(row->store, row->batch);
	return row->store->failed;
}

int64_t wt_store_write__string(struct wt_store *store, const char *text)
{
	size_t length = strlen(text);
	uint32_t id = wt_strset__intern(&store->strings, text, length);
	struct wt_row row;

	if (!id)
		return wt_store_write__fail(store, -ENOMEM), 0;
	if (id <= store->string_ids.cnt)
		return store->string_ids.data[id - 1];
	if (wt_vec__push(&store->string_ids, store->next[WT_T_STRING]))
		return wt_store_write__fail(store, -ENOMEM), 0;
	row = wt_row__begin(store, WT_T_STRING);
	wt_row__put(&row, store->next[WT_T_STRING]);
	sqlite3_bind_text(row.stmt, ++row.at, text, (int)length, SQLITE_STATIC);
	if (wt_row__end(&row))
		return 0;
	return store->next[WT_T_STRING]++;
}
