// SPDX-License-Identifier: MIT
/* What the HIP runtime's own kernels move: their arguments as metadata lists them, and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>

#include "capture/sources/hsa/hsa.h"
#include "code_object.h"

static struct code_object code;

/* A file with one kernel, with `arguments` as wt_metadata__arguments tells them and a hidden one.
 */
static void make_kernel(const char *name, const char *arguments)
{
	const char *at = arguments;
	unsigned cnt = 0, offset, bytes;
	char word[64];
	int used;

	for (const char *c = arguments; *c; c++)
		cnt += *c == ' ';
	begin_code_object(&code);
	put_byte(&code, 0x81);
	put_string(&code, "amdhsa.kernels");
	put_byte(&code, 0x91);
	put_byte(&code, 0x82);
	put_string(&code, ".args");
	put_byte(&code, 0x90 | (cnt + 1));
	for (; sscanf(at, "%63[^@]@%u:%u %n", word, &offset, &bytes, &used) == 3; at += used) {
		put_byte(&code, 0x84);
		put_string(&code, ".name");
		put_string(&code, word);
		put_number(&code, ".offset", offset);
		put_number(&code, ".size", bytes);
		put_string(&code, ".value_kind");
		put_string(&code, "by_value");
	}
	put_byte(&code, 0x83);
	put_number(&code, ".offset", 88);
	put_number(&code, ".size", 8);
	put_string(&code, ".value_kind");
	put_string(&code, "hidden_global_offset_x");
	put_string(&code, ".symbol");
	snprintf(word, sizeof(word), "%s.kd", name);
	put_string(&code, word);
	end_code_object(&code);
}

static uint32_t layout;
static char told[256];

static bool look(const char *name, size_t length, const struct wt_kernel_facts *facts, void *arg)
{
	(void)arg;
	assert_true(wt_metadata__arguments(facts, told, sizeof(told)));
	layout = wt_blits__layout(name, length, facts);
	return true;
}

static void test_arguments(void **state)
{
	struct wt_kernel_facts none = {0};
	char text[12];

	(void)state;
	make_kernel("mine", "first@0:8 second@300:4 ");
	assert_true(wt_metadata__each(code.bytes, code.used, look, NULL));
	assert_string_equal(told, "first@0:8 second@300:4 ");
	assert_int_equal(layout, 0);
	assert_true(wt_metadata__arguments(&none, text, sizeof(text)));
	assert_string_equal(text, "");
	/* not to their end */
	none.arg_cnt = 1;
	assert_false(wt_metadata__arguments(&none, text, sizeof(text)));
}

static bool cut(const char *name, size_t length, const struct wt_kernel_facts *facts, void *arg)
{
	struct wt_kernel_facts part = *facts;
	char text[64];

	(void)name;
	(void)length;
	(void)arg;
	for (; part.args_end > part.args; part.args_end--) {
		uint8_t *copy = malloc((size_t)(part.args_end - part.args));
		struct wt_kernel_facts own = part;

		memcpy(copy, part.args, (size_t)(part.args_end - part.args));
		own.args = copy;
		own.args_end = copy + (part.args_end - part.args);
		assert_int_equal(wt_metadata__arguments(&own, text, sizeof(text)),
			part.args_end == facts->args_end);
		assert_true(strlen(text) < sizeof(text));
		free(copy);
	}
	return true;
}

/* Of a list that ends anywhere nothing is read behind it (AddressSanitizer watches). */
static void test_cut_anywhere(void **state)
{
	(void)state;
	make_kernel("mine", "first@0:8 second@300:4 a_third_one_of_a_long_name_________@8:32 ");
	assert_true(wt_metadata__each(code.bytes, code.used, cut, NULL));
}

/* ---- the kernels ---------------------------------------------------------------------- */

#define OBJECT 0x7f0000001240ull

static const struct wt_blit *known(const char *kernel, const char *arguments)
{
	char name[64];

	snprintf(name, sizeof(name), "__amd_rocclr_%s", kernel);
	make_kernel(name, arguments);
	assert_true(wt_metadata__each(code.bytes, code.used, look, NULL));
	wt_blits__remove(1);
	assert_null(wt_blit__find(OBJECT));
	if (layout)
		wt_blits__add(layout, OBJECT, 1);
	return wt_blit__find(OBJECT);
}

static void is_read(
	const struct wt_blit *blit, const void *args, uint64_t dst, uint64_t src, uint64_t bytes)
{
	struct wt_moves moves = {0};

	assert_non_null(blit);
	assert_true(wt_blit__read(blit, args, &moves));
	assert_int_equal(moves.dst, dst);
	assert_int_equal(moves.src, src);
	assert_int_equal(moves.bytes, bytes);
}

static void test_copies(void **state)
{
	const struct wt_blit *blit;
	uint64_t args[16] = {0x1000, 0x2000, 16, 32, 25, 3};
	uint64_t box[16] = {0x1000, 0x2000, 0, 0, 64, 640, 5, 0, 32, 320, 7, 0, 10, 4, 2, 16};

	(void)state;
	blit = known("copyBuffer",
		"srcI@0:8 dstI@8:8 srcOrigin@16:8 dstOrigin@24:8 size@32:8 remain@40:4 ");
	is_read(blit, args, 0x2020, 0x1010, 24 * 4 + 3);
	args[4] = 0;
	is_read(blit, args, 0x2020, 0x1010, 0);
	args[4] = UINT64_MAX;
	assert_false(wt_blit__read(blit, args, &(struct wt_moves){0}));
	assert_false(wt_blit__read(blit, NULL, &(struct wt_moves){0}));
	assert_false(wt_blit__read(blit, (char *)args + 4, &(struct wt_moves){0}));
	blit = known("copyBufferAligned",
		"src@0:8 dst@8:8 srcOrigin@16:8 dstOrigin@24:8 size@32:8 alignment@40:4 ");
	args[4] = 5;
	args[5] = 8;
	is_read(blit, args, 0x2000 + 32 * 8, 0x1000 + 16 * 8, 40);
	args[2] = 77;
	is_read(known("copyBuffer", "src@0:8 dst@8:8 size@16:8 remainder@24:4 aligned_size@28:4 "
				    "end_ptr@32:8 next_chunk@40:4 "),
		args, 0x2000, 0x1000, 77);
	is_read(known("copyBuffer", "src@0:8 dst@8:8 size@16:8 remainder@24:4 aligned_size@28:4 "
				    "end_ptr@32:8 next_chunk@40:4 workgroup_size@44:4 "),
		args, 0x2000, 0x1000, 77);
	is_read(known("copyBufferRect", "src@0:8 dst@8:8 srcRect@32:32 dstRect@64:32 size@96:32 "),
		box, 0x2007, 0x1005, 80);
	blit = known(
		"copyBufferRectAligned", "src@0:8 dst@8:8 srcRect@32:32 dstRect@64:32 size@96:32 ");
	is_read(blit, box, 0x2000 + 7 * 16, 0x1000 + 5 * 16, 80 * 16);
	box[13] = 1ull << 62;
	assert_false(wt_blit__read(blit, box, &(struct wt_moves){0}));
}

#define TYPED                                                                                      \
	"bufUChar@0:8 bufUShort@8:8 bufUInt@16:8 bufULong@24:8 pattern@32:8 patternSize@40:4 "     \
	"offset@48:8 "
#define TO_END "buf@0:8 pattern@8:8 pattern_size@16:4 alignment@20:4 end_ptr@24:8 next_chunk@32:4 "

static void test_fills(void **state)
{
	uint64_t typed[16] = {0, 0, 0x3000, 0, 0x99, 2, 10, 6, 3, 512};
	uint64_t to_end[16] = {0x4000, 0x99, 1, 0x4005};
	const struct wt_blit *blit;

	(void)state;
	blit = known("fillBufferAligned", TYPED "size@56:8 ");
	is_read(blit, typed, 0x3000 + 40, 0, 2 * 4 * 6);
	typed[2] = 0;
	assert_false(wt_blit__read(blit, typed, &(struct wt_moves){0}));
	typed[3] = 0x3000;
	is_read(known("fillBufferAligned2D", TYPED "width@56:8 height@64:8 pitch@72:8 "), typed,
		0x3000 + 80, 0, 2 * 8 * 6 * 3);
	is_read(known("fillBufferAligned", TO_END), to_end, 0x4000, 0, 5);
	blit = known("fillBufferAligned", TO_END "workgroup_size@36:4 ");
	is_read(blit, to_end, 0x4000, 0, 5);
	to_end[3] = 0x3fff;
	assert_false(wt_blit__read(blit, to_end, &(struct wt_moves){0}));
}

/* Other arguments than those of the releases that are known: nothing is read. */
static void test_unknown(void **state)
{
	(void)state;
	assert_null(known("copyBuffer", "src@0:8 dst@8:8 size@16:8 "));
	assert_null(
		known("copyBuffer", "src@0:8 dst@8:8 size@16:4 remainder@24:4 aligned_size@28:4 "
				    "end_ptr@32:8 next_chunk@40:4 "));
	assert_null(
		known("copyBufferRect", "dst@0:8 src@8:8 srcRect@32:32 dstRect@64:32 size@96:32 "));
	assert_null(known("copyBufferToImage", "src@0:8 "));
	assert_null(known("", ""));
	make_kernel("copyBufferRect", "src@0:8 dst@8:8 srcRect@32:32 dstRect@64:32 size@96:32 ");
	assert_true(wt_metadata__each(code.bytes, code.used, look, NULL));
	assert_int_equal(layout, 0);
}

/* More at one place than it holds: those that find none are kernels like any other. */
static void test_crowded(void **state)
{
	uint64_t step = 1ull << 40, found = 0;

	(void)state;
	wt_blits__remove(1);
	for (uint64_t i = 0; i < 2 * WT_BLIT_PROBES; i++)
		wt_blits__add(5, OBJECT + i * step, 2 + i % 2);
	for (uint64_t i = 0; i < 2 * WT_BLIT_PROBES; i++)
		found += wt_blit__find(OBJECT + i * step) != NULL;
	assert_int_equal(found, WT_BLIT_PROBES);
	wt_blits__remove(2);
	for (uint64_t i = 0; i < 2 * WT_BLIT_PROBES; i++)
		assert_true(i % 2 || !wt_blit__find(OBJECT + i * step));
	/* what is gone leaves room, and does not hide what lies behind it */
	assert_non_null(wt_blit__find(OBJECT + step));
	wt_blits__add(5, OBJECT, 2);
	assert_non_null(wt_blit__find(OBJECT));
	wt_blits__remove_all();
	assert_null(wt_blit__find(OBJECT + step));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_fills),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_crowded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
