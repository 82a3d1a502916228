/* SPDX-License-Identifier: MIT */
/* Tables of rings and of what belongs to their tasks. */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lat.h"
#include "names.h"

#define MAX_RINGS 16
#define MAX_TASKS 8
#define MAX_REGISTERS 12

static const struct table_column ring_columns[] = {
	{ .head = "RING", .right = true },
	{ .head = "PID", .right = true, .drop = 3 },
	{ .head = "NS-PID", .right = true, .optional = true, .drop = 5 },
	{ .head = "HOST-PID", .right = true, .optional = true, .drop = 5 },
	{ .head = "COMM", .list = true, .min = 6 },
	{ .head = "SQ", .right = true, .drop = 8 },
	{ .head = "CQ-MAX", .right = true, .drop = 4 },
	{ .head = "REAP", .right = true, .optional = true, .drop = 7 },
	{ .head = "COUNT", .right = true },
	{ .head = "REQ/S", .right = true, .drop = 9 },
	{ .head = "BATCH", .right = true, .drop = 1 },
	{ .head = "FLIGHT", .right = true, .optional = true, .drop = 5 },
	{ .head = "SQ-CPU", .right = true, .optional = true, .drop = 2 },
	{ .head = "STATE", .drop = 7 },
	{ .head = "FLAGS", .list = true, .items = true, .optional = true, .min = 14, .drop = 6 },
};

struct ranked_ring {
	const struct ring_stats *ring;
	struct totals totals;
};

static int by_requests(const void *a, const void *b)
{
	const struct ranked_ring *x = a, *y = b;

	if (x->totals.submitted != y->totals.submitted)
		return x->totals.submitted < y->totals.submitted ? 1 : -1;
	return x->ring->id < y->ring->id ? -1 : x->ring->id > y->ring->id;
}

static struct ranked_ring *rank_rings(const struct snapshot *s)
{
	struct ranked_ring *ranked = calloc(s->n_rings + 1, sizeof(*ranked));
	size_t i;

	if (!ranked)
		return NULL;
	for (i = 0; i < s->n_rings; i++) {
		ranked[i].ring = &s->rings[i];
		ranked[i].totals = ring_stats__totals(&s->rings[i]);
	}
	qsort(ranked, s->n_rings, sizeof(*ranked), by_requests);
	return ranked;
}

/* The flags that decide how a ring works, in the order of the reader's interest; the others follow. */
static const struct {
	const char *name, *shown;
} main_flags[] = {
	{ "SQPOLL", "sqpoll" },
	{ "IOPOLL", "iopoll" },
	{ "HYBRID_IOPOLL", "hybrid" },
	{ "DEFER_TASKRUN", "defer" },
	{ "COOP_TASKRUN", "coop" },
	{ "SINGLE_ISSUER", "single" },
};

#define N_MAIN_FLAGS (sizeof(main_flags) / sizeof(main_flags[0]))

/* N_MAIN_FLAGS: not one of them. */
static size_t main_flag(const char *name)
{
	size_t i;

	for (i = 0; i < N_MAIN_FLAGS && strcmp(name, main_flags[i].name); i++)
		;
	return i;
}

static void add_other_flag(struct list *l, unsigned int bit, const char *name)
{
	char low[NAME_LEN] = "";
	size_t i;

	if (!name) {
		list__add(l, ", ", "0x%x", 1u << bit);
		return;
	}
	for (i = 0; name[i] && i < sizeof(low) - 1; i++)
		low[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
	list__add(l, ", ", "%s", low);
}

static void flags_cell(struct table *tab, struct text *t, const struct ring_stats *r)
{
	bool has[N_MAIN_FLAGS + 1] = { false };
	struct list l = { 0 }, others = { 0 };
	unsigned int bit;
	size_t i;

	for (bit = 0; bit < 32; bit++) {
		const char *name = setup_flag_name(bit);
		size_t flag = name ? main_flag(name) : N_MAIN_FLAGS;

		if (!(r->setup_flags & 1u << bit))
			continue;
		has[flag] = true;
		if (flag == N_MAIN_FLAGS)
			add_other_flag(&others, bit, name);
	}
	for (i = 0; i < N_MAIN_FLAGS; i++) {
		if (has[i])
			list__add(&l, ", ", "%s", main_flags[i].shown);
	}
	if (others.s)
		list__add(&l, ", ", "%s", others.s);
	table__cell(tab, ATTR_PLAIN, "%s", l.s ? l.s : "-");
	list__end(&others, t);
	list__end(&l, t);
}

/* 0 stands for a fact that nobody told us. */
static void fact_cell(struct table *tab, uint64_t n)
{
	if (n)
		table__cell(tab, ATTR_PLAIN, "%" PRIu64, n);
	else
		table__cell(tab, ATTR_PLAIN, "n/a");
}

/* 0 stands for nothing to say. */
static void number_cell(struct table *tab, uint64_t n)
{
	if (n)
		table__cell(tab, ATTR_PLAIN, "%" PRIu64, n);
	else
		table__cell(tab, ATTR_PLAIN, "-");
}

static void batch_cell(struct table *tab, const struct totals *sum)
{
	double mean =
		sum->batches ? ((double)sum->submitted + (double)sum->rejected) / (double)sum->batches : 0;
	char buf[FMT_LEN];

	if (!sum->batches_known)
		table__cell(tab, ATTR_PLAIN, "n/a");
	else if (!sum->batches)
		table__cell(tab, ATTR_PLAIN, "-");
	else if (mean < 1000)
		table__cell(tab, ATTR_PLAIN, "%.1f", mean);
	else
		table__cell(tab, ATTR_PLAIN, "%s", fmt_count(buf, mean));
}

static void sqpoll_cell(struct table *tab, const struct ring_stats *r)
{
	char buf[FMT_LEN];

	if (!r->sq_tid)
		table__cell(tab, ATTR_PLAIN, "-");
	else if (!r->sq_cpu_known || !r->sq_alive_ns)
		table__cell(tab, ATTR_PLAIN, "n/a");
	else
		table__cell(tab, ATTR_PLAIN, "%s",
			fmt_pct(buf, (double)r->sq_cpu_ns, (double)r->sq_alive_ns));
}

static const char *state_text(const struct snapshot *s, const struct ring_stats *r)
{
	static const char *const names[] = {
		[RING_OPEN] = "open",
		[RING_CLOSING] = "closing",
		[RING_CLOSED] = "closed",
	};

	if (!r->id || (r->state == RING_OPEN && !snapshot__knows(s, RS_F_RING_EXIT)))
		return "n/a";
	return names[r->state];
}

static const char *median(char *buf, const struct rs_reap_dist *d)
{
	struct rs_lat l;

	reap_dist__lat(d, &l);
	return fmt_ns(buf, lat__quantile_ns(&l, 0.5));
}

/* The bounds of the median time in the CQ; without one, how long CQEs have lain there unseen. */
static void reap_cell(struct table *tab, const struct snapshot *s, const struct ring_stats *r)
{
	const struct reap_stats *reap = &r->reap;
	char lower[FMT_LEN], upper[FMT_LEN];

	if (!r->id || !snapshot__knows(s, RS_F_ENDS)) {
		table__cell(tab, ATTR_PLAIN, "-");
	} else if (reap->exact && reap_stats__count(reap)) {
		table__cell(tab, ATTR_PLAIN, "%s", median(lower, &reap->times->lag));
	} else if (reap_stats__count(reap)) {
		median(lower, &reap->times->lower);
		median(upper, &reap->times->upper);
		if (strcmp(lower, upper))
			table__cell(tab, ATTR_PLAIN, "%s-%s", lower, upper);
		else
			table__cell(tab, ATTR_PLAIN, "%s", lower);
	} else if (reap->left_known && reap->left && reap->unreaped_ns) {
		table__cell(tab, ATTR_YELLOW, ">%s", fmt_ns(lower, reap->unreaped_ns));
	} else {
		table__cell(tab, ATTR_PLAIN, "-");
	}
}

static void ring_row(struct table *tab, struct text *t, const struct ranked_ring *ranked)
{
	const struct ring_stats *r = ranked->ring;
	const struct totals *sum = &ranked->totals;
	char buf[FMT_LEN], comm[COMM_BUF];

	table__row(tab);
	fact_cell(tab, r->id);
	fact_cell(tab, r->pid);
	number_cell(tab, r->pid_own);
	number_cell(tab, r->pid ? 0 : r->pid_host);
	table__cell(tab, ATTR_BOLD, "%s", text__comm(comm, r->comm));
	fact_cell(tab, r->sq_entries);
	if (r->cq_entries)
		table__cell(tab, ATTR_PLAIN, "%" PRIu32 "/%" PRIu32, r->cq_depth_max, r->cq_entries);
	else
		table__cell(tab, ATTR_PLAIN, "n/a");
	reap_cell(tab, t->r->snap, r);
	table__cell(tab, ATTR_PLAIN, "%s", fmt_count(buf, (double)sum->submitted));
	table__cell(tab, ATTR_PLAIN, "%s", text__rate(buf, t->r->snap, (double)sum->submitted));
	batch_cell(tab, sum);
	table__cell(tab, ATTR_PLAIN, "%s", sum->in_flight ? fmt_count(buf, (double)sum->in_flight) : "-");
	sqpoll_cell(tab, r);
	table__cell(tab, ATTR_PLAIN, "%s", state_text(t->r->snap, r));
	flags_cell(tab, t, r);
}

/* What the rings that are not shown did, and what was done under no ring. */
static void rings_cut(struct text *t, const struct ranked_ring *ranked, size_t shown)
{
	const struct snapshot *s = t->r->snap;
	uint64_t rings = s->n_rings - shown + s->n_others, requests = 0, homeless;
	char n[FMT_LEN], share[FMT_LEN];
	size_t i;

	if (s->others)
		requests = ring_stats__totals(s->others).submitted;
	homeless = requests < s->fidelity.rings_full ? requests : s->fidelity.rings_full;
	requests -= homeless;
	for (i = shown; i < s->n_rings; i++)
		requests += ranked[i].totals.submitted;
	if (rings)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s and %" PRIu64 " more %s with %s requests (%s)%s",
			text__ellipsis(t->o), rings, text__plural(rings, "ring", "rings"),
			fmt_count(n, (double)requests),
			fmt_pct(share, (double)requests, (double)t->totals.submitted),
			shown < s->n_rings ? "; --rings lists them" : "");
	if (homeless)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s and %s requests (%s) under no ring of their own",
			text__ellipsis(t->o), fmt_count(n, (double)homeless),
			fmt_pct(share, (double)homeless, (double)t->totals.submitted));
}

void text__rings(struct text *t)
{
	const struct snapshot *s = t->r->snap;
	size_t i, n = s->n_rings;
	struct ranked_ring *ranked;
	struct table *tab;

	if (!s->n_rings && !s->others)
		return;
	ranked = rank_rings(s);
	if (!ranked) {
		text__fail(t, -ENOMEM);
		return;
	}
	if (n > MAX_RINGS && !t->o->rings)
		n = MAX_RINGS;
	text__title(t, n < s->n_rings || s->n_others ? "Rings, the busiest" : "Rings");
	tab = table__new(ring_columns, sizeof(ring_columns) / sizeof(ring_columns[0]));
	for (i = 0; i < n; i++)
		ring_row(tab, t, &ranked[i]);
	table__print(tab, t, true, false);
	rings_cut(t, ranked, n);
	free(ranked);
}

static int by_workers(const void *a, const void *b)
{
	const struct task_stats *x = *(const struct task_stats *const *)a;
	const struct task_stats *y = *(const struct task_stats *const *)b;
	uint64_t nx = (uint64_t)x->workers_bounded_max + x->workers_unbounded_max;
	uint64_t ny = (uint64_t)y->workers_bounded_max + y->workers_unbounded_max;

	if (nx != ny)
		return nx < ny ? 1 : -1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->tid_host < y->tid_host ? -1 : x->tid_host > y->tid_host;
}

static void worker_rows(struct text *t, const struct task_stats **tasks, size_t n)
{
	static const struct table_column columns[] = {
		{ .head = "TID", .right = true },
		{ .head = "PID", .right = true },
		{ .head = "COMM", .list = true, .min = 6 },
		{ .head = "BOUNDED", .right = true },
		{ .head = "UNBOUNDED", .right = true },
	};
	struct table *tab = table__new(columns, sizeof(columns) / sizeof(columns[0]));
	char comm[COMM_BUF];
	size_t i;

	for (i = 0; i < n; i++) {
		table__row(tab);
		fact_cell(tab, tasks[i]->tid);
		fact_cell(tab, tasks[i]->pid);
		table__cell(tab, ATTR_BOLD, "%s", text__comm(comm, tasks[i]->comm));
		table__cell(tab, ATTR_PLAIN, "%" PRIu32, tasks[i]->workers_bounded_max);
		table__cell(tab, ATTR_PLAIN, "%" PRIu32, tasks[i]->workers_unbounded_max);
	}
	table__print(tab, t, true, false);
}

void text__workers(struct text *t)
{
	const struct snapshot *s = t->r->snap;
	const struct task_stats **tasks;
	size_t i, n = s->n_tasks < MAX_TASKS ? s->n_tasks : MAX_TASKS;

	if (!s->n_tasks)
		return;
	tasks = calloc(s->n_tasks, sizeof(*tasks));
	if (!tasks) {
		text__fail(t, -ENOMEM);
		return;
	}
	for (i = 0; i < s->n_tasks; i++)
		tasks[i] = &s->tasks[i];
	qsort(tasks, s->n_tasks, sizeof(*tasks), by_workers);
	text__title(t, "io-wq workers by task (most at one time)");
	worker_rows(t, tasks, n);
	if (n < s->n_tasks)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s and %zu more %s", text__ellipsis(t->o), s->n_tasks - n,
			text__plural(s->n_tasks - n, "task", "tasks"));
	free(tasks);
}

void text__registers(struct text *t)
{
	static const struct table_column columns[] = {
		{ .head = "REGISTRATION", .list = true, .min = 12 },
		{ .head = "COUNT", .right = true },
		{ .head = "ERRORS", .right = true },
		{ .head = "MEAN", .right = true, .optional = true },
		{ .head = "MAX", .right = true, .optional = true },
	};
	const struct snapshot *s = t->r->snap;
	size_t i, n = s->n_registers < MAX_REGISTERS ? s->n_registers : MAX_REGISTERS;
	char buf[FMT_LEN], name[NAME_LEN];
	struct table *tab;

	if (!s->n_registers)
		return;
	text__pad(t, 1, 0);
	tab = table__new(columns, sizeof(columns) / sizeof(columns[0]));
	for (i = 0; i < n; i++) {
		const struct register_stats *r = &s->registers[i];

		table__row(tab);
		table__cell(tab, ATTR_PLAIN, "%s", register_name(r->op, name));
		table__cell(tab, ATTR_PLAIN, "%s", fmt_count(buf, (double)r->count));
		table__cell(tab, r->errors ? ATTR_YELLOW : ATTR_PLAIN, "%s",
			fmt_count(buf, (double)r->errors));
		table__cell(tab, ATTR_PLAIN, "%s", r->timed ? fmt_ns(buf, r->sum_ns / r->timed) : "-");
		table__cell(tab, ATTR_PLAIN, "%s", r->timed && !s->interval ? fmt_ns(buf, r->max_ns) : "-");
	}
	table__print(tab, t, true, false);
	if (n < s->n_registers)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s and %zu more kinds", text__ellipsis(t->o),
			s->n_registers - n);
}
