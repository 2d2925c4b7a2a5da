// SPDX-License-Identifier: MIT
#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t wt_utf8__length(const unsigned char *text, size_t left)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} form[] = {
		{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t length = 1; length <= 4; length++) {
		uint32_t code;

		if ((text[0] & form[length - 1].mask) != form[length - 1].lead)
			continue;
		if (length > left)
			return 0;
		code = (uint32_t)text[0] & (unsigned char)~form[length - 1].mask;
		for (size_t i = 1; i < length; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (text[i] & 0x3f);
		}
		if (code < form[length - 1].least || code > 0x10ffff ||
			(code >= 0xd800 && code < 0xe000))
			return 0;
		return length;
	}
	return 0;
}

char *wt_utf8__escape(const char *text, size_t length)
{
	char *copy = malloc(length * 4 + 1), *to = copy;

	if (!copy)
		return NULL;
	for (size_t i = 0; i < length;) {
		size_t bytes = wt_utf8__length((const unsigned char *)text + i, length - i);

		if (bytes && text[i]) {
			memcpy(to, text + i, bytes);
			to += bytes;
			i += bytes;
		} else {
			to += sprintf(to, "\\x%02x", (unsigned char)text[i++]);
		}
	}
	*to = '\0';
	return copy;
}
