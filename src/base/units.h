// SPDX-License-Identifier: MIT
/* Numbers as people read and type them. */
#ifndef WT_BASE_UNITS_H
#define WT_BASE_UNITS_H

#include <stdint.h>

#define WT_UNITS_BYTES 32 /* size of the buffers below */

/* "0 ns", "312 ns", "50.0 us", "1.25 ms", "4.10 s", "75.0 s", "12 m 05 s", "2 h 05 m". Returns
 * `text`. */
char *wt_units__time(char text[WT_UNITS_BYTES], uint64_t ns);
/* "512 B", "4.00 KiB", "1.50 GiB" */
char *wt_units__size(char text[WT_UNITS_BYTES], uint64_t bytes);
/* "14,736" */
char *wt_units__count(char text[WT_UNITS_BYTES], uint64_t count);
/* part of whole: "41.3 %"; "-" when the whole is 0 */
char *wt_units__percent(char text[WT_UNITS_BYTES], double part, double whole);

/* "512M", "1.5G", "4096", "64 KiB": powers of 1024. 0 or -EINVAL (-ERANGE: does not fit). */
int wt_units__parse_size(const char *text, uint64_t *bytes);
/* "10s", "1.5ms", "200us", "30ns", "2m", "1h"; a bare number is seconds. */
int wt_units__parse_duration(const char *text, uint64_t *ns);
/* A whole decimal number. */
int wt_units__parse_count(const char *text, uint64_t *count);

#endif
