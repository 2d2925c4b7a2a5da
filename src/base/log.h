// SPDX-License-Identifier: MIT
/*
 * What the offline code says on stderr: `wavetap: sentence: key=value`.
 * Warnings are on by default, information and debug are off. A failure that
 * ends a command is not logged but returned (base/err.h).
 */
#ifndef WT_BASE_LOG_H
#define WT_BASE_LOG_H

enum wt_log_level {
	WT_LOG_QUIET = 0, /* as a threshold only: nothing is said */
	WT_LOG_WARN = 1,
	WT_LOG_INFO = 2,
	WT_LOG_DEBUG = 3,
};

/* One whole line by one write, without newline in `format`. Any thread. */
void wt_log__write(enum wt_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* -q and -v. Before threads are started. */
void wt_log__set_level(enum wt_log_level level);
enum wt_log_level wt_log__level(void);

#define wt_warn(...)  wt_log__write(WT_LOG_WARN, __VA_ARGS__)
#define wt_info(...)  wt_log__write(WT_LOG_INFO, __VA_ARGS__)
#define wt_debug(...) wt_log__write(WT_LOG_DEBUG, __VA_ARGS__)

#endif
