// SPDX-License-Identifier: MIT
#include "cli/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * The demangler recurses as deep as the name is long, and back references can
 * make its output exponential. So: long names run on a thread with a stack
 * that suffices, longer ones not at all, and output past a limit is given up.
 */
#define PLAIN_BYTES  1000 /* libiberty's own limit refuses longer names */
#define INPUT_BYTES  16384
#define OUTPUT_BYTES 65536
#define STACK_BYTES  (256u << 20) /* address space; touched only as far as needed */

struct job {
	const char *mangled;
	int options;
	jmp_buf give_up;
	size_t length;
	bool done;
	char text[OUTPUT_BYTES];
};

static void take_output(const char *text, size_t length, void *opaque)
{
	struct job *job = opaque;

	if (length >= sizeof(job->text) - job->length)
		longjmp(job->give_up, 1);
	memcpy(job->text + job->length, text, length);
	job->length += length;
}

static void *run_job(void *opaque)
{
	struct job *job = opaque;

	if (!setjmp(job->give_up) &&
		cplus_demangle_v3_callback(job->mangled, job->options, take_output, job)) {
		job->text[job->length] = '\0';
		job->done = true;
	}
	return NULL;
}

static void run_on_large_stack(struct job *job)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (pthread_attr_init(&attributes))
		return;
	if (!pthread_attr_setstacksize(&attributes, STACK_BYTES) &&
		!pthread_create(&thread, &attributes, run_job, job))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

/* In new memory; NULL: not a mangled name, or too much of one. */
static char *demangle(const char *mangled, size_t length)
{
	struct job *job;
	char *text = NULL;

	if (length > INPUT_BYTES || strncmp(mangled, "_Z", 2))
		return NULL;
	job = malloc(sizeof(*job));
	if (!job)
		return NULL;
	job->mangled = mangled;
	job->options = DMGL_PARAMS | DMGL_ANSI;
	job->length = 0;
	job->done = false;
	if (length <= PLAIN_BYTES) {
		run_job(job);
	} else {
		job->options |= DMGL_NO_RECURSE_LIMIT;
		run_on_large_stack(job);
	}
	if (job->done)
		text = strdup(job->text);
	free(job);
	return text;
}

/* ---- short names -------------------------------------------------------- */

static bool is_name(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_' || byte == '~' || byte == '$' ||
	       (unsigned char)byte >= 128;
}

/* The beginning of the bracket that ends before `at`; `at` when there is none. */
static size_t open_bracket(const char *text, size_t at)
{
	size_t depth = 0, from = at;

	while (from > 0) {
		char byte = text[--from];

		depth += byte == ')' || byte == '>' || byte == '}' || byte == ']';
		if (byte == '(' || byte == '<' || byte == '{' || byte == '[')
			if (--depth == 0)
				return from;
		if (!depth)
			return at;
	}
	return at;
}

/* Takes the scope that ends at `length` off `text`: name, name<…>, (anonymous namespace),
 * {lambda…}. */
static size_t drop_scope(const char *text, size_t length)
{
	if (length && text[length - 1] == '}')
		return open_bracket(text, length);
	if (length && text[length - 1] == ')') /* a function's scope, or an anonymous namespace */
		length = open_bracket(text, length);
	if (length && text[length - 1] == '>')
		length = open_bracket(text, length);
	while (length && is_name(text[length - 1]))
		length--;
	return length;
}

/* All "scope::" go, inside template arguments as well. */
static void drop_scopes(char *name)
{
	size_t out = 0;

	for (const char *in = name; *in; in++) {
		if (in[0] == ':' && in[1] == ':') {
			out = drop_scope(name, out);
			in++;
			continue;
		}
		name[out++] = *in;
	}
	name[out] = '\0';
}

/* The parameters go: the last bracket at depth 0, and what stands behind it. */
static void drop_parameters(char *name)
{
	size_t depth = 0, last = 0;

	for (size_t at = 0; name[at]; at++) {
		char byte = name[at];

		if (byte == '(' && !depth && at &&
			strncmp(name + at, "(anonymous namespace)", 21) &&
			strncmp(name + at, "()", 2))
			last = at;
		/* "operator()" has parameters of its own behind it */
		if (!depth && !strncmp(name + at, "()", 2) &&
			(at < 8 || memcmp(name + at - 8, "operator", 8)))
			last = at;
		depth += byte == '(' || byte == '<' || byte == '{';
		if ((byte == ')' || byte == '>' || byte == '}') && depth)
			depth--;
	}
	if (last)
		name[last] = '\0';
}

/* The return type goes: up to the last blank at depth 0. */
static void drop_return_type(char *name)
{
	size_t depth = 0, begin = 0;

	for (size_t at = 0; name[at]; at++) {
		char byte = name[at];

		depth += byte == '(' || byte == '<' || byte == '{';
		if ((byte == ')' || byte == '>' || byte == '}') && depth)
			depth--;
		if (byte == ' ' && !depth && strncmp(name, "operator", 8))
			begin = at + 1;
	}
	if (name[begin])
		memmove(name, name + begin, strlen(name + begin) + 1);
}

void wt_demangle__shorten(char *name)
{
	drop_parameters(name);
	drop_return_type(name);
	drop_scopes(name);
}

/*
 * For names newer than the demangler: the last of the identifiers that a nested
 * name begins with. "_ZN4vllm6kernelI…" is "kernel<...>".
 */
static char *last_component(const char *mangled)
{
	const char *at = mangled + 3, *begin = NULL;
	size_t length = 0;
	char *text;

	for (at += *at == 'L'; isdigit((unsigned char)*at); at += *at == 'L') {
		char *end;
		unsigned long bytes = strtoul(at, &end, 10);

		if (!bytes || bytes > strlen(end))
			break;
		begin = end;
		length = bytes;
		at = end + bytes;
	}
	text = begin ? malloc(length + sizeof("<...>")) : NULL;
	if (text) {
		memcpy(text, begin, length);
		strcpy(text + length, *at == 'I' ? "<...>" : "");
	}
	return text;
}

char *wt_demangle(const char *name, enum wt_names names)
{
	size_t length = strlen(name);
	char *plain = strdup(name), *text;

	if (!plain || names == WT_NAMES_MANGLED)
		return plain;
	/* the kernel's descriptor has the kernel's name and ".kd" */
	if (length > 3 && !strcmp(plain + length - 3, ".kd"))
		plain[length -= 3] = '\0';
	text = demangle(plain, length);
	if (!text && names == WT_NAMES_SHORT && !strncmp(plain, "_ZN", 3))
		text = last_component(plain);
	/* other tools store names that are demangled already */
	if (!text && names == WT_NAMES_SHORT && strncmp(plain, "_Z", 2) && strchr(plain, '('))
		text = strdup(plain);
	if (!text)
		return plain;
	if (names == WT_NAMES_SHORT)
		wt_demangle__shorten(text);
	if (!text[0]) {
		free(text);
		return plain;
	}
	free(plain);
	return text;
}
