// SPDX-License-Identifier: MIT
#include "sample.h"

#include "core/record.h"
#include "core/session.h"

#define T(us) (SAMPLE_ORIGIN_NS + (us)*1000ull)

struct wt_store_options sample__options(enum wt_schema schema, enum wt_store_exists exists)
{
	return (struct wt_store_options){.size = sizeof(struct wt_store_options),
		.schema = schema,
		.exists = exists,
		.origin_ns = SAMPLE_ORIGIN_NS,
		.origin_realtime_ns = 1700000000000000000ull,
		.origin_monotonic_ns = 4000000000000ull};
}

static void add_definitions(struct wt_store *store)
{
	static const char *const names[] = {"_Z6vecAddPfS_S_i", "_ZN2ns4gemmILi16EfEEvPT0_",
		"Cijk_Ailk_Bljk_SB_MT64x64x16", "_Z6vecAddPfS_S_i"};

	wt_store__add_process(store, &(struct wt_store_process){.id = 1,
					     .pid = 100,
					     .parent_pid = 1,
					     .start_ticks = 777,
					     .joined_ns = T(0),
					     .ended_ns = T(900),
					     .exit_kind = 1,
					     .image = "python3",
					     .command = "python3 train.py",
					     .host = "node-a",
					     .rank = "0"});
	wt_store__add_process(store, &(struct wt_store_process){.id = 2,
					     .parent_id = 1,
					     .pid = 101,
					     .joined_ns = T(10),
					     .ended_ns = WT_ABSENT,
					     .forked = true,
					     .image = "python3",
					     .command = "",
					     .host = "node-a",
					     .rank = ""});
	for (uint32_t id = 1; id <= 2; id++) {
		wt_store__add_thread(store, &(struct wt_store_thread){.id = id,
						    .process_id = id,
						    .tid = 99 + id,
						    .name = id == 1 ? "main" : ""});
		wt_store__add_device(store, &(struct wt_store_device){.id = id,
						    .process_id = id,
						    .number = id - 1,
						    .uuid = 0xf00000000000abcdull + id,
						    .node = id,
						    .bdf = 0x4100 + (id << 3),
						    .compute_units = 104,
						    .clock_mhz = 1700,
						    .arch = "gfx90a",
						    .name = "AMD Instinct MI210",
						    .hip_ordinal = id == 1 ? 0 : UINT32_MAX,
						    .isa = "gfx90a:sramecc+:xnack-",
						    .uuid_text = id == 1 ? "GPU-f00000000000abce" : "",
						    .partition = UINT32_MAX,
						    .memory_bytes = 68702699520ull,
						    .asic_revision = UINT32_MAX});
		wt_store__add_setting(store, &(struct wt_store_setting){.process_id = id,
						     .name = "ROCR_VISIBLE_DEVICES",
						     .value = id == 1 ? "0" : "1",
						     .whole_bytes = WT_ABSENT});
		wt_store__add_setting(store, &(struct wt_store_setting){.process_id = id,
						     .name = "XLA_FLAGS",
						     .value = "",
						     .whole_bytes = id == 1 ? 5000 : WT_ABSENT});
		wt_store__add_version(store, &(struct wt_store_version){.process_id = id,
						     .part = "hip",
						     .version = id == 1 ? "7.2.1" : ""});
		wt_store__add_queue(store, &(struct wt_store_queue){.id = id,
						   .process_id = id,
						   .device_id = id,
						   .hsa_id = id,
						   .size = 4096,
						   .created_ns = T(5),
						   .ended_ns = WT_ABSENT,
						   .mode = "slots",
						   .type = 0,
						   .priority = id == 1 ? 2 : UINT32_MAX,
						   .cu_mask = id == 1 ? "00000000000000ff" : ""});
		wt_store__add_stream(store, &(struct wt_store_stream){.id = id,
						    .process_id = id,
						    .device_id = id,
						    .number = 1,
						    .handle = id == 1 ? 0x55aa00 : 0,
						    .created_ns = T(6),
						    .ended_ns = WT_ABSENT,
						    .kind = id == 1 ? "created" : "null"});
	}
	for (uint32_t id = 1; id <= 4; id++)
		wt_store__add_symbol(store, &(struct wt_store_symbol){.id = id,
						    .process_id = id == 4 ? 2 : 1,
						    .device_id = id == 4 ? 2 : 1,
						    .name = names[id - 1],
						    .kernel_object = 0x7f0000001000ull + id * 64,
						    .loaded_ns = T(3),
						    .unloaded_ns = WT_ABSENT,
						    .group_bytes = 1024,
						    .private_bytes = 64,
						    .kernarg_bytes = 32});
}

static void add_calls(struct wt_store *store)
{
	struct wt_store_api api = {.process_id = 1, .thread_id = 1, .domain = "hip"};
	uint64_t id = 0;

	/* 1 … 6: launches of two kernels by process 1, 7: by process 2 */
	for (uint64_t i = 0; i < 7; i++) {
		api = (struct wt_store_api){.id = ++id,
			.process_id = i == 6 ? 2 : 1,
			.thread_id = i == 6 ? 2 : 1,
			.name = "hipLaunchKernel",
			.domain = "hip",
			.start_ns = T(20 + i * 10),
			.end_ns = T(23 + i * 10),
			.stream_id = i == 6 ? 2 : 1,
			.detail = WT_API_LAUNCH,
			.launch = {.function = i % 2 ? 0x401000 : 0x402000,
				.grid = {1024, 1, 1},
				.block = {256, 1, 1},
				.shared_bytes = 16}};
		wt_store__add_api(store, &api);
	}
	api = (struct wt_store_api){.id = ++id,
		.process_id = 1,
		.thread_id = 1,
		.name = "hipMemcpyAsync",
		.domain = "hip",
		.start_ns = T(100),
		.end_ns = T(105),
		.stream_id = 1,
		.detail = WT_API_COPY,
		.copy = {.dst = 0x7f00aa0000ull,
			.src = 0x7f00bb0000ull,
			.bytes = 4096,
			.kind = WT_COPY_HTOD}};
	wt_store__add_api(store, &api);
	api.id = ++id;
	api.name = "hipMemsetAsync";
	api.start_ns = T(110);
	api.end_ns = T(112);
	api.copy.kind = WT_COPY_FILL;
	wt_store__add_api(store, &api);
	api = (struct wt_store_api){.id = ++id,
		.process_id = 1,
		.thread_id = 1,
		.name = "hipGraphLaunch",
		.domain = "hip",
		.start_ns = T(120),
		.end_ns = T(130),
		.stream_id = 1,
		.detail = WT_API_LAUNCH,
		.launch = {.function = 0x9999}};
	wt_store__add_api(store, &api);
	api = (struct wt_store_api){.id = ++id,
		.process_id = 1,
		.thread_id = 1,
		.name = "hipMalloc",
		.domain = "hip",
		.start_ns = T(11),
		.end_ns = T(12),
		.ret = 2,
		.detail = WT_API_ARGS,
		.args = {.value = {0x7f00cc0000ull, 65536}, .cnt = 2}};
	wt_store__add_api(store, &api);
	api = (struct wt_store_api){.id = ++id,
		.process_id = 2,
		.thread_id = 2,
		.name = "hipDeviceSynchronize",
		.domain = "hip",
		.start_ns = T(140),
		.end_ns = WT_ABSENT};
	wt_store__add_api(store, &api);
}

static void add_ops(struct wt_store *store)
{
	struct wt_store_op kernel = {.kind = WT_OP_KERNEL,
		.process_id = 1,
		.device_id = 1,
		.queue_id = 1,
		.stream_id = 1,
		.symbol_id = 1,
		.kernel_object = 0x7f0000001040ull,
		.grid = {1024, 1, 1},
		.block = {256, 1, 1},
		.group_bytes = 1040,
		.private_bytes = 64};
	struct wt_store_op copy = {.kind = WT_OP_COPY,
		.process_id = 1,
		.device_id = 1,
		.stream_id = 1,
		.packet = WT_ABSENT,
		.api_id = 8,
		.start_ns = T(200),
		.end_ns = T(210),
		.copy_kind = WT_COPY_HTOD,
		.bytes = 4096,
		.dst = 0x7f00aa0000ull,
		.src = 0x7f00bb0000ull};

	/* launches 1 … 5: two kernels in turn; timed */
	for (uint64_t i = 0; i < 5; i++) {
		kernel.api_id = i + 1;
		kernel.packet = i;
		kernel.symbol_id = i % 2 ? 2 : 1;
		kernel.start_ns = T(30 + i * 20);
		kernel.end_ns = kernel.start_ns + 10000 + i * 1000;
		wt_store__add_op(store, &kernel);
	}
	/* launch 6: no times; launch 7, process 2: in flight */
	kernel.api_id = 6;
	kernel.packet = 5;
	kernel.start_ns = kernel.end_ns = WT_ABSENT;
	kernel.untimed = WT_LOST_TIME_SHARED_SIGNAL;
	kernel.symbol_id = 2;
	wt_store__add_op(store, &kernel);
	kernel = (struct wt_store_op){.kind = WT_OP_KERNEL,
		.process_id = 2,
		.device_id = 2,
		.queue_id = 2,
		.stream_id = 2,
		.packet = 0,
		.api_id = 7,
		.start_ns = WT_ABSENT,
		.end_ns = WT_ABSENT,
		.in_flight = true,
		.symbol_id = 4,
		.kernel_object = 0x7f0000001100ull,
		.grid = {64, 1, 1},
		.block = {64, 1, 1},
		.private_bytes = UINT32_MAX};
	wt_store__add_op(store, &kernel);
	wt_store__add_op(store, &copy);
	/* a copy by a DMA engine of which nothing else is known */
	copy = (struct wt_store_op){.kind = WT_OP_COPY,
		.process_id = 2,
		.device_id = 2,
		.packet = WT_ABSENT,
		.start_ns = WT_ABSENT,
		.end_ns = WT_ABSENT,
		.untimed = WT_LOST_TIME_NOT_STAMPED,
		.copy_kind = WT_COPY_UNKNOWN,
		.bytes = WT_ABSENT,
		.dst = WT_ABSENT,
		.src = WT_ABSENT};
	wt_store__add_op(store, &copy);
	/* a fill done by a kernel */
	wt_store__add_op(store, &(struct wt_store_op){.kind = WT_OP_FILL,
					.process_id = 1,
					.device_id = 1,
					.queue_id = 1,
					.stream_id = 1,
					.packet = 6,
					.api_id = 9,
					.start_ns = T(220),
					.end_ns = T(222),
					.symbol_id = 3,
					.grid = {64, 1, 1},
					.block = {64, 1, 1},
					.private_bytes = 0,
					.copy_kind = WT_COPY_FILL,
					.bytes = 4096,
					.dst = 0x7f00aa0000ull,
					.src = WT_ABSENT});
	/* a node of the graph launch; overlaps its predecessor */
	wt_store__add_op(store, &(struct wt_store_op){.kind = WT_OP_KERNEL,
					.process_id = 1,
					.device_id = 1,
					.queue_id = 1,
					.stream_id = 1,
					.packet = 7,
					.api_id = 10,
					.start_ns = T(230),
					.end_ns = T(240),
					.overlaps = true,
					.symbol_id = 3,
					.grid = {512, 2, 1},
					.block = {128, 1, 1},
					.private_bytes = 0,
					.in_graph = true,
					.node = 3 << 8});
}

void sample__add(struct wt_store *store)
{
	add_definitions(store);
	add_calls(store);
	add_ops(store);
	wt_store__add_lost(store, &(struct wt_store_lost){.process_id = 1,
					  .cause = wt_lost__name(WT_LOST_CALL_RING_FULL),
					  .count = 17});
	wt_store__add_lost(store, &(struct wt_store_lost){.process_id = 1,
					  .cause = wt_lost__name(WT_LOST_TIME_SHARED_SIGNAL),
					  .count = 1});
	wt_store__add_clock(store, &(struct wt_store_clock){.process_id = 1,
					   .taken_ns = T(1),
					   .ticks = 123456789,
					   .ns = T(1),
					   .realtime_ns = 1700000000000001000ull,
					   .monotonic_ns = 4000000001000ull,
					   .width_ns = 120});
	wt_store__add_clock(store, &(struct wt_store_clock){.process_id = 1,
					   .device_id = 1,
					   .taken_ns = T(2),
					   .ticks = 500,
					   .ns = T(2),
					   .realtime_ns = WT_ABSENT,
					   .monotonic_ns = WT_ABSENT,
					   .width_ns = WT_ABSENT});
	wt_store__add_status(store, &(struct wt_store_status){.process_id = 1,
					    .source = "hsa",
					    .level = "info",
					    .text = "slots: the GPU stamps shared memory"});
	wt_store__add_status(store, &(struct wt_store_status){.process_id = 2,
					    .source = "hsa",
					    .level = "off",
					    .text = "forked child: the driver forbids it"});
	wt_store__add_meta(store, "command", "python3 train.py");
}

int sample__write(
	const char *path, enum wt_schema schema, enum wt_store_exists exists, struct wt_err **err)
{
	struct wt_store_options options = sample__options(schema, exists);
	struct wt_store *store;
	int code = wt_store__open(&store, path, &options, err);

	if (code)
		return code;
	sample__add(store);
	return wt_store__close(store, err);
}
