// SPDX-License-Identifier: MIT
/* From the loading of a code object to the symbol's record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "code_object.h"
#include "definitions.h"
#include "hsa_session.h"

static struct code_object code;
static struct wt_rec_symbol symbol;
static bool any;

static int set_up_reader(void **state)
{
	return set_up(state) || open_definitions() ? -1 : 0;
}

static void look(const struct wt_rec *rec)
{
	if (rec->type != WT_REC_SYMBOL)
		return;
	memcpy(&symbol, rec, sizeof(symbol));
	any = true;
}

/* The newest symbol record; NULL: none since the last time. */
static const struct wt_rec_symbol *newest(void)
{
	any = false;
	each_definition(look);
	return any ? &symbol : NULL;
}

/* The fake runtime names the kernel of executable N "kN". The bytes are gone at the freeze. */
static hsa_status load(uint64_t executable, size_t size, hsa_loaded_code *loaded)
{
	uint8_t *bytes = malloc(size);
	struct fake_code file = {bytes, size};
	hsa_status status;

	memcpy(bytes, code.bytes, size);
	status = FAKE_CORE(table, hsa_executable_load_agent_code_object,
		hsa_executable_load_agent_code_object_fn)((hsa_executable){executable}, fake_gpu,
		(hsa_code_reader){(uint64_t)&file}, "", loaded);
	free(bytes);
	return status;
}

static void freeze(uint64_t executable)
{
	FAKE_CORE(table, hsa_executable_freeze, hsa_executable_freeze_fn)
	((hsa_executable){executable}, "");
}

static void destroy(uint64_t executable)
{
	FAKE_CORE(table, hsa_executable_destroy, hsa_executable_destroy_fn)
	((hsa_executable){executable});
}

static void test_known_at_the_freeze(void **state)
{
	hsa_loaded_code loaded = {0};

	(void)state;
	make_code_object(&code, 5);
	assert_int_equal(load(3, code.used, &loaded), HSA_OK);
	assert_int_not_equal(loaded.handle, 0);
	assert_int_equal(load(4, code.used, NULL), HSA_OK);
	freeze(3);
	assert_int_equal(newest()->vgprs, 13);
	freeze(4);
	assert_int_equal(newest()->vgprs, 14);
	assert_null(newest());
	destroy(3);
	destroy(4);
}

/* The runtime's word is the caller's, also where it refuses. */
static void test_refused(void **state)
{
	hsa_loaded_code loaded = {77};

	(void)state;
	assert_int_equal(FAKE_CORE(table, hsa_executable_load_agent_code_object,
				 hsa_executable_load_agent_code_object_fn)(
				 (hsa_executable){3}, fake_gpu, (hsa_code_reader){0}, "", &loaded),
		HSA_ERROR);
	assert_int_equal(loaded.handle, 77);
}

static void test_not_said(void **state)
{
	(void)state;
	make_code_object(&code, 2); /* k0 and k1, and the executable's kernel is k5 */
	assert_int_equal(load(5, code.used, NULL), HSA_OK);
	freeze(5);
	assert_int_equal(newest()->vgprs, UINT32_MAX);
	assert_int_equal(symbol.wavefront_size, UINT32_MAX);
	assert_int_equal(symbol.group_bytes, 0); /* the runtime's word */
	destroy(5);
	/* no metadata at all */
	memset(code.bytes, 0, sizeof(code.bytes));
	assert_int_equal(load(6, code.used, NULL), HSA_OK);
	freeze(6);
	assert_int_equal(newest()->vgprs, UINT32_MAX);
	destroy(6);
}

/* An executable that was destroyed before its freeze leaves nothing to the next of that handle. */
static void test_never_frozen(void **state)
{
	(void)state;
	make_code_object(&code, 9);
	assert_int_equal(load(7, code.used, NULL), HSA_OK);
	destroy(7);
	freeze(7);
	assert_int_equal(newest()->vgprs, UINT32_MAX);
	destroy(7);
}

/* Of two kernels of one name neither is believed. */
static void test_twice(void **state)
{
	(void)state;
	begin_code_object(&code);
	put_byte(&code, 0x81);
	put_string(&code, "amdhsa.kernels");
	put_byte(&code, 0x93);
	put_kernel(&code, 8, 10);
	put_kernel(&code, 9, 20);
	put_kernel(&code, 8, 30);
	end_code_object(&code);
	assert_int_equal(load(8, code.used, NULL), HSA_OK);
	assert_int_equal(load(9, code.used, NULL), HSA_OK);
	freeze(8);
	assert_int_equal(newest()->vgprs, UINT32_MAX);
	freeze(9);
	assert_int_equal(newest()->vgprs, 20);
	destroy(8);
	destroy(9);
}

/* The runtime goes and comes again, and hands out the same handles. */
static void test_restart(void **state)
{
	(void)state;
	make_code_object(&code, 9);
	assert_int_equal(load(1, code.used, NULL), HSA_OK);
	OnUnload();
	table = fake_hsa__table();
	assert_true(OnLoad(table, 1, 0, NULL));
	freeze(1);
	assert_int_equal(newest()->vgprs, UINT32_MAX);
	destroy(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_at_the_freeze),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_not_said),
		cmocka_unit_test(test_never_frozen),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_restart),
	};

	return cmocka_run_group_tests(tests, set_up_reader, tear_down);
}
