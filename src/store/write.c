// SPDX-License-Identifier: MIT
/*
 * Fills the wavetap tables. Each row goes through one prepared INSERT; what
 * events share is interned first, so that an event is a few small integers.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/record.h"
#include "core/session.h"
#include "store/sql.h"
#include "store/store_private.h"

/* ---- one row ------------------------------------------------------------ */

struct row {
	struct wt_store *store;
	enum wt_table table;
	sqlite3_stmt *stmt;
	struct wt_batch *batch; /* NULL: the row goes into `stmt` */
	int at;
};

static struct row row_begin(struct wt_store *store, enum wt_table table)
{
	return (struct row){.store = store, .table = table, .stmt = store->insert[table]};
}

static struct row batch_begin(struct wt_store *store, struct wt_batch *batch)
{
	batch->absent[batch->row_cnt] = 0;
	return (struct row){.store = store, .table = batch->table, .batch = batch};
}

static void put_null(struct row *row)
{
	if (row->batch)
		row->batch->absent[row->batch->row_cnt] |= 1u << row->at++;
	else
		sqlite3_bind_null(row->stmt, ++row->at);
}

static void put(struct row *row, int64_t value)
{
	if (row->batch)
		row->batch->values[row->batch->row_cnt][row->at++] = value;
	else
		sqlite3_bind_int64(row->stmt, ++row->at, value);
}

/* 64-bit patterns (handles, addresses) keep their bits: SQLite's integers are signed */
static void put_bits(struct row *row, uint64_t value)
{
	put(row, (int64_t)value);
}

static void put_unless(struct row *row, uint64_t value, uint64_t absent)
{
	if (value == absent)
		put_null(row);
	else
		put_bits(row, value);
}

static void put_id(struct row *row, uint64_t id, enum wt_table of)
{
	if (id)
		put(row, (int64_t)id + row->store->base[of]);
	else
		put_null(row);
}

static void put_time(struct row *row, uint64_t ns)
{
	const struct wt_store *store = row->store;

	if (ns == WT_ABSENT)
		put_null(row);
	else
		put(row, (int64_t)(ns - store->options.origin_ns) + store->shift_ns);
}

static void put_text(struct row *row, const char *text)
{
	if (text && text[0])
		sqlite3_bind_text(row->stmt, ++row->at, text, -1, SQLITE_STATIC);
	else
		put_null(row);
}

/* Three sizes; 0,0,0 is "none". */
static void put_dimensions(struct row *row, const uint32_t dimensions[3])
{
	bool none = !dimensions[0] && !dimensions[1] && !dimensions[2];

	for (int i = 0; i < 3; i++)
		if (none)
			put_null(row);
		else
			put(row, dimensions[i]);
}

/* Remembers the first failure; always negative. */
static int fail(struct wt_store *store, int code)
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

static int row_end(struct row *row)
{
	if (!row->batch)
		return insert(row->store, row->table, row->stmt);
	if (++row->batch->row_cnt == WT_STORE_BATCH)
		return flush(row->store, row->batch);
	return row->store->failed;
}

/* ---- what rows share ---------------------------------------------------- */

/* The file's id of a string; 0: failed. */
static int64_t string_id(struct wt_store *store, const char *text)
{
	size_t length = strlen(text);
	uint32_t id = wt_strset__intern(&store->strings, text, length);
	struct row row;

	if (!id)
		return fail(store, -ENOMEM), 0;
	if (id <= store->string_ids.cnt)
		return store->string_ids.data[id - 1];
	if (wt_vec__push(&store->string_ids, store->next[WT_T_STRING]))
		return fail(store, -ENOMEM), 0;
	row = row_begin(store, WT_T_STRING);
	put(&row, store->next[WT_T_STRING]);
	sqlite3_bind_text(row.stmt, ++row.at, text, (int)length, SQLITE_STATIC);
	if (row_end(&row))
		return 0;
	return store->next[WT_T_STRING]++;
}

/* As string_id for strings that live for ever: their address is looked up first. */
static int64_t static_string_id(struct wt_store *store, const char *text)
{
	uint64_t *known = wt_map__find(&store->string_of_pointer, (uintptr_t)text);
	int64_t id;

	if (known)
		return (int64_t)*known;
	id = string_id(store, text);
	if (id && wt_map__put(&store->string_of_pointer, (uintptr_t)text, (uint64_t)id))
		return fail(store, -ENOMEM), 0;
	return id;
}

/*
 * The id of `key` in a table of shared rows, without the base; 0: failed.
 * `fresh` says that its row is still to be added.
 */
static uint32_t intern(struct wt_store *store, struct wt_strset *set, const void *key,
	size_t key_bytes, bool *fresh)
{
	size_t before = set->cnt;
	uint32_t id = wt_strset__intern(set, key, key_bytes);

	*fresh = set->cnt != before;
	if (!id)
		fail(store, -ENOMEM);
	return id;
}

struct lane_key {
	uint32_t process_id, device_id, queue_id, stream_id;
};

static uint32_t lane_id(struct wt_store *store, const struct wt_store_op *op)
{
	struct lane_key key = {op->process_id, op->device_id, op->queue_id, op->stream_id};
	bool fresh;
	uint32_t id = intern(store, &store->lanes, &key, sizeof(key), &fresh);
	struct row row;

	if (!id || !fresh)
		return id;
	row = row_begin(store, WT_T_LANE);
	put_id(&row, id, WT_T_LANE);
	put_id(&row, key.process_id, WT_T_PROCESS);
	put_id(&row, key.device_id, WT_T_DEVICE);
	put_id(&row, key.queue_id, WT_T_QUEUE);
	put_id(&row, key.stream_id, WT_T_STREAM);
	return row_end(&row) ? 0 : id;
}

/* No padding: the key is compared as bytes. */
struct shape_key {
	uint64_t kernel_object;
	uint32_t kind, symbol_id, grid[3], block[3], group_bytes, private_bytes, copy_kind,
		overlaps;
};
static_assert(sizeof(struct shape_key) == 56, "shape key");

static uint32_t shape_id(struct wt_store *store, const struct wt_store_op *op)
{
	bool by_kernel = op->symbol_id || op->kernel_object || op->kind == WT_OP_KERNEL;
	struct shape_key key = {.kind = op->kind};
	bool fresh;
	uint32_t id;
	struct row row;

	key.overlaps = op->overlaps;
	key.copy_kind = op->kind == WT_OP_KERNEL ? WT_COPY_UNKNOWN : op->copy_kind;
	if (by_kernel) {
		key.kernel_object = op->kernel_object;
		key.symbol_id = op->symbol_id;
		memcpy(key.grid, op->grid, sizeof(key.grid));
		memcpy(key.block, op->block, sizeof(key.block));
		key.group_bytes = op->group_bytes;
		key.private_bytes = op->private_bytes;
	}
	id = intern(store, &store->shapes, &key, sizeof(key), &fresh);
	if (!id || !fresh)
		return id;
	row = row_begin(store, WT_T_SHAPE);
	put_id(&row, id, WT_T_SHAPE);
	put(&row, key.kind);
	put_id(&row, key.symbol_id, WT_T_SYMBOL);
	put_unless(&row, key.kernel_object, 0);
	put_dimensions(&row, key.grid);
	put_dimensions(&row, key.block);
	put_unless(&row, by_kernel ? key.group_bytes : WT_ABSENT, WT_ABSENT);
	put_unless(&row, by_kernel ? key.private_bytes : UINT32_MAX, UINT32_MAX);
	put_unless(&row, key.copy_kind, WT_COPY_UNKNOWN);
	put(&row, key.overlaps);
	return row_end(&row) ? 0 : id;
}

/* The reason why an operation has no times; 0: failed. */
static uint32_t state_id(struct wt_store *store, bool in_flight, const char *untimed)
{
	char key[64] = {in_flight ? '1' : '0'};
	bool fresh;
	uint32_t id;
	struct row row;

	strncpy(key + 1, untimed, sizeof(key) - 2);
	id = intern(store, &store->states, key, strlen(key), &fresh);
	if (!id || !fresh)
		return id;
	row = row_begin(store, WT_T_STATE);
	put_id(&row, id, WT_T_STATE);
	put(&row, in_flight);
	put_text(&row, untimed);
	return row_end(&row) ? 0 : id;
}

struct call_key {
	int64_t name_id, domain_id;
	uint32_t process_id, thread_id, stream_id, zero;
};
static_assert(sizeof(struct call_key) == 32, "call key");

static uint32_t call_id(struct wt_store *store, const struct wt_store_api *api)
{
	struct call_key key = {.process_id = api->process_id,
		.thread_id = api->thread_id,
		.stream_id = api->stream_id};
	bool fresh;
	uint32_t id;
	struct row row;

	key.name_id = static_string_id(store, api->name ? api->name : "");
	key.domain_id = static_string_id(store, api->domain ? api->domain : "");
	if (!key.name_id || !key.domain_id)
		return 0;
	id = intern(store, &store->calls, &key, sizeof(key), &fresh);
	if (!id || !fresh)
		return id;
	row = row_begin(store, WT_T_CALL);
	put_id(&row, id, WT_T_CALL);
	put_id(&row, key.process_id, WT_T_PROCESS);
	put_id(&row, key.thread_id, WT_T_THREAD);
	put(&row, key.name_id);
	put(&row, key.domain_id);
	put_id(&row, key.stream_id, WT_T_STREAM);
	return row_end(&row) ? 0 : id;
}

struct launch_key {
	uint64_t function;
	uint32_t grid[3], block[3], shared_bytes, zero;
};
static_assert(sizeof(struct launch_key) == 40, "launch key");

static uint32_t launch_id(struct wt_store *store, const struct wt_store_api *api)
{
	struct launch_key key = {
		.function = api->launch.function, .shared_bytes = api->launch.shared_bytes};
	bool fresh;
	uint32_t id;
	struct row row;

	memcpy(key.grid, api->launch.grid, sizeof(key.grid));
	memcpy(key.block, api->launch.block, sizeof(key.block));
	id = intern(store, &store->launches, &key, sizeof(key), &fresh);
	if (!id || !fresh)
		return id;
	row = row_begin(store, WT_T_LAUNCH);
	put_id(&row, id, WT_T_LAUNCH);
	put_unless(&row, key.function, 0);
	put_dimensions(&row, key.grid);
	put_dimensions(&row, key.block);
	put(&row, key.shared_bytes);
	put_null(&row); /* symbol_id: known at the end */
	if (row_end(&row))
		return 0;
	if (wt_vec__push(&store->launch_symbols, 0))
		return fail(store, -ENOMEM), 0;
	return id;
}

static void remember_launch(struct wt_store *store, uint64_t api_id, uint32_t launch)
{
	store->recent[api_id % WT_STORE_RECENT].api_id = api_id;
	store->recent[api_id % WT_STORE_RECENT].launch_id = launch;
}

/* A kernel says which launch started it. */
static int link_launch(struct wt_store *store, const struct wt_store_op *op)
{
	struct wt_started pair = {.symbol_id = op->symbol_id};
	bool fresh;

	if (!op->api_id || !op->symbol_id || op->in_graph || op->kind != WT_OP_KERNEL ||
		store->recent[op->api_id % WT_STORE_RECENT].api_id != op->api_id)
		return 0;
	pair.launch_id = store->recent[op->api_id % WT_STORE_RECENT].launch_id;
	if (store->launch_symbols.data[pair.launch_id - 1] == pair.symbol_id)
		return 0;
	store->launch_symbols.data[pair.launch_id - 1] = pair.symbol_id;
	intern(store, &store->started, &pair, sizeof(pair), &fresh);
	return store->failed;
}

/* ---- events ------------------------------------------------------------- */

static int add_copy(struct wt_store *store, int64_t op_id, const struct wt_store_op *op)
{
	struct row row = row_begin(store, WT_T_COPY);

	put(&row, op_id);
	put_unless(&row, op->bytes, WT_ABSENT);
	put_unless(&row, op->dst, WT_ABSENT);
	put_unless(&row, op->src, WT_ABSENT);
	return row_end(&row);
}

int wt_store__add_op(struct wt_store *store, const struct wt_store_op *op)
{
	bool timed = op->start_ns != WT_ABSENT && op->end_ns != WT_ABSENT;
	const char *untimed = op->untimed ? wt_lost__name(op->untimed) : "";
	bool has_copy = op->kind != WT_OP_KERNEL &&
			(op->bytes != WT_ABSENT || op->dst != WT_ABSENT || op->src != WT_ABSENT);
	uint32_t shape, lane, state = 0;
	int64_t id;
	struct row row;

	if (store->failed)
		return store->failed;
	if (timed && op->end_ns < op->start_ns) {
		timed = false; /* such times are wrong, whatever they mean */
		untimed = "time.reversed";
	}
	shape = shape_id(store, op);
	lane = lane_id(store, op);
	if (op->in_flight || untimed[0])
		state = state_id(store, op->in_flight, untimed);
	if (link_launch(store, op) || store->failed)
		return store->failed;
	id = store->next[WT_T_OP]++;
	row = batch_begin(store, &store->ops);
	put(&row, id);
	put_time(&row, timed ? op->start_ns : WT_ABSENT);
	put_unless(&row, timed ? op->end_ns - op->start_ns : WT_ABSENT, WT_ABSENT);
	put_id(&row, shape, WT_T_SHAPE);
	put_id(&row, lane, WT_T_LANE);
	put_id(&row, op->api_id, WT_T_API);
	put_unless(&row, op->packet, WT_ABSENT);
	put_unless(&row, op->in_graph ? op->node : WT_ABSENT, WT_ABSENT);
	put_id(&row, state, WT_T_STATE);
	if (row_end(&row))
		return store->failed;
	return has_copy ? add_copy(store, id, op) : 0;
}

static int add_api_detail(struct wt_store *store, const struct wt_store_api *api)
{
	struct row row;

	if (api->detail == WT_API_COPY) {
		row = row_begin(store, WT_T_API_COPY);
		put_id(&row, api->id, WT_T_API);
		put_bits(&row, api->copy.dst);
		put_bits(&row, api->copy.src);
		put_bits(&row, api->copy.bytes);
		put_unless(&row, api->copy.kind, WT_COPY_UNKNOWN);
		return row_end(&row);
	}
	if (api->detail == WT_API_OBJECT) {
		row = row_begin(store, WT_T_API_OBJECT);
		put_id(&row, api->id, WT_T_API);
		put_bits(&row, api->object.object);
		put_bits(&row, api->object.value);
		return row_end(&row);
	}
	return 0;
}

int wt_store__add_api(struct wt_store *store, const struct wt_store_api *api)
{
	bool returned = api->start_ns != WT_ABSENT && api->end_ns != WT_ABSENT &&
			api->end_ns >= api->start_ns;
	uint32_t call, launch = 0;
	struct row row;

	if (store->failed)
		return store->failed;
	call = call_id(store, api);
	if (api->detail == WT_API_LAUNCH)
		launch = launch_id(store, api);
	if (store->failed)
		return store->failed;
	if (launch)
		remember_launch(store, api->id, launch);
	row = batch_begin(store, &store->apis);
	put_id(&row, api->id, WT_T_API);
	put_time(&row, api->start_ns);
	put_unless(&row, returned ? api->end_ns - api->start_ns : WT_ABSENT, WT_ABSENT);
	put_id(&row, call, WT_T_CALL);
	if (returned)
		put(&row, api->ret);
	else
		put_null(&row);
	put_id(&row, launch, WT_T_LAUNCH);
	if (row_end(&row))
		return store->failed;
	return add_api_detail(store, api);
}

/* ---- who and what the events are about ---------------------------------- */

int wt_store__add_process(struct wt_store *store, const struct wt_store_process *process)
{
	struct row row = row_begin(store, WT_T_PROCESS);

	if (store->failed)
		return store->failed;
	put_id(&row, process->id, WT_T_PROCESS);
	put_id(&row, process->parent_id, WT_T_PROCESS);
	put_unless(&row, (uint64_t)process->pid, 0);
	put_unless(&row, (uint64_t)process->parent_pid, 0);
	put_unless(&row, process->start_ticks, 0);
	put_time(&row, process->joined_ns);
	put_time(&row, process->ended_ns);
	put_unless(&row, (uint64_t)process->exit_kind, 0);
	put(&row, process->forked);
	put_text(&row, process->image);
	put_text(&row, process->command);
	put_text(&row, process->host);
	put_text(&row, process->rank);
	return row_end(&row);
}

int wt_store__add_thread(struct wt_store *store, const struct wt_store_thread *thread)
{
	struct row row = row_begin(store, WT_T_THREAD);

	if (store->failed)
		return store->failed;
	put_id(&row, thread->id, WT_T_THREAD);
	put_id(&row, thread->process_id, WT_T_PROCESS);
	put_unless(&row, (uint64_t)thread->tid, 0);
	put_text(&row, thread->name);
	return row_end(&row);
}

int wt_store__add_device(struct wt_store *store, const struct wt_store_device *device)
{
	struct row row = row_begin(store, WT_T_DEVICE);

	if (store->failed)
		return store->failed;
	put_id(&row, device->id, WT_T_DEVICE);
	put_id(&row, device->process_id, WT_T_PROCESS);
	put(&row, device->number);
	put_unless(&row, device->uuid, 0);
	put_unless(&row, device->node, 0);
	put_unless(&row, device->bdf, UINT32_MAX);
	put_unless(&row, device->compute_units, 0);
	put_unless(&row, device->clock_mhz, 0);
	put_text(&row, device->arch);
	put_text(&row, device->name);
	return row_end(&row);
}

int wt_store__add_queue(struct wt_store *store, const struct wt_store_queue *queue)
{
	struct row row = row_begin(store, WT_T_QUEUE);

	if (store->failed)
		return store->failed;
	put_id(&row, queue->id, WT_T_QUEUE);
	put_id(&row, queue->process_id, WT_T_PROCESS);
	put_id(&row, queue->device_id, WT_T_DEVICE);
	put_bits(&row, queue->hsa_id);
	put_unless(&row, queue->size, 0);
	put_time(&row, queue->created_ns);
	put_time(&row, queue->ended_ns);
	put_text(&row, queue->mode);
	return row_end(&row);
}

int wt_store__add_stream(struct wt_store *store, const struct wt_store_stream *stream)
{
	struct row row = row_begin(store, WT_T_STREAM);

	if (store->failed)
		return store->failed;
	put_id(&row, stream->id, WT_T_STREAM);
	put_id(&row, stream->process_id, WT_T_PROCESS);
	put_id(&row, stream->device_id, WT_T_DEVICE);
	put_unless(&row, stream->number, 0);
	put_bits(&row, stream->handle);
	put_time(&row, stream->created_ns);
	put_time(&row, stream->ended_ns);
	put_text(&row, stream->kind);
	put(&row, stream->priority);
	put(&row, stream->flags);
	return row_end(&row);
}

int wt_store__add_symbol(struct wt_store *store, const struct wt_store_symbol *symbol)
{
	struct row row;
	int64_t name_id = 0;

	if (store->failed)
		return store->failed;
	if (symbol->name && symbol->name[0] && !(name_id = string_id(store, symbol->name)))
		return store->failed;
	row = row_begin(store, WT_T_SYMBOL);
	put_id(&row, symbol->id, WT_T_SYMBOL);
	put_id(&row, symbol->process_id, WT_T_PROCESS);
	put_id(&row, symbol->device_id, WT_T_DEVICE);
	put_unless(&row, (uint64_t)name_id, 0);
	put_unless(&row, symbol->kernel_object, 0);
	put_time(&row, symbol->loaded_ns);
	put_time(&row, symbol->unloaded_ns);
	put(&row, symbol->group_bytes);
	put(&row, symbol->private_bytes);
	put(&row, symbol->kernarg_bytes);
	return row_end(&row);
}

int wt_store__add_lost(struct wt_store *store, const struct wt_store_lost *lost)
{
	struct row row = row_begin(store, WT_T_LOST);

	if (store->failed)
		return store->failed;
	put_null(&row);
	put_id(&row, lost->process_id, WT_T_PROCESS);
	put_text(&row, lost->cause);
	put_bits(&row, lost->count);
	return row_end(&row);
}

int wt_store__add_clock(struct wt_store *store, const struct wt_store_clock *clock)
{
	struct row row = row_begin(store, WT_T_CLOCK);

	if (store->failed)
		return store->failed;
	put_null(&row);
	put_id(&row, clock->process_id, WT_T_PROCESS);
	put_id(&row, clock->device_id, WT_T_DEVICE);
	put_time(&row, clock->taken_ns);
	put_bits(&row, clock->ticks);
	put_time(&row, clock->ns);
	put_unless(&row, clock->realtime_ns, WT_ABSENT);
	put_unless(&row, clock->monotonic_ns, WT_ABSENT);
	put_unless(&row, clock->width_ns, WT_ABSENT);
	return row_end(&row);
}

int wt_store__add_status(struct wt_store *store, const struct wt_store_status *status)
{
	struct row row = row_begin(store, WT_T_STATUS);

	if (store->failed)
		return store->failed;
	put_null(&row);
	put_id(&row, status->process_id, WT_T_PROCESS);
	put_text(&row, status->source);
	put_text(&row, status->level);
	put_text(&row, status->text);
	return row_end(&row);
}

int wt_store__add_meta(struct wt_store *store, const char *key, const char *value)
{
	struct row row = row_begin(store, WT_T_META);

	if (store->failed)
		return store->failed;
	put_null(&row);
	sqlite3_bind_text(row.stmt, ++row.at, key, -1, SQLITE_STATIC);
	sqlite3_bind_text(row.stmt, ++row.at, value ? value : "", -1, SQLITE_STATIC);
	return row_end(&row);
}
