// SPDX-License-Identifier: MIT
/* SQPOLL-SHARE: a polling thread and the one that made the ring may run on one and the same CPU only. */
#include "rules.h"

enum threshold_index { SHARE_MIN_SQES };

static uint64_t sqes(const struct ring_stats *ring)
{
	struct totals t = ring_stats__totals(ring);

	return t.submitted + t.rejected;
}

static bool is_busy(const struct rule *r, const struct ring_stats *ring)
{
	return ring->id && ring->sq_tid && (double)sqes(ring) >= rule__limit(r, SHARE_MIN_SQES);
}

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	(void)s;
	ret_hit->weight = sqes(ring);
	return is_busy(r, ring) && ring->cpus_known && ring->sq_only_cpu >= 0 &&
	       ring->sq_only_cpu == ring->maker_only_cpu;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct ring_stats *worst = g->hits[0].ring;
	struct finding f = hit_group__finding(g);
	json_t *e = json_object();
	char whose[WHOSE_LEN];

	hit_group__evidence(g, &e);
	evidence__u64(&e, "sq_tid", worst->sq_tid);
	evidence__u64(&e, "cpu", (uint64_t)worst->sq_only_cpu);
	evidence__u64(&e, "sqes", g->weight);
	return diagnosis__add(d, &f, e, "%s: the poller and the thread that made the ring share CPU %d",
		hit_group__whose(g, whose), worst->sq_only_cpu);
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	size_t unknown = 0;
	int err = rings__judge(r, s, fires, report, d);

	for (size_t i = 0; i < s->n_rings; i++)
		unknown += is_busy(r, &s->rings[i]) && !s->rings[i].cpus_known;
	if (!err && unknown)
		err = diagnosis__not_checked(d, r->id, true,
			"not on %zu %s: on which CPUs the threads may run is not known", unknown,
			unknown == 1 ? "ring" : "rings");
	return err;
}

const struct rule rule_sqpoll_share = {
	.id = "SQPOLL-SHARE",
	.what = "a polling thread (SQPOLL) has to share its CPU with the thread that made the ring",
	.severity = "warn",
	.advice = "Each of them waits until the other one is off the CPU. Bind the poller to another one "
		  "(sq_thread_cpu), do not bind it at all, or do without SQPOLL.",
	.needs = RULE_NEEDS(SUBMIT),
	.thresholds = {
		[SHARE_MIN_SQES] = { "min_sqes", "SQEs", 1000, "fewer are no load" },
	},
	.evidence = {
		{ "sq_tid", "the polling thread; of several the busiest" },
		{ "cpu", "the CPU" },
		{ "sqes", "SQEs that it took" },
	},
	.eval = eval,
};
