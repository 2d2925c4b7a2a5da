// SPDX-License-Identifier: MIT
/* The store: what is written is read back, absent is NULL, existing files are safe. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/err.h"
#include "sample.h"
#include "store/reader.h"

static char folder[] = "/tmp/wt-store-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/t.db", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

/* Also proves that nothing but the trace was left in the folder: rmdir would fail. */
static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static int64_t number(const char *sql)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int64_t value;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return value;
}

static void write_sample(enum wt_schema schema, enum wt_store_exists exists)
{
	struct wt_err *err = NULL;

	if (sample__write(path, schema, exists, &err))
		fail_msg("%s", wt_err__text(err));
}

static void test_counts(void **state)
{
	(void)state;
	write_sample(WT_SCHEMA_WAVETAP, WT_STORE_REFUSE);
	assert_int_equal(number("SELECT count(*) FROM wt_op"), SAMPLE_OP_CNT);
	assert_int_equal(number("SELECT count(*) FROM wt_api"), SAMPLE_API_CNT);
	assert_int_equal(
		number("SELECT count(*) FROM rocpd_op"), SAMPLE_OP_CNT - SAMPLE_UNTIMED_CNT);
	assert_int_equal(
		number("SELECT count(*) FROM rocpd_api"), SAMPLE_API_CNT - SAMPLE_UNRETURNED);
	assert_int_equal(number("SELECT sum(count) FROM wt_left_out"),
		SAMPLE_UNTIMED_CNT + SAMPLE_UNRETURNED);
	assert_int_equal(number("SELECT sum(count) FROM wt_lost"), 18);
	/* what events share is there once: 2 kernels with one shape each by 5 + 1 launches, … */
	assert_int_equal(number("SELECT count(*) FROM wt_launch"), 3);
	assert_int_equal(number("SELECT count(*) FROM wt_shape WHERE kind = 1"), 4);
	assert_int_equal(
		number("SELECT count(*) FROM wt_string WHERE string = '_Z6vecAddPfS_S_i'"), 1);
}

static void test_absent_is_null(void **state)
{
	static const char *const nulls[] = {
		"SELECT ended IS NULL FROM wt_process WHERE id = 2",
		"SELECT command IS NULL AND rank IS NULL FROM wt_process WHERE id = 2",
		"SELECT parent_id IS NULL FROM wt_process WHERE id = 1",
		"SELECT exit_kind IS NULL FROM wt_process WHERE id = 2",
		"SELECT name IS NULL FROM wt_thread WHERE id = 2",
		"SELECT start IS NULL AND duration IS NULL FROM wt_op WHERE id = 6",
		"SELECT private_bytes IS NULL FROM wt_shape WHERE symbol_id = 4",
		"SELECT copy_kind IS NULL AND grid_x IS NULL AND group_bytes IS NULL FROM wt_shape "
		"s"
		" JOIN wt_op o ON o.shape_id = s.id WHERE o.id = 9",
		"SELECT count(*) = 0 FROM wt_copy WHERE id = 9",
		"SELECT src IS NULL AND bytes = 4096 FROM wt_copy WHERE id = 10",
		("SELECT queue_id IS NULL AND stream_id IS NULL FROM wt_lane l JOIN wt_op o"
		 " ON o.lane_id = l.id WHERE o.id = 9"),
		"SELECT packet IS NULL AND api_id IS NULL FROM wt_op WHERE id = 9",
		"SELECT duration IS NULL AND ret IS NULL FROM wt_api WHERE id = 12",
		"SELECT grid_x IS NULL AND block_x IS NULL FROM wt_launch WHERE function = 0x9999",
		"SELECT width_ns IS NULL AND realtime_ns IS NULL FROM wt_clock WHERE device_id = 1",
		"SELECT count(*) = 0 FROM wt_op WHERE state_id IS NOT NULL AND start IS NOT NULL",
	};

	(void)state;
	write_sample(WT_SCHEMA_WAVETAP, WT_STORE_REFUSE);
	for (unsigned i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++)
		if (number(nulls[i]) != 1)
			fail_msg("not NULL: %s", nulls[i]);
}

static void test_values(void **state)
{
	static const char *const truths[] = {
		"SELECT start = 30000 AND duration = 10000 FROM wt_op WHERE id = 1",
		"SELECT start = 5000000030000 AND \"end\" = 5000000040000 FROM rocpd_op WHERE id = "
		"1",
		"SELECT origin_ns = 5000000000000 AND shift_ns = 0 FROM wt_run WHERE id = 1",
		"SELECT uuid = CAST(0xf00000000000abce AS INTEGER) FROM wt_device WHERE id = 1",
		"SELECT in_flight = 1 AND untimed IS NULL FROM wt_state s JOIN wt_op o"
		" ON o.state_id = s.id WHERE o.id = 7",
		"SELECT untimed = 'time.shared-signal' FROM wt_state s JOIN wt_op o"
		" ON o.state_id = s.id WHERE o.id = 6",
		"SELECT node = 3 << 8 FROM wt_op WHERE id = 11",
		"SELECT overlaps = 1 FROM wt_shape s JOIN wt_op o ON o.shape_id = s.id WHERE o.id "
		"= 11",
		/* launches of two functions that started kernels of two names */
		"SELECT count(*) = 2 FROM wt_launch WHERE symbol_id IS NOT NULL",
		"SELECT kernelName = '_ZN2ns4gemmILi16EfEEvPT0_' FROM kernel WHERE id = 2",
		"SELECT ret = 2 FROM wt_api WHERE id = 11",
		"SELECT value = '100' FROM rocpd_metadata WHERE tag = 'pid'",
	};

	(void)state;
	write_sample(WT_SCHEMA_WAVETAP, WT_STORE_REFUSE);
	for (unsigned i = 0; i < sizeof(truths) / sizeof(truths[0]); i++)
		if (number(truths[i]) != 1)
			fail_msg("wrong: %s", truths[i]);
}

/* Kernels of several names by one launch: which one a call started is not certain. */
static void test_ambiguous_launch(void **state)
{
	struct wt_store_options options = sample__options(WT_SCHEMA_WAVETAP, WT_STORE_REFUSE);
	struct wt_err *err = NULL;
	struct wt_store *store;

	(void)state;
	assert_int_equal(wt_store__open(&store, path, &options, &err), 0);
	for (uint32_t i = 1; i <= 2; i++) {
		wt_store__add_api(store,
			&(struct wt_store_api){.id = i,
				.name = "hipLaunchKernel",
				.domain = "hip",
				.start_ns = SAMPLE_ORIGIN_NS,
				.end_ns = SAMPLE_ORIGIN_NS + 5,
				.detail = WT_API_LAUNCH,
				.launch = {.function = 1, .grid = {1, 1, 1}, .block = {1, 1, 1}}});
		wt_store__add_op(store, &(struct wt_store_op){.kind = WT_OP_KERNEL,
						.api_id = i,
						.symbol_id = i,
						.start_ns = SAMPLE_ORIGIN_NS,
						.end_ns = SAMPLE_ORIGIN_NS + 9});
		wt_store__add_symbol(store, &(struct wt_store_symbol){.id = i,
						    .name = i == 1 ? "one" : "two",
						    .loaded_ns = WT_ABSENT,
						    .unloaded_ns = WT_ABSENT});
	}
	assert_int_equal(wt_store__close(store, &err), 0);
	assert_int_equal(number("SELECT count(*) FROM wt_launch WHERE symbol_id IS NULL"), 1);
	assert_int_equal(number("SELECT count(*) FROM rocpd_kernelapi WHERE kernelName_id = 1"), 2);
	assert_int_equal(number("SELECT count(DISTINCT kernelName) FROM kernel"), 2);
}

static void test_dangling(void **state)
{
	struct wt_store_options options = sample__options(WT_SCHEMA_WAVETAP, WT_STORE_REFUSE);
	struct wt_err *err = NULL;
	struct wt_store *store;

	(void)state;
	assert_int_equal(wt_store__open(&store, path, &options, &err), 0);
	wt_store__add_op(store, &(struct wt_store_op){.kind = WT_OP_KERNEL,
					.process_id = 9,
					.device_id = 9,
					.queue_id = 9,
					.stream_id = 9,
					.symbol_id = 9,
					.start_ns = SAMPLE_ORIGIN_NS,
					.end_ns = SAMPLE_ORIGIN_NS + 1});
	/* times that cannot be are not kept */
	wt_store__add_op(store, &(struct wt_store_op){.kind = WT_OP_KERNEL,
					.start_ns = SAMPLE_ORIGIN_NS + 9,
					.end_ns = SAMPLE_ORIGIN_NS});
	assert_int_equal(wt_store__close(store, &err), 0);
	assert_int_equal(number("SELECT gpuId FROM rocpd_op"), -1);
	assert_int_equal(number("SELECT count(*) FROM op WHERE description = ''"), 1);
	assert_int_equal(number("SELECT count(*) FROM wt_status WHERE source = 'store'"
				" AND level = 'degraded' AND text LIKE '%count=5'"),
		1);
	assert_int_equal(number("SELECT count FROM wt_left_out WHERE reason = 'time.reversed'"), 1);
}

/* ---- existing files ------------------------------------------------------ */

static void expect_failure(const char *file, enum wt_schema schema, enum wt_store_exists exists,
	int code, const char *text, const char *hint)
{
	struct wt_err *err = NULL;

	assert_int_equal(sample__write(file, schema, exists, &err), code);
	if (!strstr(wt_err__text(err), text) || !strstr(wt_err__hint_text(err), hint))
		fail_msg("%s / %s", wt_err__text(err), wt_err__hint_text(err));
	wt_err__free(err);
}

static void put_file(const char *bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(bytes, file);
	fclose(file);
}

static void test_existing(void **state)
{
	char text[16] = "";
	FILE *file;

	(void)state;
	put_file("precious");
	expect_failure(path, WT_SCHEMA_WAVETAP, WT_STORE_REFUSE, -EEXIST, "file exists", "--force");
	expect_failure(path, WT_SCHEMA_WAVETAP, WT_STORE_APPEND, -EILSEQ, "not a database", "");
	expect_failure(path, WT_SCHEMA_RPD, WT_STORE_APPEND, -EILSEQ, "not a database", "");
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "precious");
	write_sample(WT_SCHEMA_WAVETAP, WT_STORE_REPLACE);
	assert_int_equal(number("SELECT count(*) FROM wt_op"), SAMPLE_OP_CNT);
	expect_failure(path, WT_SCHEMA_RPD, WT_STORE_APPEND, -EINVAL, "wavetap trace", "leave out");
	write_sample(WT_SCHEMA_RPD, WT_STORE_REPLACE);
	expect_failure(
		path, WT_SCHEMA_WAVETAP, WT_STORE_APPEND, -EINVAL, "RPD file", "--schema rpd");
}

/* A file that appears while the run lasts is not replaced. */
static void test_appears_meanwhile(void **state)
{
	struct wt_store_options options = sample__options(WT_SCHEMA_WAVETAP, WT_STORE_REFUSE);
	struct wt_err *err = NULL;
	struct wt_store *store;

	(void)state;
	assert_int_equal(wt_store__open(&store, path, &options, &err), 0);
	sample__add(store);
	put_file("precious");
	assert_int_equal(wt_store__close(store, &err), -EEXIST);
	assert_non_null(strstr(wt_err__text(err), "appeared"));
	wt_err__free(err);
}

static void test_append(void **state)
{
	struct wt_store_options options = sample__options(WT_SCHEMA_WAVETAP, WT_STORE_APPEND);
	struct wt_err *err = NULL;
	struct wt_store *store;

	(void)state;
	write_sample(WT_SCHEMA_WAVETAP, WT_STORE_APPEND);
	/* an hour later, same boot: BOOTTIME and wall clock agree to a second */
	options.origin_ns += 3600000000000ull;
	options.origin_realtime_ns += 3601000000000ull;
	assert_int_equal(wt_store__open(&store, path, &options, &err), 0);
	/* the sample's rows lie before this origin: relative times are negative, and right */
	sample__add(store);
	assert_int_equal(wt_store__close(store, &err), 0);
	assert_int_equal(number("SELECT shift_ns FROM wt_run WHERE id = 2"), 3600000000000);
	assert_int_equal(number("SELECT count(*) FROM wt_op"), 2 * SAMPLE_OP_CNT);
	assert_int_equal(number("SELECT count(*) FROM (SELECT * FROM rocpd_op o JOIN rocpd_string s"
				" ON s.id = o.description_id)"),
		2 * (SAMPLE_OP_CNT - SAMPLE_UNTIMED_CNT));
	/* the second run's rows refer to the second run's */
	assert_int_equal(
		number("SELECT count(*) FROM wt_op o JOIN wt_lane l ON l.id = o.lane_id"
		       " JOIN wt_device d ON d.id = l.device_id JOIN wt_process p"
		       " ON p.id = d.process_id WHERE o.id > 11 AND p.id > 2 AND o.api_id > 12"),
		SAMPLE_OP_CNT - 1);
	assert_int_equal(
		number("SELECT count(*) FROM wt_string"), number("SELECT count(DISTINCT string)"
								 " FROM wt_string"));
	assert_int_equal(number("SELECT TotalCalls FROM top WHERE Name = '_Z6vecAddPfS_S_i'"), 6);
	/* both wrote the same moments */
	assert_int_equal(
		number("SELECT count(*) FROM rocpd_op a JOIN rocpd_op b ON a.id = b.id + 11"
		       " WHERE a.start <> b.start"),
		0);
	/* after a reboot BOOTTIME starts again: the wall clock counts */
	options.origin_ns = 1000;
	options.origin_realtime_ns = 1700000000000000000ull + 86400000000000ull;
	assert_int_equal(wt_store__open(&store, path, &options, &err), 0);
	wt_store__add_api(store, &(struct wt_store_api){.id = 1,
					 .name = "hipFree",
					 .domain = "hip",
					 .start_ns = 2000,
					 .end_ns = 3000});
	assert_int_equal(wt_store__close(store, &err), 0);
	assert_int_equal(number("SELECT start FROM wt_api WHERE id = 25"), 86400000000000 + 1000);
}

static void test_append_is_locked(void **state)
{
	sqlite3 *other;

	(void)state;
	write_sample(WT_SCHEMA_RPD, WT_STORE_REFUSE);
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	expect_failure(path, WT_SCHEMA_RPD, WT_STORE_APPEND, -EBUSY, "another program", "wait");
	sqlite3_close(other);
	write_sample(WT_SCHEMA_RPD, WT_STORE_APPEND);
	assert_int_equal(
		number("SELECT count(*) FROM rocpd_op"), 2 * (SAMPLE_OP_CNT - SAMPLE_UNTIMED_CNT));
}

/* A file system that knows no locks: SQLite takes that for a lock of somebody else. */
static bool no_locks;

int __real_fcntl(int fd, int command, void *argument);
int __wrap_fcntl(int fd, int command, void *argument);

int __wrap_fcntl(int fd, int command, void *argument)
{
	if (!no_locks)
		return __real_fcntl(fd, command, argument);
	errno = ENOLCK;
	return -1;
}

static void test_append_without_locks(void **state)
{
	sqlite3 *other;

	(void)state;
	write_sample(WT_SCHEMA_WAVETAP, WT_STORE_REFUSE);
	/* stands for the lock that cannot be had */
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	no_locks = true;
	write_sample(WT_SCHEMA_WAVETAP, WT_STORE_APPEND);
	no_locks = false;
	sqlite3_close(other);
	assert_int_equal(number("SELECT count(*) FROM wt_op"), 2 * SAMPLE_OP_CNT);
}

static void test_replaces_through_link(void **state)
{
	struct stat status;
	char target[80];

	(void)state;
	snprintf(target, sizeof(target), "%s/real.db", folder);
	put_file("x");
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink("real.db", path), 0);
	write_sample(WT_SCHEMA_WAVETAP, WT_STORE_REPLACE);
	assert_int_equal(lstat(path, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_int_equal(number("SELECT count(*) FROM wt_op"), SAMPLE_OP_CNT);
	unlink(target);
}

/* ---- where nothing can be written ----------------------------------------- */

static void test_unwritable(void **state)
{
	char other[128];

	(void)state;
	snprintf(other, sizeof(other), "%s/missing/t.db", folder);
	expect_failure(other, WT_SCHEMA_WAVETAP, WT_STORE_REFUSE, -ENOENT, "missing", "mkdir -p");
	expect_failure(
		folder, WT_SCHEMA_WAVETAP, WT_STORE_REPLACE, -EINVAL, "not a regular file", "");
	expect_failure("/dev/null", WT_SCHEMA_WAVETAP, WT_STORE_REPLACE, -EINVAL,
		"not a regular file", "");
	expect_failure("/proc/t.db", WT_SCHEMA_WAVETAP, WT_STORE_REFUSE, -ENOENT, "/proc", "");
}

static void test_disk_full(void **state)
{
	struct rlimit old, limit;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	for (rlim_t bytes = 0; bytes <= 128 << 10; bytes += 32 << 10) {
		limit.rlim_cur = bytes;
		setrlimit(RLIMIT_FSIZE, &limit);
		for (int schema = 0; schema < 2; schema++) {
			struct wt_err *err = NULL;

			assert_true(sample__write(path, schema, WT_STORE_REFUSE, &err) < 0);
			assert_non_null(strstr(wt_err__text(err), "cannot write the trace"));
			wt_err__free(err);
			assert_int_not_equal(access(path, F_OK), 0);
		}
	}
	setrlimit(RLIMIT_FSIZE, &old);
}

static void test_abort(void **state)
{
	struct wt_store_options options = sample__options(WT_SCHEMA_RPD, WT_STORE_REFUSE);
	struct wt_store *store;

	(void)state;
	assert_int_equal(wt_store__open(&store, path, &options, NULL), 0);
	sample__add(store);
	wt_store__abort(store);
	wt_store__abort(NULL);
	assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_counts, remove_file),
		cmocka_unit_test_teardown(test_absent_is_null, remove_file),
		cmocka_unit_test_teardown(test_values, remove_file),
		cmocka_unit_test_teardown(test_ambiguous_launch, remove_file),
		cmocka_unit_test_teardown(test_dangling, remove_file),
		cmocka_unit_test_teardown(test_existing, remove_file),
		cmocka_unit_test_teardown(test_appears_meanwhile, remove_file),
		cmocka_unit_test_teardown(test_append, remove_file),
		cmocka_unit_test_teardown(test_append_is_locked, remove_file),
		cmocka_unit_test_teardown(test_append_without_locks, remove_file),
		cmocka_unit_test_teardown(test_replaces_through_link, remove_file),
		cmocka_unit_test_teardown(test_unwritable, remove_file),
		cmocka_unit_test_teardown(test_disk_full, remove_file),
		cmocka_unit_test_teardown(test_abort, remove_file),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
