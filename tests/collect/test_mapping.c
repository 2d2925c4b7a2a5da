// SPDX-License-Identifier: MIT
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/mapping.h"

static int temporary(off_t bytes)
{
	char name[] = "/tmp/wt-mapping-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC);

	unlink(name);
	assert_int_equal(ftruncate(fd, bytes), 0);
	return fd;
}

/* A file that its owner cuts short under us reads as zeros and is marked. */
static void test_cut_short(void **state)
{
	struct wt_mapping mapping, other;
	int fd = temporary(16384), keep = dup(fd);
	volatile char *at;

	(void)state;
	assert_int_equal(wt_mapping__guard(), 0);
	assert_int_equal(wt_mapping__open(&other, temporary(8192), 4096, 65536), 0);
	assert_int_equal(wt_mapping__open(&mapping, fd, 4096, 65536), 0);
	at = mapping.address;
	at[12288] = 'x';
	assert_int_equal(ftruncate(keep, 4096), 0);
	assert_int_equal(at[12288], 0);
	assert_true(mapping.lost);
	assert_false(other.lost);
	at[12288] = 'y';
	assert_int_equal(at[12288], 'y');
	wt_mapping__close(&mapping);
	wt_mapping__close(&other);
	close(keep);
}

/* Elsewhere a SIGBUS is what it was. */
static void test_not_ours(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		int fd = temporary(4096);
		volatile char *at;

		wt_mapping__guard();
		at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		if (ftruncate(fd, 0))
			_exit(1);
		_exit(at[0]);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}

static void test_memfd_is_sealed(void **state)
{
	struct wt_mapping mapping;
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING), keep = dup(fd);

	(void)state;
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(wt_mapping__open(&mapping, fd, 4096, 65536), 0);
	assert_int_equal(ftruncate(keep, 4096), -1);
	wt_mapping__close(&mapping);
	close(keep);
}

static void test_refused(void **state)
{
	struct wt_mapping mapping;
	int pipes[2];

	(void)state;
	assert_int_not_equal(wt_mapping__open(&mapping, -1, 1, 100), 0);
	assert_int_equal(wt_mapping__open(&mapping, temporary(100), 101, 4096), -EINVAL);
	assert_int_equal(wt_mapping__open(&mapping, temporary(8192), 1, 4096), -EINVAL);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(wt_mapping__open(&mapping, pipes[0], 0, 4096), -EINVAL);
	assert_int_equal(fcntl(pipes[0], F_GETFD), -1); /* taken over all the same */
	close(pipes[1]);
	wt_mapping__close(&mapping);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_memfd_is_sealed),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
