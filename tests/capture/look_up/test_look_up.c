// SPDX-License-Identifier: MIT
/*
 * Programs that look functions up, with libwavetap.so preloaded. One group a
 * way of being loaded (the argument); the tests of a group follow each other:
 * what one has loaded stays loaded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "plugin.h"

#define SIX   600 /* what the functions of the two runtimes return, see runtime.c */
#define SEVEN 700

static void *six, *seven;

static const char *home(const void *fn)
{
	Dl_info info;
	const char *file;

	if (!fn || !dladdr(fn, &info))
		return "";
	file = strrchr(info.dli_fname, '/');
	return file ? file + 1 : info.dli_fname;
}

static int call(void *fn)
{
	return ((int (*)(void *))fn)(NULL);
}

/* A wrapper that reaches that function. */
static void assert_wrapped(void *fn, int reaches)
{
	assert_string_equal(home(fn), "libwavetap.so");
	assert_int_equal(call(fn), reaches);
}

static void assert_plain(void *fn, int is)
{
	assert_non_null(strstr(home(fn), "libamdhip64"));
	assert_int_equal(call(fn), is);
}

static void assert_absent(void *fn, const char *name)
{
	const char *why = dlerror();

	assert_null(fn);
	assert_non_null(why);
	assert_non_null(strstr(why, "undefined symbol: "));
	assert_non_null(strstr(why, name));
	assert_null(dlerror());
}

static void *open_it(const char *file, int flags)
{
	void *handle = dlopen(file, flags);

	if (!handle)
		print_message("%s\n", dlerror());
	assert_non_null(handle);
	return handle;
}

/* ---- before there is a runtime ------------------------------------------------ */

static void test_no_runtime(void **state)
{
	(void)state;
	assert_absent(dlsym(RTLD_DEFAULT, "hipDeviceSynchronize"), "hipDeviceSynchronize");
	assert_absent(dlsym(RTLD_NEXT, "hipDeviceSynchronize"), "hipDeviceSynchronize");
	assert_absent(
		dlsym(dlopen(NULL, RTLD_LAZY), "hipDeviceSynchronize"), "hipDeviceSynchronize");
	assert_absent(dlvsym(RTLD_DEFAULT, "hipFree", "hip_4.2"), "hipFree");
}

static void test_others_names(void **state)
{
	void *fn;

	(void)state;
	errno = ENOTTY;
	fn = dlsym(RTLD_DEFAULT, "strlen");
	assert_ptr_equal(fn, dlsym(RTLD_NEXT, "strlen"));
	assert_int_equal(((size_t(*)(const char *))fn)("four"), 4);
	assert_absent(dlsym(RTLD_DEFAULT, "no_such_function"), "no_such_function");
	assert_absent(dlsym(RTLD_DEFAULT, "hipNoSuchFunction"), "hipNoSuchFunction");
	assert_absent(dlsym(RTLD_DEFAULT, "__hipNoSuchFunction"), "__hipNoSuchFunction");
	assert_absent(dlsym(RTLD_DEFAULT, ""), "");
	assert_int_equal(errno, ENOTTY);
	/* the right one of several, as libc means it for this very caller */
	fn = dlsym(RTLD_NEXT, "dlsym");
	assert_string_equal(home(fn), "libwavetap.so");
}

static void test_needless_plugin(void **state)
{
	void *plugin = open_it("plugin_plain.so", RTLD_NOW);
	void *(*by_default)(const char *) =
		(void *(*)(const char *))dlsym(plugin, "plugin_default");

	(void)state;
	assert_absent(by_default("hipDeviceSynchronize"), "hipDeviceSynchronize");
	dlclose(plugin);
}

/* ---- a runtime of the program's own --------------------------------------------- */

static void test_handle(void **state)
{
	void *fn;

	(void)state;
	six = open_it("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
	errno = ENOTTY;
	fn = dlsym(six, "hipDeviceSynchronize");
	assert_int_equal(errno, ENOTTY);
	assert_null(dlerror());
	assert_wrapped(fn, SIX);
	assert_wrapped(dlsym(six, "hipDeviceReset"), SIX + 1);
	assert_plain(dlsym(six, "hipOfNoPrototype"), SIX + 4);
	assert_absent(dlsym(six, "hipMalloc"), "hipMalloc");
}

static void test_versions(void **state)
{
	(void)state;
	assert_wrapped(dlsym(six, "hipFree"), SIX + 3);
	assert_wrapped(dlvsym(six, "hipFree", "hip_6.0"), SIX + 3);
	assert_plain(dlvsym(six, "hipFree", "hip_4.2"), SIX + 2);
	assert_absent(dlvsym(six, "hipFree", "hip_9.9"), "hip_9.9");
	assert_wrapped(dlvsym(six, "hipDeviceReset", "hip_4.2"), SIX + 1);
}

static void test_local_scope(void **state)
{
	void *fn;

	(void)state;
	/* nobody but the handle's owner may see it */
	assert_absent(dlsym(RTLD_DEFAULT, "hipDeviceSynchronize"), "hipDeviceSynchronize");
	assert_absent(dlsym(RTLD_NEXT, "hipDeviceSynchronize"), "hipDeviceSynchronize");
	assert_absent(dlsym(dlopen(NULL, RTLD_LAZY), "hipDeviceReset"), "hipDeviceReset");
	/* and what it does not have nobody has */
	assert_absent(dlsym(RTLD_DEFAULT, "hipMalloc"), "hipMalloc");
	fn = dlsym(RTLD_DEFAULT, "malloc");
	assert_non_null(fn);
}

static void test_plugin_of_runtime(void **state)
{
	void *plugin = open_it("plugin_of_runtime.so", RTLD_NOW | RTLD_LOCAL);
	void *(*by_default)(const char *) =
		(void *(*)(const char *))dlsym(plugin, "plugin_default");
	void *(*by_next)(const char *) = (void *(*)(const char *))dlsym(plugin, "plugin_next");

	(void)state;
	assert_wrapped(by_default("hipDeviceSynchronize"), SIX);
	assert_absent(by_default("hipMalloc"), "hipMalloc");
	/* it asks for what is behind it: an interposer that got our wrapper would call itself */
	assert_plain(by_next("hipDeviceSynchronize"), SIX);
	/* the handle's search finds it in what the plugin needs */
	assert_wrapped(dlsym(plugin, "hipDeviceSynchronize"), SIX);
}

static void test_itself(void **state)
{
	void *(*look)(const char *) = (void *(*)(const char *))dlsym(six, "hipLooksItselfUp");

	(void)state;
	assert_plain(look("hipDeviceSynchronize"), SIX);
	assert_null(look("hipMalloc"));
}

/* Two runtimes at once: ours calls the first, the other's functions stay its own. */
static void test_second_runtime(void **state)
{
	(void)state;
	seven = open_it("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL);
	assert_plain(dlsym(seven, "hipDeviceSynchronize"), SEVEN);
	assert_plain(dlsym(seven, "hipFree"), SEVEN + 3);
	assert_wrapped(dlsym(six, "hipDeviceSynchronize"), SIX);
}

/* Another namespace has libraries of its own, ours is not among them. */
static void test_namespace(void **state)
{
	void *other = dlmopen(LM_ID_NEWLM, "libamdhip64.so.6", RTLD_NOW);

	(void)state;
	if (!other)
		skip();
	assert_plain(dlsym(other, "hipDeviceSynchronize"), SIX);
	assert_ptr_not_equal(dlsym(other, "hipOfNoPrototype"), dlsym(six, "hipOfNoPrototype"));
	dlclose(other);
}

/* Its owner closes it; who has a wrapper's address can still call it. */
static void test_close(void **state)
{
	void *fn = dlsym(six, "hipDeviceSynchronize");

	(void)state;
	assert_int_equal(dlclose(six), 0);
	assert_int_equal(call(fn), SIX);
	six = open_it("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
	assert_wrapped(dlsym(six, "hipDeviceSynchronize"), SIX);
}

static void *look_up_often(void *arg)
{
	for (int i = 0; i < 2000; i++)
		if (strcmp(home(dlsym(arg, "hipDeviceReset")), "libwavetap.so"))
			return arg;
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[4];
	void *failed;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_up_often, six), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
}

/* ---- a runtime for everybody ------------------------------------------------------- */

static void test_global(void **state)
{
	(void)state;
	open_it("libamdhip64.so.6", RTLD_NOW | RTLD_GLOBAL);
	assert_wrapped(dlsym(RTLD_DEFAULT, "hipDeviceSynchronize"), SIX);
	assert_wrapped(dlsym(RTLD_NEXT, "hipDeviceSynchronize"), SIX);
	assert_wrapped(dlsym(dlopen(NULL, RTLD_LAZY), "hipDeviceSynchronize"), SIX);
	assert_absent(dlsym(RTLD_DEFAULT, "hipMalloc"), "hipMalloc");
	assert_wrapped(dlvsym(RTLD_DEFAULT, "hipFree", "hip_6.0"), SIX + 3);
	assert_plain(dlvsym(RTLD_DEFAULT, "hipFree", "hip_4.2"), SIX + 2);
	assert_absent(dlvsym(RTLD_DEFAULT, "hipFree", "hip_9.9"), "hip_9.9");
	assert_plain(dlsym(RTLD_DEFAULT, "hipOfNoPrototype"), SIX + 4);
}

/* ---- --no-dlsym, and others that are there, too -------------------------------------- */

static void test_off(void **state)
{
	(void)state;
	six = open_it("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
	assert_plain(dlsym(six, "hipDeviceSynchronize"), SIX);
	assert_plain(dlvsym(six, "hipFree", "hip_4.2"), SIX + 2);
	assert_absent(dlsym(six, "hipMalloc"), "hipMalloc");
}

static void test_interposer(void **state)
{
	int (*calls)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "interposer_calls");
	int before;

	(void)state;
	assert_non_null(calls);
	six = open_it("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
	before = calls();
	assert_non_null(dlsym(RTLD_DEFAULT, "strlen"));
	assert_true(calls() > before);
	before = calls();
	assert_wrapped(dlsym(six, "hipDeviceSynchronize"), SIX);
	assert_true(calls() > before);
	assert_absent(dlsym(six, "hipMalloc"), "hipMalloc");
}

/* That it ran at all, and what is behind us still has its say. */
static void test_early(void **state)
{
	int (*answer)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "early_answer");

	(void)state;
	assert_non_null(answer);
	assert_true(answer() == 0 || answer() == 1);
	six = open_it("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
	assert_wrapped(dlsym(six, "hipDeviceSynchronize"), SIX);
}

int main(int argc, char **argv)
{
	const char *group = argc > 1 ? argv[1] : "";
	const struct CMUnitTest states[] = {
		cmocka_unit_test(test_no_runtime),
		cmocka_unit_test(test_others_names),
		cmocka_unit_test(test_needless_plugin),
		cmocka_unit_test(test_handle),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_local_scope),
		cmocka_unit_test(test_plugin_of_runtime),
		cmocka_unit_test(test_itself),
		cmocka_unit_test(test_second_runtime),
		cmocka_unit_test(test_namespace),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_global),
	};
	const struct CMUnitTest off[] = {cmocka_unit_test(test_off)};
	const struct CMUnitTest interposer[] = {cmocka_unit_test(test_interposer)};
	const struct CMUnitTest early[] = {cmocka_unit_test(test_early)};

	if (!strcmp(group, "states"))
		return cmocka_run_group_tests(states, NULL, NULL);
	if (!strcmp(group, "off"))
		return cmocka_run_group_tests(off, NULL, NULL);
	if (!strcmp(group, "interposer"))
		return cmocka_run_group_tests(interposer, NULL, NULL);
	if (!strcmp(group, "early"))
		return cmocka_run_group_tests(early, NULL, NULL);
	return 2;
}
