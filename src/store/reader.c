// SPDX-License-Identifier: MIT
#include "store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "store/schema.h"
#include "store/sql.h"

#define STEPS_A_CALL 1000

#define NOT_A_TRACE_HINT                                                                           \
	"traces are SQLite files of wavetap or RPD; wavetap trace -o FILE CMD makes one"

/* Looks at the file before SQLite does, for errors that people understand. */
static int check_file(struct wt_trace *trace, const char *path, struct wt_err **err)
{
	char magic[16] = {0};
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC), code = -errno;
	ssize_t length;

	if (fd < 0) {
		wt_err__errno(err, code, "cannot open %s", path);
		if (code == -ENOENT)
			wt_err__hint(err, "wavetap trace CMD makes a trace");
		return code;
	}
	length = fstat(fd, &status) || !S_ISREG(status.st_mode) ? -1 : read(fd, magic, 16);
	close(fd);
	if (length < 0) {
		wt_err__new(err, -EINVAL, "not a regular file: %s", path);
		wt_err__hint(err, "a trace is one file; see what `wavetap trace` wrote: *.db");
		return -EINVAL;
	}
	trace->file_bytes = (uint64_t)status.st_size;
	if (length == 16 && !memcmp(magic, "SQLite format 3", 16))
		return 0;
	wt_err__new(err, -EILSEQ, "not a trace: %s", path);
	if (length >= 2 && !memcmp(magic, "\x1f\x8b", 2))
		wt_err__hint(err, "it is compressed: gunzip -k '%s'", path);
	else if (length == 0)
		wt_err__hint(err, "the file is empty");
	else
		wt_err__hint(err, NOT_A_TRACE_HINT);
	return -EILSEQ;
}

static int open_database(struct wt_trace *trace, const char *path, bool immutable)
{
	sqlite3_str *text = sqlite3_str_new(NULL);
	int rc = SQLITE_NOMEM;
	char *uri;

	sqlite3_str_appendall(text, "file:");
	if (path[0] != '/')
		sqlite3_str_appendall(text, "./");
	for (const char *at = path; *at; at++) /* what a URI would take for its own */
		if (strchr("?#%", *at))
			sqlite3_str_appendf(text, "%%%02X", (unsigned char)*at);
		else
			sqlite3_str_appendchar(text, 1, *at);
	sqlite3_str_appendall(text, immutable ? "?immutable=1" : "?mode=ro");
	uri = sqlite3_str_finish(text);
	if (uri)
		rc = sqlite3_open_v2(uri, &trace->db,
			SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
	sqlite3_free(uri);
	return rc;
}

static int out_of_budget(void *context)
{
	struct wt_trace *trace = context;

	if (!trace->budget)
		return 1;
	trace->budget--;
	return 0;
}

/* First contact: settings, then whether it is a database that can be read at all. */
static int configure(struct wt_trace *trace)
{
	sqlite3_stmt *stmt = NULL;
	int rc;

	sqlite3_db_config(trace->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(trace->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_limit(trace->db, SQLITE_LIMIT_LENGTH, 64 << 20);
	rc = sqlite3_exec(trace->db,
		"PRAGMA cell_size_check = ON; PRAGMA query_only = ON; PRAGMA mmap_size = 0;"
		"PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768",
		NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(
			trace->db, "SELECT count(*) FROM sqlite_master", -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt) == SQLITE_ROW ? SQLITE_OK : sqlite3_errcode(trace->db);
	sqlite3_finalize(stmt);
	return rc;
}

static int classify(struct wt_trace *trace, struct wt_err **err)
{
	int64_t version = 0;

	if (!wt_sql__has_table(trace->db, "wt_op")) {
		trace->kind = WT_TRACE_RPD;
		if (wt_sql__has_table(trace->db, "rocpd_op") &&
			wt_sql__has_table(trace->db, "rocpd_string"))
			return 0;
		wt_err__new(err, -EINVAL,
			"not a trace: it is a database, but has no wt_op or rocpd_op: %s",
			trace->path);
		wt_err__hint(err, NOT_A_TRACE_HINT);
		return -EINVAL;
	}
	trace->kind = WT_TRACE_WAVETAP;
	if (wt_sql__int(trace->db, "PRAGMA user_version", 0, &version, err))
		return wt_err__code(*err);
	if (version != WT_STORE_VERSION)
		return wt_err__new(err, -EINVAL,
			"written by another version of wavetap: format=%lld, this one reads %d: %s",
			(long long)version, WT_STORE_VERSION, trace->path);
	for (int table = 0; table < WT_T_CNT; table++)
		if (!wt_sql__has_table(trace->db, wt_tables[table].name))
			return wt_err__new(err, -EILSEQ, "the trace is damaged: no table %s: %s",
				wt_tables[table].name, trace->path);
	return 0;
}

int wt_trace__open(struct wt_trace *trace, const char *path, struct wt_err **err)
{
	int code, rc;

	*trace = (struct wt_trace){.path = path};
	code = check_file(trace, path, err);
	if (code)
		return code;
	rc = open_database(trace, path, !wt_sql__can_lock(path));
	if (rc == SQLITE_OK)
		rc = configure(trace);
	if (rc == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_IOERR || rc == SQLITE_PROTOCOL) {
		/* a log that cannot be opened in a folder we may not write to */
		sqlite3_close(trace->db);
		trace->db = NULL;
		rc = open_database(trace, path, true);
		if (rc == SQLITE_OK)
			rc = configure(trace);
	}
	if (rc != SQLITE_OK) {
		code = wt_sql__error(trace->db, err, "cannot read the trace %s", path);
		code = code ? code : wt_err__new(err, -EIO, "cannot read the trace %s", path);
	} else {
		trace->budget = 20000 + trace->file_bytes;
		sqlite3_progress_handler(trace->db, STEPS_A_CALL, out_of_budget, trace);
		code = classify(trace, err);
	}
	if (code)
		wt_trace__close(trace);
	return code;
}

void wt_trace__close(struct wt_trace *trace)
{
	sqlite3_close(trace->db);
	trace->db = NULL;
}

void wt_trace__unbound(struct wt_trace *trace)
{
	sqlite3_progress_handler(trace->db, 0, NULL, NULL);
}

static int read_error(struct wt_trace *trace, struct wt_err **err)
{
	int code = wt_sql__error(trace->db, err, "cannot read the trace %s", trace->path);

	if (code == -EILSEQ)
		wt_err__hint(err,
			"the file is damaged; wavetap sql '%s' 'PRAGMA integrity_check' says where",
			trace->path);
	return code;
}

int wt_trace__prepare(
	struct wt_trace *trace, sqlite3_stmt **stmt, const char *sql, struct wt_err **err)
{
	*stmt = NULL;
	if (sqlite3_prepare_v2(trace->db, sql, -1, stmt, NULL) != SQLITE_OK)
		return read_error(trace, err);
	return 0;
}

int wt_trace__step(struct wt_trace *trace, sqlite3_stmt *stmt, struct wt_err **err)
{
	switch (sqlite3_step(stmt)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return read_error(trace, err);
	}
}

int wt_trace__int(struct wt_trace *trace, const char *sql, int64_t absent, int64_t *value,
	struct wt_err **err)
{
	sqlite3_stmt *stmt;
	int code = wt_trace__prepare(trace, &stmt, sql, err);

	*value = absent;
	if (code)
		return code;
	code = wt_trace__step(trace, stmt, err);
	if (code == 1 && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		*value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

const char *wt_trace__text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : "";
}

uint64_t wt_trace__uint(sqlite3_stmt *stmt, int column)
{
	int64_t value = sqlite3_column_int64(stmt, column);

	return value < 0 ? 0 : (uint64_t)value;
}
