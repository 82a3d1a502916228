// SPDX-License-Identifier: MIT
/* OVERFLOW-STUCK: overflowed CQEs wait in the kernel, and nobody fetches them. */
#include "fmt.h"
#include "rules.h"

enum threshold_index { STUCK_MIN_MS };

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	(void)s;
	/* the CQ is empty, so whoever looks there sees nothing and waits on */
	if (ring->reap.left_known && !ring->reap.left)
		ret_hit->severity = SEVERITY_CRIT;
	ret_hit->weight = ring->c[RS_RC_CQ_OVERFLOWS];
	return ring->id && ring->stuck_known && (double)ring->stuck_ns >= rule__limit(r, STUCK_MIN_MS) * 1e6;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct ring_stats *worst = g->hits[0].ring;
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], ns[FMT_LEN];
	json_t *e = json_object();

	f.time_ns = worst->stuck_ns;
	hit_group__evidence(g, &e);
	evidence__u64(&e, "stuck_ns", worst->stuck_ns);
	evidence__u64(&e, "cq_overflows", g->weight);
	if (worst->reap.left_known)
		evidence__u64(&e, "unreaped", worst->reap.left);
	return diagnosis__add(d, &f, e, "%s: overflowed CQEs wait in the kernel, for %s or longer",
		hit_group__whose(g, whose), fmt_ns(ns, worst->stuck_ns));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	size_t unknown = 0;
	int err;

	if (s->interval)
		return diagnosis__not_checked(d, r->id, false, "rings are looked into at the end only");
	err = rings__judge(r, s, fires, report, d);
	for (size_t i = 0; i < s->n_rings; i++)
		unknown += s->rings[i].c[RS_RC_CQ_OVERFLOWS] && !s->rings[i].stuck_known;
	if (!err && unknown)
		err = diagnosis__not_checked(d, r->id, true,
			"not on %zu %s that could not be looked into at the end", unknown,
			unknown == 1 ? "ring" : "rings");
	return err;
}

const struct rule rule_overflow_stuck = {
	.id = "OVERFLOW-STUCK",
	.what = "overflowed completions wait in the kernel, and nobody fetches them",
	.severity = "warn; crit where the CQ is empty, so that whoever looks there waits for ever",
	.advice = "Who finds the CQ empty must look at IORING_SQ_CQ_OVERFLOW in the flags of the SQ and enter the "
		  "kernel if it is set (io_uring_get_events()), as liburing's functions do. And make the CQ "
		  "large enough (IORING_SETUP_CQSIZE).",
	.needs = RULE_NEEDS(OVERFLOW),
	.thresholds = {
		[STUCK_MIN_MS] = { "min_ms", "ms", 1000, "a busy event loop comes back sooner" },
	},
	.evidence = {
		{ "stuck_ns", "time from the last CQE that overflowed to the end, at which they still waited" },
		{ "cq_overflows", "CQEs that overflowed in all" },
		{ "unreaped", "CQEs that lay in the CQ at the end" },
	},
	.eval = eval,
};
