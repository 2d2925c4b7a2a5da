// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static enum wt_log_level threshold = WT_LOG_WARN;

void wt_log__set_level(enum wt_log_level level)
{
	threshold = level;
}

enum wt_log_level wt_log__level(void)
{
	return threshold;
}

void wt_log__write(enum wt_log_level level, const char *format, ...)
{
	static const char prefix[] = "wavetap: ";
	char line[1024];
	int length = sizeof(prefix) - 1, saved_errno = errno;
	va_list args;

	if (level > threshold)
		return;
	__builtin_memcpy(line, prefix, sizeof(prefix));
	va_start(args, format);
	length += vsnprintf(line + length, sizeof(line) - (size_t)length - 1, format, args);
	va_end(args);
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	line[length++] = '\n';
	/* nobody can be told that stderr is closed */
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		errno = saved_errno;
	errno = saved_errno;
}
