// SPDX-License-Identifier: MIT
#include "log.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "ringside: "
#define CUT "..."
/* What a pipe takes in one piece: lines of several writers do not mix. */
#define MAX_LINE PIPE_BUF

static enum log_level max_level = LOG_NOTE;

void log_set_level(enum log_level level)
{
	max_level = level;
}

enum log_level log_get_level(void)
{
	return max_level;
}

/* A file's name may hold anything: a control character is shown, as ^M, and does nothing to a terminal. */
static size_t make_line(char line[MAX_LINE], const char *text)
{
	size_t n = strlen(PREFIX), end = MAX_LINE - strlen(CUT "\n");
	bool control;

	memcpy(line, PREFIX, n);
	for (; *text; text++) {
		control = (unsigned char)*text < ' ' || *text == 0x7f;
		if (n + control >= end)
			break;
		if (control)
			line[n++] = '^';
		line[n++] = control ? *text ^ 0x40 : *text;
	}
	if (*text) {
		memcpy(line + n, CUT, strlen(CUT));
		n += strlen(CUT);
	}
	line[n++] = '\n';
	return n;
}

void log_at(enum log_level level, const char *fmt, ...)
{
	char text[MAX_LINE], line[MAX_LINE];
	ssize_t n;
	size_t len, at;
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	len = make_line(line, text);
	for (at = 0; at < len; at += (size_t)n) {
		n = write(STDERR_FILENO, line + at, len - at);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return;
	}
}

void log_verbose_lines(const char *text)
{
	size_t len;

	for (; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (len)
			log_verbose("%.*s", (int)len, text);
	}
}
