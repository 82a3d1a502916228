// SPDX-License-Identifier: MIT
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level max_level = LOG_NOTE;

void log_set_level(enum log_level level)
{
	max_level = level;
}

enum log_level log_get_level(void)
{
	return max_level;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > max_level)
		return;
	/* one write, so that lines of several writers do not mix */
	flockfile(stderr);
	fputs("ringside: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	funlockfile(stderr);
}
