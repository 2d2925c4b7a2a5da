// SPDX-License-Identifier: MIT
#include "echo.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED  __attribute__((visibility("default")))
#define NOT_FOUND 500 /* hipErrorNotFound */

static _Thread_local struct echo echo;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool registered;

EXPORTED struct echo *hip_double__echo(void)
{
	return &echo;
}

struct echo *echo__begin(const char *name)
{
	echo.name = name;
	echo.call_cnt++;
	echo.bytes = 0;
	return &echo;
}

void echo__put(struct echo *to, const void *argument, size_t bytes)
{
	if (to->bytes + bytes > ECHO_BYTES)
		abort();
	memcpy(to->arguments + to->bytes, argument, bytes);
	to->bytes += (uint32_t)bytes;
}

void echo__end(struct echo *from, void *ret, size_t bytes, enum echo_return kind)
{
	int last = from->last_error;

	if (kind == ECHO_PEEK || kind == ECHO_TAKE)
		memcpy(ret, &last, bytes);
	else if (bytes)
		memcpy(ret, from->ret, bytes);
	if (kind == ECHO_ERROR)
		memcpy(&from->last_error, ret, sizeof(from->last_error));
	else if (kind == ECHO_TAKE)
		from->last_error = 0;
	/* a call that the program did not make says something else */
	memset(from->ret, 1, sizeof(from->ret));
	errno = from->err;
}

/* ---- the dispatch tables ---- */
/* rocprofiler-register asks a library for these before it believes its version. */
EXPORTED uint32_t rocprofiler_register_import_hip(void);
uint32_t rocprofiler_register_import_hip(void)
{
	return echo_tables[0].version;
}

EXPORTED uint32_t rocprofiler_register_import_hip_compiler(void);
uint32_t rocprofiler_register_import_hip_compiler(void)
{
	return echo_tables[0].version;
}

static void *own_of(unsigned int table, unsigned int member)
{
	for (unsigned int i = 0; i < echo_function_cnt; i++)
		if (echo_functions[i].table == (int)table &&
			echo_functions[i].member == (int)member)
			return echo_functions[i].own;
	abort();
}

static void register_tables(void)
{
	uint32_t (*const imports[])(void) = {
		rocprofiler_register_import_hip, rocprofiler_register_import_hip_compiler};
	const char *library = getenv("HIP_DOUBLE_REGISTER"),
		   *members = getenv("HIP_DOUBLE_MEMBERS");
	int (*do_register)(
		const char *, uint32_t (*)(void), uint32_t, void **, uint64_t, uint64_t *);
	void *handle;

	if (!library)
		return;
	handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	do_register = handle ? (__typeof__(do_register))dlsym(
				       handle, "rocprofiler_register_library_api_table")
			     : NULL;
	if (!do_register) {
		fprintf(stderr, "double of libamdhip64: %s\n", dlerror());
		abort();
	}
	for (unsigned int i = 0; i < echo_table_cnt; i++) {
		struct echo_table *table = &echo_tables[i];
		void *tables[] = {table->table};
		uint64_t id;
		int error;

		if (i == 0 && members && (unsigned int)atoi(members) < table->member_cnt)
			table->member_cnt = (unsigned int)atoi(members);
		table->table[0] = sizeof(size_t) * (1 + table->member_cnt);
		for (unsigned int k = 0; k < table->member_cnt; k++)
			table->table[1 + k] = (size_t)own_of(i, k);
		error = do_register(table->name, imports[i], table->version, tables, 1, &id);
		if (error)
			fprintf(stderr, "double of libamdhip64: %s: %s says %d\n", table->name,
				library, error);
	}
	registered = true;
}

void *echo__entry(unsigned int function)
{
	const struct echo_function *f = &echo_functions[function];

	pthread_once(&once, register_tables);
	if (registered && f->table >= 0 && f->member < (int)echo_tables[f->table].member_cnt)
		return (void *)echo_tables[f->table].table[1 + f->member];
	return f->own;
}

EXPORTED unsigned int hip_double__overrun(void)
{
	unsigned int cnt = 0;

	for (unsigned int i = 0; i < echo_table_cnt; i++)
		for (size_t k = 1 + echo_tables[i].member_cnt; k < echo_tables[i].words; k++)
			cnt += echo_tables[i].table[k] != 0;
	return cnt;
}

/* ---- who looks a function up ---- */
EXPORTED void *hip_double__find(const char *symbol)
{
	for (unsigned int i = 0; i < echo_function_cnt; i++)
		if (echo_functions[i].symbol && !strcmp(echo_functions[i].symbol, symbol))
			return echo_functions[i].exported;
	return NULL;
}

int echo__resolve(const char *symbol, void **function)
{
	const char *how = getenv("HIP_DOUBLE_RESOLVE");
	Dl_info info;
	void *self;

	if (how && !strcmp(how, "dlsym") && dladdr((void *)echo__resolve, &info)) {
		self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
		*function = self ? dlsym(self, symbol) : NULL;
		if (self)
			dlclose(self);
	} else {
		*function = hip_double__find(symbol);
	}
	return *function ? 0 : NOT_FOUND;
}
