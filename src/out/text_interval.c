/* SPDX-License-Identifier: MIT */
/* One line an interval, under heads that stay valid for all of them. */
#include "table.h"

#include <errno.h>
#include <time.h>

#include "lat.h"
#include "names.h"

/* Wide enough for everything that fmt.h writes at the usual sizes: the columns must not move. */
static const struct table_column columns[] = {
	{ .head = "TIME", .min = 8 },
	{ .head = "RINGS", .right = true, .min = 5, .drop = 6 },
	{ .head = "SUBM/S", .right = true, .min = 6 },
	{ .head = "DONE/S", .right = true, .min = 6, .drop = 9 },
	{ .head = "ERRS", .right = true, .min = 5, .drop = 2 },
	{ .head = "PUNT", .right = true, .min = 5, .drop = 4 },
	{ .head = "FLIGHT", .right = true, .min = 6, .drop = 5 },
	{ .head = "P50", .right = true, .min = 6, .drop = 3 },
	{ .head = "P99", .right = true, .min = 6 },
	{ .head = "MAX", .right = true, .min = 6, .drop = 1 },
	{ .head = "BYTES/S", .right = true, .min = 7, .drop = 7 },
	{ .head = "TOP OP", .list = true, .min = 8, .drop = 8 },
};

#define SHARE_FROM_WIDTH 100

static void time_cell(struct table *tab, const struct snapshot *s)
{
	time_t end = (time_t)((s->start_unix_ns + s->duration_ns) / 1000000000u);
	char buf[16];
	struct tm tm;

	if (!s->start_unix_ns || !localtime_r(&end, &tm) || !strftime(buf, sizeof(buf), "%H:%M:%S", &tm))
		table__cell(tab, ATTR_PLAIN, "n/a");
	else
		table__cell(tab, ATTR_PLAIN, "%s", buf);
}

static void count_cell(struct table *tab, bool known, uint64_t n, enum attr a)
{
	char buf[FMT_LEN];

	table__cell(tab, n ? a : ATTR_PLAIN, "%s", known ? fmt_count(buf, (double)n) : "n/a");
}

static void latency_cells(struct table *tab, const struct text *t)
{
	struct rs_lat all = { .min_ns = UINT64_MAX };
	char buf[FMT_LEN];
	size_t i;

	for (i = 0; i < t->ops.n; i++)
		lat__add(&all, &t->ops.ops[i].lat);
	if (!lat__count(&all)) {
		for (i = 0; i < 3; i++)
			table__cell(tab, ATTR_PLAIN, "-");
		return;
	}
	table__cell(tab, ATTR_PLAIN, "%s", fmt_ns(buf, lat__quantile_ns(&all, 0.5)));
	table__cell(tab, ATTR_PLAIN, "%s", fmt_ns(buf, lat__quantile_ns(&all, 0.99)));
	table__cell(tab, ATTR_PLAIN, "%s", fmt_ns(buf, all.max_ns));
}

static void bytes_cell(struct table *tab, const struct text *t)
{
	const struct snapshot *s = t->r->snap;
	char buf[FMT_LEN];

	if (!s->duration_ns)
		table__cell(tab, ATTR_PLAIN, "n/a");
	else
		table__cell(tab, ATTR_PLAIN, "%s",
			fmt_bytes(buf, (double)t->totals.bytes * 1e9 / (double)s->duration_ns));
}

static void top_cell(struct table *tab, const struct text *t)
{
	bool wide = t->o->width >= SHARE_FROM_WIDTH;
	char name[NAME_LEN], share[FMT_LEN];
	const struct op_stats *top;

	if (!t->ops.n || !t->ops.ops[0].c[RS_SC_SUBMITTED]) {
		table__cell(tab, ATTR_PLAIN, "-");
		return;
	}
	top = &t->ops.ops[0];
	fmt_pct(share, (double)top->c[RS_SC_SUBMITTED], (double)t->totals.submitted);
	table__cell(tab, ATTR_PLAIN, "%s%s%s", op_name(top->op, name), wide ? " " : "", wide ? share : "");
}

int report__interval_text(const struct report *r, const struct text_options *o, bool header, FILE *f)
{
	const struct snapshot *s = r->snap;
	char buf[FMT_LEN];
	struct table *tab;
	struct text t;
	int err = text__begin(&t, r, o, f);

	if (err)
		return err;
	tab = table__new(columns, sizeof(columns) / sizeof(columns[0]));
	table__row(tab);
	time_cell(tab, s);
	/* an interval lists the rings that were there for some of it */
	count_cell(tab, true, text__count_rings(s), ATTR_PLAIN);
	table__cell(tab, ATTR_BOLD, "%s", text__rate(buf, s, (double)t.totals.submitted));
	table__cell(tab, ATTR_PLAIN, "%s", text__rate(buf, s, (double)t.totals.completed));
	count_cell(tab, snapshot__knows(s, RS_F_COMPLETE), t.totals.errors, ATTR_YELLOW);
	count_cell(tab, snapshot__knows(s, RS_F_PUNT), t.totals.punted, ATTR_PLAIN);
	count_cell(tab, true, t.totals.in_flight, ATTR_PLAIN);
	latency_cells(tab, &t);
	bytes_cell(tab, &t);
	top_cell(tab, &t);
	table__print(tab, &t, header, true);
	text__fidelity_problems(&t);
	return text__end(&t);
}
