// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "collect/output.h"

static char host[256], dir[] = "/tmp/wt-output-XXXXXX";

static int set_up(void **state)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
		"MV2_COMM_WORLD_RANK", "SLURM_PROCID", "RANK", "SLURM_JOB_ID", "PBS_JOBID"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = 0;
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return chdir("/") || system(command);
}

static void expect(const char *pattern, const char *below, const char *want)
{
	char path[PATH_MAX], whole[PATH_MAX];
	struct wt_err *err = NULL;

	if (wt_output__resolve(path, sizeof(path), pattern, below, 42, &err))
		fail_msg("%s: %s", pattern, wt_err__text(err));
	if (*want == '/')
		snprintf(whole, sizeof(whole), "%s", want);
	else
		snprintf(whole, sizeof(whole), "%s/%s", dir, want);
	assert_string_equal(path, whole);
}

static void test_patterns(void **state)
{
	char want[PATH_MAX], path[PATH_MAX];
	struct wt_err *err = NULL;

	(void)state;
	expect("a.db", NULL, "a.db");
	expect("/x/%p.db", NULL, "/x/42.db");
	expect("/x/%p.db", "/y", "/x/42.db");
	expect("%p-%%.db", "/y", "/y/42-%.db");
	expect("a.db", "sub", "sub/a.db");
	expect("a%", NULL, "a%");
	snprintf(want, sizeof(want), "wavetap-%.200s-42.db", host);
	expect(NULL, NULL, want);
	setenv("SLURM_PROCID", "7", 1);
	setenv("SLURM_JOB_ID", "99", 1);
	setenv("WT_TEST", "a/../b", 1);
	snprintf(want, sizeof(want), "wavetap-%.200s-r7.db", host);
	expect(NULL, NULL, want);
	expect("%j/%r.db", NULL, "99/7.db");
	/* a value is a part of a name, never a path */
	expect("x%q{WT_TEST}y.db", NULL, "xa_.._by.db");
	expect("x%q{WT_NOT_SET}.db", NULL, "x.db");
	unsetenv("SLURM_PROCID");
	unsetenv("SLURM_JOB_ID");
	assert_int_equal(wt_output__resolve(path, sizeof(path), "%z.db", NULL, 1, &err), -EINVAL);
	assert_non_null(strstr(wt_err__hint_text(err), "%r"));
	assert_int_equal(wt_output__resolve(path, sizeof(path), "%q{A", NULL, 1, &err), -EINVAL);
	assert_int_equal(
		wt_output__resolve(path, 8, "longer-than-that.db", NULL, 1, &err), -ENAMETOOLONG);
	wt_err__free(err);
}

static int check(const char *name, enum wt_store_exists exists, int make_dir, const char *hint)
{
	char path[PATH_MAX];
	struct wt_err *err = NULL;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	rc = wt_output__check(path, exists, make_dir, &err);
	assert_true(!rc == !err);
	if (rc && hint)
		assert_non_null(strstr(wt_err__hint_text(err), hint));
	wt_err__free(err);
	return rc;
}

static void test_check(void **state)
{
	(void)state;
	assert_int_equal(check("new.db", WT_STORE_REFUSE, 0, NULL), 0);
	close(open("old.db", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(check("old.db", WT_STORE_REFUSE, 0, "--append"), -EEXIST);
	assert_int_equal(check("old.db", WT_STORE_REPLACE, 0, NULL), 0);
	assert_int_equal(check("old.db", WT_STORE_APPEND, 0, NULL), 0);
	assert_int_equal(check("no/where/t.db", WT_STORE_REFUSE, 0, "-d"), -ENOENT);
	assert_int_equal(check("no/where/t.db", WT_STORE_REFUSE, 1, NULL), 0);
	assert_int_equal(access("no/where", F_OK), 0);
	assert_int_equal(check("no", WT_STORE_REFUSE, 0, "-d"), -EISDIR);
	assert_int_equal(check("old.db/t.db", WT_STORE_REFUSE, 0, NULL), -EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
