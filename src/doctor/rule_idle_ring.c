// SPDX-License-Identifier: MIT
/* IDLE-RING: a ring on which nothing happened. */
#include "fmt.h"
#include "rules.h"

enum threshold_index { IDLE_RING_MIN_S };

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	struct totals t = ring_stats__totals(ring);

	(void)s;
	ret_hit->severity = SEVERITY_INFO;
	return ring->id &&
	       !(t.submitted || t.rejected || t.in_flight || t.sq_dropped || ring_stats__cqes(ring) ||
		       t.waits) &&
	       (double)ring->alive_ns >= rule__limit(r, IDLE_RING_MIN_S) * 1e9;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct ring_stats *first = g->hits[0].ring;
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], ns[FMT_LEN];
	json_t *e = json_object();

	hit_group__evidence(g, &e);
	evidence__u64(&e, "idle_ns", first->alive_ns);
	if (first->sq_entries)
		evidence__u64(&e, "sq_entries", first->sq_entries);
	if (first->cq_entries)
		evidence__u64(&e, "cq_entries", first->cq_entries);
	return diagnosis__add(d, &f, e, "%s: nothing happened in %s", hit_group__whose(g, whose),
		fmt_ns(ns, first->alive_ns));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return rings__judge(r, s, fires, report, d);
}

const struct rule rule_idle_ring = {
	.id = "IDLE-RING",
	.what = "a ring was there, and nothing happened on it",
	.severity = "info",
	.advice = "It takes memory, and a poller if it has SQPOLL. If the program does not need it any more, it "
		  "forgot to close it.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE),
	.thresholds = {
		[IDLE_RING_MIN_S] = { "min_s", "s", 10, "in a shorter time there may have been nothing to do" },
	},
	.evidence = {
		{ "idle_ns", "for so long the ring was observed, and nothing happened" },
		{ "sq_entries", "size of its SQ" },
		{ "cq_entries", "size of its CQ" },
	},
	.eval = eval,
};
