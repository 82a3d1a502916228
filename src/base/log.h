/* SPDX-License-Identifier: MIT */
/*
 * Messages for people, to stderr: one line and one write() each, "ringside: " in front, control characters
 * shown as ^M. Only cmd/ and main call these.
 */
#ifndef RINGSIDE_LOG_H
#define RINGSIDE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_NOTE, LOG_VERBOSE };

/* Default: LOG_NOTE. -q: LOG_WARN, -v: LOG_VERBOSE. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text of others, which may have many lines: a message each, without the empty ones. */
void log_verbose_lines(const char *text);
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_note(...) log_at(LOG_NOTE, __VA_ARGS__)
#define log_verbose(...) log_at(LOG_VERBOSE, __VA_ARGS__)

#endif
