/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

struct cell {
	char *s; /* NULL: empty */
	enum attr attr;
};

struct table {
	const struct table_column *columns;
	size_t n_columns;
	struct cell *cells; /* row by row */
	size_t n_rows, max_rows;
	size_t next; /* column of the next cell */
	int err;
};

struct layout {
	size_t *widths; /* 0: not shown */
	size_t gap;
};

struct table *table__new(const struct table_column *columns, size_t n)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->columns = columns;
	t->n_columns = n;
	return t;
}

void table__free(struct table *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->n_rows * t->n_columns; i++)
		free(t->cells[i].s);
	free(t->cells);
	free(t);
}

void table__row(struct table *t)
{
	size_t max;
	struct cell *cells;

	if (!t || t->err)
		return;
	if (t->n_rows == t->max_rows) {
		max = t->max_rows ? 2 * t->max_rows : 16;
		cells = reallocarray(t->cells, max * t->n_columns, sizeof(*cells));
		if (!cells) {
			t->err = -ENOMEM;
			return;
		}
		t->cells = cells;
		t->max_rows = max;
	}
	memset(&t->cells[t->n_rows * t->n_columns], 0, t->n_columns * sizeof(*t->cells));
	t->n_rows++;
	t->next = 0;
}

void table__cell(struct table *t, enum attr a, const char *fmt, ...)
{
	struct cell *c;
	va_list ap;

	if (!t || t->err || !t->n_rows || t->next == t->n_columns)
		return;
	c = &t->cells[(t->n_rows - 1) * t->n_columns + t->next++];
	c->attr = a;
	va_start(ap, fmt);
	if (vasprintf(&c->s, fmt, ap) < 0) {
		c->s = NULL;
		t->err = -ENOMEM;
	}
	va_end(ap);
}

static const char *cell__text(const struct table *t, size_t row, size_t column)
{
	const char *s = t->cells[row * t->n_columns + column].s;

	return s ? s : "";
}

static int make_printable(struct table *t, bool unicode)
{
	size_t i;

	for (i = 0; i < t->n_rows * t->n_columns; i++) {
		char *s = t->cells[i].s;

		if (!s)
			continue;
		t->cells[i].s = utf8__printable(s, unicode);
		free(s);
		if (!t->cells[i].s)
			return -ENOMEM;
	}
	return 0;
}

static size_t max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t least_width(const struct table_column *c)
{
	return max_size(strlen(c->head), (size_t)c->min);
}

static size_t cut_width(const struct table_column *c)
{
	return c->cut ? (size_t)c->cut : least_width(c);
}

/* As wide as it would like to be; 0: an optional column with nothing in it. */
static size_t natural_width(const struct table *t, size_t column, bool fixed)
{
	const struct table_column *c = &t->columns[column];
	size_t width = least_width(c), row;
	bool blank = true;

	if (fixed)
		return width;
	for (row = 0; row < t->n_rows; row++) {
		const char *s = cell__text(t, row, column);

		if (*s && strcmp(s, "-"))
			blank = false;
		width = max_size(width, utf8__width(s));
	}
	return blank && c->optional ? 0 : width;
}

/* Width of the line, with lists as narrow as that says, or as they are (NULL). */
static size_t line_width(const struct table *t, const struct layout *l,
	size_t (*narrowest)(const struct table_column *c))
{
	size_t i, sum = 0, shown = 0;

	for (i = 0; i < t->n_columns; i++) {
		const struct table_column *c = &t->columns[i];
		size_t least = narrowest && c->list ? narrowest(c) : l->widths[i];

		if (!l->widths[i])
			continue;
		shown++;
		sum += least < l->widths[i] ? least : l->widths[i];
	}
	return shown ? sum + (shown - 1) * l->gap : 0;
}

static bool drop_one(const struct table *t, struct layout *l, int from)
{
	size_t i, victim = t->n_columns;

	for (i = 0; i < t->n_columns; i++) {
		if (!l->widths[i] || t->columns[i].drop < from)
			continue;
		if (victim == t->n_columns || t->columns[i].drop > t->columns[victim].drop)
			victim = i;
	}
	if (victim == t->n_columns)
		return false;
	l->widths[victim] = 0;
	return true;
}

/* The widest column, of the lists that can still be cut if `lists`. n_columns: there is none. */
static size_t widest_column(const struct table *t, const struct layout *l, bool lists)
{
	size_t i, widest = t->n_columns;

	for (i = 0; i < t->n_columns; i++) {
		if (!l->widths[i] ||
			(lists && (!t->columns[i].list || l->widths[i] <= least_width(&t->columns[i]))))
			continue;
		if (widest == t->n_columns || l->widths[i] > l->widths[widest])
			widest = i;
	}
	return widest;
}

/* Narrows the widest list, or the widest column of all if no list is left, until the line fits. */
static void shrink(const struct table *t, struct layout *l, size_t width)
{
	while (line_width(t, l, NULL) > width) {
		size_t i = widest_column(t, l, true);

		if (i == t->n_columns)
			i = widest_column(t, l, false);
		if (i == t->n_columns || l->widths[i] == 1)
			return;
		l->widths[i]--;
	}
}

static void fit(const struct table *t, struct layout *l, size_t width)
{
	do {
		l->gap = 2;
		if (line_width(t, l, cut_width) <= width)
			break;
		l->gap = 1;
	} while (line_width(t, l, cut_width) > width && drop_one(t, l, 2));
	while (line_width(t, l, least_width) > width && drop_one(t, l, 1))
		;
	shrink(t, l, width);
}

/* How many items a list has; one "+3" at its end stands for as many. */
static size_t count_items(const char *s)
{
	size_t n = 1;

	for (; (s = strstr(s, ", ")); n++) {
		s += 2;
		if (*s == '+')
			return n + strtoul(s + 1, NULL, 10);
	}
	return n;
}

static bool fits(const char *s, size_t len, size_t more_len, size_t width)
{
	return more_len < width && utf8__fit(s, width - more_len) >= len;
}

/*
 * As many whole items as fit, then how many are left out: "5: EIO 3, +2". If not even the first one
 * fits, its first word: "5: EIO +2", or the list's head alone: "5: +3". NULL: nothing of that fits.
 */
static char *cut_items(const char *s, size_t width)
{
	const char *head_end = strstr(s, ": "), *items = head_end ? head_end + 2 : s, *end = NULL;
	size_t n = count_items(items), shown = 0, k = 1;
	const char *word_end = items + strcspn(items, " ,"), *p;
	char more[24], *cut = NULL;

	for (p = items; (p = strstr(p, ", ")) && p[2] != '+'; p += 2, k++) {
		snprintf(more, sizeof(more), ", +%zu", n - k);
		if (!fits(s, (size_t)(p - s), strlen(more), width))
			break;
		end = p;
		shown = k;
	}
	snprintf(more, sizeof(more), "%s+%zu", shown ? ", " : " ", n - (shown ? shown : 1));
	if (!end && n > 1 && fits(s, (size_t)(word_end - s), strlen(more), width))
		end = word_end;
	if (!end && head_end && n > 1) {
		snprintf(more, sizeof(more), " +%zu", n);
		if (fits(s, (size_t)(head_end + 1 - s), strlen(more), width))
			end = head_end + 1;
	}
	if (end && asprintf(&cut, "%.*s%s", (int)(end - s), s, more) < 0)
		cut = NULL;
	return cut;
}

/* What is shown of s where `width` columns are too few. NULL: out of memory. */
static char *cut(const struct text *text, const struct table_column *c, const char *s, size_t width)
{
	const char *dots = text__ellipsis(text->o);
	char *copy = c->items ? cut_items(s, width) : NULL;

	if (copy)
		return copy;
	if (utf8__width(dots) >= width)
		dots = "";
	if (asprintf(&copy, "%.*s%s", (int)utf8__fit(s, width - utf8__width(dots)), s, dots) < 0)
		return NULL;
	return copy;
}

static void print_cell(struct text *text, const struct table_column *c, enum attr a, const char *s,
	size_t width, bool last)
{
	char *copy = utf8__width(s) > width ? cut(text, c, s, width) : strdup(s);
	size_t used;

	if (!copy) {
		text__fail(text, -ENOMEM);
		return;
	}
	used = utf8__width(copy);
	if (c->right && used < width)
		text__pad(text, 0, (int)(width - used));
	text__put(text, a, copy);
	if (!c->right && !last && used < width)
		text__pad(text, 0, (int)(width - used));
	free(copy);
}

static const char *line_text(const struct table *t, size_t row, size_t column)
{
	return row == t->n_rows ? t->columns[column].head : cell__text(t, row, column);
}

/* One line; row == n_rows: the heads. */
static void print_row(const struct table *t, const struct layout *l, struct text *text, size_t row)
{
	size_t i, end = 0;
	bool first = true;

	for (i = 0; i < t->n_columns; i++) {
		if (l->widths[i] && *line_text(t, row, i))
			end = i + 1;
	}
	for (i = 0; i < end; i++) {
		enum attr a = row == t->n_rows ? ATTR_DIM : t->cells[row * t->n_columns + i].attr;

		if (!l->widths[i])
			continue;
		if (!first)
			text__pad(text, 0, (int)l->gap);
		first = false;
		print_cell(text, &t->columns[i], a, line_text(t, row, i), l->widths[i], i + 1 == end);
	}
	text__pad(text, 1, 0);
}

static int print_all(struct table *t, struct text *text, bool heads, bool fixed)
{
	struct layout l = { .gap = 2 };
	size_t width = (size_t)text->o->width, used, i;
	int err = make_printable(t, text->o->unicode);

	if (err)
		return err;
	l.widths = calloc(t->n_columns, sizeof(*l.widths));
	if (!l.widths)
		return -ENOMEM;
	for (i = 0; i < t->n_columns; i++)
		l.widths[i] = natural_width(t, i, fixed);
	fit(t, &l, width);
	i = t->n_columns - 1;
	used = line_width(t, &l, NULL);
	if (fixed && l.widths[i] && t->columns[i].list && used < width)
		l.widths[i] += width - used;
	if (heads)
		print_row(t, &l, text, t->n_rows);
	for (i = 0; i < t->n_rows; i++)
		print_row(t, &l, text, i);
	free(l.widths);
	return 0;
}

void table__print(struct table *t, struct text *text, bool heads, bool fixed)
{
	int err = t ? t->err : -ENOMEM;

	if (!err)
		err = print_all(t, text, heads, fixed);
	if (err)
		text__fail(text, err);
	table__free(t);
}
