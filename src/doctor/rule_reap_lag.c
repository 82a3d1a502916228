// SPDX-License-Identifier: MIT
/* REAP-LAG: completions lie in the CQ, longer than their requests took. */
#include "fmt.h"
#include "lat.h"
#include "rules.h"

enum threshold_index { LAG_MIN_CQES, LAG_MIN_P50, LAG_MIN_SHARE, LAG_MIN_UNREAD };

#define NS_PER_MS 1e6

/* For so long at least CQEs lay there. False: nothing is known. */
static bool lags(const struct ring_stats *ring, struct rs_lat *ret)
{
	const struct reap_times *t = ring->reap.times;

	if (t)
		reap_dist__lat(ring->reap.exact ? &t->lag : &t->lower, ret);
	return t;
}

static double mean_ns(uint64_t sum_ns, uint64_t n)
{
	return n ? (double)sum_ns / (double)n : 0;
}

static double latency_ns(const struct ring_stats *ring)
{
	uint64_t sum_ns = 0, n = 0;

	for (size_t i = 0; i < ring->n_ops; i++) {
		sum_ns += ring->ops[i].lat.sum_ns;
		n += lat__count(&ring->ops[i].lat);
	}
	return mean_ns(sum_ns, n);
}

static double lag_ns(const struct ring_stats *ring)
{
	struct rs_lat l;

	return lags(ring, &l) ? mean_ns(l.sum_ns, lat__count(&l)) : 0;
}

/* What the application adds, as a share of the time from submission to consumption. */
static double share_pct(const struct ring_stats *ring)
{
	double lag = lag_ns(ring), all = lag + latency_ns(ring);

	return all > 0 ? 100 * lag / all : 0;
}

static bool is_late(const struct rule *r, const struct ring_stats *ring)
{
	struct rs_lat l;

	return lags(ring, &l) && (double)lat__count(&l) >= rule__limit(r, LAG_MIN_CQES) &&
	       (double)lat__quantile_ns(&l, 0.5) >= rule__limit(r, LAG_MIN_P50) * NS_PER_MS &&
	       share_pct(ring) >= rule__limit(r, LAG_MIN_SHARE);
}

/* A CQ that nobody has looked into for long, and that is half full by now. */
static bool is_unread(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring)
{
	return !s->interval && ring->reap.left_known && ring->reap.left * 2u >= ring->cq_entries &&
	       ring->cq_entries &&
	       (double)ring->reap.unreaped_ns >= rule__limit(r, LAG_MIN_UNREAD) * NS_PER_MS;
}

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	ret_hit->weight = ring_stats__cqes(ring);
	return ring->id && (is_late(r, ring) || is_unread(r, s, ring));
}

static void put_times(const struct ring_stats *ring, json_t **e)
{
	struct rs_lat l;

	if (lags(ring, &l) && lat__count(&l)) {
		evidence__u64(e, "followed", lat__count(&l));
		evidence__u64(e, "lag_p50_ns", lat__quantile_ns(&l, 0.5));
		evidence__u64(e, "lag_p99_ns", lat__quantile_ns(&l, 0.99));
		evidence__u64(e, "lag_mean_ns", (uint64_t)lag_ns(ring));
	}
	if (latency_ns(ring) > 0) {
		evidence__u64(e, "latency_mean_ns", (uint64_t)latency_ns(ring));
		evidence__real(e, "lag_pct", share_pct(ring));
	}
	if (ring->reap.left_known)
		evidence__u64(e, "unreaped", ring->reap.left);
	if (ring->reap.unreaped_ns)
		evidence__u64(e, "unreaped_ns", ring->reap.unreaped_ns);
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct ring_stats *worst = g->hits[0].ring;
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], n[FMT_LEN], ns[FMT_LEN], took[FMT_LEN];
	json_t *e = json_object();
	struct rs_lat l;

	for (size_t i = 0; i < g->n; i++)
		f.time_ns += (uint64_t)(lag_ns(g->hits[i].ring) * (double)g->hits[i].weight);
	hit_group__evidence(g, &e);
	evidence__u64(&e, "cqes", g->weight);
	put_times(worst, &e);
	hit_group__whose(g, whose);
	if (!is_late(g->rule, worst) || !lags(worst, &l))
		return diagnosis__add(d, &f, e, "%s: %s CQEs lie in the CQ, unread for %s or longer", whose,
			fmt_count(n, worst->reap.left), fmt_ns(ns, worst->reap.unreaped_ns));
	return diagnosis__add(d, &f, e,
		"%s: half of the CQEs lay in the CQ for %s or longer, on average of requests that took %s",
		whose, fmt_ns(ns, lat__quantile_ns(&l, 0.5)), fmt_ns(took, (uint64_t)latency_ns(worst)));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	int err = rings__judge(r, s, fires, report, d);

	return err ? err : rule__skips_summed(r, s, d);
}

const struct rule rule_reap_lag = {
	.id = "REAP-LAG",
	.what = "completions lie in the CQ, longer than their requests took",
	.severity = "warn",
	.advice = "The application comes late, not the kernel: what does the thread that reaps do in between? "
		  "Move long work to other threads, reap more often, and look at the CQ before going to "
		  "sleep elsewhere.",
	.needs = RULE_NEEDS(COMPLETE) | RULE_NEEDS(ENDS),
	.thresholds = {
		[LAG_MIN_CQES] = { "min_cqes", "followed CQEs", 20, "a median of fewer says little" },
		[LAG_MIN_P50] = { "min_p50_ms", "ms, the median", 5,
			"shorter ones come from a busy scheduler, too" },
		[LAG_MIN_SHARE] = { "min_share_pct", "% of the time until it is consumed", 50,
			"below it the request itself took longer" },
		[LAG_MIN_UNREAD] = { "min_unread_ms", "ms", 1000,
			"a CQ that is half full or more, and that nobody looks into for so long, has been "
			"forgotten" },
	},
	.evidence = {
		{ "cqes", "CQEs in all" },
		{ "followed", "CQEs that were followed until they had been consumed, of the worst ring" },
		{ "lag_p50_ns", "for so long half of these lay in the CQ, at least" },
		{ "lag_p99_ns", "the same of 1 in 100" },
		{ "lag_mean_ns", "their mean" },
		{ "latency_mean_ns", "mean latency of the requests, from submission to CQE" },
		{ "lag_pct", "lag_mean as a share of both together" },
		{ "unreaped", "CQEs that lay in the CQ at the end" },
		{ "unreaped_ns", "for so long at least one of them had" },
	},
	.eval = eval,
};
