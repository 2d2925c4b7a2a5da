// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "base/strset.h"
#include "base/table.h"
#include "base/units.h"
#include "base/vec.h"

/* What `file` holds; closes it. */
static char *text_of(FILE *file, char **text)
{
	fclose(file);
	return *text;
}

static void test_err(void **state)
{
	struct wt_err *err = NULL;
	char *text = NULL;
	size_t bytes;
	FILE *file;

	(void)state;
	assert_int_equal(wt_err__errno(&err, -ENOSPC, "cannot write %s", "x.db"), -ENOSPC);
	wt_err__hint(&err, "inner %d", 1);
	assert_int_equal(wt_err__wrap(&err, -1, "cannot store the trace"), -ENOSPC);
	wt_err__hint(&err, "outer");
	assert_string_equal(wt_err__text(err),
		"cannot store the trace: cannot write x.db: No space left on device");
	assert_string_equal(wt_err__hint_text(err), "inner 1");
	file = open_memstream(&text, &bytes);
	wt_err__print(file, err);
	assert_string_equal(text_of(file, &text),
		"wavetap: cannot store the trace: cannot write x.db: "
		"No space left on device\nhint: inner 1\n");
	free(text);
	wt_err__new(&err, -EINVAL, "another");
	assert_int_equal(wt_err__code(err), -EINVAL);
	wt_err__clear(&err);
	assert_null(err);
	/* nobody wants the text */
	assert_int_equal(wt_err__new(NULL, -EIO, "x"), -EIO);
	assert_int_equal(wt_err__wrap(NULL, -EIO, "x"), -EIO);
	wt_err__hint(NULL, "x");
	wt_err__clear(NULL);
	wt_err__free(NULL);
	assert_string_equal(wt_err__text(NULL), "");
}

static void test_vec(void **state)
{
	WT_VEC(uint16_t) vec = {0};

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(wt_vec__push(&vec, (uint16_t)i), 0);
	assert_int_equal(vec.cnt, 1000);
	assert_int_equal(*wt_vec__last(&vec), 999);
	assert_int_equal(vec.data[500], 500);
	assert_int_equal(wt_vec__reserve(&vec, SIZE_MAX), -ENOMEM);
	assert_int_equal(vec.data[500], 500);
	wt_vec__free(&vec);
	assert_null(vec.data);
}

static void test_map(void **state)
{
	struct wt_map map = {0};
	struct wt_map_entry *entry;
	uint64_t sum = 0;

	(void)state;
	assert_null(wt_map__find(&map, 1));
	assert_false(wt_map__remove(&map, 1));
	/* handles: multiples of a page, and 0 */
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(wt_map__put(&map, i << 12, i), 0);
	assert_int_equal(wt_map__put(&map, 7 << 12, 70), 0);
	assert_int_equal(map.cnt, 5000);
	assert_int_equal(wt_map__get(&map, 7 << 12, 1), 70);
	assert_int_equal(wt_map__get(&map, 0, 1), 0);
	assert_int_equal(wt_map__get(&map, 1, 99), 99);
	/* every other one goes: the others are still found */
	for (uint64_t i = 0; i < 5000; i += 2)
		assert_true(wt_map__remove(&map, i << 12));
	assert_false(wt_map__remove(&map, 0));
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(wt_map__find(&map, i << 12) != NULL, i & 1);
	for (size_t at = 0; (entry = wt_map__next(&map, &at));)
		sum += entry->key >> 12;
	assert_int_equal(sum, 2500 * 2500);
	wt_map__free(&map);
	assert_int_equal(map.cnt, 0);
}

static void test_strset(void **state)
{
	struct wt_strset set = {0};
	char text[32];

	(void)state;
	assert_int_equal(wt_strset__find(&set, "a", 1), 0);
	assert_int_equal(wt_strset__intern_string(&set, ""), 1);
	for (int i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "kernel_%d", i);
		assert_int_equal(wt_strset__intern_string(&set, text), i + 2);
	}
	assert_int_equal(wt_strset__intern_string(&set, "kernel_77"), 79);
	assert_int_equal(wt_strset__find(&set, "kernel_1999", 11), 2001);
	assert_int_equal(wt_strset__find(&set, "kernel_2000", 11), 0);
	assert_string_equal(wt_strset__text(&set, 79), "kernel_77");
	assert_string_equal(wt_strset__text(&set, 0), "");
	assert_string_equal(wt_strset__text(&set, 9999), "");
	/* bytes, NULs included; lengths around the hash's word */
	for (size_t length = 0; length < 40; length++) {
		char bytes[40] = {0};

		assert_true(wt_strset__intern(&set, bytes, length) > 0);
		assert_int_equal(
			wt_strset__length(&set, wt_strset__find(&set, bytes, length)), length);
	}
	wt_strset__free(&set);
}

static void test_json(void **state)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);
	struct wt_json json = {.file = file};

	(void)state;
	wt_json__object(&json);
	wt_json__key_string(
		&json, "s", "a\"b\\c\n\x01\x7f \xc3\xa4 \xff \xe2\x82 \xed\xa0\x80 \xc0\x80");
	wt_json__key(&json, "a");
	wt_json__array(&json);
	wt_json__int(&json, INT64_MIN);
	wt_json__uint(&json, UINT64_MAX);
	wt_json__double(&json, 0.5);
	wt_json__double(&json, 0.0 / (bytes = 0, 0.0));
	wt_json__bool(&json, true);
	wt_json__string(&json, NULL);
	wt_json__object(&json);
	wt_json__end(&json);
	wt_json__array(&json);
	wt_json__end(&json);
	wt_json__end(&json);
	wt_json__end(&json);
	assert_string_equal(text_of(file, &text),
		"{\"s\":\"a\\\"b\\\\c\\n\\u0001\\u007f \xc3\xa4 \xef\xbf\xbd "
		"\xef\xbf\xbd\xef\xbf\xbd "
		"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\","
		"\"a\":[-9223372036854775808,18446744073709551615,0.5,null,true,null,{},[]]}\n");
	free(text);
	text = NULL;
	file = open_memstream(&text, &bytes);
	json = (struct wt_json){.file = file, .indent = 2};
	wt_json__object(&json);
	wt_json__key_uint(&json, "a", 1);
	wt_json__key_bool(&json, "b", false);
	wt_json__end(&json);
	assert_string_equal(text_of(file, &text), "{\n  \"a\": 1,\n  \"b\": false\n}\n");
	free(text);
}

static void test_units(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {{0, "0 ns"}, {312, "312 ns"}, {999, "999 ns"}, {1000, "1.00 us"},
		{50000, "50.0 us"}, {999499, "999 us"}, {999500, "1.00 ms"}, {1250000, "1.25 ms"},
		{4100000000, "4.10 s"}, {75000000000, "75.0 s"}, {725000000000, "12 m 05 s"},
		{7500000000000, "2 h 05 m"}, {UINT64_MAX, "5124095 h 34 m"}};
	static const struct {
		const char *text;
		int code;
		uint64_t value;
	} sizes[] = {{"512M", 0, 512ull << 20}, {"1.5G", 0, 3ull << 29}, {"4096", 0, 4096},
		{"64 KiB", 0, 65536}, {"1kb", 0, 1024}, {"", -EINVAL, 0}, {"-1", -EINVAL, 0},
		{"1X", -EINVAL, 0}, {"nan", -EINVAL, 0}, {"0x10", -EINVAL, 0},
		{"99999999T", -ERANGE, 0}},
	  durations[] = {{"10", 0, 10000000000}, {"10s", 0, 10000000000}, {"1.5ms", 0, 1500000},
		  {"200us", 0, 200000}, {"30ns", 0, 30}, {"2m", 0, 120000000000},
		  {"1h", 0, 3600000000000}, {"1y", -EINVAL, 0}, {"s", -EINVAL, 0},
		  {"1e30s", -ERANGE, 0}};
	char text[WT_UNITS_BYTES];
	uint64_t value;

	(void)state;
	for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_string_equal(wt_units__time(text, times[i].ns), times[i].text);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(wt_units__parse_size(sizes[i].text, &value), sizes[i].code);
		if (!sizes[i].code)
			assert_int_equal(value, sizes[i].value);
	}
	for (unsigned i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		assert_int_equal(
			wt_units__parse_duration(durations[i].text, &value), durations[i].code);
		if (!durations[i].code)
			assert_int_equal(value, durations[i].value);
	}
	assert_string_equal(wt_units__count(text, 14736), "14,736");
	assert_string_equal(wt_units__count(text, 999), "999");
	assert_string_equal(wt_units__count(text, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(wt_units__size(text, 1023), "1023 B");
	assert_string_equal(wt_units__size(text, 1536), "1.50 KiB");
	assert_string_equal(wt_units__size(text, (1ull << 20) - 1), "1.00 MiB");
	assert_string_equal(wt_units__size(text, UINT64_MAX), "16.0 EiB");
	assert_string_equal(wt_units__percent(text, 1, 0), "-");
	assert_int_equal(wt_units__parse_count("18446744073709551616", &value), -ERANGE);
	assert_int_equal(wt_units__parse_count("1 ", &value), -EINVAL);
}

static char *print_table(struct wt_table *table, size_t width, bool csv)
{
	static char *text;
	size_t bytes;
	FILE *file;

	free(text);
	text = NULL;
	file = open_memstream(&text, &bytes);
	if (csv)
		wt_table__print_csv(table, file);
	else
		wt_table__print(table, file, width);
	return text_of(file, &text);
}

static void test_table(void **state)
{
	static const struct wt_table_column columns[] = {{"Total", WT_TABLE_RIGHT},
		{"Max", WT_TABLE_RIGHT | WT_TABLE_DROP}, {"Empty", WT_TABLE_HIDE},
		{"Name", WT_TABLE_FLEX}};
	static const char *const cells[] = {"1 s", "2", "", "a_kernel_with_a_long_name", "10 ms",
		"123456", NULL, "b,\"\303\244\"\x1b[2J"};
	struct wt_table *table = wt_table__new(columns, 4);

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_int_equal(wt_table__add(table, cells[i]), 0);
	assert_int_equal(wt_table__row_cnt(table), 2);
	assert_string_equal(print_table(table, 0, false),
		"Total     Max  Name\n"
		"  1 s       2  a_kernel_with_a_long_name\n"
		"10 ms  123456  b,\"\303\244\"?[2J\n");
	/* narrow: Max goes first, then the name is shortened; control characters never get out */
	assert_string_equal(print_table(table, 28, false),
		"Total  Name\n"
		"  1 s  a_kernel_with_a_long\342\200\246\n"
		"10 ms  b,\"\303\244\"?[2J\n");
	assert_string_equal(print_table(table, 0, true),
		"Total,Max,Empty,Name\n1 s,2,,a_kernel_with_a_long_name\n"
		"10 ms,123456,,\"b,\"\"\303\244\"\"\x1b[2J\"\n");
	wt_table__free(table);
	wt_table__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_err),
		cmocka_unit_test(test_vec),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_strset),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
