// SPDX-License-Identifier: MIT
/* The questions behind --by, as data, and how their answers are added up. */
#include <string.h>

#include "base/err.h"
#include "cli/summary.h"

#define AGGREGATES "count(*), sum(o.duration), min(o.duration), max(o.duration)"
#define WINDOW     "o.start >= ?1 AND o.start < ?2"
#define PROCESS    "'pid ' || coalesce(p.pid, '?')"
#define RPD_WINDOW "o.start >= ?1 AND o.start < ?2"
#define RPD_TIMES                                                                                  \
	"count(*), sum(o.\"end\" - o.start), min(o.\"end\" - o.start), max(o.\"end\" - o.start)"

/* kernels first: shapes are few, names are looked up once a shape */
#define BY_SHAPE                                                                                   \
	"(SELECT o.shape_id AS shape, count(*) AS n, sum(o.duration) AS t, min(o.duration) AS a,"  \
	" max(o.duration) AS z FROM wt_op o WHERE " WINDOW " GROUP BY o.shape_id) x"               \
	" JOIN wt_shape s ON s.id = x.shape"

#define COPY_NAME                                                                                  \
	"CASE s.kind WHEN 3 THEN 'fill' ELSE CASE s.copy_kind WHEN 0 THEN 'host to host'"          \
	" WHEN 1 THEN 'host to device' WHEN 2 THEN 'device to host' WHEN 3 THEN 'device to "       \
	"device'"                                                                                  \
	" WHEN 5 THEN 'device to another device' ELSE 'direction not known' END END ||"            \
	" CASE WHEN s.symbol_id IS NULL AND s.kernel_object IS NULL THEN '' ELSE ', by a kernel' " \
	"END"

#define OP_STREAM                                                                                  \
	"wt_op o JOIN wt_lane l ON l.id = o.lane_id JOIN wt_shape s ON s.id = o.shape_id"          \
	" LEFT JOIN wt_process p ON p.id = l.process_id"                                           \
	" LEFT JOIN wt_stream m ON m.id = l.stream_id"                                             \
	" LEFT JOIN wt_device d ON d.id = m.device_id WHERE " WINDOW
#define STREAM_NAME                                                                                \
	PROCESS " || CASE WHEN m.id IS NULL THEN ', stream not known' ELSE ', stream ' ||"         \
		" coalesce(m.number, '?') || coalesce(' (' || CASE m.kind WHEN 'null' THEN "       \
		"'default' WHEN 'created' THEN NULL"                                               \
		" ELSE m.kind END || ')', '') || coalesce(', GPU ' || d.number, '') END"

#define OP_DEVICE                                                                                  \
	"wt_op o JOIN wt_lane l ON l.id = o.lane_id JOIN wt_shape s ON s.id = o.shape_id"          \
	" LEFT JOIN wt_device d ON d.id = l.device_id WHERE " WINDOW
/* the same GPU of several processes is one row: by its place on the bus */
#define DEVICE_NAME                                                                                \
	"CASE WHEN d.id IS NULL THEN 'device not known' ELSE 'GPU ' || coalesce(d.number, '?') ||" \
	" CASE WHEN d.bdf IS NULL THEN '' ELSE"                                                    \
	" printf(' [%02x:%02x.%x]', d.bdf >> 8, (d.bdf >> 3) & 31, d.bdf & 7) END ||"              \
	" coalesce(' ' || d.arch, '') || coalesce(' ' || d.name, '') END"

#define OP_PROCESS                                                                                 \
	"wt_op o JOIN wt_lane l ON l.id = o.lane_id"                                               \
	" LEFT JOIN wt_process p ON p.id = l.process_id WHERE " WINDOW
/* the file's name without its folders, which a narrow table would show instead; its arguments */
#define PROCESS_NAME                                                                               \
	PROCESS " || coalesce(', rank ' || p.rank, '') || coalesce(' ' ||"                         \
		" substr(p.image, length(rtrim(p.image, replace(p.image, '/', ''))) + 1), '') ||"  \
		" coalesce(substr(p.command, nullif(instr(p.command, ' '), 0)), '')"

#define RPD_NAME    "CASE WHEN n.string = '' THEN t.string ELSE n.string END"
#define RPD_IS_COPY "(t.string LIKE 'Copy%' OR t.string LIKE 'Fill%')"
#define RPD_OP                                                                                     \
	"rocpd_op o JOIN rocpd_string t ON t.id = o.opType_id"                                     \
	" LEFT JOIN rocpd_string n ON n.id = o.description_id WHERE " RPD_WINDOW

const struct wt_summary_by wt_summary_bys[] = {
	{"kernel", "Kernel", "kernels", true,
		{"SELECT coalesce(n.string, '(name not known)'), x.n, x.t, x.a, x.z FROM " BY_SHAPE
		 " LEFT JOIN wt_symbol y ON y.id = s.symbol_id LEFT JOIN wt_string n ON n.id = "
		 "y.name_id"
		 " WHERE s.kind = 1",
			"SELECT " RPD_NAME ", " RPD_TIMES " FROM " RPD_OP " AND NOT " RPD_IS_COPY
			" AND t.string <> 'UserMarker' GROUP BY 1"},
		{NULL, NULL}, {0},
		{WT_COLUMN_SHARE, WT_COLUMN_TOTAL, WT_COLUMN_COUNT, WT_COLUMN_AVERAGE,
			WT_COLUMN_MIN, WT_COLUMN_MAX, WT_COLUMN_NAME}},
	{"api", "API call", "API calls", false,
		{"SELECT coalesce(n.string, '(name not known)'), " AGGREGATES ", sum(o.ret <> 0),"
		 " sum(o.duration IS NULL) FROM wt_api o JOIN wt_call c ON c.id = o.call_id"
		 " LEFT JOIN wt_string n ON n.id = c.name_id WHERE " WINDOW " GROUP BY 1",
			"SELECT n.string, " RPD_TIMES " FROM rocpd_api o"
			" JOIN rocpd_string n ON n.id = o.apiName_id WHERE " RPD_WINDOW
			" GROUP BY 1"},
		{NULL, NULL}, {WT_COLUMN_FAILED, WT_COLUMN_UNRETURNED},
		{WT_COLUMN_SHARE, WT_COLUMN_TOTAL, WT_COLUMN_COUNT, WT_COLUMN_AVERAGE,
			WT_COLUMN_MIN, WT_COLUMN_MAX, WT_COLUMN_FAILED, WT_COLUMN_UNRETURNED,
			WT_COLUMN_NAME}},
	{"copy", "Copy", "copies or fills", false,
		{"SELECT " COPY_NAME ", " AGGREGATES ", sum(k.bytes), NULL FROM wt_op o"
		 " JOIN wt_shape s ON s.id = o.shape_id LEFT JOIN wt_copy k ON k.id = o.id"
		 " WHERE s.kind IN (2, 3) AND " WINDOW " GROUP BY 1",
			"SELECT t.string, " RPD_TIMES " FROM " RPD_OP " AND " RPD_IS_COPY
			" GROUP BY 1"},
		{NULL, NULL}, {WT_COLUMN_BYTES},
		{WT_COLUMN_SHARE, WT_COLUMN_TOTAL, WT_COLUMN_COUNT, WT_COLUMN_AVERAGE,
			WT_COLUMN_MIN, WT_COLUMN_MAX, WT_COLUMN_BYTES, WT_COLUMN_RATE,
			WT_COLUMN_NAME}},
	{"stream", "Stream", "operations", false,
		{"SELECT " STREAM_NAME ", " AGGREGATES
		 ", sum(s.kind = 1), sum(s.kind > 1) FROM " OP_STREAM " GROUP BY 1",
			NULL},
		{"SELECT " STREAM_NAME ", o.start, o.duration FROM " OP_STREAM " ORDER BY 1, 2",
			NULL},
		{WT_COLUMN_KERNELS, WT_COLUMN_COPIES},
		{WT_COLUMN_BUSY_SHARE, WT_COLUMN_BUSY, WT_COLUMN_KERNELS, WT_COLUMN_COPIES,
			WT_COLUMN_AVERAGE, WT_COLUMN_MAX, WT_COLUMN_NAME}},
	{"device", "Device", "operations", false,
		{"SELECT " DEVICE_NAME ", " AGGREGATES
		 ", sum(s.kind = 1), sum(s.kind > 1) FROM " OP_DEVICE " GROUP BY 1",
			"SELECT 'GPU ' || o.gpuId, " RPD_TIMES ", sum(NOT " RPD_IS_COPY
			"), sum(" RPD_IS_COPY ") FROM " RPD_OP " GROUP BY 1"},
		{"SELECT " DEVICE_NAME ", o.start, o.duration FROM " OP_DEVICE " ORDER BY 1, 2",
			"SELECT 'GPU ' || o.gpuId, o.start, o.\"end\" - o.start FROM rocpd_op o"
			" WHERE " RPD_WINDOW " ORDER BY 1, 2"},
		{WT_COLUMN_KERNELS, WT_COLUMN_COPIES},
		{WT_COLUMN_BUSY_SHARE, WT_COLUMN_BUSY, WT_COLUMN_TOTAL, WT_COLUMN_KERNELS,
			WT_COLUMN_COPIES, WT_COLUMN_AVERAGE, WT_COLUMN_NAME}},
	{"process", "Process", "operations or API calls", false,
		{"SELECT " PROCESS_NAME ", " AGGREGATES ", 0, 0 FROM " OP_PROCESS " GROUP BY 1"
		 " UNION ALL SELECT " PROCESS_NAME ", 0, 0, NULL, NULL, count(*), sum(o.duration)"
		 " FROM wt_api o JOIN wt_call c ON c.id = o.call_id"
		 " LEFT JOIN wt_process p ON p.id = c.process_id WHERE " WINDOW " GROUP BY 1",
			"SELECT 'pid ' || o.pid, 0, 0, NULL, NULL, count(*), sum(o.\"end\" - "
			"o.start)"
			" FROM rocpd_api o WHERE " RPD_WINDOW " GROUP BY 1"},
		{NULL, NULL}, {WT_COLUMN_CALLS, WT_COLUMN_CALL_TIME},
		{WT_COLUMN_SHARE, WT_COLUMN_TOTAL, WT_COLUMN_COUNT, WT_COLUMN_CALLS,
			WT_COLUMN_CALL_TIME, WT_COLUMN_NAME}},
	{NULL},
};

/* What REGEX matched stands for the name (its first bracket, if it has one). */
static const char *group_name(const regex_t *group, const char *name, size_t *length)
{
	regmatch_t match[2];
	int which;

	if (regexec(group, name, 2, match, 0)) {
		*length = strlen("(other)");
		return "(other)";
	}
	which = group->re_nsub && match[1].rm_so >= 0;
	*length = (size_t)(match[which].rm_eo - match[which].rm_so);
	return name + match[which].rm_so;
}

static struct wt_summary_row *row_of(
	struct wt_summary *summary, const char *raw, const struct wt_summary_filter *filter)
{
	char *shown = summary->by->kernel_names ? wt_demangle(raw, filter->names) : strdup(raw);
	const char *name = shown;
	size_t length = shown ? strlen(shown) : 0;
	uint32_t id = 0;

	if (shown && filter->group)
		name = group_name(filter->group, shown, &length);
	if (shown)
		id = wt_strset__intern(&summary->names, name, length);
	free(shown);
	if (!id)
		return NULL;
	if (id > summary->rows.cnt &&
		wt_vec__push(
			&summary->rows, (struct wt_summary_row){.name = id,
						.min_ns = UINT64_MAX,
						.extra = {WT_SUMMARY_ABSENT, WT_SUMMARY_ABSENT}}))
		return NULL;
	return &summary->rows.data[id - 1];
}

static void add(uint64_t *to, uint64_t value)
{
	if (__builtin_add_overflow(*to, value, to))
		*to = UINT64_MAX; /* a damaged file; real sums do not come near */
}

static int add_up(struct wt_summary *summary, struct wt_trace *trace, sqlite3_stmt *stmt,
	const struct wt_summary_filter *filter, struct wt_err **err)
{
	int step;

	while ((step = wt_trace__step(trace, stmt, err)) == 1) {
		struct wt_summary_row *row = row_of(summary, wt_trace__text(stmt, 0), filter);
		uint64_t low = wt_trace__uint(stmt, 3), high = wt_trace__uint(stmt, 4);

		if (!row)
			return wt_err__new(err, -ENOMEM, "out of memory");
		add(&row->count, wt_trace__uint(stmt, 1));
		add(&row->total_ns, wt_trace__uint(stmt, 2));
		if (sqlite3_column_type(stmt, 3) != SQLITE_NULL)
			row->min_ns = low < row->min_ns ? low : row->min_ns;
		row->max_ns = high > row->max_ns ? high : row->max_ns;
		for (int i = 0; i < 2 && sqlite3_column_count(stmt) > 5; i++)
			if (sqlite3_column_type(stmt, 5 + i) != SQLITE_NULL) {
				row->extra[i] =
					row->extra[i] == WT_SUMMARY_ABSENT ? 0 : row->extra[i];
				add(&row->extra[i], wt_trace__uint(stmt, 5 + i));
			}
		add(&summary->total_ns, wt_trace__uint(stmt, 2));
	}
	return step;
}

/* Adds up the union of the operations' times, in order of start. */
static int add_busy(struct wt_summary *summary, struct wt_trace *trace, sqlite3_stmt *stmt,
	const struct wt_summary_filter *filter, struct wt_err **err)
{
	struct wt_summary_row *row = NULL;
	uint32_t name = 0;
	int64_t end = 0;
	int step;

	while ((step = wt_trace__step(trace, stmt, err)) == 1) {
		const char *text = wt_trace__text(stmt, 0);
		int64_t start = sqlite3_column_int64(stmt, 1), own_end;

		if (__builtin_add_overflow(start, (int64_t)wt_trace__uint(stmt, 2), &own_end))
			continue;
		if (!row || strcmp(wt_strset__text(&summary->names, name), text)) {
			row = row_of(summary, text, filter);
			if (!row)
				return wt_err__new(err, -ENOMEM, "out of memory");
			name = row->name;
			end = INT64_MIN;
		}
		start = start > end ? start : end;
		if (own_end > start) {
			add(&row->busy_ns, (uint64_t)own_end - (uint64_t)start);
			end = own_end;
		}
	}
	return step;
}

static int ask(struct wt_summary *summary, struct wt_trace *trace,
	const struct wt_summary_filter *filter, const char *sql,
	int (*take)(struct wt_summary *, struct wt_trace *, sqlite3_stmt *,
		const struct wt_summary_filter *, struct wt_err **),
	struct wt_err **err)
{
	sqlite3_stmt *stmt;
	int code;

	if (!sql)
		return 0;
	code = wt_trace__prepare(trace, &stmt, sql, err);
	if (code)
		return code;
	sqlite3_bind_int64(stmt, 1, filter->since);
	sqlite3_bind_int64(stmt, 2, filter->until);
	code = take(summary, trace, stmt, filter, err);
	sqlite3_finalize(stmt);
	return code;
}

int wt_summary__count(struct wt_summary *summary, struct wt_trace *trace,
	const struct wt_summary_filter *filter, struct wt_err **err)
{
	struct wt_summary_filter plain = *filter;
	int code;

	if (!summary->by->sql[trace->kind])
		return wt_err__new(
			err, -EINVAL, "not told by an RPD file: --by %s", summary->by->name);
	code = ask(summary, trace, filter, summary->by->sql[trace->kind], add_up, err);
	/* time in which anything ran does not add up over groups: rows keep their own names */
	plain.group = NULL;
	if (!code && !filter->group)
		code = ask(
			summary, trace, &plain, summary->by->busy_sql[trace->kind], add_busy, err);
	return code;
}

void wt_summary__free(struct wt_summary *summary)
{
	wt_strset__free(&summary->names);
	wt_vec__free(&summary->rows);
}
