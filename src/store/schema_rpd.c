// SPDX-License-Identifier: MIT
/* The views of RPD's schema 3 over RPD's real tables, and RTL's where they differ. */
#include "store/schema.h"

#include <stddef.h>

#define METADATA(tag) "(SELECT value FROM rocpd_metadata WHERE tag = '" tag "')"

const struct wt_rpd_view wt_rpd_views[] = {
	{"api", "SELECT a.id, a.pid, a.tid, a.start, a.\"end\", d.string AS domain,"
		" k.string AS category, n.string AS apiName, u.string AS args"
		" FROM rocpd_api a JOIN rocpd_string d ON d.id = a.domain_id"
		" JOIN rocpd_string k ON k.id = a.category_id"
		" JOIN rocpd_string n ON n.id = a.apiName_id"
		" JOIN rocpd_ustring u ON u.id = a.args_id"},
	{"op", "SELECT o.id, o.gpuId, o.queueId, o.sequenceId, o.start, o.\"end\","
	       " d.string AS description, t.string AS opType"
	       " FROM rocpd_op o JOIN rocpd_string d ON d.id = o.description_id"
	       " JOIN rocpd_string t ON t.id = o.opType_id"},
	{"busy", "SELECT g.gpuId, g.GpuTime, w.WallTime, g.GpuTime * 1.0 / w.WallTime AS Busy"
		 " FROM (SELECT gpuId, sum(\"end\" - start) AS GpuTime FROM rocpd_op GROUP BY "
		 "gpuId) g"
		 " JOIN (SELECT max(\"end\") - min(start) AS WallTime FROM rocpd_op) w"},
	{"top", "SELECT Name, TotalCalls, total / 1000 AS TotalDuration_us,"
		" (total / TotalCalls) / 1000.0 AS Ave_us,"
		" total * 100.0 / (SELECT sum(\"end\" - start) FROM rocpd_op) AS Percentage"
		" FROM (SELECT CASE WHEN description = '' THEN opType ELSE description END AS Name,"
		"  count(*) AS TotalCalls, sum(\"end\" - start) AS total FROM op GROUP BY 1)"
		" ORDER BY total DESC"},
	{"kernel", "SELECT o.id, o.gpuId, o.queueId, o.sequenceId, o.start, o.\"end\","
		   " o.\"end\" - o.start AS duration, k.stream, k.gridX, k.gridY, k.gridZ,"
		   " k.workgroupX, k.workgroupY, k.workgroupZ, k.groupSegmentSize,"
		   " k.privateSegmentSize, n.string AS kernelName"
		   " FROM rocpd_api_ops x JOIN rocpd_op o ON o.id = x.op_id"
		   " JOIN rocpd_kernelapi k ON k.api_ptr_id = x.api_id"
		   " JOIN rocpd_string n ON n.id = k.kernelName_id"},
	{"copy", "SELECT a.id, a.pid, a.tid, a.start, a.\"end\", n.string AS apiName, k.stream, "
		 "k.size,"
		 " k.width, k.height, k.kind, k.dst, k.src, k.dstDevice, k.srcDevice, k.sync, "
		 "k.pinned"
		 " FROM rocpd_copyapi k JOIN rocpd_api a ON a.id = k.api_ptr_id"
		 " JOIN rocpd_string n ON n.id = a.apiName_id"},
	{"copyop",
		"SELECT o.id, o.gpuId, o.queueId, o.sequenceId, o.start, o.\"end\","
		" o.\"end\" - o.start AS duration, k.stream, k.size, k.width, k.height, k.kind,"
		" k.dst, k.src, k.dstDevice, k.srcDevice, k.sync, k.pinned, n.string AS apiName"
		" FROM rocpd_api_ops x JOIN rocpd_op o ON o.id = x.op_id"
		" JOIN rocpd_copyapi k ON k.api_ptr_id = x.api_id"
		" JOIN rocpd_api a ON a.id = x.api_id JOIN rocpd_string n ON n.id = a.apiName_id"},
	{"stackframe", "SELECT a.id, n.string AS apiName, f.depth, s.string AS frame"
		       " FROM rocpd_stackframe f JOIN rocpd_api a ON a.id = f.api_ptr_id"
		       " JOIN rocpd_string n ON n.id = a.apiName_id JOIN rocpd_string s ON s.id = "
		       "f.name_id"},
	{"napi", "SELECT id, pid / " METADATA("pid_stride") " AS node, pid % " METADATA(
			 "pid_stride") " AS pid, tid % " METADATA("pid_stride") " AS tid, start, "
										"\"end\", domain, "
										"category,"
										" apiName, args "
										"FROM api"},
	{"nop", "SELECT id, gpuId / " METADATA("gpu_stride") " AS node, gpuId % " METADATA(
			"gpu_stride") " AS gpuId, queueId % " METADATA("gpu_stride") " AS queueId, "
										     "sequenceId, "
										     "start, "
										     "\"end\", "
										     "description, "
										     "opType FROM "
										     "op"},
	{"rtl_top", "SELECT Name, count(*) AS Calls, sum(\"end\" - start) AS TotalNs,"
		    " round(avg(\"end\" - start), 1) AS AvgNs, min(\"end\" - start) AS MinNs,"
		    " max(\"end\" - start) AS MaxNs, round(100.0 * sum(\"end\" - start) /"
		    "  (SELECT sum(\"end\" - start) FROM rocpd_op WHERE \"end\" > start AND gpuId "
		    ">= 0), 2)"
		    " AS Pct FROM (SELECT CASE WHEN description = '' THEN opType ELSE description "
		    "END AS Name,"
		    "  start, \"end\" FROM op WHERE \"end\" > start AND gpuId >= 0)"
		    " GROUP BY Name ORDER BY TotalNs DESC"},
	{"rtl_busy",
		"SELECT gpuId, round(100.0 * sum(\"end\" - start) / (max(\"end\") - min(start)), 2)"
		" AS utilization_pct, count(*) AS ops, sum(\"end\" - start) AS busy_ns,"
		" max(\"end\") - min(start) AS wall_ns"
		" FROM rocpd_op WHERE \"end\" > start GROUP BY gpuId"},
	{NULL, NULL},
};
