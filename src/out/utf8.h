/* SPDX-License-Identifier: MIT */
/* Strings of strangers (thread names, command lines, paths) made safe to print. */
#ifndef RINGSIDE_UTF8_H
#define RINGSIDE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT 0xfffdu

/*
 * Reads one code point of the NUL-terminated s. Returns its length in bytes, 0 at the end;
 * a malformed byte gives UTF8_REPLACEMENT and length 1.
 */
size_t utf8__next(const char *s, uint32_t *ret);

/* Columns on a terminal of what utf8__printable() returned. */
size_t utf8__width(const char *s);

/* Bytes of the longest beginning of s that takes at most `columns` columns. */
size_t utf8__fit(const char *s, size_t columns);

/*
 * A copy with every character of uncertain effect or width (controls, combining and
 * bidirectional marks, malformed bytes; without `unicode` all but ASCII) as '?'. NULL: out of memory.
 */
char *utf8__printable(const char *s, bool unicode);

/* A copy with malformed bytes as U+FFFD. NULL: out of memory. */
char *utf8__valid(const char *s);

#endif
