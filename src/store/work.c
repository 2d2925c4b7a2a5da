// SPDX-License-Identifier: MIT
/* The file while it is written: its tables, statements and where this run's ids begin. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/sql.h"
#include "store/store_private.h"

/* Tables whose rows have ids of the caller or of this run; the others number themselves. */
static const enum wt_table based[] = {WT_T_RUN, WT_T_STRING, WT_T_PROCESS, WT_T_THREAD, WT_T_DEVICE,
	WT_T_QUEUE, WT_T_STREAM, WT_T_SYMBOL, WT_T_LANE, WT_T_SHAPE, WT_T_STATE, WT_T_OP, WT_T_CALL,
	WT_T_LAUNCH, WT_T_API, WT_T_MEMORY};

static int create_tables(struct wt_store *store, struct wt_err **err)
{
	for (int table = 0; table < WT_T_CNT; table++) {
		int code = wt_sql__execf(store->db, err, "CREATE TABLE %s(%s)",
			wt_tables[table].name, wt_tables[table].columns);

		if (code)
			return code;
	}
	return wt_sql__execf(store->db, err, "PRAGMA application_id = %d; PRAGMA user_version = %d",
		WT_STORE_APPLICATION_ID, WT_STORE_VERSION);
}

static int prepare_insert(struct wt_store *store, enum wt_table table, unsigned row_cnt,
	sqlite3_stmt **stmt, struct wt_err **err)
{
	char sql[WT_STORE_BATCH * (2 * WT_STORE_BATCH_COLUMNS + 3) + 64];
	int length = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES ", wt_tables[table].name);

	for (unsigned row = 0; row < row_cnt; row++) {
		length += snprintf(
			sql + length, sizeof(sql) - (size_t)length, "%s(?", row ? "," : "");
		for (unsigned column = 1; column < wt_tables[table].column_cnt; column++)
			length += snprintf(sql + length, sizeof(sql) - (size_t)length, ",?");
		length += snprintf(sql + length, sizeof(sql) - (size_t)length, ")");
	}
	return wt_sql__prepare(store->db, stmt, sql, err);
}

static int prepare_batch(
	struct wt_store *store, enum wt_table table, struct wt_batch *batch, struct wt_err **err)
{
	batch->table = table;
	batch->column_cnt = wt_tables[table].column_cnt;
	return prepare_insert(store, table, WT_STORE_BATCH, &batch->insert_many, err);
}

static int prepare_inserts(struct wt_store *store, struct wt_err **err)
{
	int code = 0;

	for (int table = 0; !code && table < WT_T_CNT; table++)
		code = prepare_insert(store, table, 1, &store->insert[table], err);
	if (!code)
		code = prepare_batch(store, WT_T_OP, &store->ops, err);
	if (!code)
		code = prepare_batch(store, WT_T_API, &store->apis, err);
	return code;
}

static int find_bases(struct wt_store *store, bool fresh, struct wt_err **err)
{
	for (unsigned i = 0; i < sizeof(based) / sizeof(based[0]); i++) {
		enum wt_table table = based[i];
		char sql[64];

		snprintf(sql, sizeof(sql), "SELECT max(id) FROM %s", wt_tables[table].name);
		if (!fresh && wt_sql__int(store->db, sql, 0, &store->base[table], err))
			return wt_err__code(*err);
		if (store->base[table] < 0 || store->base[table] > INT64_MAX / 4)
			return wt_err__new(err, -EILSEQ, "ids of %s make no sense: max=%lld",
				wt_tables[table].name, (long long)store->base[table]);
		store->next[table] = store->base[table] + 1;
	}
	return 0;
}

/* Strings are shared by all runs in a file. */
static int load_strings(struct wt_store *store, struct wt_err **err)
{
	sqlite3_stmt *stmt = NULL;
	int step, code = wt_sql__prepare(
			  store->db, &stmt, "SELECT id, string FROM wt_string ORDER BY id", err);

	if (code)
		return code;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(stmt, 1);
		size_t length = (size_t)sqlite3_column_bytes(stmt, 1);
		uint32_t id = wt_strset__intern(&store->strings, text ? text : "", length);

		if (!id || (id > store->string_ids.cnt && wt_vec__push(&store->string_ids,
								  sqlite3_column_int64(stmt, 0)))) {
			code = wt_err__new(err, -ENOMEM, "out of memory");
			break;
		}
	}
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		code = wt_sql__error(store->db, err, "cannot read wt_string");
	sqlite3_finalize(stmt);
	return code;
}

static int add_fixed_strings(struct wt_store *store, struct wt_err **err)
{
	sqlite3_stmt *stmt = store->insert[WT_T_STRING];

	for (int id = 1; id <= WT_STRING_FIXED_CNT; id++) {
		const char *text = wt_fixed_strings[id];

		if (wt_strset__intern_string(&store->strings, text) != (uint32_t)id ||
			wt_vec__push(&store->string_ids, id))
			return wt_err__new(err, -ENOMEM, "out of memory");
		sqlite3_bind_int(stmt, 1, id);
		sqlite3_bind_text(stmt, 2, text, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) != SQLITE_DONE)
			return wt_sql__error(store->db, err, "cannot add strings");
		sqlite3_reset(stmt);
	}
	store->next[WT_T_STRING] = WT_STRING_FIXED_CNT + 1;
	return 0;
}

/*
 * A later run's times continue those of the first: by CLOCK_BOOTTIME when both
 * runs are of one boot (it then agrees with the wall clock to a minute), else
 * by the wall clock.
 */
static int find_shift(struct wt_store *store, bool fresh, struct wt_err **err)
{
	const struct wt_store_options *options = &store->options;
	int64_t origin, realtime, by_boot, by_wall;

	if (fresh)
		return 0;
	if (wt_sql__int(store->db, "SELECT origin_ns FROM wt_run WHERE id = 1", 0, &origin, err) ||
		wt_sql__int(store->db, "SELECT origin_realtime_ns FROM wt_run WHERE id = 1", 0,
			&realtime, err))
		return wt_err__code(*err);
	by_boot = (int64_t)(options->origin_ns - (uint64_t)origin);
	by_wall = (int64_t)(options->origin_realtime_ns - (uint64_t)realtime);
	if (!realtime || !options->origin_realtime_ns)
		by_wall = by_boot;
	store->shift_ns = llabs(by_boot - by_wall) < 60000000000ll ? by_boot : by_wall;
	return 0;
}

static int add_run(struct wt_store *store, struct wt_err **err)
{
	const struct wt_store_options *options = &store->options;

	return wt_sql__execf(store->db, err,
		"INSERT INTO wt_run VALUES (%lld, %lld, nullif(%lld, 0), nullif(%lld, 0), %lld)",
		(long long)store->next[WT_T_RUN], (long long)options->origin_ns,
		(long long)options->origin_realtime_ns, (long long)options->origin_monotonic_ns,
		(long long)store->shift_ns);
}

static int add_fixed_rows(struct wt_store *store, struct wt_err **err)
{
	int code = wt_sql__exec(store->db,
		"INSERT INTO wt_meta(key, value) VALUES ('schema_version', '3'),"
		" ('gpu_stride', '1000'), ('pid_stride', '10000000'),"
		" ('wavetap', '" WAVETAP_VERSION "')",
		err);

	for (const struct wt_unknown_row *row = wt_unknown_rows; !code && row->view; row++)
		code = wt_sql__execf(store->db, err,
			"INSERT INTO wt_unknown VALUES (NULL, %Q, %Q, %Q, %Q)", row->view,
			row->column, row->sentinel, row->meaning);
	return code;
}

int wt_store_write__begin(struct wt_store *store, bool fresh, struct wt_err **err)
{
	int code = 0;

	if (fresh)
		code = create_tables(store, err);
	if (!code)
		code = wt_sql__exec(store->db, "BEGIN", err);
	if (!code)
		code = prepare_inserts(store, err);
	if (!code)
		code = find_bases(store, fresh, err);
	if (!code)
		code = fresh ? add_fixed_strings(store, err) : load_strings(store, err);
	if (!code)
		code = find_shift(store, fresh, err);
	if (!code)
		code = add_run(store, err);
	if (!code && fresh)
		code = add_fixed_rows(store, err);
	return code;
}

/*
 * A reference to a row that never came (its definition was lost) becomes
 * "not known", and is told of.
 */
static int drop_dangling(struct wt_store *store, struct wt_err **err)
{
	static const struct {
		enum wt_table table;
		const char *column;
		enum wt_table target;
	} references[] = {
		{WT_T_THREAD, "process_id", WT_T_PROCESS},
		{WT_T_DEVICE, "process_id", WT_T_PROCESS},
		{WT_T_QUEUE, "process_id", WT_T_PROCESS},
		{WT_T_QUEUE, "device_id", WT_T_DEVICE},
		{WT_T_STREAM, "process_id", WT_T_PROCESS},
		{WT_T_STREAM, "device_id", WT_T_DEVICE},
		{WT_T_SYMBOL, "process_id", WT_T_PROCESS},
		{WT_T_SYMBOL, "device_id", WT_T_DEVICE},
		{WT_T_LANE, "process_id", WT_T_PROCESS},
		{WT_T_LANE, "device_id", WT_T_DEVICE},
		{WT_T_LANE, "queue_id", WT_T_QUEUE},
		{WT_T_LANE, "stream_id", WT_T_STREAM},
		{WT_T_SHAPE, "symbol_id", WT_T_SYMBOL},
		{WT_T_CALL, "process_id", WT_T_PROCESS},
		{WT_T_CALL, "thread_id", WT_T_THREAD},
		{WT_T_CALL, "stream_id", WT_T_STREAM},
		{WT_T_PROCESS, "parent_id", WT_T_PROCESS},
		{WT_T_COPY, "dst_device_id", WT_T_DEVICE},
		{WT_T_MEMORY, "process_id", WT_T_PROCESS},
		{WT_T_MEMORY, "device_id", WT_T_DEVICE},
		{WT_T_MEMORY, "stream_id", WT_T_STREAM},
		{WT_T_COPY, "src_device_id", WT_T_DEVICE},
	};
	int64_t dropped = 0;

	for (unsigned i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
		const char *column = references[i].column;
		int code = wt_sql__execf(store->db, err,
			"UPDATE %s SET %s = NULL WHERE %s <> 0 AND %s NOT IN (SELECT id FROM %s)",
			wt_tables[references[i].table].name, column, column, column,
			wt_tables[references[i].target].name);

		if (code)
			return code;
		dropped += sqlite3_changes(store->db);
	}
	if (!dropped)
		return 0;
	return wt_sql__execf(store->db, err,
		"INSERT INTO wt_status VALUES (NULL, NULL, 'store', 'degraded',"
		" 'references to rows that are not there became \"not known\": count=%lld')",
		(long long)dropped);
}

/* A launch's kernel, where all that it started have one name. */
static int name_launches(struct wt_store *store, struct wt_err **err)
{
	sqlite3_stmt *stmt = NULL;
	int code = wt_sql__exec(store->db,
		"CREATE TEMP TABLE wt_started(launch_id INTEGER, symbol_id INTEGER)", err);

	if (!code)
		code = wt_sql__prepare(
			store->db, &stmt, "INSERT INTO temp.wt_started VALUES (?, ?)", err);
	for (uint32_t id = 1; !code && id <= store->started.cnt; id++) {
		struct wt_started pair;

		memcpy(&pair, wt_strset__text(&store->started, id), sizeof(pair));
		sqlite3_bind_int64(stmt, 1, pair.launch_id + store->base[WT_T_LAUNCH]);
		sqlite3_bind_int64(stmt, 2, pair.symbol_id + store->base[WT_T_SYMBOL]);
		if (sqlite3_step(stmt) != SQLITE_DONE)
			code = wt_sql__error(store->db, err, "cannot name the launches");
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	if (!code)
		code = wt_sql__exec(store->db,
			"CREATE INDEX temp.wt_started_launch ON wt_started(launch_id);"
			"UPDATE wt_launch SET symbol_id = (SELECT min(y.id) FROM temp.wt_started t"
			" JOIN wt_symbol y ON y.id = t.symbol_id WHERE t.launch_id = wt_launch.id"
			" GROUP BY t.launch_id HAVING count(DISTINCT y.name_id) = 1)"
			" WHERE id IN (SELECT launch_id FROM temp.wt_started);"
			"DROP TABLE temp.wt_started",
			err);
	return code;
}

int wt_store_write__finish(struct wt_store *store, bool fresh, struct wt_err **err)
{
	int code = wt_store_write__memory(store, err);

	if (!code)
		code = drop_dangling(store, err);

	if (!code)
		code = name_launches(store, err);

	if (!code)
		code = wt_sql__exec(store->db,
			"INSERT INTO wt_meta(key, value) SELECT 'pid', pid FROM wt_process"
			" WHERE pid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM wt_meta WHERE key = "
			"'pid')"
			" ORDER BY id LIMIT 1",
			err);
	if (!code && fresh)
		code = wt_sql__exec(store->db, wt_schema_views, err);
	if (!code)
		code = wt_sql__exec(store->db, "COMMIT", err);
	return code;
}

void wt_store_write__free(struct wt_store *store)
{
	for (int table = 0; table < WT_T_CNT; table++) {
		sqlite3_finalize(store->insert[table]);
		store->insert[table] = NULL;
	}
	sqlite3_finalize(store->insert_memory);
	store->insert_memory = NULL;
	sqlite3_finalize(store->ops.insert_many);
	sqlite3_finalize(store->apis.insert_many);
	store->ops.insert_many = store->apis.insert_many = NULL;
	wt_strset__free(&store->strings);
	wt_strset__free(&store->lanes);
	wt_strset__free(&store->shapes);
	wt_strset__free(&store->states);
	wt_strset__free(&store->calls);
	wt_strset__free(&store->launches);
	wt_map__free(&store->string_of_pointer);
	wt_vec__free(&store->string_ids);
	wt_strset__free(&store->started);
	wt_vec__free(&store->launch_symbols);
}
