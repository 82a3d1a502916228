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

static const struct table_column columns[2 + RS_STAGES] = {
	{ .head = "OP", .list = true, .min = 12 },
	{ .head = "REQUESTS" },
#define STAGE(id, name, feature, what) [2 + RS_ST_##id] = { .head = name, .right = true, .optional = true },
#include "stages.def"
};

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
		double part = share(st, i);

		if (part > 0)
			table__cell(tab, part >= 0.5 ? ATTR_BOLD : ATTR_PLAIN, "%s", fmt_pct(buf, part, 1));
		else
			table__cell(tab, ATTR_PLAIN, "-");
	}
}

static void rows(struct table *tab, const struct op_stats *o, const struct op_stages *st)
{
	char name[NAME_LEN];

	table__row(tab);
	table__cell(tab, ATTR_BOLD, "%s", op_name(o->op, name));
	table__cell(tab, ATTR_PLAIN, "all");
	cells(tab, st, op_stages__share);
	table__row(tab);
	table__cell(tab, ATTR_PLAIN, "%s", "");
	table__cell(tab, ATTR_PLAIN, "slowest 1%%");
	cells(tab, st, op_stages__tail_share);
}

void text__stages(struct text *t)
{
	struct op_stages *st = malloc(sizeof(*st));
	struct table *tab = NULL;
	size_t i, n = 0;

	if (!st) {
		text__fail(t, -ENOMEM);
		return;
	}
	for (i = 0; i < t->ops.n && n < MAX_OPS; i++) {
		const struct op_stats *o = &t->ops.ops[i];

		if (!op_stats__knows_stages(t->r->snap, o))
			continue;
		op_stages__make(o, st);
		if (!lat__count(&o->lat) || !is_worth_a_row(st))
			continue;
		if (!n++) {
			text__title(t, "Where the time of requests went");
			tab = table__new(columns, sizeof(columns) / sizeof(columns[0]));
		}
		rows(tab, o, st);
	}
	if (n)
		table__print(tab, t, true, false);
	free(st);
}
