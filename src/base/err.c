// SPDX-License-Identifier: MIT
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct wt_err {
	int code;
	char *text;
	char *hint;
};

/* Stands for every error that there is no memory to describe. */
static struct wt_err out_of_memory = {
	.code = -ENOMEM,
	.text = (char[]){"out of memory"},
};

static char *format_text(const char *format, va_list args)
{
	char *text;
	va_list again;
	int length;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	text = length < 0 ? NULL : malloc((size_t)length + 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	return text;
}

/* "a: b" in new memory; frees both. */
static char *join(char *outer, char *inner)
{
	size_t outer_length = outer ? strlen(outer) : 0, inner_length = inner ? strlen(inner) : 0;
	char *text = outer && inner ? malloc(outer_length + inner_length + 3) : NULL;

	if (text) {
		memcpy(text, outer, outer_length);
		memcpy(text + outer_length, ": ", 2);
		memcpy(text + outer_length + 2, inner, inner_length + 1);
	}
	free(outer);
	free(inner);
	return text;
}

static int start(struct wt_err **err, int code, char *text)
{
	struct wt_err *fresh;

	wt_err__free(*err);
	*err = &out_of_memory;
	fresh = text ? calloc(1, sizeof(*fresh)) : NULL;
	if (!fresh) {
		free(text);
		return code;
	}
	fresh->code = code;
	fresh->text = text;
	*err = fresh;
	return code;
}

int wt_err__new(struct wt_err **err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	start(err, code, format_text(format, args));
	va_end(args);
	return code;
}

int wt_err__errno(struct wt_err **err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	start(err, code, join(format_text(format, args), strdup(strerror(-code))));
	va_end(args);
	return code;
}

int wt_err__wrap(struct wt_err **err, int code, const char *format, ...)
{
	va_list args;
	char *text;

	if (!err)
		return code;
	va_start(args, format);
	text = format_text(format, args);
	va_end(args);
	if (!*err)
		return start(err, code, text);
	if (*err == &out_of_memory || !text) {
		free(text);
		return code;
	}
	text = join(text, strdup((*err)->text));
	if (text) {
		free((*err)->text);
		(*err)->text = text;
	}
	return (*err)->code;
}

void wt_err__hint(struct wt_err **err, const char *format, ...)
{
	va_list args;

	if (!err || !*err || *err == &out_of_memory || (*err)->hint)
		return;
	va_start(args, format);
	(*err)->hint = format_text(format, args);
	va_end(args);
}

int wt_err__code(const struct wt_err *err)
{
	return err ? err->code : 0;
}

const char *wt_err__text(const struct wt_err *err)
{
	return err ? err->text : "";
}

const char *wt_err__hint_text(const struct wt_err *err)
{
	return err && err->hint ? err->hint : "";
}

void wt_err__print(FILE *file, const struct wt_err *err)
{
	if (!err)
		return;
	fprintf(file, "wavetap: %s\n", err->text);
	if (err->hint)
		fprintf(file, "hint: %s\n", err->hint);
}

void wt_err__clear(struct wt_err **err)
{
	if (!err)
		return;
	wt_err__free(*err);
	*err = NULL;
}

void wt_err__free(struct wt_err *err)
{
	if (!err || err == &out_of_memory)
		return;
	free(err->text);
	free(err->hint);
	free(err);
}
