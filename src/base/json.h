// SPDX-License-Identifier: MIT
/*
 * A streaming JSON writer: nothing is kept in memory, commas and nesting are
 * kept right. Strings are made valid UTF-8 (a byte that is not becomes U+FFFD).
 * Write errors are found by ferror(file).
 *
 *   struct wt_json json = {.file = stdout, .indent = 2};
 *
 *   wt_json__object(&json);
 *   wt_json__key(&json, "ops");
 *   wt_json__uint(&json, 12);
 *   wt_json__end(&json);
 */
#ifndef WT_BASE_JSON_H
#define WT_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define WT_JSON_DEPTH 32

struct wt_json {
	FILE *file;
	unsigned indent; /* blanks a level; 0: all in one line */
	/* below: the writer's own */
	unsigned depth;
	bool after_key;
	struct {
		bool is_array, has_items;
	} level[WT_JSON_DEPTH];
};

void wt_json__object(struct wt_json *json);
void wt_json__array(struct wt_json *json);
/* Ends the innermost object or array; the outermost one ends the line as well. */
void wt_json__end(struct wt_json *json);
void wt_json__key(struct wt_json *json, const char *key);

void wt_json__string(struct wt_json *json, const char *text); /* NULL: null */
void wt_json__bytes(struct wt_json *json, const char *text, size_t length);
void wt_json__int(struct wt_json *json, int64_t value);
void wt_json__uint(struct wt_json *json, uint64_t value);
void wt_json__double(struct wt_json *json, double value); /* not finite: null */
void wt_json__bool(struct wt_json *json, bool value);
void wt_json__null(struct wt_json *json);

/* key and value */
void wt_json__key_string(struct wt_json *json, const char *key, const char *text);
void wt_json__key_int(struct wt_json *json, const char *key, int64_t value);
void wt_json__key_uint(struct wt_json *json, const char *key, uint64_t value);
void wt_json__key_bool(struct wt_json *json, const char *key, bool value);

#endif
