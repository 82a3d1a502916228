// SPDX-License-Identifier: MIT
/* Calls of functions, and what they asked of io_uring. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lat.h"

/* Those with the most time in them. */
#define MAX_SPANS 20

static const struct table_column columns[] = {
	{ .head = "SPAN", .list = true, .min = 12 },
	{ .head = "CALLS", .right = true },
	{ .head = "CALLS/S", .right = true, .drop = 5 },
	{ .head = "NO RETURN", .right = true, .optional = true, .drop = 3 },
	{ .head = "P50", .right = true },
	{ .head = "P99", .right = true },
	{ .head = "MAX", .right = true, .drop = 1 },
	{ .head = "TIME", .right = true, .drop = 2 },
	{ .head = "REQUESTS", .right = true },
	{ .head = "WAITS", .right = true, .drop = 4 },
	{ .head = "WAITED", .right = true },
};

static uint64_t requests(const struct span_stats *s)
{
	return ring_stats__requests(&s->requests);
}

static int by_time(const void *a, const void *b)
{
	const struct span_stats *x = *(const struct span_stats *const *)a;
	const struct span_stats *y = *(const struct span_stats *const *)b;

	if (x->lat.sum_ns != y->lat.sum_ns)
		return x->lat.sum_ns < y->lat.sum_ns ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return strcmp(x->function, y->function);
}

static void latency_cells(struct table *tab, const struct rs_lat *l)
{
	bool any = lat__count(l);
	char buf[FMT_LEN];

	table__cell(tab, ATTR_PLAIN, "%s", any ? fmt_ns(buf, lat__quantile_ns(l, 0.5)) : "-");
	table__cell(tab, ATTR_PLAIN, "%s", any ? fmt_ns(buf, lat__quantile_ns(l, 0.99)) : "-");
	table__cell(tab, ATTR_PLAIN, "%s", any ? fmt_ns(buf, l->max_ns) : "-");
	table__cell(tab, ATTR_PLAIN, "%s", any ? fmt_ns(buf, l->sum_ns) : "-");
}

static void count_cell(struct table *tab, bool known, uint64_t n)
{
	char buf[FMT_LEN];

	table__cell(tab, ATTR_PLAIN, "%s", !known ? "n/a" : n ? fmt_count(buf, (double)n) : "-");
}

static void span_row(struct table *tab, struct text *t, const char *label, const struct span_stats *sp)
{
	const struct snapshot *s = t->r->snap;
	bool waits = snapshot__knows(s, RS_F_SPAN_WAIT);
	char buf[FMT_LEN];

	table__row(tab);
	table__cell(tab, ATTR_BOLD, "%s", label);
	table__cell(tab, ATTR_PLAIN, "%s", fmt_count(buf, (double)sp->calls));
	table__cell(tab, ATTR_PLAIN, "%s", text__rate(buf, s, (double)sp->calls));
	count_cell(tab, true, sp->calls > sp->returned ? sp->calls - sp->returned : 0);
	latency_cells(tab, &sp->lat);
	count_cell(tab, snapshot__knows_requests_of_spans(s), requests(sp));
	count_cell(tab, waits, sp->waits);
	table__cell(tab, ATTR_PLAIN, "%s", !waits ? "n/a" : sp->wait_ns ? fmt_ns(buf, sp->wait_ns) : "-");
}

static void put_spans(struct text *t, const struct span_stats *const *spans, char *const *labels, size_t n)
{
	struct table *tab = table__new(columns, sizeof(columns) / sizeof(columns[0]));
	size_t i;

	for (i = 0; i < n; i++)
		span_row(tab, t, labels[i], spans[i]);
	table__print(tab, t, true, false);
}

/* What is not in the tables. */
static void spans_cut(struct text *t, const struct span_stats *const *spans, size_t shown)
{
	size_t i, n = t->r->snap->n_spans, called = shown;
	uint64_t calls = 0, sum = 0;
	char n_requests[FMT_LEN];
	char buf[FMT_LEN];

	for (i = shown; i < n && spans[i]->calls; i++, called++) {
		calls += spans[i]->calls;
		sum += requests(spans[i]);
	}
	if (called > shown)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s and %zu more %s with %s calls and %s requests",
			text__ellipsis(t->o), called - shown,
			text__plural(called - shown, "function", "functions"), fmt_count(buf, (double)calls),
			fmt_count(n_requests, (double)sum));
	if (n > called)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%zu %s not called", n - called,
			text__plural(n - called, "function was", "functions were"));
}

/* "db:db_get" of "/usr/bin/db". */
static char *label_of(const struct span_stats *s)
{
	const char *slash = strrchr(s->binary, '/');
	char *label;

	return asprintf(&label, "%s:%s", slash ? slash + 1 : s->binary, s->function) < 0 ? NULL : label;
}

static void put_all(struct text *t, const struct span_stats *const *spans)
{
	char *labels[MAX_SPANS] = { NULL };
	size_t n = 0, i;

	while (n < MAX_SPANS && n < t->r->snap->n_spans && spans[n]->calls) {
		labels[n] = label_of(spans[n]);
		if (!labels[n++])
			text__fail(t, -ENOMEM);
	}
	text__title(t, "Spans (calls of functions)");
	if (n && !t->err)
		put_spans(t, spans, labels, n);
	spans_cut(t, spans, n);
	if (!t->err && snapshot__knows_requests_of_spans(t->r->snap)) {
		text__ops_by_span(t, spans, labels, n);
		text__stages_by_span(t, spans, labels, n);
	}
	for (i = 0; i < n; i++)
		free(labels[i]);
}

void text__spans(struct text *t)
{
	const struct snapshot *s = t->r->snap;
	const struct span_stats **sorted;
	size_t i;

	if (!s->n_spans)
		return;
	sorted = calloc(s->n_spans, sizeof(*sorted));
	if (!sorted) {
		text__fail(t, -ENOMEM);
		return;
	}
	for (i = 0; i < s->n_spans; i++)
		sorted[i] = &s->spans[i];
	qsort(sorted, s->n_spans, sizeof(*sorted), by_time);
	put_all(t, sorted);
	free(sorted);
}
