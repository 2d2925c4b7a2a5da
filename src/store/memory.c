// SPDX-License-Identifier: MIT
/*
 * Allocations and what ended them. Calls of several threads come in any order,
 * so they are matched when all are there: by address, in the order of time. An
 * allocation counts from the moment its call returned, a free from the moment
 * it began: the addresses cannot have been somebody else's in between.
 */
#include "base/err.h"
#include "core/record.h"
#include "store/row.h"
#include "store/sql.h"

static int begin(struct wt_store *store)
{
	int code = wt_sql__exec(store->db,
		"CREATE TEMP TABLE wt_memory_event(process_id INTEGER, address INTEGER,"
		" time INTEGER, kind INTEGER, bytes INTEGER, device_id INTEGER, stream_id INTEGER,"
		" api_id INTEGER)",
		&store->err);

	if (!code)
		code = wt_sql__prepare(store->db, &store->insert_memory,
			"INSERT INTO temp.wt_memory_event VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			&store->err);
	return code;
}

int wt_store__add_memory(struct wt_store *store, const struct wt_store_memory *event)
{
	struct wt_row row;

	if (store->failed)
		return store->failed;
	if (!store->insert_memory) {
		int code = begin(store);

		if (code)
			return wt_store_write__fail(store, code);
	}
	row = (struct wt_row){.store = store, .stmt = store->insert_memory};
	wt_row__put_id(&row, event->process_id, WT_T_PROCESS);
	wt_row__put_bits(&row, event->address);
	wt_row__put_time(&row, event->time_ns);
	wt_row__put(&row, event->kind);
	wt_row__put_bits_unless(&row, event->bytes, WT_ABSENT);
	wt_row__put_place(&row, event->device_id);
	wt_row__put_id(&row, event->stream_id, WT_T_STREAM);
	wt_row__put_id(&row, event->api_id, WT_T_API);
	if (sqlite3_step(row.stmt) != SQLITE_DONE)
		wt_store_write__fail(
			store, wt_sql__error(store->db, &store->err, "cannot keep an allocation"));
	sqlite3_reset(row.stmt);
	return store->failed;
}

/*
 * In the order of time an allocation is ended by what follows at its address:
 * a free; where that is another allocation, its own free was not seen. A reset
 * of a device, which has no address, ends what lives on it.
 */
int wt_store_write__memory(struct wt_store *store, struct wt_err **err)
{
	int code;

	if (!store->insert_memory)
		return 0;
	code = wt_sql__execf(store->db, err,
		"INSERT INTO wt_memory SELECT %lld + row_number() OVER (ORDER BY time), process_id,"
		" CASE kind WHEN 0 THEN NULL ELSE kind END, address, bytes, device_id, stream_id,"
		" CASE kind WHEN 0 THEN NULL ELSE time END,"
		" CASE 0 WHEN kind THEN time WHEN next_kind THEN next_time END,"
		" CASE kind WHEN 0 THEN NULL ELSE api_id END,"
		" CASE 0 WHEN kind THEN api_id WHEN next_kind THEN next_api_id END"
		" FROM (SELECT *, lead(kind) OVER w AS next_kind, lead(time) OVER w AS next_time,"
		"  lead(api_id) OVER w AS next_api_id, lag(kind) OVER w AS last_kind"
		"  FROM temp.wt_memory_event WHERE kind <> %d"
		"  WINDOW w AS (PARTITION BY process_id, address ORDER BY time, kind = 0))"
		" WHERE kind <> 0 OR coalesce(last_kind, 0) = 0 ORDER BY time",
		(long long)store->base[WT_T_MEMORY], WT_MEMORY_RESET);
	if (!code)
		code = wt_sql__execf(store->db, err,
			"UPDATE wt_memory SET (freed, freed_id) = (SELECT r.time, r.api_id"
			" FROM temp.wt_memory_event r WHERE r.kind = %d"
			" AND r.process_id = wt_memory.process_id AND r.device_id = "
			"wt_memory.device_id"
			" AND r.time > wt_memory.allocated ORDER BY r.time LIMIT 1)"
			" WHERE id > %lld AND freed IS NULL AND EXISTS (SELECT 1 FROM"
			"  temp.wt_memory_event WHERE kind = %d)",
			WT_MEMORY_RESET, (long long)store->base[WT_T_MEMORY], WT_MEMORY_RESET);
	if (!code)
		code = wt_sql__exec(store->db, "DROP TABLE temp.wt_memory_event", err);
	return code;
}
