/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

static const char *attr_start(enum attr a)
{
	static const char *const start[] = {
		[ATTR_PLAIN] = "",
		[ATTR_BOLD] = "\033[1m",
		[ATTR_DIM] = "\033[2m",
		[ATTR_RED] = "\033[1;31m",
		[ATTR_YELLOW] = "\033[33m",
		[ATTR_CYAN] = "\033[36m",
	};

	return start[a];
}

void text__fail(struct text *t, int err)
{
	if (!t->err)
		t->err = err;
}

/* A write did not succeed; not each of stdio's failures says why. */
static void fail_write(struct text *t)
{
	text__fail(t, errno ? -errno : -EIO);
}

void text__put(struct text *t, enum attr a, const char *s)
{
	bool color = t->o->color && a != ATTR_PLAIN && *s;
	const char *start = color ? attr_start(a) : "", *end = color ? "\033[0m" : "";

	errno = 0;
	if (!t->err && fprintf(t->f, "%s%s%s", start, s, end) < 0)
		fail_write(t);
}

void text__pad(struct text *t, int lines, int columns)
{
	errno = 0;
	while (!t->err && lines-- > 0) {
		if (fputc('\n', t->f) == EOF)
			fail_write(t);
	}
	if (!t->err && columns > 0 && fprintf(t->f, "%*s", columns, "") < 0)
		fail_write(t);
}

/* Bytes of s for a line of so many columns: whole words; 0, or a broken word, if the first is too long. */
static size_t line_len(const char *s, size_t columns, bool may_break)
{
	size_t fit = utf8__fit(s, columns), len = fit;

	while (len > 0 && s[len] && s[len] != ' ')
		len--;
	while (len > 0 && s[len - 1] == ' ')
		len--;
	return len > 0 || !may_break ? len : fit;
}

static void wrap_printable(struct text *t, enum attr a, int used, int indent, char *s)
{
	while (*s && !t->err) {
		int room = t->o->width - used;
		size_t len = line_len(s, room > 0 ? (size_t)room : 0, used <= indent);
		uint32_t cp;
		char next;

		if (len == 0 && used <= indent)
			len = utf8__next(s, &cp);
		next = s[len];
		s[len] = '\0';
		text__put(t, a, s);
		s[len] = next;
		s += len + strspn(s + len, " ");
		if (*s)
			text__pad(t, 1, indent);
		used = indent;
	}
	text__pad(t, 1, 0);
}

void text__wrap(struct text *t, enum attr a, int used, int indent, const char *s)
{
	char *copy = utf8__printable(s, t->o->unicode);

	if (!copy) {
		text__fail(t, -ENOMEM);
		return;
	}
	wrap_printable(t, a, used, indent, copy);
	free(copy);
}

void text__wrapf(struct text *t, enum attr a, int used, int indent, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text__fail(t, -ENOMEM);
		return;
	}
	text__wrap(t, a, used, indent, s);
	free(s);
}

void text__title(struct text *t, const char *title)
{
	text__pad(t, 1, 0);
	text__wrap(t, ATTR_BOLD, 0, 0, title);
}

void list__add(struct list *l, const char *sep, const char *fmt, ...)
{
	char *item, *joined;
	va_list ap;
	int n;

	if (l->failed)
		return;
	va_start(ap, fmt);
	n = vasprintf(&item, fmt, ap);
	va_end(ap);
	if (n < 0)
		goto failed;
	if (!l->s) {
		l->s = item;
		return;
	}
	n = asprintf(&joined, "%s%s%s", l->s, sep, item);
	free(item);
	if (n < 0)
		goto failed;
	free(l->s);
	l->s = joined;
	return;
failed:
	free(l->s);
	l->s = NULL;
	l->failed = true;
}

void list__end(struct list *l, struct text *t)
{
	if (l->failed)
		text__fail(t, -ENOMEM);
	free(l->s);
	l->s = NULL;
}

const char *text__plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

const char *text__ellipsis(const struct text_options *o)
{
	return o->unicode ? "\u2026" : "...";
}

const char *text__comm(char buf[COMM_BUF], const char comm[RS_COMM_LEN])
{
	memcpy(buf, comm, RS_COMM_LEN);
	buf[RS_COMM_LEN] = '\0';
	return *buf ? buf : "n/a";
}

char *text__rate(char buf[FMT_LEN], const struct snapshot *s, double n)
{
	if (!s->duration_ns) {
		snprintf(buf, FMT_LEN, "n/a");
		return buf;
	}
	return fmt_count(buf, n * 1e9 / (double)s->duration_ns);
}
