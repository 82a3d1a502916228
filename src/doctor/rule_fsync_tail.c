// SPDX-License-Identifier: MIT
/* FSYNC-TAIL: few fsyncs, and they are the slowest requests. */
#include <errno.h>
#include <stdlib.h>

#include "fmt.h"
#include "lat.h"
#include "names.h"
#include "uapi.h"
#include "rules.h"

enum threshold_index {
	FSYNC_TAIL_MIN_REQUESTS,
	FSYNC_TAIL_MAX_PCT,
	FSYNC_TAIL_MIN_TAIL_PCT,
	FSYNC_TAIL_MIN_P99_MS,
	FSYNC_TAIL_WARN_P99_MS
};

/* What waits for an event, or for another program, is as slow as that. */
static bool is_work(const struct op_stats *o)
{
	return !(op_traits(o->op) & RS_OP_WAITS) && !o->c[RS_SC_POLL_ARMED];
}

/* Samples above this bucket, and those of all. */
static uint64_t above(const struct rs_lat *l, uint32_t bucket)
{
	uint64_t n = 0;

	for (uint32_t i = bucket; i < RS_HIST_BUCKETS; i++)
		n += l->buckets[i];
	return n;
}

static uint64_t punted(const struct op_stats *o)
{
	return op_stats__punted(o);
}

static int report(const struct rule *r, const struct snapshot *s, const struct op_stats *o,
	const struct rs_lat *all, double tail_pct, struct diagnosis *d)
{
	uint64_t n = lat__count(&o->lat), p99 = lat__quantile_ns(&o->lat, 0.99);
	char pct[FMT_LEN], t[FMT_LEN], median[FMT_LEN];
	struct rs_lat others;
	struct finding f = {
		.rule = r->id,
		.severity = (double)p99 >= r->thresholds[FSYNC_TAIL_WARN_P99_MS].value * 1e6 ? SEVERITY_WARN
											     : SEVERITY_INFO,
		.advice = r->advice,
		.ring = rule__main_ring(s, o, punted),
		.op = (int)o->op,
		.weight = n,
		.time_ns = o->lat.sum_ns,
	};
	json_t *e = json_object();

	lat__delta(&o->lat, all, &others);
	evidence__u64(&e, "fsyncs", n);
	evidence__u64(&e, "fsync_p50_ns", lat__quantile_ns(&o->lat, 0.5));
	evidence__u64(&e, "fsync_p99_ns", p99);
	evidence__u64(&e, "others_p50_ns", lat__quantile_ns(&others, 0.5));
	evidence__real(&e, "fsync_pct", rule__pct(n, lat__count(all)));
	evidence__real(&e, "slowest_pct", tail_pct);
	evidence__u64(&e, "punted", op_stats__punted(o));
	return diagnosis__add(d, &f, e,
		"FSYNC: %s of the requests and %.0f%% of the slowest, p99 %s; half of the others take less than %s",
		fmt_pct(pct, (double)n, (double)lat__count(all)), tail_pct, fmt_ns(t, p99),
		fmt_ns(median, lat__quantile_ns(&others, 0.5)));
}

static int look(const struct rule *r, const struct snapshot *s, const struct op_stats *o,
	const struct rs_lat *all, struct diagnosis *d)
{
	uint64_t n = lat__count(&o->lat), total = lat__count(all);
	uint32_t bucket = rs_hist_bucket(lat__quantile_ns(all, 0.99));
	double tail_pct = rule__pct(above(&o->lat, bucket), above(all, bucket));

	if (!n || (double)n < r->thresholds[FSYNC_TAIL_MIN_REQUESTS].value ||
		rule__pct(n, total) > r->thresholds[FSYNC_TAIL_MAX_PCT].value)
		return 0;
	if (tail_pct < r->thresholds[FSYNC_TAIL_MIN_TAIL_PCT].value ||
		(double)lat__quantile_ns(&o->lat, 0.99) < r->thresholds[FSYNC_TAIL_MIN_P99_MS].value * 1e6)
		return 0;
	return report(r, s, o, all, tail_pct, d);
}

static int judge(const struct rule *r, const struct snapshot *s, const struct op_list *l, struct rs_lat *all,
	struct diagnosis *d)
{
	const struct op_stats *fsync = NULL;

	for (size_t i = 0; i < l->n; i++) {
		if (is_work(&l->ops[i]))
			lat__add(all, &l->ops[i].lat);
		if (l->ops[i].op == OPC_FSYNC)
			fsync = &l->ops[i];
	}
	return fsync ? look(r, s, fsync, all, d) : 0;
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	struct rs_lat *all = calloc(1, sizeof(*all));
	struct op_list l;
	int err;

	if (!all)
		return -ENOMEM;
	all->min_ns = UINT64_MAX;
	err = snapshot__ops(s, &l);
	if (!err) {
		err = judge(r, s, &l, all, d);
		op_list__free(&l);
	}
	free(all);
	return err;
}

const struct rule rule_fsync_tail = {
	.id = "FSYNC-TAIL",
	.what = "the slowest requests are fsyncs, which run in workers",
	.severity = "info; warn from warn_p99_ms on",
	.advice = "Fewer of them: let several commits share one fsync. IORING_FSYNC_DATASYNC spares the inode; "
		  "O_DSYNC with O_DIRECT makes each write durable by itself, often without a flush of the whole "
		  "device; SYNC_FILE_RANGE ahead of time leaves less to flush. Preallocated files need no journal.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(PUNT),
	.thresholds = {
		[FSYNC_TAIL_MIN_REQUESTS] = { "min_requests", "fsyncs", 100, "fewer have no 99th percentile" },
		[FSYNC_TAIL_MAX_PCT] = { "max_pct", "% of the requests", 50,
			"a program that mostly flushes is no slower for it than it wants to be" },
		[FSYNC_TAIL_MIN_TAIL_PCT] = { "min_tail_pct", "% of the slowest", 50,
			"of the slowest percent of all requests" },
		[FSYNC_TAIL_MIN_P99_MS] = { "min_p99_ms", "ms", 1,
			"quicker ones reach no device, and hurt nobody" },
		[FSYNC_TAIL_WARN_P99_MS] = { "warn_p99_ms", "ms", 1000,
			"commits that take a second are an incident" },
	},
	.evidence = {
		{ "fsyncs", "FSYNCs that were timed" },
		{ "fsync_p50_ns", "how long they took, median" },
		{ "fsync_p99_ns", "the same, 99th percentile" },
		{ "others_p50_ns", "median of the other requests that wait for no event" },
		{ "fsync_pct", "FSYNCs as a part of all these" },
		{ "slowest_pct", "FSYNCs as a part of the slowest percent of them" },
		{ "punted", "FSYNCs that ran in a worker" },
	},
	.eval = eval,
};
