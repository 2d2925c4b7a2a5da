// SPDX-License-Identifier: MIT
#include "store/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"

int wt_sql__errno(sqlite3 *db)
{
	static const struct {
		int sqlite, code;
	} codes[] = {
		{SQLITE_NOMEM, -ENOMEM},
		{SQLITE_FULL, -ENOSPC},
		{SQLITE_IOERR, -EIO},
		{SQLITE_BUSY, -EBUSY},
		{SQLITE_LOCKED, -EBUSY},
		{SQLITE_READONLY, -EROFS},
		{SQLITE_CANTOPEN, -ENOENT},
		{SQLITE_PERM, -EACCES},
		{SQLITE_AUTH, -EACCES},
		{SQLITE_NOTADB, -EILSEQ},
		{SQLITE_CORRUPT, -EILSEQ},
		{SQLITE_INTERRUPT, -EINTR},
	};
	int code = db ? sqlite3_errcode(db) : SQLITE_NOMEM;

	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if ((code & 0xff) == codes[i].sqlite)
			return codes[i].code;
	return -EINVAL;
}

int wt_sql__error(sqlite3 *db, struct wt_err **err, const char *format, ...)
{
	int code = wt_sql__errno(db), system = db ? sqlite3_system_errno(db) : 0;
	const char *message = db ? sqlite3_errmsg(db) : "out of memory";
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (code == -EIO && system)
		return wt_err__errno(err, -system, "%s", text);
	wt_err__new(err, code, "%s: %s", text, message);
	if (code == -ENOSPC)
		wt_err__hint(err, "free some space, or write elsewhere with -o FILE or -d DIR");
	return code;
}

int wt_sql__exec(sqlite3 *db, const char *sql, struct wt_err **err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return wt_sql__error(db, err, "%.60s", sql);
	return 0;
}

int wt_sql__execf(sqlite3 *db, struct wt_err **err, const char *format, ...)
{
	va_list args;
	char *sql;
	int code;

	va_start(args, format);
	sql = sqlite3_vmprintf(format, args);
	va_end(args);
	if (!sql)
		return wt_err__new(err, -ENOMEM, "out of memory");
	code = wt_sql__exec(db, sql, err);
	sqlite3_free(sql);
	return code;
}

int wt_sql__prepare(sqlite3 *db, sqlite3_stmt **stmt, const char *sql, struct wt_err **err)
{
	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL) != SQLITE_OK)
		return wt_sql__error(db, err, "%.60s", sql);
	return 0;
}

int wt_sql__int(sqlite3 *db, const char *sql, int64_t absent, int64_t *value, struct wt_err **err)
{
	sqlite3_stmt *stmt = NULL;
	int code = wt_sql__prepare(db, &stmt, sql, err), step;

	*value = absent;
	if (code)
		return code;
	step = sqlite3_step(stmt);
	if (step == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		*value = sqlite3_column_int64(stmt, 0);
	else if (step != SQLITE_ROW && step != SQLITE_DONE)
		code = wt_sql__error(db, err, "%.60s", sql);
	sqlite3_finalize(stmt);
	return code;
}

bool wt_sql__can_lock(const char *path)
{
	/* a byte that neither data nor SQLite's own locks reach */
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = (off_t)1 << 50, .l_len = 1};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool can = fd < 0 || !fcntl(fd, F_SETLK, &lock) || errno == EACCES || errno == EAGAIN;

	if (fd >= 0)
		close(fd);
	return can;
}

static bool finds_row(sqlite3 *db, const char *sql, const char *first, const char *second)
{
	sqlite3_stmt *stmt = NULL;
	bool found = false;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, first, -1, SQLITE_STATIC);
		if (second)
			sqlite3_bind_text(stmt, 2, second, -1, SQLITE_STATIC);
		found = sqlite3_step(stmt) == SQLITE_ROW;
	}
	sqlite3_finalize(stmt);
	return found;
}

bool wt_sql__has_table(sqlite3 *db, const char *name)
{
	return finds_row(db,
		"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE",
		name, NULL);
}

bool wt_sql__has_column(sqlite3 *db, const char *table, const char *column)
{
	return finds_row(db, "SELECT 1 FROM pragma_table_xinfo(?1) WHERE name = ?2 COLLATE NOCASE",
		table, column);
}
