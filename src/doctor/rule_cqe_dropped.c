// SPDX-License-Identifier: MIT
/* CQE-DROPPED: CQEs for which there was neither room in the CQ nor memory. */
#include "fmt.h"
#include "rules.h"

enum threshold_index { DROPPED_MIN_DROPPED };

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	(void)s;
	ret_hit->severity = SEVERITY_CRIT;
	ret_hit->weight = ring->c[RS_RC_CQ_DROPPED];
	return (double)ret_hit->weight >= rule__limit(r, DROPPED_MIN_DROPPED);
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct ring_stats *worst = g->hits[0].ring;
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], n[FMT_LEN];
	uint64_t overflows = 0;
	json_t *e = json_object();

	for (size_t i = 0; i < g->n; i++)
		overflows += g->hits[i].ring->c[RS_RC_CQ_OVERFLOWS];
	hit_group__evidence(g, &e);
	evidence__u64(&e, "cq_dropped", g->weight);
	evidence__u64(&e, "cq_overflows", overflows);
	if (worst->cq_entries)
		evidence__u64(&e, "cq_entries", worst->cq_entries);
	return diagnosis__add(d, &f, e, "%s: %s %s lost for want of memory", hit_group__whose(g, whose),
		fmt_count(n, (double)g->weight), g->weight == 1 ? "CQE is" : "CQEs are");
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return rings__judge(r, s, fires, report, d);
}

const struct rule rule_cqe_dropped = {
	.id = "CQE-DROPPED",
	.what = "completions were lost: the CQ was full and there was no memory",
	.severity = "crit",
	.advice = "Whoever waits for these requests waits for ever. Make the CQ large enough that it never "
		  "overflows (IORING_SETUP_CQSIZE), and look why the kernel had no memory: the limit of the "
		  "control group, mostly (memory.max).",
	.needs = RULE_NEEDS(OVERFLOW),
	.thresholds = {
		[DROPPED_MIN_DROPPED] = { "min_dropped", "CQEs", 1,
			"the application never learns how that request ended" },
	},
	.evidence = {
		{ "cq_dropped", "CQEs that were lost" },
		{ "cq_overflows", "CQEs that found the CQ full, these included" },
		{ "cq_entries", "size of the CQ of the worst ring" },
	},
	.eval = eval,
};
