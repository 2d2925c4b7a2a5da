// SPDX-License-Identifier: MIT
/*
 * The compact tables. Every column may be NULL ("not known") unless it says
 * otherwise. Whatever many events share is in a small table of its own (lane,
 * shape, call, launch, state), so that an event is a handful of small integers.
 */
#include "store/schema.h"

#include <stddef.h>

const struct wt_table_schema wt_tables[WT_T_CNT] = {
	[WT_T_META] = {"wt_meta", 3,
		"id INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL"},
	[WT_T_RUN] = {"wt_run", 5,
		"id INTEGER PRIMARY KEY, origin_ns INTEGER NOT NULL, origin_realtime_ns INTEGER,"
		" origin_monotonic_ns INTEGER, shift_ns INTEGER NOT NULL"},
	[WT_T_STRING] = {"wt_string", 2, "id INTEGER PRIMARY KEY, string TEXT NOT NULL"},
	[WT_T_PROCESS] = {"wt_process", 13,
		"id INTEGER PRIMARY KEY, parent_id INTEGER, pid INTEGER, parent_pid INTEGER,"
		" start_ticks INTEGER, joined INTEGER, ended INTEGER, exit_kind INTEGER,"
		" forked INTEGER, image TEXT, command TEXT, host TEXT, rank TEXT"},
	[WT_T_THREAD] = {"wt_thread", 4,
		"id INTEGER PRIMARY KEY, process_id INTEGER, tid INTEGER, name TEXT"},
	[WT_T_DEVICE] = {"wt_device", 30,
		"id INTEGER PRIMARY KEY, process_id INTEGER, number INTEGER, uuid INTEGER,"
		" node INTEGER, bdf INTEGER, compute_units INTEGER, clock_mhz INTEGER,"
		" arch TEXT, name TEXT, hip_ordinal INTEGER, isa TEXT, uuid_text TEXT,"
		" domain INTEGER, partition INTEGER, compute_partition TEXT, memory_partition TEXT,"
		" xccs INTEGER, memory_bytes INTEGER, memory_clock_mhz INTEGER,"
		" memory_width_bits INTEGER, wavefront_size INTEGER, lds_bytes INTEGER,"
		" workgroup_max INTEGER, waves_per_cu INTEGER, simds_per_cu INTEGER,"
		" shader_engines INTEGER, l2_bytes INTEGER, chip_id INTEGER,"
		" asic_revision INTEGER"},
	[WT_T_SETTING] = {"wt_setting", 5,
		"id INTEGER PRIMARY KEY, process_id INTEGER, name TEXT NOT NULL,"
		" value TEXT NOT NULL, whole_bytes INTEGER"},
	[WT_T_VERSION] = {"wt_version", 4,
		"id INTEGER PRIMARY KEY, process_id INTEGER, part TEXT NOT NULL, version TEXT"},
	[WT_T_QUEUE] = {"wt_queue", 11,
		"id INTEGER PRIMARY KEY, process_id INTEGER, device_id INTEGER, hsa_id INTEGER,"
		" size INTEGER, created INTEGER, ended INTEGER, mode TEXT, type INTEGER,"
		" priority INTEGER, cu_mask TEXT"},
	[WT_T_STREAM] = {"wt_stream", 10,
		"id INTEGER PRIMARY KEY, process_id INTEGER, device_id INTEGER, number INTEGER,"
		" handle INTEGER, created INTEGER, ended INTEGER, kind TEXT, priority INTEGER,"
		" flags INTEGER"},
	[WT_T_SYMBOL] = {"wt_symbol", 18,
		"id INTEGER PRIMARY KEY, process_id INTEGER, device_id INTEGER, name_id INTEGER,"
		" kernel_object INTEGER, loaded INTEGER, unloaded INTEGER, group_bytes INTEGER,"
		" private_bytes INTEGER, kernarg_bytes INTEGER, vgprs INTEGER, agprs INTEGER,"
		" sgprs INTEGER, vgpr_spills INTEGER, sgpr_spills INTEGER, workgroup_max INTEGER,"
		" wavefront_size INTEGER, dynamic_stack INTEGER"},
	[WT_T_LANE] = {"wt_lane", 5,
		"id INTEGER PRIMARY KEY, process_id INTEGER, device_id INTEGER, queue_id INTEGER,"
		" stream_id INTEGER"},
	[WT_T_SHAPE] = {"wt_shape", 14,
		"id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, symbol_id INTEGER,"
		" kernel_object INTEGER, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER,"
		" block_x INTEGER, block_y INTEGER, block_z INTEGER, group_bytes INTEGER,"
		" private_bytes INTEGER, copy_kind INTEGER, overlaps INTEGER NOT NULL"},
	[WT_T_STATE] = {"wt_state", 3,
		"id INTEGER PRIMARY KEY, in_flight INTEGER NOT NULL, untimed TEXT"},
	[WT_T_OP] = {"wt_op", 9,
		"id INTEGER PRIMARY KEY, start INTEGER, duration INTEGER, shape_id INTEGER NOT "
		"NULL,"
		" lane_id INTEGER NOT NULL, api_id INTEGER, packet INTEGER, node INTEGER,"
		" state_id INTEGER"},
	[WT_T_COPY] = {"wt_copy", 6,
		"id INTEGER PRIMARY KEY, bytes INTEGER, dst INTEGER, src INTEGER,"
		" dst_device_id INTEGER, src_device_id INTEGER"},
	[WT_T_CALL] = {"wt_call", 6,
		"id INTEGER PRIMARY KEY, process_id INTEGER, thread_id INTEGER, name_id INTEGER,"
		" domain_id INTEGER, stream_id INTEGER"},
	[WT_T_LAUNCH] = {"wt_launch", 10,
		"id INTEGER PRIMARY KEY, function INTEGER, grid_x INTEGER, grid_y INTEGER,"
		" grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER,"
		" shared_bytes INTEGER, symbol_id INTEGER"},
	[WT_T_API] = {"wt_api", 6,
		"id INTEGER PRIMARY KEY, start INTEGER, duration INTEGER, call_id INTEGER NOT NULL,"
		" ret INTEGER, launch_id INTEGER"},
	[WT_T_API_COPY] = {"wt_api_copy", 5,
		"id INTEGER PRIMARY KEY, dst INTEGER, src INTEGER, bytes INTEGER, kind INTEGER"},
	[WT_T_API_ARGS] = {"wt_api_args", 7,
		"id INTEGER PRIMARY KEY, a0 INTEGER, a1 INTEGER, a2 INTEGER, a3 INTEGER,"
		" a4 INTEGER, a5 INTEGER"},
	[WT_T_ARG_NAME] = {"wt_arg_name", 4,
		"id INTEGER PRIMARY KEY, function_id INTEGER NOT NULL, position INTEGER NOT NULL,"
		" name TEXT NOT NULL"},
	[WT_T_UNRECORDED] = {"wt_unrecorded", 5,
		"id INTEGER PRIMARY KEY, process_id INTEGER, name_id INTEGER NOT NULL,"
		" domain_id INTEGER NOT NULL, count INTEGER NOT NULL"},
	[WT_T_MEMORY] = {"wt_memory", 11,
		"id INTEGER PRIMARY KEY, process_id INTEGER, kind INTEGER, address INTEGER,"
		" bytes INTEGER, device_id INTEGER, stream_id INTEGER, allocated INTEGER,"
		" freed INTEGER, allocated_id INTEGER, freed_id INTEGER"},
	[WT_T_LOST] = {"wt_lost", 4,
		"id INTEGER PRIMARY KEY, process_id INTEGER, cause TEXT NOT NULL,"
		" count INTEGER NOT NULL"},
	[WT_T_CLOCK] = {"wt_clock", 9,
		"id INTEGER PRIMARY KEY, process_id INTEGER, device_id INTEGER, taken INTEGER,"
		" ticks INTEGER, time INTEGER, realtime_ns INTEGER, monotonic_ns INTEGER,"
		" width_ns INTEGER"},
	[WT_T_STATUS] = {"wt_status", 5,
		"id INTEGER PRIMARY KEY, process_id INTEGER, source TEXT, level TEXT, text TEXT"},
	[WT_T_UNKNOWN] = {"wt_unknown", 5,
		"id INTEGER PRIMARY KEY, view TEXT NOT NULL, \"column\" TEXT NOT NULL,"
		" sentinel TEXT NOT NULL, meaning TEXT NOT NULL"},
};

const char *const wt_fixed_strings[WT_STRING_FIXED_CNT + 1] = {
	[WT_STRING_EMPTY] = "",
	[WT_STRING_KERNEL] = "KernelExecution",
	[WT_STRING_COPY_HTOH] = "CopyHostToHost",
	[WT_STRING_COPY_HTOD] = "CopyHostToDevice",
	[WT_STRING_COPY_DTOH] = "CopyDeviceToHost",
	[WT_STRING_COPY_DTOD] = "CopyDeviceToDevice",
	[WT_STRING_COPY] = "Copy",
	[WT_STRING_FILL] = "FillBuffer",
};

const struct wt_unknown_row wt_unknown_rows[] = {
	{"rocpd_op", "gpuId", "-1", "device not known"},
	{"rocpd_op", "queueId", "0", "no queue: a DMA engine"},
	{"rocpd_op", "sequenceId", "0", "packet index not known, or packet 0: see wt_op.packet"},
	{"rocpd_op", "description", "''", "kernel name not known; copies and fills never have one"},
	{"rocpd_op", "completionSignal", "''",
		"dimensions not known; copies and fills never have them"},
	{"rocpd_op", "roctxId", "0", "not inside a range"},
	{"rocpd_op", "correlation_id", "0", "the call that asked for it is not known"},
	{"rocpd_api", "pid", "0", "process not known"},
	{"rocpd_api", "tid", "0", "thread not known"},
	{"rocpd_api", "category", "''", "never filled"},
	{"rocpd_api", "args", "''", "never filled: see wt_launch, wt_api_copy, wt_api_args"},
	{"rocpd_kernelapi", "stream", "''", "stream not known"},
	{"rocpd_kernelapi", "privateSegmentSize", "0",
		"not known, or 0: see wt_shape.private_bytes"},
	{"rocpd_copyapi", "stream", "''", "stream not known"},
	{"rocpd_copyapi", "size", "0", "not known, or 0: see wt_api_copy.bytes"},
	{"rocpd_copyapi", "width", "''", "never filled"},
	{"rocpd_copyapi", "height", "''", "never filled"},
	{"rocpd_copyapi", "kind", "4", "hipMemcpyDefault, or not known: see wt_api_copy.kind"},
	{"rocpd_copyapi", "dst", "''", "address not known"},
	{"rocpd_copyapi", "src", "''", "address not known"},
	{"rocpd_copyapi", "dstDevice", "0", "never filled"},
	{"rocpd_copyapi", "srcDevice", "0", "never filled"},
	{"rocpd_copyapi", "sync", "0", "never filled"},
	{"rocpd_copyapi", "pinned", "0", "never filled"},
	{NULL, NULL, NULL, NULL},
};
