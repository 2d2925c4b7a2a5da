// SPDX-License-Identifier: MIT
/*
 * RPD's real tables (schema version 3). The rows come from the views of a
 * wavetap file, so that both schemas say the same. What an existing file lacks
 * is added: RPD 1 and 2, and RTL's own schema, become version 3 and keep their
 * rows.
 */
#include <errno.h>
#include <stddef.h>

#include "base/err.h"
#include "store/sql.h"
#include "store/store_private.h"

struct column {
	const char *name;
	const char *type;  /* as in a new table */
	const char *add;   /* type and default when it is added to an old table */
	const char *value; /* SELECT expression for a row of ours; NULL: not filled */
};

struct table {
	const char *name;
	const char *from; /* of the SELECT; NULL: nothing of ours */
	struct column columns[16];
};

#define STRING_REF     " REFERENCES rocpd_string(id) DEFERRABLE INITIALLY DEFERRED"
#define MAPPED(column) "(SELECT dst FROM temp.wt_strings WHERE src = r." column ")"
#define API(column)    "r." column " + (SELECT api FROM temp.wt_base)"
#define OP(column)     "r." column " + (SELECT op FROM temp.wt_base)"
#define EMPTY_STRING   "DEFAULT 0"
#define AUTO_ID        "integer NOT NULL PRIMARY KEY AUTOINCREMENT"

static const struct table tables[] = {
	{"rocpd_metadata", NULL,
		{{"id", AUTO_ID}, {"tag", "varchar(4096) NOT NULL"},
			{"value", "varchar(4096) NOT NULL"}}},
	{"rocpd_string", NULL, {{"id", AUTO_ID}, {"string", "varchar(4096) NOT NULL"}}},
	{"rocpd_ustring", NULL, {{"id", AUTO_ID}, {"string", "varchar(4096) NOT NULL"}}},
	{"rocpd_api", "src.rocpd_api r",
		{{"id", AUTO_ID, NULL, API("id")}, {"pid", "integer NOT NULL", NULL, "r.pid"},
			{"tid", "integer NOT NULL", NULL, "r.tid"},
			{"start", "integer NOT NULL", NULL, "r.start"},
			{"end", "integer NOT NULL", NULL, "r.\"end\""},
			{"apiName_id", "bigint NOT NULL" STRING_REF, NULL, MAPPED("apiName_id")},
			{"category_id", "bigint NOT NULL" STRING_REF,
				"bigint NOT NULL " EMPTY_STRING, MAPPED("category_id")},
			{"domain_id", "bigint NOT NULL" STRING_REF, "bigint NOT NULL " EMPTY_STRING,
				MAPPED("domain_id")},
			{"args_id",
				"bigint NOT NULL REFERENCES rocpd_ustring(id)"
				" DEFERRABLE INITIALLY DEFERRED",
				"bigint NOT NULL DEFAULT 0", "(SELECT ustring FROM temp.wt_base)"},
			{"correlation_id", "integer DEFAULT 0", "integer DEFAULT 0", API("id")}}},
	{"rocpd_op", "src.rocpd_op r",
		{{"id", AUTO_ID, NULL, OP("id")}, {"gpuId", "integer NOT NULL", NULL, "r.gpuId"},
			{"queueId", "integer NOT NULL", NULL, "r.queueId"},
			{"sequenceId", "integer NOT NULL", "integer NOT NULL DEFAULT 0",
				"r.sequenceId"},
			{"start", "integer NOT NULL", NULL, "r.start"},
			{"end", "integer NOT NULL", NULL, "r.\"end\""},
			{"description_id", "bigint NOT NULL" STRING_REF, NULL,
				MAPPED("description_id")},
			{"opType_id", "bigint NOT NULL" STRING_REF, NULL, MAPPED("opType_id")},
			{"completionSignal", "varchar(64) DEFAULT ''", "varchar(64) DEFAULT ''",
				"r.completionSignal"},
			{"roctxId", "integer DEFAULT 0", "integer DEFAULT 0", "r.roctxId"},
			{"correlation_id", "integer DEFAULT 0", "integer DEFAULT 0",
				"CASE r.correlation_id WHEN 0 THEN 0 ELSE " API(
					"correlation_id") " END"}}},
	{"rocpd_api_ops", "src.rocpd_api_ops r",
		{{"id", AUTO_ID}, {"api_id", "bigint NOT NULL", NULL, API("api_id")},
			{"op_id", "bigint NOT NULL", NULL, OP("op_id")}}},
	{"rocpd_kernelapi", "src.rocpd_kernelapi r",
		{{"api_ptr_id", "bigint NOT NULL PRIMARY KEY", "bigint", API("api_ptr_id")},
			{"stream", "varchar(18) NOT NULL", NULL, "r.stream"},
			{"gridX", "integer NOT NULL", NULL, "coalesce(r.gridX, 0)"},
			{"gridY", "integer NOT NULL", NULL, "coalesce(r.gridY, 0)"},
			{"gridZ", "integer NOT NULL", NULL, "coalesce(r.gridZ, 0)"},
			{"workgroupX", "integer NOT NULL", NULL, "coalesce(r.workgroupX, 0)"},
			{"workgroupY", "integer NOT NULL", NULL, "coalesce(r.workgroupY, 0)"},
			{"workgroupZ", "integer NOT NULL", NULL, "coalesce(r.workgroupZ, 0)"},
			{"groupSegmentSize", "integer NOT NULL", NULL, "r.groupSegmentSize"},
			{"privateSegmentSize", "integer NOT NULL", NULL, "r.privateSegmentSize"},
			{"kernelName_id", "bigint NOT NULL" STRING_REF, NULL,
				MAPPED("kernelName_id")},
			{"api_id", "bigint", "bigint", API("api_ptr_id")}}},
	{"rocpd_copyapi", "src.rocpd_copyapi r",
		{{"api_ptr_id", "bigint NOT NULL PRIMARY KEY", "bigint", API("api_ptr_id")},
			{"stream", "varchar(18) NOT NULL", NULL, "r.stream"},
			{"size", "integer NOT NULL", NULL, "r.size"},
			{"width", "integer NOT NULL", "integer NOT NULL DEFAULT ''", "r.width"},
			{"height", "integer NOT NULL", "integer NOT NULL DEFAULT ''", "r.height"},
			{"kind", "integer NOT NULL", NULL, "r.kind"},
			{"dst", "varchar(18) NOT NULL", NULL, "r.dst"},
			{"src", "varchar(18) NOT NULL", NULL, "r.src"},
			{"dstDevice", "integer NOT NULL", "integer NOT NULL DEFAULT 0",
				"r.dstDevice"},
			{"srcDevice", "integer NOT NULL", "integer NOT NULL DEFAULT 0",
				"r.srcDevice"},
			{"sync", "bool NOT NULL", "bool NOT NULL DEFAULT 0", "r.sync"},
			{"pinned", "bool NOT NULL", "bool NOT NULL DEFAULT 0", "r.pinned"},
			{"api_id", "bigint", "bigint", API("api_ptr_id")}}},
	{"rocpd_graphLaunchapi", "src.rocpd_graphLaunchapi r",
		{{"api_ptr_id", "bigint NOT NULL PRIMARY KEY", "bigint", API("api_ptr_id")},
			{"graphExec", "varchar(18) NOT NULL", "varchar(18)", "r.graphExec"},
			{"stream", "varchar(18) NOT NULL", "varchar(18)", "r.stream"}}},
	{"rocpd_monitor", NULL,
		{{"id", AUTO_ID}, {"deviceType", "varchar(16) NOT NULL"},
			{"deviceId", "integer NOT NULL"}, {"monitorType", "varchar(16) NOT NULL"},
			{"start", "integer NOT NULL"}, {"end", "integer NOT NULL"},
			{"value", "varchar(255) NOT NULL"}}},
	{"rocpd_counter", NULL,
		{{"id", AUTO_ID}, {"value", "real NOT NULL"}, {"op_id", "bigint NOT NULL"},
			{"name_id", "bigint NOT NULL" STRING_REF}}},
	{"rocpd_stackframe", NULL,
		{{"id", AUTO_ID}, {"api_ptr_id", "bigint NOT NULL"}, {"depth", "integer NOT NULL"},
			{"name_id", "bigint NOT NULL" STRING_REF}}},
};
#define TABLE_CNT (sizeof(tables) / sizeof(tables[0]))

/* RPD's names: its own scripts create the same ones and must find them. */
static const char *const indices[] = {
	"INDEX IF NOT EXISTS \"rocpd_strin_string_c7b9cd_idx\" ON rocpd_string(string)",
	"INDEX IF NOT EXISTS \"rocpd_ustri_string_84d4a7_idx\" ON rocpd_ustring(string)",
	"UNIQUE INDEX IF NOT EXISTS \"rocpd_api_ops_api_id_op_id_e7e52317_uniq\""
	" ON rocpd_api_ops(api_id, op_id)",
	"INDEX IF NOT EXISTS \"rocpd_api_ops_api_id_f87632ad\" ON rocpd_api_ops(api_id)",
	"INDEX IF NOT EXISTS \"rocpd_api_ops_op_id_b35ab7c9\" ON rocpd_api_ops(op_id)",
	"INDEX IF NOT EXISTS \"rocpd_op_description_id_c8dc8310\" ON rocpd_op(description_id)",
	"INDEX IF NOT EXISTS \"rocpd_op_opType_id_810aaccd\" ON rocpd_op(opType_id)",
	"INDEX IF NOT EXISTS \"rocpd_counter_op_id_0b4d4b59\" ON rocpd_counter(op_id)",
	"INDEX IF NOT EXISTS \"rocpd_counter_name_id_92b0ed0c\" ON rocpd_counter(name_id)",
	"INDEX IF NOT EXISTS \"rocpd_api_apiName_id_54bc0a6c\" ON rocpd_api(apiName_id)",
	"INDEX IF NOT EXISTS \"rocpd_api_category_id_16543984\" ON rocpd_api(category_id)",
	"INDEX IF NOT EXISTS \"rocpd_api_domain_id_081456b2\" ON rocpd_api(domain_id)",
	"INDEX IF NOT EXISTS \"rocpd_api_args_id_6a626626\" ON rocpd_api(args_id)",
	"INDEX IF NOT EXISTS \"rocpd_kernelapi_kernelName_id_c8efa6f0\""
	" ON rocpd_kernelapi(kernelName_id)",
	/* a table that came from RTL has another primary key */
	"INDEX IF NOT EXISTS wt_kernelapi_ptr ON rocpd_kernelapi(api_ptr_id)",
	"INDEX IF NOT EXISTS wt_copyapi_ptr ON rocpd_copyapi(api_ptr_id)",
};

/* ---- migration ---------------------------------------------------------- */

static int create_table(sqlite3 *db, const struct table *table, struct wt_err **err)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	char *text;
	int code;

	sqlite3_str_appendf(sql, "CREATE TABLE %s(", table->name);
	for (int i = 0; i < 16 && table->columns[i].name; i++)
		sqlite3_str_appendf(sql, "%s\"%s\" %s", i ? ", " : "", table->columns[i].name,
			table->columns[i].type);
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	code = text ? wt_sql__exec(db, text, err) : wt_err__new(err, -ENOMEM, "out of memory");
	sqlite3_free(text);
	return code;
}

static int add_columns(sqlite3 *db, const struct table *table, struct wt_err **err)
{
	for (int i = 0; i < 16 && table->columns[i].name; i++) {
		const struct column *column = &table->columns[i];
		int code;

		if (wt_sql__has_column(db, table->name, column->name))
			continue;
		if (!column->add)
			return wt_err__new(err, -EINVAL, "its table %s has no column %s",
				table->name, column->name);
		code = wt_sql__execf(db, err, "ALTER TABLE %s ADD COLUMN \"%s\" %s", table->name,
			column->name, column->add);
		if (code)
			return code;
	}
	return 0;
}

/* What older versions keep elsewhere or leave empty; each statement may be repeated. */
static int move_values(sqlite3 *db, bool args_in_strings, struct wt_err **err)
{
	static const char *const before[] = {
		"INSERT INTO rocpd_string(string) SELECT ''"
		" WHERE NOT EXISTS (SELECT 1 FROM rocpd_string WHERE string = '')",
		"UPDATE rocpd_kernelapi SET api_ptr_id = api_id WHERE api_ptr_id IS NULL",
		"UPDATE rocpd_copyapi SET api_ptr_id = api_id WHERE api_ptr_id IS NULL",
		"UPDATE rocpd_api SET category_id = (SELECT min(id) FROM rocpd_string WHERE string "
		"= '')"
		" WHERE category_id = 0",
		"UPDATE rocpd_api SET domain_id = (SELECT min(id) FROM rocpd_string WHERE string = "
		"'')"
		" WHERE domain_id = 0",
		/* RTL leaves what has no text NULL; RPD's readers join on it and would lose the row
		 */
		"UPDATE rocpd_op SET description_id ="
		" (SELECT min(id) FROM rocpd_string WHERE string = '') WHERE description_id IS "
		"NULL",
		"UPDATE rocpd_op SET opType_id ="
		" (SELECT min(id) FROM rocpd_string WHERE string = '') WHERE opType_id IS NULL",
		"UPDATE rocpd_api SET apiName_id ="
		" (SELECT min(id) FROM rocpd_string WHERE string = '') WHERE apiName_id IS NULL",
	};
	static const char *const after[] = {
		"INSERT INTO rocpd_ustring(string) SELECT ''"
		" WHERE NOT EXISTS (SELECT 1 FROM rocpd_ustring WHERE string = '')",
		"UPDATE rocpd_api SET args_id = (SELECT min(id) FROM rocpd_ustring WHERE string = "
		"'')"
		" WHERE args_id IS NULL OR args_id = 0",
		"INSERT INTO rocpd_metadata(tag, value) SELECT 'gpu_stride', '1000'"
		" WHERE NOT EXISTS (SELECT 1 FROM rocpd_metadata WHERE tag = 'gpu_stride')",
		"INSERT INTO rocpd_metadata(tag, value) SELECT 'pid_stride', '10000000'"
		" WHERE NOT EXISTS (SELECT 1 FROM rocpd_metadata WHERE tag = 'pid_stride')",
		"INSERT INTO rocpd_metadata(tag, value) SELECT 'schema_version', '3'"
		" WHERE NOT EXISTS (SELECT 1 FROM rocpd_metadata WHERE tag = 'schema_version')",
		"UPDATE rocpd_metadata SET value = '3' WHERE tag = 'schema_version'",
	};
	int code = 0;

	for (unsigned i = 0; !code && i < sizeof(before) / sizeof(before[0]); i++)
		code = wt_sql__exec(db, before[i], err);
	/* up to version 2 arguments are in rocpd_string: the same ids in their own table */
	if (!code && args_in_strings)
		code = wt_sql__exec(db,
			"INSERT INTO rocpd_ustring(id, string) SELECT id, string FROM rocpd_string"
			" WHERE id IN (SELECT args_id FROM rocpd_api)",
			err);
	for (unsigned i = 0; !code && i < sizeof(after) / sizeof(after[0]); i++)
		code = wt_sql__exec(db, after[i], err);
	return code;
}

static int renew_views(sqlite3 *db, struct wt_err **err)
{
	for (const struct wt_rpd_view *view = wt_rpd_views; view->name; view++) {
		int code = wt_sql__execf(db, err,
			"DROP VIEW IF EXISTS \"%s\"; CREATE VIEW \"%s\" AS %s", view->name,
			view->name, view->sql);

		if (code)
			return code;
	}
	return 0;
}

int wt_store_rpd__migrate(sqlite3 *db, struct wt_err **err)
{
	bool args_in_strings =
		wt_sql__has_table(db, "rocpd_api") && !wt_sql__has_table(db, "rocpd_ustring");
	int code = wt_sql__exec(db, "BEGIN", err);

	/* old views may name what is about to change: SQLite checks them at ALTER TABLE */
	if (!code)
		code = wt_sql__exec(db, "PRAGMA legacy_alter_table = ON", err);
	for (unsigned i = 0; !code && i < TABLE_CNT; i++)
		code = wt_sql__has_table(db, tables[i].name) ? add_columns(db, &tables[i], err)
							     : create_table(db, &tables[i], err);
	if (!code)
		code = move_values(db, args_in_strings, err);
	if (!code)
		code = renew_views(db, err);
	/* the index on strings is needed to fill; the others are cheaper afterwards */
	if (!code)
		code = wt_sql__execf(db, err, "CREATE %s", indices[0]);
	if (!code)
		code = wt_sql__exec(db, "COMMIT", err);
	return code ? wt_err__wrap(err, code, "cannot bring the file to RPD's schema 3") : 0;
}

/* ---- our rows ----------------------------------------------------------- */

static const struct column *find_column(const struct table *table, const char *name)
{
	for (int i = 0; i < 16 && table->columns[i].name; i++)
		if (!sqlite3_stricmp(table->columns[i].name, name))
			return &table->columns[i];
	return NULL;
}

/*
 * INSERT … SELECT over the columns that the file really has. A column that we
 * do not know, and that must not be NULL, gets '', as RPD itself writes there.
 */
static int fill_table(sqlite3 *db, const struct table *table, struct wt_err **err)
{
	sqlite3_str *names = sqlite3_str_new(db), *values = sqlite3_str_new(db);
	sqlite3_stmt *stmt = NULL;
	char *name_list, *value_list;
	int code = wt_sql__prepare(db, &stmt,
		"SELECT name, \"notnull\" AND dflt_value IS NULL AND NOT pk FROM "
		"pragma_table_info(?1)",
		err);

	if (!code)
		sqlite3_bind_text(stmt, 1, table->name, -1, SQLITE_STATIC);
	while (!code && sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		const struct column *column = name ? find_column(table, name) : NULL;
		const char *value = column ? column->value : NULL;

		if (!name || (!value && !sqlite3_column_int(stmt, 1)))
			continue;
		sqlite3_str_appendf(names, "%s\"%w\"", sqlite3_str_length(names) ? ", " : "", name);
		sqlite3_str_appendf(values, "%s%s", sqlite3_str_length(values) ? ", " : "",
			value ? value : "''");
	}
	sqlite3_finalize(stmt);
	name_list = sqlite3_str_finish(names);
	value_list = sqlite3_str_finish(values);
	if (!code && (!name_list || !value_list))
		code = wt_err__new(err, -ENOMEM, "out of memory");
	if (!code)
		code = wt_sql__execf(db, err, "INSERT INTO main.%s(%s) SELECT %s FROM %s",
			table->name, name_list, value_list, table->from);
	sqlite3_free(name_list);
	sqlite3_free(value_list);
	return code;
}

static const char prepare_fill[] =
	"CREATE TEMP TABLE wt_base AS SELECT"
	" coalesce((SELECT max(id) FROM main.rocpd_api), 0) AS api,"
	" coalesce((SELECT max(id) FROM main.rocpd_op), 0) AS op,"
	" (SELECT min(id) FROM main.rocpd_ustring WHERE string = '') AS ustring,"
	" 1 + (SELECT count(*) FROM main.rocpd_metadata WHERE tag LIKE '%wavetap::origin_ns') AS "
	"run;"
	"INSERT INTO main.rocpd_string(string) SELECT DISTINCT s.string FROM src.rocpd_string s"
	" WHERE NOT EXISTS (SELECT 1 FROM main.rocpd_string d WHERE d.string = s.string);"
	"CREATE TEMP TABLE wt_strings(src INTEGER PRIMARY KEY, dst INTEGER NOT NULL);"
	"INSERT INTO wt_strings SELECT s.id, min(d.id) FROM src.rocpd_string s"
	" JOIN main.rocpd_string d ON d.string = s.string GROUP BY s.id;";

/* Losses and settings have no table in RPD's schema; a later run's tags carry its number. */
static const char fill_metadata[] =
	"CREATE TEMP TABLE wt_tags AS"
	" SELECT 'wavetap::' || key AS tag, value FROM src.wt_meta"
	"  WHERE key NOT IN ('schema_version', 'gpu_stride', 'pid_stride', 'pid')"
	" UNION ALL SELECT 'wavetap::origin_ns', origin_ns FROM src.wt_run"
	" UNION ALL SELECT 'wavetap::origin_realtime_ns', origin_realtime_ns FROM src.wt_run"
	"  WHERE origin_realtime_ns IS NOT NULL"
	" UNION ALL SELECT 'wavetap::lost::' || cause, sum(count) FROM src.wt_lost GROUP BY cause"
	" UNION ALL SELECT 'wavetap::unrecorded::' || d.string || '::' || s.string, sum(u.count)"
	"  FROM src.wt_unrecorded u JOIN src.wt_string s ON s.id = u.name_id"
	"  JOIN src.wt_string d ON d.id = u.domain_id GROUP BY 1"
	" UNION ALL SELECT 'wavetap::left_out::' || view || '::' || reason, count FROM "
	"src.wt_left_out;"
	"INSERT INTO main.rocpd_metadata(tag, value) SELECT"
	" CASE (SELECT run FROM wt_base) WHEN 1 THEN tag"
	"  ELSE 'run' || (SELECT run FROM wt_base) || '::' || tag END, value FROM wt_tags;"
	"INSERT INTO main.rocpd_metadata(tag, value) SELECT 'pid', value FROM src.wt_meta"
	" WHERE key = 'pid' AND NOT EXISTS (SELECT 1 FROM main.rocpd_metadata WHERE tag = 'pid');";

int wt_store_rpd__fill(sqlite3 *db, const char *path, struct wt_err **err)
{
	int code = wt_sql__execf(db, err, "ATTACH %Q AS src; BEGIN", path);

	if (!code)
		code = wt_sql__exec(db, prepare_fill, err);
	for (unsigned i = 0; !code && i < TABLE_CNT; i++)
		if (tables[i].from)
			code = fill_table(db, &tables[i], err);
	if (!code)
		code = wt_sql__exec(db, fill_metadata, err);
	for (unsigned i = 0; !code && i < sizeof(indices) / sizeof(indices[0]); i++)
		code = wt_sql__execf(db, err, "CREATE %s", indices[i]);
	if (!code)
		code = wt_sql__exec(db, "COMMIT", err);
	return code ? wt_err__wrap(err, code, "cannot write RPD's tables") : 0;
}
