// SPDX-License-Identifier: MIT
/* OVERFLOW: CQEs that found the CQ ring full. */
#include "fmt.h"
#include "rules.h"

enum threshold_index { OVERFLOW_MIN_OVERFLOWS };

/* A dropped CQE overflowed first. */
static uint64_t overflows(const struct totals *t)
{
	return t->cq_overflows > t->cq_dropped ? t->cq_overflows : t->cq_dropped;
}

/* Everything that became a CQE, overflowed ones included. */
static uint64_t cqes(const struct ring_stats *r, const struct totals *t)
{
	uint64_t n = t->completed + t->cqes_multishot + t->cqes_aux + t->notifs + r->c[RS_RC_CQES_REJECTED];

	return n > overflows(t) ? n : overflows(t);
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct ring_stats *worst = g->hits[0].ring;
	char whose[WHOSE_LEN], n[FMT_LEN], all[FMT_LEN], pct[FMT_LEN];
	struct finding f = hit_group__finding(g);
	struct totals sum = { 0 }, t;
	json_t *e = json_object();
	uint64_t total = 0;

	for (size_t i = 0; i < g->n; i++) {
		t = ring_stats__totals(g->hits[i].ring);
		totals__add(&sum, &t);
		total += cqes(g->hits[i].ring, &t);
	}
	hit_group__evidence(g, &e);
	evidence__u64(&e, "cq_overflows", sum.cq_overflows);
	evidence__u64(&e, "cq_dropped", sum.cq_dropped);
	evidence__u64(&e, "cqes", total);
	evidence__real(&e, "overflow_pct", rule__pct(overflows(&sum), total));
	evidence__u64(&e, "completed", sum.completed);
	if (worst->cq_entries)
		evidence__u64(&e, "cq_entries", worst->cq_entries);
	if (worst->cq_depth_max)
		evidence__u64(&e, "cq_depth_max", worst->cq_depth_max);
	fmt_count(n, (double)overflows(&sum));
	fmt_count(all, (double)total);
	fmt_pct(pct, (double)overflows(&sum), (double)total);
	return diagnosis__add(d, &f, e, "%s: %s of %s CQEs (%s) found the CQ full",
		hit_group__whose(g, whose), n, all, pct);
}

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	struct totals t = ring_stats__totals(ring);

	(void)s;
	ret_hit->weight = overflows(&t);
	return (double)overflows(&t) >= rule__limit(r, OVERFLOW_MIN_OVERFLOWS);
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return rings__judge(r, s, fires, report, d);
}

const struct rule rule_overflow = {
	.id = "OVERFLOW",
	.what = "completions found the CQ ring full",
	.severity = "warn",
	.advice = "Make the CQ as large as the CQEs that can be outstanding "
		  "(IORING_SETUP_CQSIZE; the default is twice the SQ), reap all CQEs that are "
		  "there each time, and bound what can complete between two reaps: requests in "
		  "flight, multishot requests, msg_ring senders.",
	.needs = RULE_NEEDS(OVERFLOW),
	.thresholds = {
		[OVERFLOW_MIN_OVERFLOWS] = { "min_overflows", "CQEs", 1,
			"a CQ of the right size never overflows" },
	},
	.evidence = {
		{ "cq_overflows", "CQEs that found the CQ full" },
		{ "cq_dropped", "those of them that were lost" },
		{ "cqes", "CQEs in all" },
		{ "overflow_pct", "cq_overflows as a share of cqes" },
		{ "completed", "requests that ended with a CQE" },
		{ "cq_entries", "size of the CQ of the worst ring" },
		{ "cq_depth_max", "most CQEs in it at a time" },
	},
	.eval = eval,
};
