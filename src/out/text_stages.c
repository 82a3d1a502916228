// SPDX-License-Identifier: MIT
/* Where the time of requests went, of all and of the slowest. */
#include "text.h"

#include <errno.h>
#include <stdlib.h>

#include "lat.h"
#include "names.h"
#include "op_stages.h"
#include "table.h"

/* The busiest opcodes that have something to say. */
#define MAX_OPS 8
/* Requests that end inline have one stage; below this part of anything else it is not worth a row. */
#define LEAST_PART 0.01

/* Where a stage stands: what is left comes last. */
#define PLACE(s) ((s) == RS_ST_OTHER ? RS_STAGES - 1 : (s) > RS_ST_OTHER ? (s)-1 : (s))

static const struct table_column columns[2 + RS_STAGES] = {
	{ .head = "OP", .list = true, .min = 12 },
	{ .head = "REQUESTS" },
#define STAGE(id, name, feature, what)                                                                       \
	[2 + PLACE(RS_ST_##id)] = { .head = name, .right = true, .optional = true },
#include "stages.def"
};

/* The stage in a column. */
static enum rs_stage stage_in(size_t place)
{
	if (place + 1 == RS_STAGES)
		return RS_ST_OTHER;
	return place < RS_ST_OTHER ? place : place + 1;
}

static bool is_worth_a_row(const struct op_stages *st)
{
	return op_stages__share(st, RS_ST_ISSUE) < 1 - LEAST_PART ||
	       op_stages__tail_share(st, RS_ST_ISSUE) < 1 - LEAST_PART;
}

static void cells(struct table *tab, const struct op_stages *st,
	double (*share)(const struct op_stages *, enum rs_stage))
{
	char buf[FMT_LEN];
	size_t i;

	for (i = 0; i < RS_STAGES; i++) {
		double part = share(st, stage_in(i));

		if (part > 0)
			table__cell(tab, part >= 0.5 ? ATTR_BOLD : ATTR_PLAIN, "%s", fmt_pct(buf, part, 1));
		else
			table__cell(tab, ATTR_PLAIN, "-");
	}
}

static void rows(struct table *tab, const char *span, const struct op_stats *o, const struct op_stages *st)
{
	char name[NAME_LEN];

	table__row(tab);
	table__cell(tab, ATTR_BOLD, "%s%s%s", span, *span ? " " : "", op_name(o->op, name));
	table__cell(tab, ATTR_PLAIN, "all");
	cells(tab, st, op_stages__share);
	table__row(tab);
	table__cell(tab, ATTR_PLAIN, "%s", "");
	table__cell(tab, ATTR_PLAIN, "slowest 1%%");
	cells(tab, st, op_stages__tail_share);
}

/* One table of everything that is put into it. */
struct stages_table {
	struct text *t;
	const char *title;
	struct table *tab;
	struct op_stages *st;
	size_t n;
};

/* The rows of an opcode, if there is something to say. */
static void put(struct stages_table *to, const char *span, const struct op_stats *o)
{
	if (!op_stats__knows_stages(to->t->r->snap, o))
		return;
	op_stages__make(o, to->st);
	if (!lat__count(&o->lat) || !is_worth_a_row(to->st))
		return;
	if (!to->n++) {
		text__title(to->t, to->title);
		to->tab = table__new(columns, sizeof(columns) / sizeof(columns[0]));
	}
	rows(to->tab, span, o, to->st);
}

static bool begin(struct stages_table *to)
{
	to->st = malloc(sizeof(*to->st));
	if (!to->st)
		text__fail(to->t, -ENOMEM);
	return to->st;
}

static void end(struct stages_table *to)
{
	if (to->n)
		table__print(to->tab, to->t, true, false);
	free(to->st);
}

void text__stages(struct text *t)
{
	struct stages_table to = { .t = t, .title = "Where the time of requests went" };
	size_t i;

	if (!begin(&to))
		return;
	for (i = 0; i < t->ops.n && to.n < MAX_OPS; i++)
		put(&to, "", &t->ops.ops[i]);
	end(&to);
}

void text__stages_by_span(struct text *t, const struct span_stats *const *spans, char *const *labels,
	size_t n)
{
	struct stages_table to = { .t = t, .title = "Where the time of spans' requests went" };
	size_t i, k;

	if (!begin(&to))
		return;
	for (i = 0; i < n; i++)
		for (k = 0; k < spans[i]->requests.n_ops && to.n < MAX_OPS; k++)
			put(&to, labels[i], &spans[i]->requests.ops[k]);
	end(&to);
}
