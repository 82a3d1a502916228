/* SPDX-License-Identifier: MIT */
/* Tables of opcodes. */
#include "table.h"

#include <inttypes.h>
#include <string.h>

#include "lat.h"
#include "names.h"

#define MAX_OPS 20
#define MAX_ERRNOS 6

/* clang-format off */
#define BY_RING { .head = "RING", .right = true, .optional = true }
#define BY_SPAN { .head = "SPAN", .list = true, .min = 12 }
#define COLUMNS_OF_OP \
	{ .head = "OP", .list = true, .min = 8, .cut = 12 }, \
	{ .head = "COUNT", .right = true }, \
	{ .head = "REQ/S", .right = true, .drop = 8 }, \
	{ .head = "REJ", .right = true, .optional = true, .drop = 10 }, \
	{ .head = "FLIGHT", .right = true, .optional = true, .drop = 6 }, \
	{ .head = "PUNT", .right = true, .drop = 3 }, \
	{ .head = "ARMED", .right = true, .optional = true, .drop = 9 }, \
	{ .head = "P50", .right = true, .drop = 4 }, \
	{ .head = "P99", .right = true }, \
	{ .head = "P99.9", .right = true, .drop = 7 }, \
	{ .head = "MAX", .right = true, .drop = 2 }, \
	{ .head = "BYTES/S", .right = true, .optional = true, .drop = 5 }, \
	{ .head = "ERRORS", .list = true, .items = true, .optional = true, .min = 14, .cut = 16, .drop = 1 }

static const struct table_column columns[] = { BY_RING, COLUMNS_OF_OP };
static const struct table_column columns_of_span[] = { BY_SPAN, COLUMNS_OF_OP };
/* clang-format on */
/* "-" for none, "12 EAGAIN" for one sort, "12: EAGAIN 9, ENOENT 3" for more; "+2" for two more sorts. */
static void errors_cell(struct table *tab, struct text *t, const struct op_stats *o)
{
	uint64_t total = o->c[RS_SC_ERRORS], named = 0;
	char n[FMT_LEN], name[NAME_LEN];
	struct list l = { 0 };
	size_t i;

	if (!snapshot__knows(t->r->snap, RS_F_COMPLETE)) {
		table__cell(tab, ATTR_PLAIN, "n/a");
		return;
	}
	for (i = 0; i < o->n_errnos; i++)
		named += o->errnos[i].count;
	if (total < named)
		total = named;
	if (!total) {
		table__cell(tab, ATTR_PLAIN, "-");
		return;
	}
	list__add(&l, "", "%s", fmt_count(n, (double)total));
	if (o->n_errnos == 1 && named == total) {
		list__add(&l, " ", "%s", errno_name(o->errnos[0].err, name));
	} else {
		for (i = 0; i < o->n_errnos && i < MAX_ERRNOS; i++)
			list__add(&l, i ? ", " : ": ", "%s %s", errno_name(o->errnos[i].err, name),
				fmt_count(n, (double)o->errnos[i].count));
		if (total > named)
			list__add(&l, i ? ", " : ": ", "other %s", fmt_count(n, (double)(total - named)));
		if (o->n_errnos > MAX_ERRNOS)
			list__add(&l, ", ", "+%zu", o->n_errnos - MAX_ERRNOS);
	}
	table__cell(tab, ATTR_YELLOW, "%s", l.s ? l.s : "");
	list__end(&l, t);
}

/* Requests that ended but were not timed have an unknown latency, not none. */
static void latency_cells(struct table *tab, const struct snapshot *s, const struct op_stats *o)
{
	static const double quantiles[] = { 0.5, 0.99, 0.999 };
	char buf[FMT_LEN];
	size_t i;

	if (!snapshot__knows(s, RS_F_COMPLETE) || !lat__count(&o->lat)) {
		const char *none = op_stats__completed(o) || !snapshot__knows(s, RS_F_COMPLETE) ? "n/a" : "-";

		for (i = 0; i < 4; i++)
			table__cell(tab, ATTR_PLAIN, "%s", none);
		return;
	}
	for (i = 0; i < 3; i++)
		table__cell(tab, ATTR_PLAIN, "%s", fmt_ns(buf, lat__quantile_ns(&o->lat, quantiles[i])));
	table__cell(tab, ATTR_PLAIN, "%s", fmt_ns(buf, o->lat.max_ns));
}

static void share_cell(struct table *tab, bool known, uint64_t part, uint64_t whole)
{
	char buf[FMT_LEN];

	if (!known)
		table__cell(tab, ATTR_PLAIN, "n/a");
	else if (!part)
		table__cell(tab, ATTR_PLAIN, "-");
	else
		table__cell(tab, ATTR_PLAIN, "%s", fmt_pct(buf, (double)part, (double)whole));
}

/* Not observed: the column stays away, the counters below the table say n/a. */
static void reject_cell(struct table *tab, const struct snapshot *s, uint64_t n)
{
	char buf[FMT_LEN];

	if (!snapshot__knows(s, RS_F_REJECT) || !n)
		table__cell(tab, ATTR_PLAIN, "-");
	else
		table__cell(tab, ATTR_YELLOW, "%s", fmt_count(buf, (double)n));
}

static void op_row(struct table *tab, struct text *t, const char *whose, const struct op_stats *o)
{
	const struct snapshot *s = t->r->snap;
	uint64_t submitted = o->c[RS_SC_SUBMITTED];
	char buf[FMT_LEN], name[NAME_LEN];

	table__row(tab);
	table__cell(tab, ATTR_PLAIN, "%s", whose);
	table__cell(tab, ATTR_BOLD, "%s", op_name(o->op, name));
	table__cell(tab, ATTR_PLAIN, "%s", fmt_count(buf, (double)submitted));
	table__cell(tab, ATTR_PLAIN, "%s", text__rate(buf, s, (double)submitted));
	reject_cell(tab, s, o->c[RS_SC_REJECTED]);
	table__cell(tab, ATTR_PLAIN, "%s", o->in_flight ? fmt_count(buf, (double)o->in_flight) : "-");
	share_cell(tab, snapshot__knows(s, RS_F_PUNT), op_stats__punted(o), submitted);
	share_cell(tab, snapshot__knows(s, RS_F_POLL), o->c[RS_SC_POLL_ARMED], submitted);
	latency_cells(tab, s, o);
	if (op_traits(o->op) & RS_OP_BYTES)
		table__cell(tab, ATTR_PLAIN, "%s",
			s->duration_ns
				? fmt_bytes(buf, (double)o->c[RS_SC_BYTES] * 1e9 / (double)s->duration_ns)
				: "n/a");
	else
		table__cell(tab, ATTR_PLAIN, "-");
	errors_cell(tab, t, o);
}

static struct table *ops_table(void)
{
	return table__new(columns, sizeof(columns) / sizeof(columns[0]));
}

/* Cutting a row must not hide that it failed. */
static void ops_cut(struct text *t, size_t shown)
{
	char n[FMT_LEN], share[FMT_LEN], failed[FMT_LEN];
	uint64_t requests = 0, errors = 0;
	size_t i;

	for (i = shown; i < t->ops.n; i++) {
		requests += t->ops.ops[i].c[RS_SC_SUBMITTED];
		errors += t->ops.ops[i].c[RS_SC_ERRORS];
	}
	text__wrapf(t, ATTR_PLAIN, 0, 2, "%s and %zu more %s with %s requests (%s), %s %s",
		text__ellipsis(t->o), t->ops.n - shown, text__plural(t->ops.n - shown, "opcode", "opcodes"),
		fmt_count(n, (double)requests), fmt_pct(share, (double)requests, (double)t->totals.submitted),
		snapshot__knows(t->r->snap, RS_F_COMPLETE) ? fmt_count(failed, (double)errors) : "n/a",
		text__plural(errors, "error", "errors"));
}

/* Latencies rest on a sample; how large it is stands at the histogram and in the last line. */
static bool is_sampled(const struct snapshot *s)
{
	return s->cost.sample > 1 || s->cost.budget.on;
}

void text__ops(struct text *t)
{
	size_t i, n = t->ops.n < MAX_OPS ? t->ops.n : MAX_OPS;
	struct table *tab;

	if (!t->ops.n)
		return;
	if (is_sampled(t->r->snap))
		text__title(t, "Requests by opcode (latency of those timed: submitted to completion posted)");
	else
		text__title(t, "Requests by opcode (latency: submitted to completion posted)");
	tab = ops_table();
	for (i = 0; i < n; i++)
		op_row(tab, t, "", &t->ops.ops[i]);
	table__print(tab, t, true, false);
	if (n < t->ops.n)
		ops_cut(t, n);
}

static void ring_rows(struct table *tab, struct text *t, const char *ring, const struct ring_stats *r)
{
	size_t i;

	for (i = 0; i < r->n_ops; i++)
		op_row(tab, t, ring, &r->ops[i]);
}

void text__ops_by_ring(struct text *t)
{
	const struct snapshot *s = t->r->snap;
	struct table *tab;
	char id[16];
	size_t i;

	if (!s->n_rings && !s->others)
		return;
	text__title(t, "Opcodes by ring");
	tab = ops_table();
	for (i = 0; i < s->n_rings; i++) {
		if (s->rings[i].id)
			snprintf(id, sizeof(id), "%" PRIu32, s->rings[i].id);
		ring_rows(tab, t, s->rings[i].id ? id : "n/a", &s->rings[i]);
	}
	if (s->others)
		ring_rows(tab, t, "rest", s->others);
	table__print(tab, t, true, false);
}

void text__ops_by_span(struct text *t, const struct span_stats *const *spans, char *const *labels, size_t n)
{
	struct table *tab;
	size_t i, k, rows = 0;

	for (i = 0; i < n; i++)
		rows += spans[i]->requests.n_ops;
	if (!rows)
		return;
	text__title(t, "Requests by span (of the innermost one)");
	tab = table__new(columns_of_span, sizeof(columns_of_span) / sizeof(columns_of_span[0]));
	for (i = 0; i < n; i++)
		for (k = 0; k < spans[i]->requests.n_ops; k++)
			op_row(tab, t, k ? "" : labels[i], &spans[i]->requests.ops[k]);
	table__print(tab, t, true, false);
}
