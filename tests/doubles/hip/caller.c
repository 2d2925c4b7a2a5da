// SPDX-License-Identifier: MIT
/*
 * Calls every function of the double of libamdhip64 with random arguments, and compares what
 * arrived with what was passed, and what came back with what the double returned.
 *
 *	caller_linked linked SEED ROUNDS THREADS [REPORT]
 *	caller_found dlsym|dlvsym|proc|table SEED ROUNDS THREADS [REPORT]
 *
 * linked: by reference; dlsym, dlvsym: asked of the loader; proc: of hipGetProcAddress; table: of
 * the double, so that only who changed the runtime's dispatch table sees the calls. Exit code 77:
 * the runtime has no such way.
 *
 * REPORT gets a line for each call, in each thread's order: the thread's id, the function's symbol,
 * what it returned, or "-" where that is no error code, and the bytes of each argument, with "@"
 * and the word behind it where that is memory of the program. The last line of stdout says how many
 * calls there were.
 */
#include "call.h"
#include "echo.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each of its words is an address in it: whoever follows pointers from here stays here. */
#define ARENA_WORDS (1u << 19)
#define HANDLES     64u
#define MAX_THREADS 64

struct thread {
	pthread_t thread;
	uint64_t random;
	uint32_t rounds;
	uint64_t call_cnt;
	uint32_t wrong_cnt;
	struct echo *echo;
	char *report;
	size_t report_bytes;
};

static uintptr_t *arena;
static const char *way;
static void **found; /* by function */
static struct echo *(*get_echo)(void);
static unsigned int (*get_overrun)(void);

static uint64_t next(uint64_t *random) /* splitmix64 */
{
	uint64_t z = *random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* In the first three quarters: there is room behind it. */
static uintptr_t in_arena(uint64_t random)
{
	return (uintptr_t)&arena[random % (ARENA_WORDS / 4 * 3)];
}

static void make_arena(uint64_t seed)
{
	arena = malloc(ARENA_WORDS * sizeof(*arena));
	if (!arena)
		abort();
	for (uint32_t i = 0; i < ARENA_WORDS; i++)
		arena[i] = in_arena(next(&seed));
}

static bool arena_changed(uint64_t seed)
{
	for (uint32_t i = 0; i < ARENA_WORDS; i++)
		if (arena[i] != in_arena(next(&seed)))
			return true;
	return false;
}

/* ---- arguments ---- */
static uintptr_t address(uint64_t *random)
{
	uint64_t how = next(random) % 8, value = next(random);

	return how == 0  ? 0
	       : how < 3 ? in_arena(value)
	       : how < 6 ? 0x7f0000000000 + value % HANDLES * 4096
			 : value;
}

static void bits(uint64_t *random, unsigned char *to, size_t bytes)
{
	uint64_t how = next(random) % 8, value = 0;

	if (how == 1) {
		memset(to, 0xff, bytes);
		return;
	}
	for (size_t i = 0; i < bytes; i++, value >>= 8) {
		if (i % 8 == 0 && how > 0 && (i == 0 || how > 3))
			value = how < 4 ? next(random) % 9 : next(random);
		to[i] = (unsigned char)value;
	}
}

static size_t make_arguments(const struct call_function *f, uint64_t *random, unsigned char *to)
{
	size_t at = 0;

	for (unsigned int i = 0; i < f->parameter_cnt; i++) {
		const struct call_parameter *p = &f->parameters[i];
		uintptr_t pointer;

		if (at + p->bytes > ECHO_BYTES)
			abort();
		switch (p->kind) {
		case CALL_BOOL:
			to[at] = next(random) & 1;
			break;
		case CALL_ADDRESS:
			pointer = address(random);
			memcpy(to + at, &pointer, sizeof(pointer));
			break;
		case CALL_POINTER:
			pointer = next(random) % 16 ? in_arena(next(random)) : 0;
			memcpy(to + at, &pointer, sizeof(pointer));
			break;
		default:
			bits(random, to + at, p->bytes);
		}
		at += p->bytes;
	}
	return at;
}

/* What the double shall return. Half of the calls succeed. */
static void make_return(const struct call_function *f, uint64_t *random, unsigned char *to)
{
	uint32_t how = next(random) % 4;
	uint32_t error = how < 2 ? 0 : how < 3 ? next(random) % 1200 : (uint32_t)next(random) >> 1;

	bits(random, to, ECHO_RETURN_BYTES);
	if (f->returns == CALL_ERROR || f->returns == CALL_RESULT)
		memcpy(to, &error, sizeof(error));
	else if (f->returns == CALL_BOOL)
		to[0] &= 1;
}

/* ---- one call ---- */
__attribute__((format(printf, 3, 4))) static void wrong(
	struct thread *t, const struct call_function *f, const char *format, ...)
{
	va_list list;

	/* a few tell enough */
	if (t->wrong_cnt++ >= 1000)
		return;
	va_start(list, format);
	flockfile(stdout);
	printf("%s (%s): ", f->symbol, way);
	vprintf(format, list);
	putchar('\n');
	funlockfile(stdout);
	va_end(list);
}

static void hex(char *to, const unsigned char *bytes, size_t cnt)
{
	*to = 0;
	for (size_t i = 0; i < cnt; i++)
		to += sprintf(to, "%02x", bytes[i]);
}

static void compare_arguments(
	struct thread *t, const struct call_function *f, const unsigned char *passed)
{
	char text[2][2 * ECHO_BYTES + 1];
	size_t at = 0;

	for (unsigned int i = 0; i < f->parameter_cnt; at += f->parameters[i++].bytes) {
		size_t bytes = f->parameters[i].bytes;

		if (!memcmp(passed + at, t->echo->arguments + at, bytes))
			continue;
		hex(text[0], passed + at, bytes);
		hex(text[1], t->echo->arguments + at, bytes);
		wrong(t, f, "argument %u was %s and arrived as %s", i, text[0], text[1]);
	}
}

static void tell(FILE *report, const struct call_function *f, const unsigned char *passed,
	const unsigned char *got)
{
	char text[2 * ECHO_BYTES + 1];
	int ret;

	fprintf(report, "%d %s ", gettid(), f->symbol);
	memcpy(&ret, got, sizeof(ret));
	if (f->returns == CALL_ERROR || f->returns == CALL_RESULT || f->returns == CALL_LAST_ERROR)
		fprintf(report, "%d", ret);
	else
		fputc('-', report);
	for (unsigned int i = 0; i < f->parameter_cnt; passed += f->parameters[i++].bytes) {
		uintptr_t pointer;

		hex(text, passed, f->parameters[i].bytes);
		fprintf(report, " %s", text);
		if (f->parameters[i].bytes != sizeof(pointer))
			continue;
		memcpy(&pointer, passed, sizeof(pointer));
		if (pointer >= (uintptr_t)arena && pointer < (uintptr_t)(arena + ARENA_WORDS))
			fprintf(report, "@%llx", (unsigned long long)*(const uintptr_t *)pointer);
	}
	fputc('\n', report);
}

static void one_call(struct thread *t, unsigned int number, FILE *report)
{
	const struct call_function *f = &call_functions[number];
	unsigned char passed[ECHO_BYTES], expected[ECHO_RETURN_BYTES], got[ECHO_RETURN_BYTES] = {0};
	char text[2][2 * ECHO_RETURN_BYTES + 1];
	uint32_t call_cnt = t->echo->call_cnt;
	int before = t->echo->last_error, after = before, err;
	size_t bytes = make_arguments(f, &t->random, passed);

	make_return(f, &t->random, expected);
	t->echo->err = (int)(next(&t->random) % 130);
	memcpy(t->echo->ret, expected, sizeof(expected));
	if (f->returns == CALL_LAST_ERROR)
		memcpy(expected, &before, sizeof(before));
	if (f->returns == CALL_ERROR)
		memcpy(&after, expected, sizeof(after));
	else if (f->returns == CALL_LAST_ERROR && strcmp(f->name, "hipPeekAtLastError") != 0)
		after = 0;

	errno = (int)(next(&t->random) % 130);
	f->call(found ? found[number] : f->linked, passed, got);
	err = errno;

	t->call_cnt++;
	if (t->echo->call_cnt != call_cnt + 1)
		wrong(t, f, "the runtime was called %u times", t->echo->call_cnt - call_cnt);
	else if (strcmp(t->echo->name, f->name) != 0)
		wrong(t, f, "arrived at %s", t->echo->name);
	else if (t->echo->bytes != bytes)
		wrong(t, f, "%zu bytes were passed and %u arrived", bytes, t->echo->bytes);
	else
		compare_arguments(t, f, passed);
	if (memcmp(expected, got, f->return_bytes) != 0) {
		hex(text[0], expected, f->return_bytes);
		hex(text[1], got, f->return_bytes);
		wrong(t, f, "returned %s, which came back as %s", text[0], text[1]);
	}
	if (err != t->echo->err)
		wrong(t, f, "errno was %d and came back as %d", t->echo->err, err);
	if (t->echo->last_error != after)
		wrong(t, f, "the last error was %d and is %d", after, t->echo->last_error);

	if (report)
		tell(report, f, passed, got);
}

/* ---- threads ---- */
static uint32_t number_of(const char *symbol)
{
	for (uint32_t i = 0; i < call_function_cnt; i++)
		if (!strcmp(call_functions[i].symbol, symbol))
			return i;
	abort();
}

static void *run(void *data)
{
	struct thread *t = data;
	uint32_t peek = number_of("hipPeekAtLastError"),
		 *order = calloc(call_function_cnt, sizeof(*order));
	FILE *report = open_memstream(&t->report, &t->report_bytes);

	if (!order || !report)
		abort();
	t->echo = get_echo();
	for (uint32_t i = 0; i < call_function_cnt; i++)
		order[i] = i;
	for (uint32_t round = 0; round < t->rounds; round++) {
		for (uint32_t i = call_function_cnt; i-- > 1;) {
			uint32_t k = (uint32_t)(next(&t->random) % (i + 1)), other = order[k];

			order[k] = order[i];
			order[i] = other;
		}
		for (uint32_t i = 0; i < call_function_cnt; i++) {
			one_call(t, order[i], report);
			/* as the program sees it */
			if (next(&t->random) % 8 == 0)
				one_call(t, peek, report);
		}
	}
	fclose(report);
	free(order);
	return NULL;
}

/* ---- the ways to a function ---- */
#ifdef LINKED
static void find_all(FILE *report)
{
	if (strcmp(way, "linked") != 0) {
		fprintf(stderr, "unknown way: %s\n", way);
		exit(2);
	}
	(void)report;
	get_echo = hip_double__echo;
	get_overrun = hip_double__overrun;
}
#else
typedef int (*get_proc)(const char *, void **, int, uint64_t, void *);

static void *resolve(get_proc get, const char *symbol, FILE *report)
{
	struct echo *echo = get_echo();
	void *function = NULL;
	int status, error;

	echo->resolves = true;
	error = get(symbol, &function, 60000, 0, &status);
	echo->resolves = false;
	if (report)
		fprintf(report, "%d hipGetProcAddress %d\n", gettid(), error);
	return error ? NULL : function;
}

static void find_all(FILE *report)
{
	void *library = dlopen(HIP_DOUBLE, RTLD_LAZY | RTLD_LOCAL), *(*find)(const char *);
	get_proc get;

	found = calloc(call_function_cnt, sizeof(*found));
	if (!library || !found) {
		fprintf(stderr, "%s\n", library ? "no memory" : dlerror());
		exit(2);
	}
	get_echo = (__typeof__(get_echo))dlsym(library, "hip_double__echo");
	get_overrun = (__typeof__(get_overrun))dlsym(library, "hip_double__overrun");
	find = (__typeof__(find))dlsym(library, "hip_double__find");
	get = (get_proc)dlsym(library, "hipGetProcAddress");
	if (!strcmp(way, "proc") && !get)
		exit(77);
	for (unsigned int i = 0; i < call_function_cnt; i++) {
		const struct call_function *f = &call_functions[i];

		if (!strcmp(way, "dlsym"))
			found[i] = dlsym(library, f->symbol);
		else if (!strcmp(way, "dlvsym"))
			found[i] = dlvsym(library, f->symbol, f->version);
		else if (!strcmp(way, "proc"))
			found[i] = resolve(get, f->symbol, report);
		else if (!strcmp(way, "table"))
			found[i] = find(f->symbol);
		if (!found[i]) {
			fprintf(stderr, "%s is not found by %s\n", f->symbol, way);
			exit(2);
		}
	}
}
#endif

int main(int argc, char **argv)
{
	static struct thread threads[MAX_THREADS + 1]; /* and main's */
	uint64_t seed, call_cnt;
	uint32_t cnt, wrong_cnt;
	FILE *report = NULL;

	if (argc < 5 || atoi(argv[4]) < 1 || atoi(argv[4]) > MAX_THREADS) {
		fprintf(stderr,
			"usage: %s linked|dlsym|dlvsym|proc|table SEED ROUNDS THREADS [REPORT]\n",
			argv[0]);
		return 2;
	}
	way = argv[1];
	seed = strtoull(argv[2], NULL, 10);
	cnt = (uint32_t)atoi(argv[4]);
	make_arena(seed);
	if (argc > 5)
		report = fopen(argv[5], "w");
	find_all(report);
	/* the registration of kernels, which any program does, does not begin a recording */
	threads[cnt].random = seed;
	threads[cnt].echo = get_echo();
	one_call(&threads[cnt], number_of("hipGetDevice"), report);
	call_cnt = threads[cnt].call_cnt;
	wrong_cnt = threads[cnt].wrong_cnt;
	for (uint32_t i = 0; i < cnt; i++) {
		threads[i].random = seed + 1 + i;
		threads[i].rounds = (uint32_t)atoi(argv[3]);
		if (pthread_create(&threads[i].thread, NULL, run, &threads[i]))
			abort();
	}
	for (uint32_t i = 0; i < cnt; i++) {
		pthread_join(threads[i].thread, NULL);
		call_cnt += threads[i].call_cnt;
		wrong_cnt += threads[i].wrong_cnt;
		if (report)
			fwrite(threads[i].report, 1, threads[i].report_bytes, report);
		free(threads[i].report);
	}
	if (report)
		fclose(report);
	if (arena_changed(seed)) {
		printf("memory of the program was written\n");
		wrong_cnt++;
	}
	if (get_overrun()) {
		printf("%u words behind the dispatch tables were written\n", get_overrun());
		wrong_cnt++;
	}
	free(arena);
	printf("%llu calls of %u functions, %u wrong\n", (unsigned long long)call_cnt,
		call_function_cnt, wrong_cnt);
	return wrong_cnt != 0;
}
