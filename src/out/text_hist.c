/* SPDX-License-Identifier: MIT */
/* Latency histograms of the busiest opcodes. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lat.h"
#include "names.h"

#define MAX_HISTOGRAMS 3
#define MIN_SAMPLES 100
/* Next to an opcode this many times busier, the percentiles of the table are enough. */
#define MAX_RATIO 20
#define MAX_ROWS 12
/* Columns beside the bar: bounds, count, share, marks. */
#define BESIDE_BAR 48
#define MIN_BAR 8
#define MAX_BAR 50

struct row {
	uint32_t first, end; /* buckets */
	uint64_t count;
};

static const struct table_column columns[] = {
	{ .head = "", .right = true },
	{ .head = "", .right = true },
	{ .head = "" },
	{ .head = "", .right = true },
	{ .head = "", .right = true },
	{ .head = "", .optional = true, .drop = 1 },
};

static void merge_rows(struct row *into, const struct row *other)
{
	into->first = other->first < into->first ? other->first : into->first;
	into->end = other->end > into->end ? other->end : into->end;
	into->count += other->count;
}

/* A row for every `step` buckets, from the first to the last one used. */
static size_t make_rows(const struct rs_lat *l, uint32_t step, struct row rows[RS_HIST_BUCKETS])
{
	uint32_t first = 0, last = RS_HIST_BUCKETS - 1, i;
	size_t n = 0;

	while (first < last && !l->buckets[first])
		first++;
	while (last > first && !l->buckets[last])
		last--;
	for (i = first / step; i <= last / step; i++, n++)
		rows[n] = (struct row){ .first = i * step, .end = (i + 1) * step };
	for (i = first; i <= last; i++)
		rows[i / step - first / step].count += l->buckets[i];
	return n;
}

/*
 * Octaves, or even parts of one where that still fits. A wide distribution keeps its octaves where
 * the samples are: the emptier end is folded.
 */
static size_t choose_rows(const struct rs_lat *l, struct row rows[RS_HIST_BUCKETS])
{
	uint32_t step = RS_HIST_SUB / 8;
	size_t n = make_rows(l, step, rows);

	while (n > MAX_ROWS && step < RS_HIST_SUB) {
		step *= 2;
		n = make_rows(l, step, rows);
	}
	while (n > MAX_ROWS) {
		n--;
		if (rows[0].count > rows[n].count) {
			merge_rows(&rows[n - 1], &rows[n]);
		} else {
			merge_rows(&rows[0], &rows[1]);
			memmove(&rows[1], &rows[2], (n - 1) * sizeof(rows[0]));
		}
	}
	return n;
}

/* part / whole of `columns` as a bar; anything above 0 leaves a trace. */
static void draw_bar(char *bar, uint64_t part, uint64_t whole, int columns, bool unicode)
{
	static const char *const eighths[] = { "", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a",
		"\u2589", "\u2588" };
	int units = unicode ? 8 : 1, n;
	char *p = bar;

	n = (int)((double)part / (double)whole * columns * units + 0.5);
	if (part && !n)
		n = 1;
	for (; n > 0; n -= units)
		p = stpcpy(p, unicode ? eighths[n < 8 ? n : 8] : "#");
	*p = '\0';
}

static void row_marks(const struct rs_lat *l, const struct row *r, struct list *marks)
{
	static const struct {
		const char *name;
		double q;
	} quantiles[] = { { "p50", 0.5 }, { "p99", 0.99 }, { "p99.9", 0.999 } };
	size_t i;

	for (i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		uint32_t bucket = rs_hist_bucket(lat__quantile_ns(l, quantiles[i].q));

		if (bucket >= r->first && bucket < r->end)
			list__add(marks, " ", "%s", quantiles[i].name);
	}
}

static void print_rows(struct text *t, const struct rs_lat *l, const struct row *rows, size_t n)
{
	struct table *tab = table__new(columns, sizeof(columns) / sizeof(columns[0]));
	int bar_columns = t->o->width - BESIDE_BAR;
	uint64_t total = lat__count(l), most = 0;
	char bar[MAX_BAR * 3 + 1], buf[FMT_LEN];
	size_t i;

	bar_columns = bar_columns < MIN_BAR ? MIN_BAR : bar_columns > MAX_BAR ? MAX_BAR : bar_columns;
	for (i = 0; i < n; i++)
		most = rows[i].count > most ? rows[i].count : most;
	for (i = 0; i < n; i++) {
		struct list marks = { 0 };

		table__row(tab);
		table__cell(tab, ATTR_PLAIN, "%s", fmt_ns(buf, rs_hist_lower_ns(rows[i].first)));
		table__cell(tab, ATTR_PLAIN, "- %6s", fmt_ns(buf, rs_hist_lower_ns(rows[i].end)));
		draw_bar(bar, rows[i].count, most, bar_columns, t->o->unicode);
		table__cell(tab, ATTR_CYAN, "%s", bar);
		table__cell(tab, ATTR_PLAIN, "%s", fmt_count(buf, (double)rows[i].count));
		table__cell(tab, ATTR_PLAIN, "%s", fmt_pct(buf, (double)rows[i].count, (double)total));
		row_marks(l, &rows[i], &marks);
		table__cell(tab, ATTR_DIM, "%s", marks.s ? marks.s : "");
		list__end(&marks, t);
	}
	table__print(tab, t, false, false);
}

static void histogram(struct text *t, const struct op_stats *o)
{
	struct row *rows = calloc(RS_HIST_BUCKETS, sizeof(*rows));
	char name[NAME_LEN], count[FMT_LEN], mean[FMT_LEN], min[FMT_LEN];
	uint64_t n = lat__count(&o->lat);

	if (!rows) {
		text__fail(t, -ENOMEM);
		return;
	}
	text__pad(t, 1, 0);
	text__wrapf(t, ATTR_BOLD, 0, 0, "%s latency: %s timed, min %s, mean %s", op_name(o->op, name),
		fmt_count(count, (double)n), fmt_ns(min, o->lat.min_ns), fmt_ns(mean, o->lat.sum_ns / n));
	print_rows(t, &o->lat, rows, choose_rows(&o->lat, rows));
	free(rows);
}

void text__histograms(struct text *t)
{
	uint64_t most = 0;
	size_t i, n = 0;

	for (i = 0; i < t->ops.n && n < MAX_HISTOGRAMS; i++) {
		uint64_t samples = lat__count(&t->ops.ops[i].lat);

		if (samples < MIN_SAMPLES || samples < most / MAX_RATIO)
			continue;
		most = samples > most ? samples : most;
		histogram(t, &t->ops.ops[i]);
		n++;
	}
}
