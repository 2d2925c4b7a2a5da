// SPDX-License-Identifier: MIT
/* What librocprofiler-register sees of wavetap: libwavetap_register.so is preloaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sdk.h"

enum { MEMBERS = 5 };

struct table {
	size_t size;
	void *fn[MEMBERS + 1];
};

static int called; /* by which member */

/* hipApiName, hipArray3DCreate, hipArray3DGetDescriptor, hipArrayCreate, hipArrayDestroy */
static const char *api_name(uint32_t id)
{
	called = (int)id;
	return "a name";
}

static int two(void *a, const void *b)
{
	called = 1;
	return a == b;
}

static int destroy(void *array)
{
	called = array == (void *)&called ? 4 : -1;
	return 77;
}

static struct table make_table(void)
{
	return (struct table){sizeof(size_t) + MEMBERS * sizeof(void *),
		{(void *)api_name, (void *)two, (void *)two, NULL, (void *)destroy,
			(void *)destroy}};
}

static int (*set_table(void))(const char *, uint64_t, uint64_t, void **, uint64_t)
{
	return (int (*)(const char *, uint64_t, uint64_t, void **, uint64_t))dlsym(
		RTLD_DEFAULT, "rocprofiler_set_api_table");
}

static const char *home(const void *fn)
{
	Dl_info info;
	const char *file;

	if (!fn || !dladdr(fn, &info))
		return "";
	file = strrchr(info.dli_fname, '/');
	return file ? file + 1 : info.dli_fname;
}

static void assert_wrapped(const struct table *table)
{
	for (int i = 0; i < MEMBERS; i++)
		if (i == 3)
			assert_null(table->fn[i]); /* what is not there stays so */
		else
			assert_string_equal(home(table->fn[i]), "libwavetap.so");
	/* behind its size */
	assert_ptr_equal(table->fn[MEMBERS], (void *)destroy);
	assert_string_equal(((const char *(*)(uint32_t))table->fn[0])(9), "a name");
	assert_int_equal(called, 9);
	assert_int_equal(((int (*)(void *))table->fn[4])(&called), 77);
	assert_int_equal(called, 4);
}

static int give(struct table *table, const char *name)
{
	void *tables[] = {table};

	return set_table()(name, 60200, 0, tables, 1);
}

/* ---- nobody but us --------------------------------------------------------------------- */

static void test_alone(void **state)
{
	struct table table = make_table(), second = make_table(), again;

	(void)state;
	assert_string_equal(home((void *)set_table()), "libwavetap_register.so");
	assert_string_equal(
		home(dlsym(RTLD_DEFAULT, "rocprofiler_configure")), "libwavetap_register.so");
	errno = ENOTTY;
	assert_int_equal(give(&table, "hip"), 0);
	assert_int_equal(errno, ENOTTY);
	assert_wrapped(&table);
	/* the same once more, as when a tool comes late; and another runtime's */
	again = table;
	assert_int_equal(give(&table, "hip"), 0);
	assert_memory_equal(&table, &again, sizeof(table));
	assert_wrapped(&table);
	assert_int_equal(give(&second, "hip"), 0);
	assert_ptr_equal(second.fn[0], (void *)api_name);
}

static void test_other_names(void **state)
{
	struct table table = make_table(), as_it_was = table;

	(void)state;
	assert_int_equal(give(&table, "roctx"), 0);
	assert_int_equal(give(&table, "rccl"), 0);
	/* success would keep HSA's own tools away */
	assert_int_not_equal(set_table()("hsa", 60200, 0, NULL, 0), 0);
	assert_int_not_equal(set_table()(NULL, 60200, 0, NULL, 0), 0);
	assert_memory_equal(&table, &as_it_was, sizeof(table));
}

static void test_short_tables(void **state)
{
	struct table compiler = make_table();
	struct {
		size_t size;
	} nothing = {0};
	void *tables[] = {&nothing};

	(void)state;
	assert_int_equal(set_table()("hip_compiler", 60200, 0, tables, 1), 0);
	assert_int_equal(nothing.size, 0);
	/* the first one of that name is ours, however short it was */
	assert_int_equal(give(&compiler, "hip_compiler"), 0);
	assert_ptr_equal(compiler.fn[0], (void *)api_name);
}

/* ---- the process is not traced ------------------------------------------------------------ */

static void test_untraced(void **state)
{
	struct table table = make_table(), as_it_was = table;

	(void)state;
	assert_int_equal(give(&table, "hip"), 0);
	assert_memory_equal(&table, &as_it_was, sizeof(table));
}

/* ---- beside the SDK -------------------------------------------------------------------------- */

/* wherever it is */
static const struct sdk_given *given(void)
{
	static const char *const files[] = {"sdk.so", "sdk_tool.so"};
	void *fn = NULL;

	for (int i = 0; i < 2 && !fn; i++) {
		void *handle = dlopen(files[i], RTLD_LAZY | RTLD_NOLOAD);

		fn = handle ? dlsym(handle, "sdk_given") : NULL;
	}
	return fn ? ((const struct sdk_given *(*)(void))fn)() : NULL;
}

static void test_forwarded(void **state)
{
	struct table table = make_table(), marker = make_table();
	void *tables[] = {&table, &marker};

	(void)state;
	assert_int_equal(set_table()("hip", 70204, 3, tables, 2), SDK_ANSWER);
	assert_non_null(given());
	assert_int_equal(given()->cnt, 1);
	assert_string_equal(given()->name, "hip");
	assert_int_equal(given()->version, 70204);
	assert_int_equal(given()->instance, 3);
	assert_ptr_equal(given()->tables, tables);
	assert_int_equal(given()->table_cnt, 2);
	/* after us: it saves our functions as the originals */
	assert_ptr_equal(given()->first_entry, table.fn[0]);
	assert_wrapped(&table);
	/* what we do not want it gets, too */
	assert_int_equal(give(&marker, "roctx"), SDK_ANSWER);
	assert_string_equal(given()->name, "roctx");
	assert_int_equal(give(&table, "hip"), SDK_ANSWER);
	assert_int_equal(given()->cnt, 3);
}

/* In the environment, and not wanted: FORCE_LOAD is off, or there is no tool. */
static void test_not_wanted(void **state)
{
	struct table table = make_table();

	(void)state;
	assert_int_equal(give(&table, "hip"), 0);
	assert_wrapped(&table);
	assert_true(!given() || !given()->cnt);
}

/* Wanted, and nowhere: without us librocprofiler-register ends the process. */
static void test_missing(void **state)
{
	struct table table = make_table();

	(void)state;
	assert_int_equal(give(&table, "hip"), 0);
	assert_wrapped(&table);
	assert_int_not_equal(set_table()("hsa", 60200, 0, NULL, 0), 0);
}

/* Loaded for one library alone, as Python does it: the tool comes with librocprofiler-register. */
static void test_family(void **state)
{
	struct table table = make_table();

	(void)state;
	assert_non_null(dlopen("stranger.so", RTLD_NOW | RTLD_LOCAL));
	assert_int_equal(give(&table, "hip"), 0);
	assert_non_null(dlopen("family.so", RTLD_NOW | RTLD_LOCAL));
	assert_int_equal(give(&table, "hip"), SDK_ANSWER);
	assert_wrapped(&table);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest alone[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_other_names),
		cmocka_unit_test(test_short_tables),
	};
	const struct CMUnitTest untraced[] = {cmocka_unit_test(test_untraced)};
	const struct CMUnitTest forwarded[] = {cmocka_unit_test(test_forwarded)};
	const struct CMUnitTest not_wanted[] = {cmocka_unit_test(test_not_wanted)};
	const struct CMUnitTest missing[] = {cmocka_unit_test(test_missing)};
	const struct CMUnitTest family[] = {cmocka_unit_test(test_family)};
#define RUN(group)                                                                                 \
	if (argc > 1 && !strcmp(argv[1], #group))                                                  \
	return cmocka_run_group_tests(group, NULL, NULL)

	RUN(alone);
	RUN(untraced);
	RUN(forwarded);
	RUN(not_wanted);
	RUN(missing);
	RUN(family);
	return 2;
}
