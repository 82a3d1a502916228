// SPDX-License-Identifier: MIT
/* CQ-SIZE: the CQ was nearly full at times, and has not overflowed yet. */
#include "fmt.h"
#include "rules.h"

/* Bit 3 of io_uring_params.flags, IORING_SETUP_CQSIZE: the application has chosen the size itself. */
#define SETUP_CQSIZE (1u << 3)

enum threshold_index { SIZE_MIN_PCT, SIZE_MIN_CQES, SIZE_UNBOUND_PCT };

/* CQEs of which one request, or another ring, can cause any number. */
static uint64_t unbound(const struct ring_stats *ring)
{
	return ring->c[RS_RC_CQES_MULTISHOT] + ring->c[RS_RC_CQES_AUX];
}

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	uint64_t cqes = ring_stats__cqes(ring);
	bool is_unbound = unbound(ring) && rule__pct(unbound(ring), cqes) >= rule__limit(r, SIZE_UNBOUND_PCT);

	(void)s;
	ret_hit->severity = is_unbound ? SEVERITY_WARN : SEVERITY_INFO;
	ret_hit->weight = cqes;
	/* who asks for a size may well have as many requests in flight and no more */
	if (!ring->id || ring->c[RS_RC_CQ_OVERFLOWS] || (!is_unbound && ring->setup_flags & SETUP_CQSIZE))
		return false;
	return (double)cqes >= rule__limit(r, SIZE_MIN_CQES) &&
	       rule__pct(ring->cq_depth_max, ring->cq_entries) >= rule__limit(r, SIZE_MIN_PCT);
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct ring_stats *worst = g->hits[0].ring;
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], pct[FMT_LEN];
	uint64_t n_unbound = 0;
	json_t *e = json_object();

	for (size_t i = 0; i < g->n; i++)
		n_unbound += unbound(g->hits[i].ring);
	hit_group__evidence(g, &e);
	evidence__u64(&e, "cq_depth_max", worst->cq_depth_max);
	evidence__u64(&e, "cq_entries", worst->cq_entries);
	evidence__real(&e, "depth_pct", rule__pct(worst->cq_depth_max, worst->cq_entries));
	evidence__u64(&e, "cqes", g->weight);
	evidence__u64(&e, "cqes_unbound", n_unbound);
	return diagnosis__add(d, &f, e, "%s: %u CQEs lay in a CQ of %u at a time (%s)",
		hit_group__whose(g, whose), worst->cq_depth_max, worst->cq_entries,
		fmt_pct(pct, worst->cq_depth_max, worst->cq_entries));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	if (s->interval)
		return diagnosis__not_checked(d, r->id, false,
			"how full the CQ was at most is known of the whole observation only");
	return rings__judge(r, s, fires, report, d);
}

const struct rule rule_cq_size = {
	.id = "CQ-SIZE",
	.what = "the CQ was nearly full at times, and has not overflowed yet",
	.severity = "info; warn where multishot requests or other rings post CQEs (unbound_pct), of whose number "
		    "nobody is sure",
	.advice = "Make the CQ larger (IORING_SETUP_CQSIZE) or reap more often, before a slower turn of the "
		  "event loop lets it overflow.",
	/* without OVERFLOW it may have */
	.needs = RULE_NEEDS(COMPLETE) | RULE_NEEDS(OVERFLOW),
	.thresholds = {
		[SIZE_MIN_PCT] = { "min_pct", "% of the CQ", 90,
			"a burst that is larger by a tenth would not have fit" },
		[SIZE_MIN_CQES] = { "min_cqes", "CQEs", 1000, "fewer are a start, not a load" },
		[SIZE_UNBOUND_PCT] = { "unbound_pct", "% of CQEs", 10,
			"from here on they can fill a CQ by themselves" },
	},
	.evidence = {
		{ "cq_depth_max", "most CQEs in the CQ of the worst ring at a time" },
		{ "cq_entries", "its size" },
		{ "depth_pct", "the former as a share of the latter" },
		{ "cqes", "CQEs in all" },
		{ "cqes_unbound", "those of multishot requests, and from other rings" },
	},
	.eval = eval,
};
