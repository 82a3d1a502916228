// SPDX-License-Identifier: MIT
/* Who submits requests that go to workers unasked. */
#include "text.h"

#include "names.h"
#include "table.h"

#define MAX_SITES 6
#define MAX_CALLERS 4

static const struct table_column columns[] = {
	{ .head = "CALL SITE", .list = true, .min = 24 },
	{ .head = "OP", .list = true, .min = 8 },
	{ .head = "SAMPLES", .right = true },
	{ .head = "CALLED BY", .list = true, .min = 12, .drop = 1 },
};

/* Functions only: lines of callers say little. */
static void callers(struct table *tab, struct text *t, const struct site_stats *s,
	const struct site_frame *from)
{
	char text[SITE_TEXT_LEN];
	struct list l = { 0 };
	size_t n = 0;

	for (const struct site_frame *f = from + 1; f < s->frames + s->n && n < MAX_CALLERS; f++, n++)
		list__add(&l, " < ", "%s", f->function ? f->function : site_frame__text(text, f));
	table__cell(tab, ATTR_PLAIN, "%s%s", l.s ? l.s : "-",
		s->end == SITE_NO_FRAMES ? " < ? (no unwind information)" : "");
	list__end(&l, t);
}

static void row(struct table *tab, struct text *t, const struct site_stats *s)
{
	const struct site_frame *f = site_stats__caller(s);
	char text[SITE_TEXT_LEN], name[NAME_LEN], n[FMT_LEN];

	/* beyond the library that made the call nothing could be seen */
	if (!f && s->n)
		f = &s->frames[s->n - 1];
	table__row(tab);
	table__cell(tab, ATTR_BOLD, "%s", f ? site_frame__text(text, f) : "n/a");
	table__cell(tab, ATTR_PLAIN, "%s", op_name(s->op, name));
	table__cell(tab, ATTR_PLAIN, "%s", fmt_count(n, (double)s->samples));
	if (f)
		callers(tab, t, s, f);
}

void text__sites(struct text *t)
{
	const struct snapshot *s = t->r->snap;
	size_t n = s->sites.n < MAX_SITES ? s->sites.n : MAX_SITES;
	struct table *tab;
	char buf[FMT_LEN];

	if (!s->sites.n)
		return;
	text__title(t, "Who submits requests that go to workers unasked");
	tab = table__new(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < n; i++)
		row(tab, t, &s->sites.list[i]);
	table__print(tab, t, true, false);
	if (n < s->sites.n)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s and %zu more", text__ellipsis(t->o), s->sites.n - n);
	if (s->fidelity.stacks_skipped)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "A sample: %s more were not asked, as that costs.",
			fmt_count(buf, (double)s->fidelity.stacks_skipped));
}
