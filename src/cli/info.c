// SPDX-License-Identifier: MIT
/* wavetap info: what a trace holds. Each section is a row: title, query, columns. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/facts.h"

struct settings {
	int json;
};

const struct wt_option wt_options_info[] = {
	{0, "json", NULL, WT_OPTION_FLAG, offsetof(struct settings, json),
		"print JSON, times in integer nanoseconds"},
	{0},
};

enum format { TEXT, COUNT, NUMBER, SIZE, TIME, HEX, BDF };

struct field {
	const char *title, *key; /* title NULL: only in JSON */
	enum format format;
	unsigned flags;
};

#define FIELDS_MAX 40

/* `sql` yields one column a field. */
struct section {
	const char *title, *key;
	const char *sql[2];
	struct field fields[FIELDS_MAX]; /* ends with a key that is NULL */
};

#define R WT_TABLE_RIGHT
#define F WT_TABLE_FLEX
#define D WT_TABLE_DROP

/* "all" of those that have any row there, or their numbers. */
#define OF_PROCESSES(alias, table)                                                                 \
	"CASE WHEN count(DISTINCT " alias ".process_id) ="                                         \
	" (SELECT count(DISTINCT process_id) FROM " table ") THEN 'all'"                           \
	" ELSE group_concat(DISTINCT p.pid) END"

static const struct section sections[] = {
	{"settings and versions", "meta",
		{"SELECT key, value FROM wt_meta WHERE key NOT IN"
		 " ('schema_version', 'gpu_stride', 'pid_stride', 'pid') ORDER BY id",
			"SELECT tag, value FROM rocpd_metadata ORDER BY id"},
		{{"Key", "key", TEXT, 0}, {"Value", "value", TEXT, F}}},
	{"sources", "status",
		{"SELECT s.source, s.level, p.pid, s.text FROM wt_status s"
		 " LEFT JOIN wt_process p ON p.id = s.process_id ORDER BY s.id LIMIT 200",
			NULL},
		{{"Source", "source", TEXT, 0}, {"Level", "level", TEXT, 0},
			{"PID", "pid", NUMBER, R}, {"What it says", "text", TEXT, F}}},
	{"processes", "processes",
		{"SELECT p.pid, q.pid, CASE p.exit_kind WHEN 1 THEN 'exited' WHEN 2 THEN 'killed'"
		 " WHEN 3 THEN 'exec' ELSE 'not known' END, p.joined, p.ended - p.joined, p.rank, "
		 "p.host,"
		 " (SELECT count(*) FROM wt_thread t WHERE t.process_id = p.id),"
		 " coalesce(p.command, p.image), p.image FROM wt_process p"
		 " LEFT JOIN wt_process q ON q.id = p.parent_id ORDER BY p.id LIMIT 1000",
			NULL},
		{{"PID", "pid", NUMBER, R}, {"Parent", "parent_pid", NUMBER, R | D},
			{"End", "end", TEXT, 0}, {"Joined", "joined_ns", TIME, R},
			{"Ran", "ran_ns", TIME, R}, {"Rank", "rank", TEXT, R | D},
			{"Host", "host", TEXT, D}, {"Threads", "threads", NUMBER, R},
			{"Command", "command", TEXT, F}, {NULL, "image", TEXT, 0}}},
	{"devices", "devices",
		{"SELECT d.number, d.hip_ordinal, p.pid, coalesce(d.isa, d.arch), d.name,"
		 " d.compute_units, d.clock_mhz, d.memory_bytes, d.memory_clock_mhz,"
		 " coalesce(printf('%04x:', d.domain), '') ||"
		 " printf('%02x:%02x.%x', d.bdf >> 8 & 255, d.bdf >> 3 & 31, d.bdf & 7),"
		 " CASE WHEN d.partition IS NULL THEN d.compute_partition"
		 " WHEN d.compute_partition = 'SPX' THEN NULL"
		 " ELSE coalesce(d.compute_partition || ' ', '') || d.partition END,"
		 " d.uuid_text, d.node, d.uuid, d.bdf, d.arch, d.domain, d.partition,"
		 " d.compute_partition, d.memory_partition, d.xccs, d.memory_width_bits,"
		 " d.wavefront_size, d.lds_bytes, d.workgroup_max, d.waves_per_cu, d.simds_per_cu,"
		 " d.shader_engines, d.l2_bytes, d.chip_id, d.asic_revision"
		 " FROM wt_device d LEFT JOIN wt_process p ON p.id = d.process_id"
		 " ORDER BY d.process_id, d.number LIMIT 10000",
			NULL},
		{{"GPU", "number", NUMBER, R}, {"HIP", "hip_ordinal", NUMBER, R},
			{"PID", "pid", NUMBER, R}, {"ISA", "isa", TEXT, 0},
			{"Name", "name", TEXT, F}, {"CUs", "compute_units", NUMBER, R},
			{"MHz", "clock_mhz", NUMBER, R}, {"Memory", "memory_bytes", SIZE, R | D},
			{"Mem MHz", "memory_clock_mhz", NUMBER, R | D}, {"PCI", "pci", TEXT, 0},
			{"Part", "part", TEXT, D}, {"UUID", "uuid_text", TEXT, D},
			{"Node", "node", NUMBER, R | D}, {NULL, "uuid", HEX, 0},
			{NULL, "bdf", BDF, 0}, {NULL, "arch", TEXT, 0}, {NULL, "domain", NUMBER, 0},
			{NULL, "partition", NUMBER, 0}, {NULL, "compute_partition", TEXT, 0},
			{NULL, "memory_partition", TEXT, 0}, {NULL, "xccs", NUMBER, 0},
			{NULL, "memory_width_bits", NUMBER, 0}, {NULL, "wavefront_size", NUMBER, 0},
			{NULL, "lds_bytes", NUMBER, 0}, {NULL, "workgroup_max", NUMBER, 0},
			{NULL, "waves_per_cu", NUMBER, 0}, {NULL, "simds_per_cu", NUMBER, 0},
			{NULL, "shader_engines", NUMBER, 0}, {NULL, "l2_bytes", NUMBER, 0},
			{NULL, "chip_id", NUMBER, 0}, {NULL, "asic_revision", NUMBER, 0}}},
	{"versions", "versions",
		{"SELECT v.part, v.version, " OF_PROCESSES("v",
			 "wt_version") " FROM wt_version v LEFT JOIN wt_process p ON p.id = "
				       "v.process_id"
				       " GROUP BY v.part, v.version ORDER BY v.part, min(v.id)",
			NULL},
		{{"Part", "part", TEXT, 0}, {"Version", "version", TEXT, F},
			{"Processes", "processes", TEXT, F}}},
	{"environment", "settings",
		{"SELECT s.name, s.value, s.whole_bytes, " OF_PROCESSES(
			 "s", "wt_setting") " FROM wt_setting s LEFT JOIN wt_process p ON p.id = "
					    "s.process_id"
					    " GROUP BY s.name, s.value, s.whole_bytes ORDER BY "
					    "s.name, min(s.id) LIMIT 10000",
			NULL},
		{{"Variable", "name", TEXT, 0}, {"Value", "value", TEXT, F},
			{"Cut from", "whole_bytes", SIZE, R}, {"Processes", "processes", TEXT, F}}},
	{"queues", "queues",
		{"SELECT q.id, p.pid, d.number, q.size, q.mode, q.created, q.ended - q.created,"
		 " (SELECT count(*) FROM wt_op o JOIN wt_lane l ON l.id = o.lane_id"
		 "  WHERE l.queue_id = q.id) FROM wt_queue q"
		 " LEFT JOIN wt_process p ON p.id = q.process_id"
		 " LEFT JOIN wt_device d ON d.id = q.device_id ORDER BY q.id LIMIT 200",
			NULL},
		{{"Queue", "id", NUMBER, R}, {"PID", "pid", NUMBER, R}, {"GPU", "gpu", NUMBER, R},
			{"Packets", "size", COUNT, R}, {"Mode", "mode", TEXT, 0},
			{"Created", "created_ns", TIME, R}, {"Lived", "lived_ns", TIME, R},
			{"Operations", "operations", COUNT, R}}},
	{"clocks", "clocks",
		{"SELECT CASE WHEN c.device_id IS NULL THEN 'CPU' ELSE 'GPU ' || "
		 "coalesce(d.number, '?') END,"
		 " p.pid, count(*), max(c.width_ns), max(c.taken) - min(c.taken) FROM wt_clock c"
		 " LEFT JOIN wt_device d ON d.id = c.device_id"
		 " LEFT JOIN wt_process p ON p.id = c.process_id GROUP BY c.process_id, "
		 "c.device_id",
			NULL},
		{{"Clock", "clock", TEXT, 0}, {"PID", "pid", NUMBER, R},
			{"Readings", "readings", COUNT, R},
			{"Worst uncertainty", "worst_uncertainty_ns", TIME, R},
			{"Over", "span_ns", TIME, R}}},
	{"left out of RPD's views", "left_out",
		{"SELECT 'rocpd_op', coalesce(s.untimed, CASE s.in_flight WHEN 1 THEN 'in flight' "
		 "END,"
		 " 'no times'), count(*) FROM wt_op o LEFT JOIN wt_state s ON s.id = o.state_id"
		 " WHERE o.start IS NULL GROUP BY 2"
		 " UNION ALL SELECT 'rocpd_api', 'not returned', count(*) FROM wt_api"
		 " WHERE start IS NULL OR duration IS NULL HAVING count(*) > 0",
			NULL},
		{{"View", "view", TEXT, 0}, {"Why", "reason", TEXT, 0},
			{"Rows", "count", COUNT, R}}},
};

/* An absent value is an empty cell. */
static void format_cell(
	char *text, size_t bytes, enum format format, sqlite3_stmt *stmt, int column)
{
	uint64_t value = wt_trace__uint(stmt, column);
	char number[WT_UNITS_BYTES];

	text[0] = '\0';
	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return;
	switch (format) {
	case TEXT:
	case NUMBER:
		snprintf(text, bytes, "%s", wt_trace__text(stmt, column));
		break;
	case COUNT:
		snprintf(text, bytes, "%s", wt_units__count(number, value));
		break;
	case SIZE:
		snprintf(text, bytes, "%s", wt_units__size(number, value));
		break;
	case TIME:
		snprintf(text, bytes, "%s", wt_units__time(number, value));
		break;
	case HEX:
		snprintf(text, bytes, "%016llx",
			(unsigned long long)sqlite3_column_int64(stmt, column));
		break;
	case BDF:
		snprintf(text, bytes, "%02x:%02x.%x", (unsigned)(value >> 8) & 0xff,
			(unsigned)(value >> 3) & 31, (unsigned)value & 7);
		break;
	}
}

static int print_section(const struct section *section, struct wt_trace *trace, sqlite3_stmt *stmt,
	struct wt_err **err)
{
	struct wt_table_column heads[FIELDS_MAX];
	struct wt_table *table;
	int step = 0, head_cnt = 0;

	for (const struct field *field = section->fields; field->key && field->title; field++)
		heads[head_cnt++] =
			(struct wt_table_column){field->title, field->flags | WT_TABLE_HIDE};
	table = wt_table__new(heads, (size_t)head_cnt);
	while (table && (step = wt_trace__step(trace, stmt, err)) == 1)
		for (int i = 0; i < head_cnt && step == 1; i++) {
			char text[1024];

			format_cell(text, sizeof(text), section->fields[i].format, stmt, i);
			if (wt_table__add(table, text))
				step = -ENOMEM;
		}
	if (!table || step == -ENOMEM)
		step = wt_err__new(err, -ENOMEM, "out of memory");
	if (!step && wt_table__row_cnt(table)) {
		printf("\n%s\n", section->title);
		wt_table__print(table, stdout, wt_table__terminal_width(stdout));
	}
	wt_table__free(table);
	return step;
}

static int json_section(const struct section *section, struct wt_trace *trace, sqlite3_stmt *stmt,
	struct wt_json *json, struct wt_err **err)
{
	int step;

	wt_json__key(json, section->key);
	wt_json__array(json);
	while ((step = wt_trace__step(trace, stmt, err)) == 1) {
		wt_json__object(json);
		for (int i = 0; section->fields[i].key; i++) {
			enum format format = section->fields[i].format;
			char text[64];

			wt_json__key(json, section->fields[i].key);
			if (sqlite3_column_type(stmt, i) == SQLITE_NULL) {
				wt_json__null(json);
			} else if (format == TEXT) {
				wt_json__string(json, wt_trace__text(stmt, i));
			} else if (format == HEX || format == BDF) {
				format_cell(text, sizeof(text), format, stmt, i);
				wt_json__string(json, text);
			} else {
				wt_json__int(json, sqlite3_column_int64(stmt, i));
			}
		}
		wt_json__end(json);
	}
	wt_json__end(json);
	return step;
}

static int for_each_section(struct wt_trace *trace, struct wt_json *json, struct wt_err **err)
{
	for (unsigned i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		const struct section *section = &sections[i];
		sqlite3_stmt *stmt;
		int code;

		/* RTL's files may have no metadata */
		if (!section->sql[trace->kind] ||
			(trace->kind == WT_TRACE_RPD &&
				sqlite3_table_column_metadata(trace->db, NULL, "rocpd_metadata",
					"tag", NULL, NULL, NULL, NULL, NULL) != SQLITE_OK))
			continue;
		code = wt_trace__prepare(trace, &stmt, section->sql[trace->kind], err);
		if (!code)
			code = json ? json_section(section, trace, stmt, json, err)
				    : print_section(section, trace, stmt, err);
		sqlite3_finalize(stmt);
		if (code)
			return code;
	}
	return 0;
}

static void print_start(const struct wt_facts *facts)
{
	time_t seconds = (time_t)(facts->origin_realtime_ns / 1000000000);
	char text[64];
	struct tm when;

	if (!facts->origin_realtime_ns || !localtime_r(&seconds, &when) ||
		!strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &when))
		return;
	printf("began     %s%s\n", text, facts->run_cnt > 1 ? ", the first of several runs" : "");
}

static int print_info(
	struct wt_trace *trace, const struct wt_facts *facts, bool as_json, struct wt_err **err)
{
	struct wt_json json = {.file = stdout, .indent = 2};
	int code;

	if (!as_json) {
		wt_facts__print(facts, trace, stdout);
		print_start(facts);
		code = for_each_section(trace, NULL, err);
		if (!code && !facts->op_cnt && !facts->api_cnt) {
			putchar('\n');
			wt_facts__print_empty(facts, stdout);
		}
		return code;
	}
	wt_json__object(&json);
	wt_json__key_string(&json, "trace", trace->path);
	wt_json__key_string(&json, "schema", trace->kind == WT_TRACE_RPD ? "rpd" : "wavetap");
	wt_json__key_uint(&json, "file_bytes", trace->file_bytes);
	wt_json__key_int(&json, "origin_ns", facts->origin_ns);
	wt_json__key_int(&json, "origin_realtime_ns", facts->origin_realtime_ns);
	wt_facts__json(facts, &json);
	code = for_each_section(trace, &json, err);
	while (json.depth)
		wt_json__end(&json);
	return code;
}

int wt_cmd_info(int argc, char **argv)
{
	struct settings settings = {0};
	WT_ERR_AUTO err = NULL;
	struct wt_facts facts;
	struct wt_trace trace;
	int operand_cnt, code;

	if (wt_options__parse(
		    "info", wt_options_info, &settings, argc, argv, false, &operand_cnt, &code))
		return code;
	if (operand_cnt != 1)
		return wt_usage_error("info", operand_cnt ? "one FILE at a time" : "which FILE?");
	code = wt_trace__open(&trace, argv[1], &err);
	if (!code) {
		code = wt_facts__read(&facts, &trace, &err);
		if (!code) {
			code = print_info(&trace, &facts, settings.json, &err);
			wt_facts__free(&facts);
		}
		wt_trace__close(&trace);
	}
	wt_err__print(stderr, err);
	return code ? WT_EXIT_FAILED : 0;
}
