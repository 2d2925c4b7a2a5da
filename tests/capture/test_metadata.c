// SPDX-License-Identifier: MIT
/* What a code object's note says of its kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "capture/sources/hsa/metadata.h"
#include "code_object.h"

static struct code_object code;

static struct {
	unsigned cnt;
	char name[16][64];
	struct wt_kernel_facts facts[16];
} seen;

static bool note_kernel(
	const char *name, size_t length, const struct wt_kernel_facts *facts, void *arg)
{
	(void)arg;
	assert_true(seen.cnt < 16 && length < sizeof(seen.name[0]));
	memcpy(seen.name[seen.cnt], name, length);
	seen.name[seen.cnt][length] = 0;
	seen.facts[seen.cnt++] = *facts;
	return true;
}

/* A copy of exactly its size: the sanitizer sees each byte read behind it. */
static bool each(size_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	bool whole;

	memcpy(copy, code.bytes, bytes);
	seen.cnt = 0;
	whole = wt_metadata__each(copy, bytes, note_kernel, NULL);
	free(copy);
	return whole;
}

static void test_facts(void **state)
{
	(void)state;
	make_code_object(&code, 3);
	assert_true(each(code.used));
	assert_int_equal(seen.cnt, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(seen.name[i], ((const char[]){'k', (char)('0' + i), 0}));
		assert_int_equal(seen.facts[i].vgprs, 10 + i);
		assert_int_equal(seen.facts[i].sgprs, 300);
		assert_int_equal(seen.facts[i].dynamic_stack, 1);
		assert_int_equal(seen.facts[i].wavefront_size, 64);
		/* not said is not 0 */
		assert_int_equal(seen.facts[i].agprs, WT_NOT_SAID);
		assert_int_equal(seen.facts[i].vgpr_spills, WT_NOT_SAID);
		assert_int_equal(seen.facts[i].workgroup_max, WT_NOT_SAID);
	}
}

/* Every form of a number, and of what is to be stepped over. */
static void test_forms(void **state)
{
	static const uint8_t others[][24] = {{1, 0xc0}, {2, 0xc4, 0}, {4, 0xc5, 0, 1, 7},
		{5, 0xc6, 0, 0, 0, 0}, {4, 0xc7, 1, 9, 9}, {4, 0xc8, 0, 0, 9},
		{7, 0xc9, 0, 0, 0, 1, 9, 9}, {5, 0xca, 1, 2, 3, 4},
		{9, 0xcb, 1, 2, 3, 4, 5, 6, 7, 8},
		{9, 0xcf, 1, 0, 0, 0, 0, 0, 0, 0}, /* too large for a count */
		{2, 0xd0, 0xff}, {1, 0xe0}, {3, 0xd1, 0xff, 0xfe}, {3, 0xd4, 9, 9},
		{4, 0xd5, 9, 9, 9}, {6, 0xd6, 9, 9, 9, 9, 9}, {10, 0xd7}, {18, 0xd8},
		{3, 0xd9, 1, 'x'}, {4, 0xda, 0, 1, 'x'}, {6, 0xdb, 0, 0, 0, 1, 'x'},
		{4, 0xdc, 0, 1, 0xc0}, {5, 0xdd, 0, 0, 0, 0}, {5, 0xde, 0, 1, 0x01, 0xc2},
		{5, 0xdf, 0, 0, 0, 0}, {3, 0x91, 0x91, 0x90}, {4, 0x81, 0xa1, 'k', 0x80}};
	static const uint8_t numbers[][12] = {{1, 77}, {2, 0xcc, 77}, {3, 0xcd, 0, 77},
		{5, 0xce, 0, 0, 0, 77}, {9, 0xcf, 0, 0, 0, 0, 0, 0, 0, 77}, {2, 0xd0, 77},
		{3, 0xd1, 0, 77}, {5, 0xd2, 0, 0, 0, 77}, {9, 0xd3, 0, 0, 0, 0, 0, 0, 0, 77}};
	size_t other_cnt = sizeof(others) / sizeof(*others);
	size_t number_cnt = sizeof(numbers) / sizeof(*numbers);

	(void)state;
	for (size_t i = 0; i < other_cnt; i++)
		for (size_t k = 0; k < number_cnt; k++) {
			begin_code_object(&code);
			put_byte(&code, 0x81);
			put_string(&code, "amdhsa.kernels");
			put_byte(&code, 0x91);
			put_byte(&code, 0x83);
			put_string(&code, ".sgpr_count");
			put(&code, others[i] + 1, others[i][0]);
			put_string(&code, ".vgpr_count");
			put(&code, numbers[k] + 1, numbers[k][0]);
			put_string(&code, ".symbol");
			put_string(&code, "k.kd");
			end_code_object(&code);
			assert_true(each(code.used));
			assert_int_equal(seen.cnt, 1);
			assert_int_equal(seen.facts[0].vgprs, 77);
			assert_int_equal(seen.facts[0].sgprs, WT_NOT_SAID);
		}
}

/* Of a file that ends anywhere, kernels are known whole or not at all. */
static void test_cut_anywhere(void **state)
{
	(void)state;
	make_code_object(&code, 9);
	for (size_t bytes = 0; bytes < code.used; bytes++) {
		assert_false(each(bytes));
		assert_int_equal(seen.cnt, 0); /* the segment of notes is not whole */
	}
	/* the note says that it is shorter */
	for (uint32_t cut = 1; cut < 300; cut++) {
		Elf64_Nhdr *note = (void *)(code.bytes + code.note - 8 - sizeof(*note));

		make_code_object(&code, 9);
		note->n_descsz -= cut;
		assert_false(each(code.used));
		for (unsigned i = 0; i < seen.cnt; i++)
			assert_int_equal(seen.facts[i].vgprs, 10 + i);
		assert_true(seen.cnt >= 5);
	}
}

static void test_not_for_us(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} changes[] = {
		{0, 0},
		{EI_CLASS, ELFCLASS32},
		{EI_DATA, ELFDATA2MSB},
		{offsetof(Elf64_Ehdr, e_machine), 62},
		{offsetof(Elf64_Ehdr, e_phnum), 0},
		{offsetof(Elf64_Ehdr, e_phentsize), 8},
		{offsetof(Elf64_Ehdr, e_phoff) + 7, 0xff},
		{sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_type), PT_LOAD},
		{sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset) + 7, 0xff},
		{sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz) + 7, 0xff},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		make_code_object(&code, 2);
		assert_true(each(code.used));
		code.bytes[changes[i].at] = changes[i].value;
		assert_false(each(code.used));
		assert_int_equal(seen.cnt, 0);
	}
	/* another note type, another owner */
	make_code_object(&code, 2);
	code.bytes[code.note - 8 - 4] = 10;
	assert_false(each(code.used));
	make_code_object(&code, 2);
	code.bytes[code.note - 8] = 'X';
	assert_false(each(code.used));
}

/* Counts that no file can hold, and nests without end: over at once. */
static void test_hostile_counts(void **state)
{
	(void)state;
	for (unsigned kind = 0xdd; kind <= 0xdf; kind += 2) {
		begin_code_object(&code);
		put_byte(&code, 0x82);
		put_string(&code, "x");
		for (int i = 0; i < 500; i++) {
			put_byte(&code, kind);
			put(&code, "\xff\xff\xff\xff", 4);
		}
		end_code_object(&code);
		assert_false(each(code.used));
	}
	begin_code_object(&code);
	put_byte(&code, 0x81);
	put_string(&code, "amdhsa.kernels");
	put_byte(&code, 0xdd);
	put(&code, "\xff\xff\xff\xff", 4);
	end_code_object(&code);
	assert_false(each(code.used));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_not_for_us),
		cmocka_unit_test(test_hostile_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
