// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"

static void new_line(struct wt_json *json)
{
	if (json->indent)
		fprintf(json->file, "\n%*s", (int)(json->indent * json->depth), "");
}

/* What stands before a value: nothing after a key, else a comma where one is due. */
static void before_value(struct wt_json *json)
{
	if (json->after_key || !json->depth) {
		json->after_key = false;
		return;
	}
	if (json->level[json->depth - 1].has_items)
		fputc(',', json->file);
	json->level[json->depth - 1].has_items = true;
	new_line(json);
}

static void begin(struct wt_json *json, bool is_array)
{
	before_value(json);
	fputc(is_array ? '[' : '{', json->file);
	if (json->depth == WT_JSON_DEPTH)
		__builtin_trap(); /* nesting is ours, not the input's */
	json->level[json->depth].is_array = is_array;
	json->level[json->depth].has_items = false;
	json->depth++;
}

void wt_json__object(struct wt_json *json)
{
	begin(json, false);
}

void wt_json__array(struct wt_json *json)
{
	begin(json, true);
}

void wt_json__end(struct wt_json *json)
{
	bool is_array, has_items;

	if (!json->depth)
		__builtin_trap();
	json->depth--;
	is_array = json->level[json->depth].is_array;
	has_items = json->level[json->depth].has_items;
	if (has_items)
		new_line(json);
	fputc(is_array ? ']' : '}', json->file);
	if (!json->depth)
		fputc('\n', json->file);
}

static void write_text(FILE *file, const char *text, size_t length)
{
	static const char short_forms[32] = {
		['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};

	fputc('"', file);
	for (size_t i = 0; i < length;) {
		unsigned char byte = (unsigned char)text[i];
		size_t bytes = wt_utf8__length((const unsigned char *)text + i, length - i);

		if (!bytes) {
			fputs("\xef\xbf\xbd", file);
			bytes = 1;
		} else if (byte == '"' || byte == '\\') {
			fprintf(file, "\\%c", byte);
		} else if (byte < 32 && short_forms[byte]) {
			fprintf(file, "\\%c", short_forms[byte]);
		} else if (byte < 32 || byte == 127) {
			fprintf(file, "\\u%04x", byte);
		} else {
			fwrite(text + i, 1, bytes, file);
		}
		i += bytes;
	}
	fputc('"', file);
}

void wt_json__key(struct wt_json *json, const char *key)
{
	before_value(json);
	write_text(json->file, key, strlen(key));
	fputs(json->indent ? ": " : ":", json->file);
	json->after_key = true;
}

void wt_json__bytes(struct wt_json *json, const char *text, size_t length)
{
	before_value(json);
	write_text(json->file, text, length);
}

void wt_json__string(struct wt_json *json, const char *text)
{
	if (text)
		wt_json__bytes(json, text, strlen(text));
	else
		wt_json__null(json);
}

void wt_json__int(struct wt_json *json, int64_t value)
{
	before_value(json);
	fprintf(json->file, "%" PRId64, value);
}

void wt_json__uint(struct wt_json *json, uint64_t value)
{
	before_value(json);
	fprintf(json->file, "%" PRIu64, value);
}

void wt_json__double(struct wt_json *json, double value)
{
	before_value(json);
	if (isfinite(value))
		fprintf(json->file, "%.17g", value);
	else
		fputs("null", json->file);
}

void wt_json__bool(struct wt_json *json, bool value)
{
	before_value(json);
	fputs(value ? "true" : "false", json->file);
}

void wt_json__null(struct wt_json *json)
{
	before_value(json);
	fputs("null", json->file);
}

void wt_json__key_string(struct wt_json *json, const char *key, const char *text)
{
	wt_json__key(json, key);
	wt_json__string(json, text);
}

void wt_json__key_int(struct wt_json *json, const char *key, int64_t value)
{
	wt_json__key(json, key);
	wt_json__int(json, value);
}

void wt_json__key_uint(struct wt_json *json, const char *key, uint64_t value)
{
	wt_json__key(json, key);
	wt_json__uint(json, value);
}

void wt_json__key_bool(struct wt_json *json, const char *key, bool value)
{
	wt_json__key(json, key);
	wt_json__bool(json, value);
}
