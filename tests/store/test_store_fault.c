// SPDX-License-Identifier: MIT
/*
 * Every allocation, write, sync and rename of the writer fails once (and, in a
 * second round, from then on). Each time the result is an error with a text and
 * no file, or a file that holds everything.
 *
 * All of them with WT_FAULT_ALL=1, else every few, so that `check` stays short.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "sample.h"
#include "store/reader.h"
#include "store/store_private.h"

static char path[64];

/* ---- what fails when ------------------------------------------------------ */

static struct {
	long allocation, write; /* the how-manieth fails; 0: none */
	bool from_then_on;
	long allocations, writes; /* seen so far */
} fault;

static bool fails(long *seen, long which)
{
	++*seen;
	return which && (*seen == which || (fault.from_then_on && *seen > which));
}

static bool allocation_fails(void)
{
	return fails(&fault.allocations, fault.allocation);
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t cnt, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
int __real_fsync(int fd);
int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t cnt, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
int __wrap_fsync(int fd);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);

void *__wrap_malloc(size_t bytes)
{
	return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t cnt, size_t bytes)
{
	return allocation_fails() ? NULL : __real_calloc(cnt, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return allocation_fails() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *text)
{
	return allocation_fails() ? NULL : __real_strdup(text);
}

int __wrap_fsync(int fd)
{
	if (!fails(&fault.writes, fault.write))
		return __real_fsync(fd);
	errno = EIO;
	return -1;
}

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	if (!fails(&fault.writes, fault.write))
		return __real_renameat2(from_fd, from, to_fd, to, flags);
	errno = EIO;
	return -1;
}

/* SQLite's own allocations */
static sqlite3_mem_methods memory;

static void *fault_malloc(int bytes)
{
	return allocation_fails() ? NULL : memory.xMalloc(bytes);
}

static void *fault_realloc(void *old, int bytes)
{
	return allocation_fails() ? NULL : memory.xRealloc(old, bytes);
}

/* A VFS over unix-none whose files fail to be written. */
struct fault_file {
	sqlite3_file base;
	const sqlite3_io_methods *real;
};

static sqlite3_io_methods fault_methods;
static sqlite3_vfs fault_vfs;

static int fault_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset)
{
	const sqlite3_io_methods *real =
		*(const sqlite3_io_methods **)((char *)file + fault_vfs.szOsFile -
					       (int)sizeof(void *));

	if (fails(&fault.writes, fault.write))
		return fault.writes % 2 ? SQLITE_FULL : SQLITE_IOERR_WRITE;
	return real->xWrite(file, bytes, length, offset);
}

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
	sqlite3_vfs *real = sqlite3_vfs_find("unix-none");
	int rc = real->xOpen(real, name, file, flags, out);

	(void)vfs;
	if (rc != SQLITE_OK || !file->pMethods)
		return rc;
	/* the file is unix's own; the space behind it remembers its methods */
	memcpy((char *)file + fault_vfs.szOsFile - (int)sizeof(void *), &file->pMethods,
		sizeof(void *));
	fault_methods = *file->pMethods;
	fault_methods.iVersion = 1;
	fault_methods.xWrite = fault_write;
	file->pMethods = &fault_methods;
	return rc;
}

static int set_up(void **state)
{
	static sqlite3_mem_methods own;
	const char *folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

	(void)state;
	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory);
	own = memory;
	own.xMalloc = fault_malloc;
	own.xRealloc = fault_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &own);
	if (sqlite3_initialize() != SQLITE_OK)
		return -1;
	fault_vfs = *sqlite3_vfs_find("unix-none");
	fault_vfs.szOsFile += (int)sizeof(void *);
	fault_vfs.zName = "wt-fault";
	fault_vfs.pNext = NULL;
	fault_vfs.xOpen = fault_open;
	sqlite3_vfs_register(&fault_vfs, 0);
	wt_store__vfs = "wt-fault";
	snprintf(path, sizeof(path), "%s/wt-fault-%ld.db", folder, (long)getpid());
	return 0;
}

/* ---- the runs --------------------------------------------------------------- */

/* Sums over everything that the sample holds. */
static void expect_complete(enum wt_schema schema, int runs)
{
	static const char *const sums[] = {
		"SELECT (SELECT sum(start + duration) FROM wt_op) + (SELECT sum(start) FROM "
		"wt_api) +"
		" (SELECT sum(length(string)) FROM wt_string) + (SELECT count(*) FROM op) +"
		" (SELECT count(*) FROM api) + (SELECT count(*) FROM wt_unknown)",
		"SELECT (SELECT sum(\"end\" - 5000000000000) FROM rocpd_op) + (SELECT count(*) "
		"FROM op) +"
		" (SELECT count(*) FROM api) * 100 + (SELECT count(*) FROM kernel) * 1000"};
	static int64_t expected[2][3];
	struct wt_trace trace;
	int64_t sum;

	assert_int_equal(wt_trace__open(&trace, path, NULL), 0);
	assert_int_equal(wt_trace__int(&trace, sums[schema], 0, &sum, NULL), 0);
	wt_trace__close(&trace);
	if (!expected[schema][runs])
		expected[schema][runs] = sum;
	assert_int_equal(sum, expected[schema][runs]);
}

static void clear(void)
{
	memset(&fault, 0, sizeof(fault));
}

static int write_once(enum wt_schema schema, enum wt_store_exists exists)
{
	struct wt_err *err = NULL;
	int code = sample__write(path, schema, exists, &err);

	clear();
	assert_true(code <= 0);
	assert_int_equal(code < 0, err != NULL);
	if (code < 0)
		assert_true(wt_err__text(err)[0]);
	wt_err__free(err);
	return code;
}

static void start_file(enum wt_schema schema, bool append)
{
	clear();
	unlink(path);
	if (append)
		assert_int_equal(write_once(schema, WT_STORE_REFUSE), 0);
}

/* Fails the nth event of a kind for n = 1, 1 + stride, … until it is past the last one. */
static void fail_each(enum wt_schema schema, bool append, bool writes, bool from_then_on)
{
	long total, stride, failed = 0;

	start_file(schema, append);
	if (write_once(schema, append ? WT_STORE_APPEND : WT_STORE_REFUSE))
		fail_msg("the writer fails without a fault");
	expect_complete(schema, append ? 2 : 1);
	start_file(schema, append);
	/* how many there are: a fault far away counts */
	fault.allocation = fault.write = 1 << 30;
	{
		struct wt_err *err = NULL;

		assert_int_equal(sample__write(path, schema,
					 append ? WT_STORE_APPEND : WT_STORE_REFUSE, &err),
			0);
		total = writes ? fault.writes : fault.allocations;
	}
	stride = getenv("WT_FAULT_ALL") || total < 20 ? 1 : total / 20 | 1;
	for (long n = 1; n <= total; n += stride) {
		int code;

		start_file(schema, append);
		fault.from_then_on = from_then_on;
		*(writes ? &fault.write : &fault.allocation) = n;
		code = write_once(schema, append ? WT_STORE_APPEND : WT_STORE_REFUSE);
		failed += code < 0;
		if (!code)
			expect_complete(schema, append ? 2 : 1);
		else if (append)
			expect_complete(schema, 1); /* untouched */
		else
			assert_int_not_equal(access(path, F_OK), 0);
	}
	/* what SQLite can do without, and the sync of the folder, fail without harm; most must show
	 */
	assert_true(failed * 2 > total / stride);
	unlink(path);
}

static void test_writes(void **state)
{
	(void)state;
	for (int mask = 0; mask < 8; mask++)
		fail_each(mask & 1, mask & 2, true, mask & 4);
}

static void test_allocations(void **state)
{
	(void)state;
	for (int mask = 0; mask < 8; mask++)
		fail_each(mask & 1, mask & 2, false, mask & 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_allocations),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
