// SPDX-License-Identifier: MIT
/*
 * The wavetap tables as RPD's and RTL's readers know them. The columns and
 * their order are RPD schema 3's, RTL's follow. Scalar sub-queries instead of
 * joins: a column that a query does not use costs nothing, and SQLite can
 * still look a row up by its id through the view.
 */
#include "store/schema.h"

#define ORIGIN "(SELECT origin_ns FROM wt_run WHERE id = 1)"

/* a process's row is found through the lane or the call */
#define DEVICE_NUMBER                                                                              \
	"(SELECT d.number FROM wt_lane l JOIN wt_device d ON d.id = l.device_id"                   \
	" WHERE l.id = o.lane_id)"

/* printf would make 0x0 of NULL */
#define HEX(value) "CASE WHEN " value " IS NULL THEN NULL ELSE printf('0x%x', " value ") END"

/* opType_id of a shape: see enum wt_fixed_string */
#define OP_TYPE_ID                                                                                 \
	"(SELECT CASE s.kind WHEN 1 THEN 2 WHEN 3 THEN 8 ELSE CASE s.copy_kind WHEN 0 THEN 3"      \
	" WHEN 1 THEN 4 WHEN 2 THEN 5 WHEN 3 THEN 6 WHEN 5 THEN 6 ELSE 7 END END"                  \
	" FROM wt_shape s WHERE s.id = o.shape_id)"

#define DESCRIPTION_ID                                                                             \
	"coalesce((SELECT y.name_id FROM wt_shape s JOIN wt_symbol y ON y.id = s.symbol_id"        \
	" WHERE s.id = o.shape_id AND s.kind = 1), 1)"

#define LANE_STREAM                                                                                \
	"coalesce((SELECT " HEX(                                                                   \
		"m.handle") " FROM wt_lane l JOIN wt_stream m ON m.id = l.stream_id"               \
			    " WHERE l.id = o.lane_id), '')"

#define CALL_STREAM                                                                                \
	"coalesce((SELECT " HEX("m.handle") " FROM wt_stream m WHERE m.id = c.stream_id), '')"

#define QUEUE_ID "coalesce((SELECT l.queue_id FROM wt_lane l WHERE l.id = o.lane_id), 0)"

const char wt_schema_views[] =
	/* what takes memory: not the program's own, nor addresses, nor another process's */
	"CREATE VIEW memory_use AS SELECT time, process_id, device_id, change,"
	" sum(change) OVER (PARTITION BY process_id, device_id ORDER BY time, change"
	"  ROWS UNBOUNDED PRECEDING) AS bytes"
	" FROM (SELECT allocated AS time, process_id, device_id, kind, bytes AS change FROM wt_memory"
	"  UNION ALL SELECT freed, process_id, device_id, kind, -bytes FROM wt_memory"
	"  WHERE allocated IS NOT NULL)"
	" WHERE time IS NOT NULL AND change IS NOT NULL AND device_id IS NOT NULL"
	" AND kind NOT IN (6, 8, 9);"

	"CREATE VIEW rocpd_string AS SELECT id, string FROM wt_string;"

	"CREATE VIEW rocpd_ustring AS SELECT id, string FROM wt_string WHERE id = 1;"

	"CREATE VIEW rocpd_metadata AS SELECT id, key AS tag, value FROM wt_meta;"

	"CREATE VIEW rocpd_op AS SELECT o.id AS id,"
	" coalesce(" DEVICE_NUMBER ", -1) AS gpuId,"
	" " QUEUE_ID " AS queueId,"
	" coalesce(o.packet, 0) AS sequenceId,"
	" o.start + " ORIGIN " AS start,"
	" o.start + o.duration + " ORIGIN " AS \"end\","
	" " DESCRIPTION_ID " AS description_id,"
	" " OP_TYPE_ID " AS opType_id,"
	" coalesce((SELECT 'hwq=' || " QUEUE_ID
	" || ' wg=' || s.block_x || ',' || s.block_y || ',' ||"
	"  s.block_z || ' grid=' || s.grid_x || ',' || s.grid_y || ',' || s.grid_z"
	"  FROM wt_shape s WHERE s.id = o.shape_id AND s.kind = 1), '') AS completionSignal,"
	" 0 AS roctxId,"
	" coalesce(o.api_id, 0) AS correlation_id"
	" FROM wt_op o WHERE o.start IS NOT NULL;"

	"CREATE VIEW rocpd_api AS SELECT a.id AS id,"
	" coalesce((SELECT p.pid FROM wt_call c JOIN wt_process p ON p.id = c.process_id"
	"  WHERE c.id = a.call_id), 0) AS pid,"
	" coalesce((SELECT t.tid FROM wt_call c JOIN wt_thread t ON t.id = c.thread_id"
	"  WHERE c.id = a.call_id), 0) AS tid,"
	" a.start + " ORIGIN " AS start,"
	" a.start + a.duration + " ORIGIN " AS \"end\","
	" coalesce((SELECT c.name_id FROM wt_call c WHERE c.id = a.call_id), 1) AS apiName_id,"
	" 1 AS category_id,"
	" coalesce((SELECT c.domain_id FROM wt_call c WHERE c.id = a.call_id), 1) AS domain_id,"
	" 1 AS args_id,"
	" a.id AS correlation_id"
	" FROM wt_api a WHERE a.start IS NOT NULL AND a.duration IS NOT NULL;"

	"CREATE VIEW rocpd_api_ops AS SELECT o.id AS id, o.api_id AS api_id, o.id AS op_id"
	" FROM wt_op o WHERE o.api_id IS NOT NULL AND o.start IS NOT NULL;"

	"CREATE VIEW rocpd_kernelapi AS SELECT a.id AS api_ptr_id,"
	" coalesce((SELECT " CALL_STREAM " FROM wt_call c WHERE c.id = a.call_id), '') AS stream,"
	" w.grid_x AS gridX, w.grid_y AS gridY, w.grid_z AS gridZ,"
	" w.block_x AS workgroupX, w.block_y AS workgroupY, w.block_z AS workgroupZ,"
	" w.shared_bytes + coalesce((SELECT y.group_bytes FROM wt_symbol y"
	"  WHERE y.id = w.symbol_id), 0) AS groupSegmentSize,"
	" coalesce((SELECT y.private_bytes FROM wt_symbol y WHERE y.id = w.symbol_id), 0)"
	"  AS privateSegmentSize,"
	" coalesce((SELECT y.name_id FROM wt_symbol y WHERE y.id = w.symbol_id), 1) AS "
	"kernelName_id,"
	" a.id AS api_id"
	" FROM wt_api a JOIN wt_launch w ON w.id = a.launch_id WHERE w.grid_x IS NOT NULL;"

	"CREATE VIEW rocpd_copyapi AS SELECT k.id AS api_ptr_id,"
	" coalesce((SELECT " CALL_STREAM " FROM wt_api a JOIN wt_call c ON c.id = a.call_id"
	"  WHERE a.id = k.id), '') AS stream,"
	" coalesce(k.bytes, 0) AS size, '' AS width, '' AS height,"
	" coalesce(k.kind, 4) AS kind,"
	" coalesce(" HEX("k.dst") ", '') AS dst, coalesce(" HEX(
		"k.src") ", '') AS src,"
			 " 0 AS dstDevice, 0 AS srcDevice, 0 AS sync, 0 AS pinned,"
			 " k.id AS api_id"
			 " FROM wt_api_copy k WHERE k.kind IS NULL OR k.kind <> 16;"

			 "CREATE VIEW rocpd_graphLaunchapi AS SELECT a.id AS api_ptr_id,"
			 " " HEX("w.function") " AS graphExec, " CALL_STREAM " AS stream"
					       " FROM wt_api a JOIN wt_call c ON c.id = a.call_id "
					       "JOIN wt_launch w ON w.id = a.launch_id"
					       " WHERE w.grid_x IS NULL AND w.function IS NOT NULL;"

					       /* wavetap has no such rows yet: real tables, so that
						  tools may add their own */
					       "CREATE TABLE rocpd_monitor(id INTEGER PRIMARY KEY, "
					       "deviceType TEXT NOT NULL,"
					       " deviceId INTEGER NOT NULL, monitorType TEXT NOT "
					       "NULL, start INTEGER NOT NULL,"
					       " \"end\" INTEGER NOT NULL, value TEXT NOT NULL);"
					       "CREATE TABLE rocpd_counter(id INTEGER PRIMARY KEY, "
					       "value REAL NOT NULL,"
					       " op_id INTEGER NOT NULL, name_id INTEGER NOT NULL);"
					       "CREATE TABLE rocpd_stackframe(id INTEGER PRIMARY "
					       "KEY, api_ptr_id INTEGER NOT NULL,"
					       " depth INTEGER NOT NULL, name_id INTEGER NOT NULL);"

					       /* ---- RPD's joined views ---- */
					       "CREATE VIEW api AS SELECT a.id, a.pid, a.tid, "
					       "a.start, a.\"end\","
					       " d.string AS domain, k.string AS category, "
					       "n.string AS apiName, u.string AS args"
					       " FROM rocpd_api a JOIN rocpd_string d ON d.id = "
					       "a.domain_id"
					       " JOIN rocpd_string k ON k.id = a.category_id JOIN "
					       "rocpd_string n ON n.id = a.apiName_id"
					       " JOIN rocpd_ustring u ON u.id = a.args_id;"

					       "CREATE VIEW op AS SELECT o.id, o.gpuId, o.queueId, "
					       "o.sequenceId, o.start, o.\"end\","
					       " d.string AS description, t.string AS opType"
					       " FROM rocpd_op o JOIN rocpd_string d ON d.id = "
					       "o.description_id"
					       " JOIN rocpd_string t ON t.id = o.opType_id;"

					       "CREATE VIEW busy AS SELECT g.gpuId, g.GpuTime, "
					       "w.WallTime,"
					       " g.GpuTime * 1.0 / w.WallTime AS Busy"
					       " FROM (SELECT gpuId, sum(\"end\" - start) AS "
					       "GpuTime FROM rocpd_op GROUP BY gpuId) g"
					       " JOIN (SELECT max(\"end\") - min(start) AS "
					       "WallTime FROM rocpd_op) w;"

					       "CREATE VIEW top AS SELECT Name, TotalCalls, total "
					       "/ 1000 AS TotalDuration_us,"
					       " (total / TotalCalls) / 1000.0 AS Ave_us,"
					       " total * 100.0 / (SELECT sum(duration) FROM wt_op "
					       "WHERE start IS NOT NULL) AS Percentage"
					       " FROM (SELECT CASE WHEN description = '' THEN "
					       "opType ELSE description END AS Name,"
					       "  count(*) AS TotalCalls, sum(\"end\" - start) AS "
					       "total FROM op GROUP BY 1)"
					       " ORDER BY total DESC;"

					       /* RPD joins by call; here each kernel has its own
						  shape, also without a call or in a graph */
					       "CREATE VIEW kernel AS SELECT o.id AS id,"
					       " coalesce(" DEVICE_NUMBER
					       ", -1) AS gpuId, " QUEUE_ID " AS queueId,"
					       " coalesce(o.packet, 0) AS sequenceId, o.start "
					       "+ " ORIGIN " AS start,"
					       " o.start + o.duration + " ORIGIN
					       " AS \"end\", o.duration AS duration,"
					       " " LANE_STREAM
					       " AS stream, s.grid_x AS gridX, s.grid_y AS gridY, "
					       "s.grid_z AS gridZ,"
					       " s.block_x AS workgroupX, s.block_y AS workgroupY, "
					       "s.block_z AS workgroupZ,"
					       " coalesce(s.group_bytes, 0) AS groupSegmentSize,"
					       " coalesce(s.private_bytes, 0) AS "
					       "privateSegmentSize,"
					       " coalesce((SELECT n.string FROM wt_symbol y JOIN "
					       "wt_string n ON n.id = y.name_id"
					       "  WHERE y.id = s.symbol_id), '') AS kernelName"
					       " FROM wt_op o JOIN wt_shape s ON s.id = o.shape_id "
					       "WHERE s.kind = 1 AND o.start IS NOT NULL;"

					       "CREATE VIEW copy AS SELECT a.id, a.pid, a.tid, "
					       "a.start, a.\"end\", n.string AS apiName,"
					       " k.stream, k.size, k.width, k.height, k.kind, "
					       "k.dst, k.src, k.dstDevice, k.srcDevice,"
					       " k.sync, k.pinned"
					       " FROM rocpd_copyapi k JOIN rocpd_api a ON a.id = "
					       "k.api_ptr_id"
					       " JOIN rocpd_string n ON n.id = a.apiName_id;"

					       "CREATE VIEW copyop AS SELECT o.id, o.gpuId, "
					       "o.queueId, o.sequenceId, o.start, o.\"end\","
					       " o.\"end\" - o.start AS duration, k.stream, "
					       "k.size, k.width, k.height, k.kind, k.dst, k.src,"
					       " k.dstDevice, k.srcDevice, k.sync, k.pinned, "
					       "n.string AS apiName"
					       " FROM rocpd_api_ops x JOIN rocpd_op o ON o.id = "
					       "x.op_id"
					       " JOIN rocpd_copyapi k ON k.api_ptr_id = x.api_id "
					       "JOIN rocpd_api a ON a.id = x.api_id"
					       " JOIN rocpd_string n ON n.id = a.apiName_id;"

					       "CREATE VIEW stackframe AS SELECT a.id, n.string AS "
					       "apiName, f.depth, s.string AS frame"
					       " FROM rocpd_stackframe f JOIN rocpd_api a ON a.id "
					       "= f.api_ptr_id"
					       " JOIN rocpd_string n ON n.id = a.apiName_id JOIN "
					       "rocpd_string s ON s.id = f.name_id;"

					       "CREATE VIEW napi AS SELECT a.id,"
					       " a.pid / (SELECT value FROM rocpd_metadata WHERE "
					       "tag = 'pid_stride') AS node,"
					       " a.pid % (SELECT value FROM rocpd_metadata WHERE "
					       "tag = 'pid_stride') AS pid,"
					       " a.tid % (SELECT value FROM rocpd_metadata WHERE "
					       "tag = 'pid_stride') AS tid,"
					       " a.start, a.\"end\", a.domain, a.category, "
					       "a.apiName, a.args FROM api a;"

					       "CREATE VIEW nop AS SELECT o.id,"
					       " o.gpuId / (SELECT value FROM rocpd_metadata WHERE "
					       "tag = 'gpu_stride') AS node,"
					       " o.gpuId % (SELECT value FROM rocpd_metadata WHERE "
					       "tag = 'gpu_stride') AS gpuId,"
					       " o.queueId % (SELECT value FROM rocpd_metadata "
					       "WHERE tag = 'gpu_stride') AS queueId,"
					       " o.sequenceId, o.start, o.\"end\", o.description, "
					       "o.opType FROM op o;"

					       /* ---- RTL's, where RPD's view of the same name
						  differs ---- */
					       "CREATE VIEW rtl_top AS SELECT description AS Name, "
					       "count(*) AS Calls,"
					       " sum(\"end\" - start) AS TotalNs, "
					       "round(avg(\"end\" - start), 1) AS AvgNs,"
					       " min(\"end\" - start) AS MinNs, max(\"end\" - "
					       "start) AS MaxNs,"
					       " round(100.0 * sum(\"end\" - start) /"
					       "  (SELECT sum(\"end\" - start) FROM rocpd_op WHERE "
					       "\"end\" > start AND gpuId >= 0), 2) AS Pct"
					       " FROM (SELECT CASE WHEN description = '' THEN "
					       "opType ELSE description END AS description,"
					       "  start, \"end\" FROM op WHERE \"end\" > start AND "
					       "gpuId >= 0)"
					       " GROUP BY description ORDER BY TotalNs DESC;"

					       "CREATE VIEW rtl_busy AS SELECT gpuId,"
					       " round(100.0 * sum(\"end\" - start) / "
					       "(max(\"end\") - min(start)), 2) AS utilization_pct,"
					       " count(*) AS ops, sum(\"end\" - start) AS busy_ns, "
					       "max(\"end\") - min(start) AS wall_ns"
					       " FROM rocpd_op WHERE \"end\" > start GROUP BY "
					       "gpuId;"

					       /* ---- the arguments of calls, by name ---- */
					       "CREATE VIEW wt_call_args AS"
					       " SELECT a.id, s.string AS function, n.position, n.name,"
					       "  CASE n.position WHEN 0 THEN a0 WHEN 1 THEN a1 WHEN 2"
					       "  THEN a2 WHEN 3 THEN a3 WHEN 4 THEN a4 ELSE a5 END"
					       "  AS value"
					       " FROM wt_api_args a JOIN wt_api c ON c.id = a.id"
					       " JOIN wt_call k ON k.id = c.call_id"
					       " JOIN wt_string s ON s.id = k.name_id"
					       " JOIN (SELECT DISTINCT function_id, position, name FROM"
					       "  wt_arg_name) n ON n.function_id = k.name_id;"

					       /* ---- what the views above cannot show ---- */
					       "CREATE VIEW wt_left_out AS"
					       " SELECT 'rocpd_op' AS view, coalesce(s.untimed, "
					       "CASE s.in_flight WHEN 1 THEN 'in flight' END,"
					       "  'no times') AS reason, count(*) AS count"
					       " FROM wt_op o LEFT JOIN wt_state s ON s.id = "
					       "o.state_id WHERE o.start IS NULL GROUP BY 2"
					       " UNION ALL SELECT 'rocpd_api', 'not returned', "
					       "count(*) FROM wt_api"
					       " WHERE start IS NULL OR duration IS NULL HAVING "
					       "count(*) > 0;"

					       /* ---- tools that cut a trace down (raptor,
						  rpd_trim) delete through the views ---- */
					       "CREATE TRIGGER rocpd_api_delete INSTEAD OF DELETE "
					       "ON rocpd_api BEGIN"
					       " DELETE FROM wt_api WHERE id = OLD.id; DELETE FROM "
					       "wt_api_copy WHERE id = OLD.id;"
					       " DELETE FROM wt_api_args WHERE id = OLD.id; END;"
					       "CREATE TRIGGER rocpd_api_ops_delete INSTEAD OF "
					       "DELETE ON rocpd_api_ops BEGIN"
					       " UPDATE wt_op SET api_id = NULL WHERE id = OLD.id; "
					       "END;"
					       "CREATE TRIGGER rocpd_op_delete INSTEAD OF DELETE "
					       "ON rocpd_op BEGIN"
					       " DELETE FROM wt_op WHERE id = OLD.id; DELETE FROM "
					       "wt_copy WHERE id = OLD.id; END;"
					       "CREATE TRIGGER rocpd_metadata_insert INSTEAD OF "
					       "INSERT ON rocpd_metadata BEGIN"
					       " INSERT INTO wt_meta(key, value) VALUES (NEW.tag, "
					       "NEW.value); END;"
					       "CREATE TRIGGER rocpd_metadata_update INSTEAD OF "
					       "UPDATE ON rocpd_metadata BEGIN"
					       " UPDATE wt_meta SET key = NEW.tag, value = "
					       "NEW.value WHERE id = OLD.id; END;"
					       "CREATE TRIGGER rocpd_metadata_delete INSTEAD OF "
					       "DELETE ON rocpd_metadata BEGIN"
					       " DELETE FROM wt_meta WHERE id = OLD.id; END;"
					       "CREATE TRIGGER rocpd_string_insert INSTEAD OF "
					       "INSERT ON rocpd_string BEGIN"
					       " INSERT INTO wt_string(id, string) VALUES (NEW.id, "
					       "NEW.string); END;";
