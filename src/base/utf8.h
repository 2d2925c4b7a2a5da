// SPDX-License-Identifier: MIT
/* Text that may be anything but text. */
#ifndef WT_BASE_UTF8_H
#define WT_BASE_UTF8_H

#include <stddef.h>

/* The length of the valid UTF-8 sequence at `text`, of which `left` bytes are there; 0: none. */
size_t wt_utf8__length(const unsigned char *text, size_t left);

/*
 * A copy that is valid UTF-8 and ends in NUL: each byte that belongs to no sequence, and NUL, as
 * \xNN. The caller frees it. NULL: out of memory.
 */
char *wt_utf8__escape(const char *text, size_t length);

#endif
