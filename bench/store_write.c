// SPDX-License-Identifier: MIT
/*
 * The store's figure: events written a second on one core, and bytes an event
 * (an operation or an API call), against the same events in RPD's four tables
 * by plain INSERTs, in the same run.
 *
 *   store_write [events in thousands] [directory]
 *
 * Prints one JSON line.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "core/record.h"
#include "store/store.h"

#define ORIGIN_NS  86400000000000ull
#define KERNEL_CNT 300

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The same events for both: of ten calls eight launch a kernel, one copies, one is another call. */
struct event {
	bool has_op;
	struct wt_store_api api;
	struct wt_store_op op;
};

static uint64_t random_state = 88172645463325252ull;

static uint32_t next_random(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % below;
}

static void make_event(struct event *event, uint64_t number)
{
	static uint64_t cpu_ns, gpu_ns, packet[4];
	uint32_t kind = (uint32_t)(number % 10), symbol = 1 + next_random(KERNEL_CNT);
	uint32_t lane = next_random(4), thread = 1 + next_random(3);

	memset(event, 0, sizeof(*event));
	cpu_ns += 2000 + next_random(6000);
	gpu_ns = gpu_ns > cpu_ns ? gpu_ns : cpu_ns;
	event->api = (struct wt_store_api){.id = number + 1,
		.process_id = 1,
		.thread_id = thread,
		.name = "hipLaunchKernel",
		.domain = "hip",
		.start_ns = ORIGIN_NS + cpu_ns,
		.end_ns = ORIGIN_NS + cpu_ns + 1200 + next_random(4000),
		.stream_id = 1 + lane};
	if (kind == 9) {
		event->api.name = "hipEventRecord";
		event->api.detail = WT_API_ARGS;
		event->api.args.cnt = 1;
		event->api.args.value[0] = 0x7f0000000000ull + next_random(64) * 256;
		return;
	}
	event->has_op = true;
	event->op = (struct wt_store_op){.kind = WT_OP_KERNEL,
		.process_id = 1,
		.device_id = 1,
		.queue_id = 1 + lane,
		.stream_id = 1 + lane,
		.packet = packet[lane]++,
		.api_id = number + 1,
		.start_ns = ORIGIN_NS + gpu_ns + 800};
	gpu_ns += 1500 + next_random(60000);
	event->op.end_ns = ORIGIN_NS + gpu_ns;
	if (kind == 8) {
		event->api.name = "hipMemcpyAsync";
		event->api.detail = WT_API_COPY;
		event->api.copy.dst = 0x7f1000000000ull + next_random(1 << 20) * 256ull;
		event->api.copy.src = 0x7f2000000000ull + next_random(1 << 20) * 256ull;
		event->api.copy.bytes = 4096u << next_random(10);
		event->api.copy.kind = WT_COPY_HTOD;
		event->op.kind = WT_OP_COPY;
		event->op.copy_kind = WT_COPY_HTOD;
		event->op.queue_id = 0;
		event->op.packet = WT_ABSENT;
		event->op.bytes = event->api.copy.bytes;
		event->op.dst = event->api.copy.dst;
		event->op.src = event->api.copy.src;
		return;
	}
	event->api.detail = WT_API_LAUNCH;
	event->api.launch.function = 0x400000 + symbol * 64;
	for (int i = 0; i < 3; i++) {
		event->op.block[i] = i ? 1 : 256;
		event->op.grid[i] = i ? 1 : 256 * (symbol % 50 + 1 + next_random(3));
		event->api.launch.block[i] = event->op.block[i];
		event->api.launch.grid[i] = event->op.grid[i];
	}
	event->op.symbol_id = symbol;
	event->op.kernel_object = 0x7f3000000000ull + symbol * 64;
	event->op.private_bytes = UINT32_MAX;
}

static void make_name(char name[256], uint32_t symbol)
{
	snprintf(name, 256,
		"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_%04u15CUDAFunctor_addIfEE"
		"St5arrayIPcLm3EEEEviT0_T1_",
		symbol);
}

static off_t file_bytes(const char *path)
{
	struct stat status;

	return stat(path, &status) ? 0 : status.st_size;
}

static int write_store(const char *path, const struct event *events, uint64_t cnt)
{
	struct wt_store_options options = {
		.size = sizeof(options), .exists = WT_STORE_REPLACE, .origin_ns = ORIGIN_NS};
	WT_ERR_AUTO err = NULL;
	struct wt_store *store;
	int code = wt_store__open(&store, path, &options, &err);

	if (code)
		goto out;
	wt_store__add_process(store, &(struct wt_store_process){.id = 1,
					     .pid = 42,
					     .joined_ns = ORIGIN_NS,
					     .ended_ns = WT_ABSENT,
					     .image = "bench"});
	for (uint32_t id = 1; id <= 3; id++)
		wt_store__add_thread(store,
			&(struct wt_store_thread){.id = id, .process_id = 1, .tid = 41 + id});
	wt_store__add_device(
		store, &(struct wt_store_device){
			       .id = 1, .process_id = 1, .bdf = UINT32_MAX, .arch = "gfx90a"});
	for (uint32_t id = 1; id <= 4; id++) {
		wt_store__add_queue(store, &(struct wt_store_queue){.id = id,
						   .process_id = 1,
						   .device_id = 1,
						   .hsa_id = id,
						   .created_ns = ORIGIN_NS,
						   .ended_ns = WT_ABSENT});
		wt_store__add_stream(store, &(struct wt_store_stream){.id = id,
						    .process_id = 1,
						    .device_id = 1,
						    .number = id,
						    .handle = id * 64,
						    .created_ns = ORIGIN_NS,
						    .ended_ns = WT_ABSENT});
	}
	for (uint32_t id = 1; id <= KERNEL_CNT; id++) {
		char name[256];

		make_name(name, id);
		wt_store__add_symbol(store, &(struct wt_store_symbol){.id = id,
						    .process_id = 1,
						    .device_id = 1,
						    .name = name,
						    .loaded_ns = ORIGIN_NS,
						    .unloaded_ns = WT_ABSENT});
	}
	for (uint64_t i = 0; i < cnt; i++) {
		wt_store__add_api(store, &events[i].api);
		if (events[i].has_op)
			wt_store__add_op(store, &events[i].op);
	}
	code = wt_store__close(store, &err);
out:
	wt_err__print(stderr, err);
	return code;
}

/* What a straightforward writer of RPD's tables does for the same events. */
static int write_rpd(const char *path, const struct event *events, uint64_t cnt)
{
	static const char *const inserts[] = {"INSERT INTO rocpd_api VALUES(?,42,?,?,?,?,1,2,1)",
		"INSERT INTO rocpd_op VALUES(?,0,?,?,?,?,?,3)",
		"INSERT INTO rocpd_api_ops VALUES(?,?,?)",
		"INSERT INTO rocpd_kernelapi VALUES(?,'0x0',?,?,?,?,?,?,0,0,?)"};
	sqlite3_stmt *stmts[4];
	uint64_t op_id = 0;
	sqlite3 *db;

	unlink(path);
	if (sqlite3_open(path, &db) ||
		sqlite3_exec(db,
			"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-16384;"
			"CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT);"
			"CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid, tid, start, end, "
			"apiName_id,"
			" category_id, domain_id, args_id);"
			"CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId, queueId, sequenceId, "
			"start,"
			" end, description_id, opType_id);"
			"CREATE TABLE rocpd_api_ops(id INTEGER PRIMARY KEY, api_id, op_id);"
			"CREATE TABLE rocpd_kernelapi(api_ptr_id INTEGER PRIMARY KEY, stream, gx, "
			"gy, gz,"
			" wx, wy, wz, g, p, kernelName_id); BEGIN",
			NULL, NULL, NULL))
		return -EIO;
	for (int i = 0; i < 4; i++)
		if (sqlite3_prepare_v2(db, inserts[i], -1, &stmts[i], NULL))
			return -EIO;
	for (uint64_t i = 0; i < cnt; i++) {
		const struct event *event = &events[i];
		int64_t op_row = (int64_t)(op_id += event->has_op);
		const int64_t rows[4][9] = {
			{(int64_t)event->api.id, event->api.thread_id, (int64_t)event->api.start_ns,
				(int64_t)event->api.end_ns, 5},
			{op_row, event->op.queue_id, (int64_t)event->op.packet,
				(int64_t)event->op.start_ns, (int64_t)event->op.end_ns,
				event->op.symbol_id},
			{op_row, (int64_t)event->api.id, op_row},
			{(int64_t)event->api.id, event->op.grid[0], event->op.grid[1],
				event->op.grid[2], event->op.block[0], event->op.block[1],
				event->op.block[2], event->op.symbol_id}};
		static const int columns[4] = {5, 6, 3, 8};

		for (int t = 0; t < (event->has_op ? event->op.symbol_id ? 4 : 3 : 1); t++) {
			for (int column = 0; column < columns[t]; column++)
				sqlite3_bind_int64(stmts[t], column + 1, rows[t][column]);
			sqlite3_step(stmts[t]);
			sqlite3_reset(stmts[t]);
		}
	}
	for (int i = 0; i < 4; i++)
		sqlite3_finalize(stmts[i]);
	sqlite3_exec(db,
		"CREATE UNIQUE INDEX u ON rocpd_api_ops(api_id, op_id); CREATE INDEX a ON "
		"rocpd_api_ops(api_id);"
		"CREATE INDEX o ON rocpd_api_ops(op_id); CREATE INDEX d ON "
		"rocpd_op(description_id);"
		"CREATE INDEX t ON rocpd_op(opType_id); CREATE INDEX n ON rocpd_api(apiName_id);"
		"CREATE INDEX c ON rocpd_api(category_id); CREATE INDEX e ON rocpd_api(domain_id);"
		"CREATE INDEX g ON rocpd_api(args_id); CREATE INDEX k ON "
		"rocpd_kernelapi(kernelName_id);"
		"COMMIT",
		NULL, NULL, NULL);
	return sqlite3_close(db) ? -EIO : 0;
}

int main(int argc, char **argv)
{
	uint64_t cnt = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000) * 1000 / 19 * 10,
		 event_cnt = 0;
	struct event *events = calloc(cnt, sizeof(*events));
	struct wt_json json = {.file = stdout};
	char own[4096], naive[4096];
	double start, own_seconds, naive_seconds;

	if (!events || !cnt)
		return 2;
	snprintf(own, sizeof(own), "%s/store_write.db", argc > 2 ? argv[2] : "/tmp");
	snprintf(naive, sizeof(naive), "%s/store_write.rpd", argc > 2 ? argv[2] : "/tmp");
	for (uint64_t i = 0; i < cnt; i++) {
		make_event(&events[i], i);
		event_cnt += 1 + events[i].has_op;
	}
	start = cpu_seconds();
	if (write_store(own, events, cnt))
		return 1;
	own_seconds = cpu_seconds() - start;
	start = cpu_seconds();
	if (write_rpd(naive, events, cnt))
		return 1;
	naive_seconds = cpu_seconds() - start;
	wt_json__object(&json);
	wt_json__key_string(&json, "bench", "store_write");
	wt_json__key_uint(&json, "events", event_cnt);
	wt_json__key(&json, "events_per_second");
	wt_json__double(&json, (double)event_cnt / own_seconds);
	wt_json__key(&json, "bytes_per_event");
	wt_json__double(&json, (double)file_bytes(own) / (double)event_cnt);
	wt_json__key(&json, "rpd_events_per_second");
	wt_json__double(&json, (double)event_cnt / naive_seconds);
	wt_json__key(&json, "rpd_bytes_per_event");
	wt_json__double(&json, (double)file_bytes(naive) / (double)event_cnt);
	wt_json__key(&json, "speed_ratio");
	wt_json__double(&json, naive_seconds / own_seconds);
	wt_json__key(&json, "size_ratio");
	wt_json__double(&json, (double)file_bytes(naive) / (double)file_bytes(own));
	wt_json__end(&json);
	free(events);
	if (argc <= 2) {
		unlink(own);
		unlink(naive);
	}
	return 0;
}
