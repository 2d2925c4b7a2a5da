// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
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
#include "collect/fault.h"
#include "collect/segment.h"

static char path[64];

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/wt-segment-%d.wtseg", (int)getpid());
	unlink(path);
	wt_fault_hook = NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	wt_fault_hook = NULL;
	unlink(path);
	return 0;
}

/* Frame i: i % 40 words, each i. */
static void write_frame(struct wt_segment_writer *writer, uint32_t i)
{
	uint64_t words[40];

	for (int w = 0; w < 40; w++)
		words[w] = i;
	assert_int_equal(
		wt_segment__add(writer, WT_FRAME_RING, 7, i, i * 100, words, (i % 40) * 8), 0);
}

/* Frames that are right, in order, from `first` on; returns how many. */
static uint32_t read_frames(uint64_t *damaged)
{
	struct wt_segment_reader reader;
	struct wt_frame frame;
	uint32_t cnt = 0, last = UINT32_MAX;

	if (wt_segment_reader__open(&reader, path, NULL))
		return 0;
	while (wt_segment_reader__head(&reader, &frame) == 1) {
		const uint64_t *words = wt_segment_reader__payload(&reader, &frame);

		if (!words)
			continue;
		assert_int_equal(frame.process, 7);
		assert_int_equal(frame.length, frame.number % 40 * 8);
		assert_int_equal(frame.position, frame.number * 100);
		for (uint32_t w = 0; w < frame.length / 8; w++)
			assert_int_equal(words[w], frame.number);
		assert_true(last == UINT32_MAX || frame.number > last);
		last = frame.number;
		cnt++;
	}
	*damaged = reader.damaged_bytes;
	wt_segment_reader__close(&reader);
	return cnt;
}

static uint64_t write_file(uint32_t cnt)
{
	struct wt_segment_writer writer;
	uint64_t bytes;

	assert_int_equal(wt_segment__create(&writer, path, 1, 2, NULL), 0);
	for (uint32_t i = 0; i < cnt; i++)
		write_frame(&writer, i);
	assert_int_equal(wt_segment__flush(&writer), 0);
	bytes = writer.written;
	wt_segment__close(&writer);
	return bytes;
}

static void test_round_trip(void **state)
{
	uint64_t damaged;

	(void)state;
	write_file(2000);
	assert_int_equal(read_frames(&damaged), 2000);
	assert_int_equal(damaged, 0);
}

static void test_torn_anywhere(void **state)
{
	uint64_t bytes = write_file(20), damaged;
	uint32_t cnt = 20;

	(void)state;
	for (uint64_t size = bytes; size-- > 0;) {
		uint32_t found;

		assert_int_equal(truncate(path, (off_t)size), 0);
		found = read_frames(&damaged);
		/* never more than before, and at most one goes with each byte */
		assert_true(found == cnt || found + 1 == cnt);
		cnt = found;
	}
	assert_int_equal(cnt, 0);
}

static void test_damaged_anywhere(void **state)
{
	uint64_t bytes = write_file(20), damaged;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	(void)state;
	for (uint64_t at = sizeof(struct wt_segment_header); at < bytes; at += 5) {
		uint8_t byte, wrong;
		uint32_t found;

		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		wrong = byte ^ 0x40;
		assert_int_equal(pwrite(fd, &wrong, 1, (off_t)at), 1);
		found = read_frames(&damaged);
		assert_int_equal(found, 19);
		assert_true(damaged > 0);
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	}
	close(fd);
	assert_int_equal(read_frames(&damaged), 20);
}

static void test_bad_header(void **state)
{
	struct wt_segment_reader reader;
	struct wt_err *err = NULL;
	int fd;

	(void)state;
	write_file(3);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "x", 1, 9), 1);
	close(fd);
	assert_int_equal(wt_segment_reader__open(&reader, path, &err), -EINVAL);
	assert_non_null(strstr(wt_err__text(err), path));
	wt_err__free(err);
}

static int fail_after, failures;

static int fail_once(const char *what)
{
	if (strcmp(what, "write") || fail_after-- != 0)
		return 0;
	failures++;
	return ENOSPC;
}

static void test_every_write_fails_once(void **state)
{
	uint64_t damaged;

	(void)state;
	wt_fault_hook = fail_once;
	for (int nth = 1; nth < 12; nth++) {
		struct wt_segment_writer writer;

		unlink(path);
		fail_after = nth;
		assert_int_equal(wt_segment__create(&writer, path, 1, 2, NULL), 0);
		for (uint32_t i = 0; i < 10; i++) {
			write_frame(&writer, i);
			while (wt_segment__flush(&writer)) {
				/* what is in the file is whole, also between the attempts */
				assert_int_equal(read_frames(&damaged), i);
				assert_int_equal(damaged, 0);
			}
		}
		wt_segment__close(&writer);
		assert_int_equal(read_frames(&damaged), 10);
	}
	assert_true(failures >= 10);
}

static void test_create_fails(void **state)
{
	struct wt_segment_writer writer;
	struct wt_err *err = NULL;

	(void)state;
	wt_fault_hook = fail_once;
	fail_after = 0;
	assert_int_equal(wt_segment__create(&writer, path, 1, 2, &err), -ENOSPC);
	wt_err__free(err);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_exists(void **state)
{
	struct wt_segment_writer writer;
	struct wt_err *err = NULL;

	(void)state;
	write_file(1);
	assert_int_equal(wt_segment__create(&writer, path, 1, 2, &err), -EEXIST);
	assert_non_null(strstr(wt_err__hint_text(err), "recover"));
	wt_err__free(err);
}

static void test_reopen(void **state)
{
	struct wt_segment_writer writer, second;
	uint64_t bytes = write_file(10), damaged;

	(void)state;
	assert_int_equal(truncate(path, (off_t)bytes + 17), 0);
	assert_int_equal(wt_segment__reopen(&writer, path, bytes, NULL), 0);
	assert_int_equal(wt_segment__reopen(&second, path, bytes, NULL), -EBUSY);
	write_frame(&writer, 10);
	assert_int_equal(wt_segment__flush(&writer), 0);
	wt_segment__close(&writer);
	assert_int_equal(read_frames(&damaged), 11);
	assert_int_equal(damaged, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_torn_anywhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_anywhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_header, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_every_write_fails_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_create_fails, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exists, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reopen, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
