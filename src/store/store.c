// SPDX-License-Identifier: MIT
/*
 * The life of a trace file: built under another name in the same directory,
 * synced, then renamed. So an unfinished file never looks finished, and a file
 * that is added to is untouched until the new one is complete.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "store/sql.h"
#include "store/store_private.h"

const char *wt_store__vfs = "unix-none";

/* No journal and no sync while building: a crash leaves a file that nobody reads. */
static const char work_pragmas[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
				   "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384;"
				   "PRAGMA temp_store = MEMORY;";
#define WORK_PAGE_BYTES 8192

static char *format_path(const char *path, const char *suffix)
{
	size_t bytes = strlen(path) + strlen(suffix) + 32;
	char *result = malloc(bytes);

	if (result)
		snprintf(result, bytes, "%s.%s-%ld", path, suffix, (long)getpid());
	return result;
}

static void free_store(struct wt_store *store)
{
	if (!store)
		return;
	wt_store_write__free(store);
	sqlite3_close(store->db);
	sqlite3_close(store->source);
	/* a name that was taken belongs to somebody */
	if (store->work_created)
		unlink(store->work_path);
	if (store->rpd_created)
		unlink(store->rpd_path);
	free(store->path);
	free(store->work_path);
	free(store->rpd_path);
	wt_err__free(store->err);
	free(store);
}

/* ---- before the first row ----------------------------------------------- */

static int check_existing(
	const struct wt_store *store, const struct stat *status, struct wt_err **err)
{
	if (!S_ISREG(status->st_mode))
		return wt_err__new(err, -EINVAL, "not a regular file: %s", store->path);
	if (store->options.exists != WT_STORE_REFUSE)
		return 0;
	wt_err__new(err, -EEXIST, "file exists: %s", store->path);
	wt_err__hint(err, "--force replaces it, --append adds this run to it");
	return -EEXIST;
}

/* An existing file's path is resolved: a symbolic link stays one. */
static int set_paths(struct wt_store *store, const char *path, bool *exists, struct wt_err **err)
{
	struct stat status;

	*exists = stat(path, &status) == 0;
	store->path = *exists ? realpath(path, NULL) : strdup(path);
	store->work_path = store->path ? format_path(store->path, "unfinished") : NULL;
	if (!store->work_path)
		return wt_err__new(err, -ENOMEM, "out of memory");
	if (*exists)
		return check_existing(store, &status, err);
	return 0;
}

static int create_empty(const char *path, struct wt_err **err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666), code = -errno;
	char *copy;
	const char *folder;

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	copy = strdup(path);
	folder = copy ? dirname(copy) : ".";
	wt_err__errno(err, code, "cannot write to %s", folder);
	if (code == -ENOENT)
		wt_err__hint(err, "make the directory (mkdir -p '%s'), or name another with -d DIR",
			folder);
	else if (code == -EACCES || code == -EROFS || code == -EPERM)
		wt_err__hint(err, "write elsewhere with -o FILE or -d DIR");
	free(copy);
	return code;
}

static int open_work(sqlite3 **db, const char *path, bool *created, struct wt_err **err)
{
	int code = create_empty(path, err);

	if (code)
		return code;
	*created = true;
	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, wt_store__vfs) !=
		SQLITE_OK)
		return wt_sql__error(*db, err, "cannot open %s", path);
	sqlite3_extended_result_codes(*db, 1);
	return wt_sql__execf(*db, err, "PRAGMA page_size = %d; %s", WORK_PAGE_BYTES, work_pragmas);
}

/* Opens the file that is added to, and holds its write lock until the end. */
static int open_source(struct wt_store *store, struct wt_err **err)
{
	int code;

	if (!wt_sql__can_lock(store->path))
		store->source_vfs = "unix-none";
	if (sqlite3_open_v2(store->path, &store->source, SQLITE_OPEN_READWRITE,
		    store->source_vfs) != SQLITE_OK)
		return wt_sql__error(store->source, err, "cannot open %s", store->path);
	/* a journal or log beside the file would be taken for the new file's */
	code = wt_sql__exec(store->source, "PRAGMA journal_mode = DELETE; BEGIN IMMEDIATE", err);
	if (code == -EBUSY) {
		wt_err__new(err, code, "another program is writing to it");
		wt_err__hint(err, "wait for it, or write to another file");
	} else if (code == -EROFS) {
		wt_err__hint(err, "write to another file, or make this one writable");
	}
	return code;
}

static int check_source(struct wt_store *store, struct wt_err **err)
{
	bool wavetap = wt_sql__has_table(store->source, "wt_op");
	bool rpd = wt_sql__has_table(store->source, "rocpd_op");
	int64_t version;

	if (store->options.schema == WT_SCHEMA_RPD && wavetap) {
		wt_err__new(err, -EINVAL, "it is a wavetap trace, not an RPD file");
		wt_err__hint(err, "leave out --schema rpd to add to it");
		return -EINVAL;
	}
	if (store->options.schema == WT_SCHEMA_WAVETAP && !wavetap) {
		wt_err__new(err, -EINVAL, rpd ? "it is an RPD file" : "it is not a trace");
		if (rpd)
			wt_err__hint(err, "--schema rpd adds to an RPD file");
		return -EINVAL;
	}
	if (!wavetap)
		return 0; /* any other database may get RPD's tables */
	if (wt_sql__int(store->source, "PRAGMA user_version", 0, &version, err))
		return wt_err__code(*err);
	if (version != WT_STORE_VERSION)
		return wt_err__new(err, -EINVAL,
			"it was written by another version of wavetap: format=%lld, expected=%d",
			(long long)version, WT_STORE_VERSION);
	return 0;
}

/* A copy of the source through SQLite, which knows about logs and unfinished transactions. */
static int copy_source(struct wt_store *store, sqlite3 *to, struct wt_err **err)
{
	sqlite3_backup *backup = NULL;
	sqlite3 *from = NULL;
	int code = 0;

	/* the connection that holds the lock may not be copied from */
	if (sqlite3_open_v2(store->path, &from, SQLITE_OPEN_READONLY, store->source_vfs) !=
		SQLITE_OK) {
		code = wt_sql__error(from, err, "cannot open %s", store->path);
	} else {
		backup = sqlite3_backup_init(to, "main", from, "main");
		if (!backup || sqlite3_backup_step(backup, -1) != SQLITE_DONE)
			code = wt_sql__error(to, err, "cannot copy %s", store->path);
		sqlite3_backup_finish(backup);
	}
	sqlite3_close(from);
	return code ? code : wt_sql__exec(to, work_pragmas, err);
}

static int open_all(struct wt_store *store, const char *path, struct wt_err **err)
{
	bool rpd = store->options.schema == WT_SCHEMA_RPD, exists, append;
	int code = set_paths(store, path, &exists, err);

	append = exists && store->options.exists == WT_STORE_APPEND;
	if (!code && rpd) {
		store->rpd_path = format_path(store->path, "unfinished-rpd");
		if (!store->rpd_path)
			code = wt_err__new(err, -ENOMEM, "out of memory");
	}
	if (!code && append)
		code = open_source(store, err);
	if (!code && append)
		code = check_source(store, err);
	if (!code)
		code = open_work(&store->db, store->work_path, &store->work_created, err);
	if (!code && append && !rpd)
		code = copy_source(store, store->db, err);
	if (!code)
		code = wt_store_write__begin(store, rpd || !append, err);
	return code;
}

int wt_store__open(struct wt_store **result, const char *path,
	const struct wt_store_options *options, struct wt_err **err)
{
	struct wt_store *store = calloc(1, sizeof(*store));
	size_t size = options->size < sizeof(*options) ? options->size : sizeof(*options);
	struct wt_err *cause = NULL;
	int code;

	*result = NULL;
	err = err ? err : &cause;
	if (!store)
		return wt_err__new(err, -ENOMEM, "cannot write the trace: out of memory");
	memcpy(&store->options, options, size);
	code = open_all(store, path, err);
	if (code) {
		code = wt_err__wrap(err, code, "cannot write the trace %s", path);
		wt_err__free(cause);
		free_store(store);
		return code;
	}
	*result = store;
	return 0;
}

/* ---- the end ------------------------------------------------------------ */

static int make_rpd(struct wt_store *store, struct wt_err **err)
{
	sqlite3 *db = NULL;
	int code = open_work(&db, store->rpd_path, &store->rpd_created, err);

	if (!code && store->source)
		code = copy_source(store, db, err);
	if (!code)
		code = wt_store_rpd__migrate(db, err);
	if (!code)
		code = wt_store_rpd__fill(db, store->work_path, err);
	if (sqlite3_close(db) != SQLITE_OK && !code)
		code = wt_err__new(err, -EIO, "cannot close %s", store->rpd_path);
	return code;
}

static int sync_file(const char *path, int flags, struct wt_err **err)
{
	int fd = open(path, flags | O_CLOEXEC), code = fd < 0 ? -errno : 0;

	if (fd >= 0 && fsync(fd) && errno != EINVAL && errno != EROFS)
		code = -errno;
	if (fd >= 0)
		close(fd);
	return code ? wt_err__errno(err, code, "cannot sync %s", path) : 0;
}

/* Renames, and replaces what is there only where that was asked for. */
static int put_in_place(const struct wt_store *store, const char *from, struct wt_err **err)
{
	bool replace = store->options.exists != WT_STORE_REFUSE;
	int code = 0;

	if (!replace && renameat2(AT_FDCWD, from, AT_FDCWD, store->path, RENAME_NOREPLACE)) {
		code = -errno;
		/* file systems that cannot: a hard link does not replace either */
		if (code == -EINVAL || code == -ENOSYS)
			code = link(from, store->path) ? -errno : 0;
		if (code == -EPERM || code == -EOPNOTSUPP)
			replace = access(store->path, F_OK) != 0, code = replace ? 0 : -EEXIST;
	}
	if (replace && rename(from, store->path))
		code = -errno;
	if (code == -EEXIST) {
		wt_err__new(err, code, "a file of that name has appeared meanwhile");
		wt_err__hint(err, "--force replaces it, --append adds this run to it");
		return code;
	}
	return code ? wt_err__errno(err, code, "cannot rename %s", from) : 0;
}

/* The trace is complete and in place: that its name may not survive a power cut is no failure. */
static void sync_folder(const char *path)
{
	char *copy = strdup(path);

	if (copy)
		sync_file(dirname(copy), O_RDONLY | O_DIRECTORY, NULL);
	free(copy);
}

static int finish(struct wt_store *store, struct wt_err **err)
{
	const char *done = store->rpd_path ? store->rpd_path : store->work_path;
	bool fresh = store->rpd_path || !store->source;
	int code = wt_store_write__finish(store, fresh, err);

	wt_store_write__free(store); /* statements keep the database open */
	if (sqlite3_close(store->db) != SQLITE_OK && !code)
		code = wt_err__new(err, -EIO, "cannot close %s", store->work_path);
	store->db = NULL;
	if (!code && store->rpd_path)
		code = make_rpd(store, err);
	if (!code)
		code = sync_file(done, O_RDWR, err);
	if (!code)
		code = put_in_place(store, done, err);
	if (!code)
		sync_folder(store->path);
	return code;
}

int wt_store__close(struct wt_store *store, struct wt_err **err)
{
	struct wt_err *cause = NULL;
	int code;

	if (!store)
		return 0;
	err = err ? err : &cause;
	code = wt_store_write__flush(store);
	if (code) {
		wt_err__free(*err);
		*err = store->err;
		store->err = NULL;
	} else {
		code = finish(store, err);
	}
	if (code)
		code = wt_err__wrap(err, code, "cannot write the trace %s", store->path);
	wt_err__free(cause);
	free_store(store);
	return code;
}

void wt_store__abort(struct wt_store *store)
{
	free_store(store);
}
