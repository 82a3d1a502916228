// SPDX-License-Identifier: MIT
/* Files of requests in trouble, the costliest. */
#include "text.h"

#include "names.h"
#include "table.h"

#define MAX_FILES 8

static const struct table_column columns[] = {
	{ .head = "FILE", .list = true, .min = 20 },
	{ .head = "OP", .list = true, .min = 8 },
	{ .head = "PUNTED", .right = true },
	{ .head = "ERRORS", .right = true },
	{ .head = "SLOW", .right = true },
	{ .head = "TIME", .right = true },
};

static void count_cell(struct table *tab, uint64_t n)
{
	char buf[FMT_LEN];

	table__cell(tab, ATTR_PLAIN, "%s", n ? fmt_count(buf, (double)n) : "-");
}

static void row(struct table *tab, const struct snapshot *s, const struct file_stats *f)
{
	char buf[FMT_LEN], name[NAME_LEN];

	table__row(tab);
	table__cell(tab, ATTR_BOLD, "%s%s", f->name ? f->name : "n/a", f->deleted ? " (deleted)" : "");
	table__cell(tab, ATTR_PLAIN, "%s", op_name(f->op, name));
	if (snapshot__knows(s, RS_F_PUNT))
		count_cell(tab, f->c.punted);
	else
		table__cell(tab, ATTR_PLAIN, "n/a");
	count_cell(tab, f->c.errors);
	count_cell(tab, f->c.slow);
	table__cell(tab, ATTR_PLAIN, "%s", f->c.time_ns ? fmt_ns(buf, f->c.time_ns) : "-");
}

void text__files(struct text *t)
{
	const struct snapshot *s = t->r->snap;
	size_t n = s->files.n < MAX_FILES ? s->files.n : MAX_FILES, more = s->files.n - n + s->files.n_others;
	struct table *tab;

	if (!s->files.n)
		return;
	text__title(t, "Files of requests that went to workers unasked, failed or were slow");
	tab = table__new(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < n; i++)
		row(tab, s, &s->files.list[i]);
	table__print(tab, t, true, false);
	if (more)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s and %zu more", text__ellipsis(t->o), more);
}
