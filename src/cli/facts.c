// SPDX-License-Identifier: MIT
#include "cli/facts.h"

#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "core/session.h"

/* One number a row: where it goes and how it is asked, by kind of file (NULL: not there). */
struct number {
	size_t offset;
	const char *sql[2];
};

#define AT(field) offsetof(struct wt_facts, field)
#define OPS_OF(kind)                                                                               \
	"SELECT count(*) FROM wt_op o JOIN wt_shape s ON s.id = o.shape_id WHERE s.kind = " kind
#define RPD_OPS_OF(like)                                                                           \
	"SELECT count(*) FROM rocpd_op WHERE opType_id IN"                                         \
	" (SELECT id FROM rocpd_string WHERE string LIKE '" like "')"

static const struct number numbers[] = {
	{AT(run_cnt), {"SELECT count(*) FROM wt_run", NULL}},
	{AT(process_cnt),
		{"SELECT count(*) FROM wt_process", "SELECT count(DISTINCT pid) FROM rocpd_api"}},
	{AT(thread_cnt),
		{"SELECT count(*) FROM wt_thread", "SELECT count(DISTINCT tid) FROM rocpd_api"}},
	{AT(device_cnt),
		{"SELECT count(DISTINCT coalesce('u' || uuid || 'n' || coalesce(node, '?'),"
		 " 'b' || bdf || 'n' || coalesce(node, '?') || p.host, 'i' || d.id))"
		 " FROM wt_device d LEFT JOIN wt_process p ON p.id = d.process_id",
			"SELECT count(DISTINCT gpuId) FROM rocpd_op"}},
	{AT(queue_cnt), {"SELECT count(*) FROM wt_queue", NULL}},
	{AT(stream_cnt), {"SELECT count(*) FROM wt_stream", NULL}},
	{AT(symbol_cnt), {"SELECT count(*) FROM wt_symbol", NULL}},
	{AT(api_cnt), {"SELECT count(*) FROM wt_api", "SELECT count(*) FROM rocpd_api"}},
	{AT(unreturned_cnt), {"SELECT count(*) FROM wt_api WHERE duration IS NULL", NULL}},
	{AT(op_cnt), {"SELECT count(*) FROM wt_op", "SELECT count(*) FROM rocpd_op"}},
	{AT(kernel_cnt), {OPS_OF("1"), "SELECT count(*) FROM rocpd_op WHERE opType_id IN (SELECT "
				       "id FROM rocpd_string"
				       " WHERE string NOT LIKE 'Copy%' AND string NOT LIKE 'Fill%'"
				       " AND string <> 'UserMarker')"}},
	{AT(copy_cnt), {OPS_OF("2"), RPD_OPS_OF("Copy%")}},
	{AT(fill_cnt), {OPS_OF("3"), RPD_OPS_OF("Fill%")}},
	{AT(graph_op_cnt), {"SELECT count(*) FROM wt_op WHERE node IS NOT NULL", NULL}},
	{AT(untimed_cnt), {"SELECT count(*) FROM wt_op WHERE start IS NULL", NULL}},
	{AT(in_flight_cnt), {"SELECT count(*) FROM wt_op WHERE state_id IN"
			     " (SELECT id FROM wt_state WHERE in_flight = 1)",
				    NULL}},
	{AT(allocation_cnt), {"SELECT count(allocated) FROM wt_memory", NULL}},
	{AT(lost_allocation_cnt), {"SELECT count(*) - count(allocated) FROM wt_memory", NULL}},
	{AT(first_ns),
		{"SELECT min(t) FROM (SELECT min(start) AS t FROM wt_op UNION ALL SELECT min(start)"
		 " FROM wt_api)",
			"SELECT min(t) FROM (SELECT min(start) AS t FROM rocpd_op UNION ALL"
			" SELECT min(start) FROM rocpd_api)"}},
	{AT(last_ns),
		{"SELECT max(t) FROM (SELECT max(start + coalesce(duration, 0)) AS t FROM wt_op"
		 " UNION ALL SELECT max(start + coalesce(duration, 0)) FROM wt_api)",
			"SELECT max(t) FROM (SELECT max(\"end\") AS t FROM rocpd_op UNION ALL"
			" SELECT max(\"end\") FROM rocpd_api)"}},
	{AT(lost_known), {"SELECT 1", NULL}},
	{AT(origin_ns), {"SELECT origin_ns FROM wt_run WHERE id = 1", NULL}},
	{AT(origin_realtime_ns), {"SELECT origin_realtime_ns FROM wt_run WHERE id = 1", NULL}},
};

static void free_list(struct wt_fact *facts, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		free(facts[i].name);
		free(facts[i].level);
		free(facts[i].text);
	}
	free(facts);
}

/* Rows of (name, count, level, text). */
static int read_list(
	struct wt_fact_list *list, struct wt_trace *trace, const char *sql, struct wt_err **err)
{
	sqlite3_stmt *stmt;
	int step = wt_trace__prepare(trace, &stmt, sql, err);

	while (!step && (step = wt_trace__step(trace, stmt, err)) == 1) {
		struct wt_fact fact = {
			.name = strdup(wt_trace__text(stmt, 0)),
			.count = wt_trace__uint(stmt, 1),
			.level = strdup(wt_trace__text(stmt, 2)),
			.text = strdup(wt_trace__text(stmt, 3)),
		};

		step = 0;
		if (!fact.name || !fact.level || !fact.text || wt_vec__push(list, fact)) {
			free(fact.name);
			free(fact.level);
			free(fact.text);
			step = wt_err__new(err, -ENOMEM, "out of memory");
		}
	}
	sqlite3_finalize(stmt);
	return step < 0 ? step : 0;
}

/* (what follows `prefix`, sum): later runs' tags begin with their number */
#define RPD_TAGS(prefix)                                                                           \
	"SELECT substr(tag, instr(tag, '" prefix "') + length('" prefix "')), sum(value), '', ''"  \
	" FROM rocpd_metadata WHERE tag LIKE '%" prefix "%'"

int wt_facts__read(struct wt_facts *facts, struct wt_trace *trace, struct wt_err **err)
{
#define SQL_UNKNOWN(column, before)                                                                \
	"(" column " LIKE '" before "stream.%' OR " column " LIKE '" before "caller.%')"
	/* causes "time.*" are counted where they are: at the operations */
	static const char *const lost[] = {
		"SELECT cause, sum(count), '', '' FROM wt_lost WHERE count > 0"
		" AND cause NOT LIKE 'time.%' AND NOT " SQL_UNKNOWN("cause", "")
		" GROUP BY cause ORDER BY 2 DESC",
		RPD_TAGS("wavetap::lost::") " AND tag NOT LIKE '%::time.%' AND NOT "
			SQL_UNKNOWN("tag", "%::") " GROUP BY 1 ORDER BY 2 DESC"};
	static const char *const unknown[] = {
		"SELECT cause, sum(count), '', '' FROM wt_lost WHERE count > 0 AND "
			SQL_UNKNOWN("cause", "") " GROUP BY cause ORDER BY 2 DESC",
		RPD_TAGS("wavetap::lost::") " AND " SQL_UNKNOWN("tag", "%::")
			" GROUP BY 1 ORDER BY 2 DESC"};
	static const char *const untimed[] = {
		"SELECT coalesce(s.untimed, 'no times'), count(*), '', '' FROM wt_op o"
		" LEFT JOIN wt_state s ON s.id = o.state_id WHERE o.start IS NULL"
		" AND coalesce(s.in_flight, 0) = 0 GROUP BY 1 ORDER BY 2 DESC",
		RPD_TAGS("wavetap::left_out::rocpd_op::") " AND tag NOT LIKE '%::in flight' GROUP "
							  "BY 1 ORDER BY 2 DESC"};
	static const char *const unrecorded[] = {
		"SELECT s.string, sum(u.count), d.string, '' FROM wt_unrecorded u JOIN wt_string s"
		" ON s.id = u.name_id JOIN wt_string d ON d.id = u.domain_id GROUP BY 1, 3"
		" ORDER BY 2 DESC, 1",
		"SELECT substr(name, instr(name, '::') + 2), sum(value),"
		" substr(name, 1, instr(name, '::') - 1), '' FROM (SELECT value, substr(tag,"
		"  instr(tag, '::unrecorded::') + 14) AS name FROM rocpd_metadata"
		"  WHERE tag LIKE '%wavetap::unrecorded::%::%') GROUP BY name ORDER BY 2 DESC, 1"};
	/* the same GPU of several processes is one: by its place on the bus */
	static const char peaks[] =
		"SELECT owner, max(bytes), '', '' FROM (SELECT owner, sum(change) OVER (PARTITION BY"
		" owner ORDER BY time, change ROWS UNBOUNDED PRECEDING) AS bytes FROM (SELECT m.time,"
		" m.change, CASE m.device_id WHEN 0 THEN 'the host' ELSE 'GPU ' ||"
		" coalesce(d.number, '?') || CASE WHEN d.bdf IS NULL THEN '' ELSE"
		" printf(' [%02x:%02x.%x]', d.bdf >> 8, (d.bdf >> 3) & 31, d.bdf & 7) END END AS owner"
		" FROM memory_use m LEFT JOIN wt_device d ON d.id = m.device_id)) GROUP BY owner"
		" ORDER BY owner";
	int code = 0;

	memset(facts, 0, sizeof(*facts));
	for (unsigned i = 0; !code && i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const char *sql = numbers[i].sql[trace->kind];
		int64_t value;

		if (!sql)
			continue;
		code = wt_trace__int(trace, sql, 0, &value, err);
		memcpy((char *)facts + numbers[i].offset, &value, sizeof(value));
	}
	/* an RTL file may have no metadata; a damaged one is found elsewhere */
	if (!code && (trace->kind == WT_TRACE_WAVETAP ||
			     sqlite3_table_column_metadata(trace->db, NULL, "rocpd_metadata", "tag",
				     NULL, NULL, NULL, NULL, NULL) == SQLITE_OK)) {
		if (trace->kind == WT_TRACE_RPD)
			code = wt_trace__int(trace,
				"SELECT count(*) FROM rocpd_metadata WHERE tag = "
				"'wavetap::origin_ns'",
				0, &facts->lost_known, err);
		if (!code)
			code = read_list(&facts->lost, trace, lost[trace->kind], err);
		if (!code)
			code = read_list(&facts->untimed, trace, untimed[trace->kind], err);
		if (!code)
			code = read_list(&facts->unknown, trace, unknown[trace->kind], err);
		if (!code)
			code = read_list(&facts->unrecorded, trace, unrecorded[trace->kind], err);
	}
	if (!code && trace->kind == WT_TRACE_WAVETAP)
		code = read_list(&facts->peaks, trace, peaks, err);
	if (!code && trace->kind == WT_TRACE_WAVETAP)
		code = read_list(&facts->status, trace,
			"SELECT source, count(*), level, text FROM wt_status GROUP BY source, "
			"level, text"
			" ORDER BY level = 'info', min(id)",
			err);
	if (code)
		wt_facts__free(facts);
	return code;
}

void wt_facts__free(struct wt_facts *facts)
{
	free_list(facts->lost.data, facts->lost.cnt);
	free_list(facts->unrecorded.data, facts->unrecorded.cnt);
	free_list(facts->untimed.data, facts->untimed.cnt);
	free_list(facts->unknown.data, facts->unknown.cnt);
	free_list(facts->peaks.data, facts->peaks.cnt);
	free_list(facts->status.data, facts->status.cnt);
	memset(facts, 0, sizeof(*facts));
}

uint64_t wt_facts__lost_cnt(const struct wt_facts *facts)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < facts->lost.cnt; i++)
		cnt += facts->lost.data[i].count;
	return cnt;
}

/* ---- text --------------------------------------------------------------- */

/* "1 process", "2 processes" */
static void put_count(FILE *file, uint64_t cnt, const char *one, const char *many)
{
	char text[WT_UNITS_BYTES];

	fprintf(file, "%s %s", wt_units__count(text, cnt), cnt == 1 ? one : many);
}

static void put_captured(const struct wt_facts *facts, FILE *file)
{
	static const char *const names[][2] = {
		{"kernel", "kernels"}, {"copy", "copies"}, {"fill", "fills"}};
	const uint64_t cnts[] = {facts->kernel_cnt, facts->copy_cnt, facts->fill_cnt};
	const char *before = " (";

	fputs("captured  ", file);
	put_count(file, facts->op_cnt, "operation", "operations");
	for (int i = 0; i < 3; i++)
		if (cnts[i]) {
			fputs(before, file);
			put_count(file, cnts[i], names[i][0], names[i][1]);
			before = ", ";
		}
	fputs(before[0] == ',' ? "), " : ", ", file);
	put_count(file, facts->api_cnt, "API call", "API calls");
	fputc('\n', file);
}

/* Causes are named by the capture; the sentence for one that this build does not know is its name.
 */
static const char *cause_sentence(const char *name)
{
	for (unsigned cause = 1; cause < WT_LOST_CNT; cause++)
		if (!strcmp(wt_lost__name(cause), name))
			return wt_lost__sentence(cause);
	return name;
}

/* Sentences speak of many: "operations without times: their signal …". */
static void put_cause(FILE *file, uint64_t cnt, const char *name)
{
	static const char *const words[][2] = {{"operations", "operation"},
		{"API calls", "API call"}, {"copies", "copy"}, {"definitions", "definition"},
		{"events", "event"}};
	const char *sentence = cause_sentence(name), *their;
	char text[WT_UNITS_BYTES];

	fprintf(file, "%s ", wt_units__count(text, cnt));
	for (size_t i = 0; cnt == 1 && i < sizeof(words) / sizeof(*words); i++) {
		size_t length = strlen(words[i][0]);

		if (strncmp(sentence, words[i][0], length))
			continue;
		fputs(words[i][1], file);
		sentence += length;
		their = strstr(sentence, ": their ");
		if (their) {
			fprintf(file, "%.*s: its ", (int)(their - sentence), sentence);
			sentence = their + strlen(": their ");
		}
		break;
	}
	fprintf(file, "%s\n", sentence);
}

static void put_causes(const struct wt_fact_list *list, FILE *file, const char *title)
{
	for (size_t i = 0; i < list->cnt; i++) {
		fprintf(file, "%-8s  ", i ? "" : title);
		put_cause(file, list->data[i].count, list->data[i].name);
	}
}

/* The sum of a domain, and the three most of its names. */
static void put_domain(const struct wt_fact_list *list, FILE *file, const char *domain,
	const char *const what[2], const char *why)
{
	char text[WT_UNITS_BYTES];
	uint64_t sum = 0;
	size_t said = 0;

	for (size_t i = 0; i < list->cnt; i++)
		if (!strcmp(list->data[i].level, domain))
			sum += list->data[i].count;
	if (!sum)
		return;
	fputs("left out  ", file);
	put_count(file, sum, what[0], what[1]);
	fprintf(file, " %s:", why);
	for (size_t i = 0; i < list->cnt && said < 4; i++) {
		if (strcmp(list->data[i].level, domain))
			continue;
		if (++said == 4)
			fputs(", …", file);
		else
			fprintf(file, "%s %s %s", said > 1 ? "," : "",
				wt_units__count(text, list->data[i].count), list->data[i].name);
	}
	fputc('\n', file);
}

/* What was not asked for: a small capture must not look like a small program. */
static void put_unrecorded(const struct wt_facts *facts, FILE *file)
{
	static const char *const calls[] = {"API call", "API calls"};
	static const char *const operations[] = {"operation", "operations"};

	put_domain(&facts->unrecorded, file, "gpu", operations, "while recording was off");
	put_domain(&facts->unrecorded, file, "hip", calls, "by --hip and -t");
}

static void put_lost(const struct wt_facts *facts, FILE *file)
{
	put_causes(&facts->lost, file, "lost");
	if (!facts->lost.cnt)
		fputs(facts->lost_known ? "lost      nothing\n"
					: "lost      not told by this file\n",
			file);
	put_causes(&facts->untimed, file, "untimed");
	put_causes(&facts->unknown, file, "unknown");
	if (!facts->in_flight_cnt && !facts->unreturned_cnt)
		return;
	fputs("at end    ", file);
	if (facts->in_flight_cnt) {
		put_count(file, facts->in_flight_cnt, "operation", "operations");
		fprintf(file, " in flight%s", facts->unreturned_cnt ? ", " : "");
	}
	if (facts->unreturned_cnt) {
		put_count(file, facts->unreturned_cnt, "call", "calls");
		fputs(" not returned", file);
	}
	fputc('\n', file);
}

/* The most that was allocated at once. */
static void put_memory(const struct wt_facts *facts, FILE *file)
{
	char text[WT_UNITS_BYTES];

	if (!facts->peaks.cnt && !facts->lost_allocation_cnt)
		return;
	fputs("memory    ", file);
	for (size_t i = 0; i < facts->peaks.cnt; i++)
		fprintf(file, "%s%s of %s", i ? ", " : "at most ",
			wt_units__size(text, facts->peaks.data[i].count), facts->peaks.data[i].name);
	if (facts->lost_allocation_cnt) {
		fputs(facts->peaks.cnt ? "; " : "", file);
		put_count(file, facts->lost_allocation_cnt, "free", "frees");
		fputs(" of what was not seen allocated", file);
	}
	fputc('\n', file);
}

void wt_facts__print(const struct wt_facts *facts, const struct wt_trace *trace, FILE *file)
{
	char text[WT_UNITS_BYTES];
	uint64_t span = facts->last_ns > facts->first_ns
				? (uint64_t)facts->last_ns - (uint64_t)facts->first_ns
				: 0;

	fprintf(file, "trace     %s: %s, ", trace->path, wt_units__time(text, span));
	put_count(file, facts->process_cnt, "process", "processes");
	fputs(", ", file);
	put_count(file, facts->device_cnt, "GPU", "GPUs");
	fprintf(file, ", %s\n", wt_units__size(text, trace->file_bytes));
	put_captured(facts, file);
	put_memory(facts, file);
	put_unrecorded(facts, file);
	put_lost(facts, file);
	for (size_t i = 0; i < facts->status.cnt; i++) {
		const struct wt_fact *status = &facts->status.data[i];

		if (strcmp(status->level, "info"))
			fprintf(file, "%-8s  %s: %s\n", status->level, status->name, status->text);
	}
}

void wt_facts__print_empty(const struct wt_facts *facts, FILE *file)
{
	if (!facts->process_cnt)
		fputs("The trace is empty: no process made a HIP or HSA call.\n"
		      "hint: wavetap doctor shows whether a GPU can be used here\n",
			file);
	else if (wt_facts__lost_cnt(facts))
		fputs("The trace has no events: all of them were lost, see above.\n", file);
	else
		fputs("The trace has no events: its processes used the runtime, but no work was"
		      " submitted while recording.\n",
			file);
	for (size_t i = 0; i < facts->status.cnt; i++)
		fprintf(file, "  %s (%s): %s\n", facts->status.data[i].name,
			facts->status.data[i].level, facts->status.data[i].text);
}

/* ---- JSON --------------------------------------------------------------- */

static void json_causes(const struct wt_fact_list *list, struct wt_json *json, const char *key)
{
	wt_json__key(json, key);
	wt_json__array(json);
	for (size_t i = 0; i < list->cnt; i++) {
		wt_json__object(json);
		wt_json__key_string(json, "cause", list->data[i].name);
		wt_json__key_uint(json, "count", list->data[i].count);
		wt_json__key_string(json, "sentence", cause_sentence(list->data[i].name));
		wt_json__end(json);
	}
	wt_json__end(json);
}

void wt_facts__json(const struct wt_facts *facts, struct wt_json *json)
{
	static const struct {
		const char *key;
		size_t offset;
	} keys[] = {
		{"runs", AT(run_cnt)},
		{"processes", AT(process_cnt)},
		{"threads", AT(thread_cnt)},
		{"devices", AT(device_cnt)},
		{"queues", AT(queue_cnt)},
		{"streams", AT(stream_cnt)},
		{"kernel_symbols", AT(symbol_cnt)},
		{"api_calls", AT(api_cnt)},
		{"api_calls_not_returned", AT(unreturned_cnt)},
		{"operations", AT(op_cnt)},
		{"kernels", AT(kernel_cnt)},
		{"copies", AT(copy_cnt)},
		{"fills", AT(fill_cnt)},
		{"graph_operations", AT(graph_op_cnt)},
		{"operations_without_times", AT(untimed_cnt)},
		{"operations_in_flight", AT(in_flight_cnt)},
		{"allocations", AT(allocation_cnt)},
		{"frees_of_unknown", AT(lost_allocation_cnt)},
	};
	uint64_t value;

	wt_json__key(json, "captured");
	wt_json__object(json);
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		memcpy(&value, (const char *)facts + keys[i].offset, sizeof(value));
		wt_json__key_uint(json, keys[i].key, value);
	}
	wt_json__key_int(json, "first_ns", facts->first_ns);
	wt_json__key_int(json, "last_ns", facts->last_ns);
	wt_json__end(json);
	wt_json__key(json, "memory_peaks");
	wt_json__array(json);
	for (size_t i = 0; i < facts->peaks.cnt; i++) {
		wt_json__object(json);
		wt_json__key_string(json, "of", facts->peaks.data[i].name);
		wt_json__key_uint(json, "bytes", facts->peaks.data[i].count);
		wt_json__end(json);
	}
	wt_json__end(json);
	wt_json__key(json, "unrecorded");
	wt_json__array(json);
	for (size_t i = 0; i < facts->unrecorded.cnt; i++) {
		wt_json__object(json);
		wt_json__key_string(json, "name", facts->unrecorded.data[i].name);
		wt_json__key_string(json, "domain", facts->unrecorded.data[i].level);
		wt_json__key_uint(json, "count", facts->unrecorded.data[i].count);
		wt_json__end(json);
	}
	wt_json__end(json);
	if (facts->lost_known) {
		json_causes(&facts->lost, json, "lost");
		json_causes(&facts->untimed, json, "untimed");
		json_causes(&facts->unknown, json, "unknown");
	} else {
		wt_json__key(json, "lost");
		wt_json__null(json);
		wt_json__key(json, "untimed");
		wt_json__null(json);
		wt_json__key(json, "unknown");
		wt_json__null(json);
	}
}
