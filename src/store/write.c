// SPDX-License-Identifier: MIT
/*
 * The events. What many share is interned first, so that an event is a few
 * small integers.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/record.h"
#include "core/session.h"
#include "store/row.h"

/* ---- what rows share ---------------------------------------------------- */

/* As string_id for strings that live for ever: their address is looked up first. */
static int64_t static_string_id(struct wt_store *store, const char *text)
{
	uint64_t *known = wt_map__find(&store->string_of_pointer, (uintptr_t)text);
	int64_t id;

	if (known)
		return (int64_t)*known;
	id = wt_store_write__string(store, text);
	if (id && wt_map__put(&store->string_of_pointer, (uintptr_t)text, (uint64_t)id))
		return wt_store_write__fail(store, -ENOMEM), 0;
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
		wt_store_write__fail(store, -ENOMEM);
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
	struct wt_row row;

	if (!id || !fresh)
		return id;
	row = wt_row__begin(store, WT_T_LANE);
	wt_row__put_id(&row, id, WT_T_LANE);
	wt_row__put_id(&row, key.process_id, WT_T_PROCESS);
	wt_row__put_id(&row, key.device_id, WT_T_DEVICE);
	wt_row__put_id(&row, key.queue_id, WT_T_QUEUE);
	wt_row__put_id(&row, key.stream_id, WT_T_STREAM);
	return wt_row__end(&row) ? 0 : id;
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
	struct wt_row row;

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
	row = wt_row__begin(store, WT_T_SHAPE);
	wt_row__put_id(&row, id, WT_T_SHAPE);
	wt_row__put(&row, key.kind);
	wt_row__put_id(&row, key.symbol_id, WT_T_SYMBOL);
	wt_row__put_unless(&row, key.kernel_object, 0);
	wt_row__put_dimensions(&row, key.grid);
	wt_row__put_dimensions(&row, key.block);
	wt_row__put_unless(&row, by_kernel ? key.group_bytes : WT_ABSENT, WT_ABSENT);
	wt_row__put_unless(&row, by_kernel ? key.private_bytes : UINT32_MAX, UINT32_MAX);
	wt_row__put_unless(&row, key.copy_kind, WT_COPY_UNKNOWN);
	wt_row__put(&row, key.overlaps);
	return wt_row__end(&row) ? 0 : id;
}

/* The reason why an operation has no times; 0: failed. */
static uint32_t state_id(struct wt_store *store, bool in_flight, const char *untimed)
{
	char key[64] = {in_flight ? '1' : '0'};
	bool fresh;
	uint32_t id;
	struct wt_row row;

	strncpy(key + 1, untimed, sizeof(key) - 2);
	id = intern(store, &store->states, key, strlen(key), &fresh);
	if (!id || !fresh)
		return id;
	row = wt_row__begin(store, WT_T_STATE);
	wt_row__put_id(&row, id, WT_T_STATE);
	wt_row__put(&row, in_flight);
	wt_row__put_text(&row, untimed);
	return wt_row__end(&row) ? 0 : id;
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
	struct wt_row row;

	key.name_id = static_string_id(store, api->name ? api->name : "");
	key.domain_id = static_string_id(store, api->domain ? api->domain : "");
	if (!key.name_id || !key.domain_id)
		return 0;
	id = intern(store, &store->calls, &key, sizeof(key), &fresh);
	if (!id || !fresh)
		return id;
	row = wt_row__begin(store, WT_T_CALL);
	wt_row__put_id(&row, id, WT_T_CALL);
	wt_row__put_id(&row, key.process_id, WT_T_PROCESS);
	wt_row__put_id(&row, key.thread_id, WT_T_THREAD);
	wt_row__put(&row, key.name_id);
	wt_row__put(&row, key.domain_id);
	wt_row__put_id(&row, key.stream_id, WT_T_STREAM);
	return wt_row__end(&row) ? 0 : id;
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
	struct wt_row row;

	memcpy(key.grid, api->launch.grid, sizeof(key.grid));
	memcpy(key.block, api->launch.block, sizeof(key.block));
	id = intern(store, &store->launches, &key, sizeof(key), &fresh);
	if (!id || !fresh)
		return id;
	row = wt_row__begin(store, WT_T_LAUNCH);
	wt_row__put_id(&row, id, WT_T_LAUNCH);
	wt_row__put_unless(&row, key.function, 0);
	wt_row__put_dimensions(&row, key.grid);
	wt_row__put_dimensions(&row, key.block);
	wt_row__put(&row, key.shared_bytes);
	wt_row__put_null(&row); /* symbol_id: known at the end */
	if (wt_row__end(&row))
		return 0;
	if (wt_vec__push(&store->launch_symbols, 0))
		return wt_store_write__fail(store, -ENOMEM), 0;
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
	struct wt_row row = wt_row__begin(store, WT_T_COPY);

	wt_row__put(&row, op_id);
	wt_row__put_unless(&row, op->bytes, WT_ABSENT);
	wt_row__put_unless(&row, op->dst, WT_ABSENT);
	wt_row__put_unless(&row, op->src, WT_ABSENT);
	wt_row__put_place(&row, op->dst_device_id);
	wt_row__put_place(&row, op->src_device_id);
	return wt_row__end(&row);
}

int wt_store__add_op(struct wt_store *store, const struct wt_store_op *op)
{
	bool timed = op->start_ns != WT_ABSENT && op->end_ns != WT_ABSENT;
	const char *untimed = op->untimed ? wt_lost__name(op->untimed) : "";
	bool has_copy = op->kind != WT_OP_KERNEL &&
			(op->bytes != WT_ABSENT || op->dst != WT_ABSENT || op->src != WT_ABSENT ||
				op->dst_device_id || op->src_device_id);
	uint32_t shape, lane, state = 0;
	int64_t id;
	struct wt_row row;

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
	row = wt_row__begin_batched(store, &store->ops);
	wt_row__put(&row, id);
	wt_row__put_time(&row, timed ? op->start_ns : WT_ABSENT);
	wt_row__put_unless(&row, timed ? op->end_ns - op->start_ns : WT_ABSENT, WT_ABSENT);
	wt_row__put_id(&row, shape, WT_T_SHAPE);
	wt_row__put_id(&row, lane, WT_T_LANE);
	wt_row__put_id(&row, op->api_id, WT_T_API);
	wt_row__put_unless(&row, op->packet, WT_ABSENT);
	wt_row__put_unless(&row, op->in_graph ? op->node : WT_ABSENT, WT_ABSENT);
	wt_row__put_id(&row, state, WT_T_STATE);
	if (wt_row__end(&row))
		return store->failed;
	return has_copy ? add_copy(store, id, op) : 0;
}

static int add_api_detail(struct wt_store *store, const struct wt_store_api *api)
{
	struct wt_row row;

	if (api->detail == WT_API_COPY) {
		row = wt_row__begin(store, WT_T_API_COPY);
		wt_row__put_id(&row, api->id, WT_T_API);
		wt_row__put_bits_unless(&row, api->copy.dst, WT_ABSENT);
		wt_row__put_bits_unless(&row, api->copy.src, WT_ABSENT);
		wt_row__put_bits_unless(&row, api->copy.bytes, WT_ABSENT);
		wt_row__put_unless(&row, api->copy.kind, WT_COPY_UNKNOWN);
		return wt_row__end(&row);
	}
	if (api->detail == WT_API_ARGS) {
		row = wt_row__begin(store, WT_T_API_ARGS);
		wt_row__put_id(&row, api->id, WT_T_API);
		for (uint32_t i = 0; i < WT_STORE_ARGS; i++) {
			if (i < api->args.cnt)
				wt_row__put_bits(&row, api->args.value[i]);
			else
				wt_row__put_null(&row);
		}
		return wt_row__end(&row);
	}
	return 0;
}

int wt_store__add_api(struct wt_store *store, const struct wt_store_api *api)
{
	bool returned = api->start_ns != WT_ABSENT && api->end_ns != WT_ABSENT &&
			api->end_ns >= api->start_ns;
	uint32_t call, launch = 0;
	struct wt_row row;

	if (store->failed)
		return store->failed;
	call = call_id(store, api);
	if (api->detail == WT_API_LAUNCH)
		launch = launch_id(store, api);
	if (store->failed)
		return store->failed;
	if (launch)
		remember_launch(store, api->id, launch);
	row = wt_row__begin_batched(store, &store->apis);
	wt_row__put_id(&row, api->id, WT_T_API);
	wt_row__put_time(&row, api->start_ns);
	wt_row__put_unless(&row, returned ? api->end_ns - api->start_ns : WT_ABSENT, WT_ABSENT);
	wt_row__put_id(&row, call, WT_T_CALL);
	if (returned && !api->no_ret)
		wt_row__put(&row, api->ret);
	else
		wt_row__put_null(&row);
	wt_row__put_id(&row, launch, WT_T_LAUNCH);
	if (wt_row__end(&row))
		return store->failed;
	return add_api_detail(store, api);
}
