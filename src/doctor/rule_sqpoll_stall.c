// SPDX-License-Identifier: MIT
/* SQPOLL-STALL: a polling thread wants to run and gets no CPU. */
#include "fmt.h"
#include "rules.h"

enum threshold_index { STALL_MIN_PCT, STALL_MIN_MS, STALL_WARN_PCT };

/* Of the time in which it ran, or would have. */
static double wait_pct(const struct ring_stats *ring)
{
	return rule__pct(ring->sq_wait_ns, ring->sq_wait_ns + ring->sq_cpu_ns);
}

/* Rings that share a thread: the first stands for it. */
static bool is_told(const struct snapshot *s, const struct ring_stats *ring)
{
	for (size_t i = 0; i < s->n_rings && &s->rings[i] != ring; i++)
		if (s->rings[i].sq_tid == ring->sq_tid && s->rings[i].sq_outside == ring->sq_outside &&
			s->rings[i].sq_wait_known)
			return true;
	return false;
}

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	struct totals t = ring_stats__totals(ring);

	ret_hit->weight = t.submitted + t.rejected;
	if (wait_pct(ring) < rule__limit(r, STALL_WARN_PCT))
		ret_hit->severity = SEVERITY_INFO;
	return ring->id && ring->sq_tid && ring->sq_wait_known && ring->sq_cpu_known && !is_told(s, ring) &&
	       (double)ring->sq_wait_ns >= rule__limit(r, STALL_MIN_MS) * 1e6 &&
	       wait_pct(ring) >= rule__limit(r, STALL_MIN_PCT);
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct ring_stats *worst = g->hits[0].ring;
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], wait[FMT_LEN], cpu[FMT_LEN];
	json_t *e = json_object();

	for (size_t i = 0; i < g->n; i++)
		f.time_ns += g->hits[i].ring->sq_wait_ns;
	hit_group__evidence(g, &e);
	evidence__u64(&e, "sq_tid", worst->sq_tid);
	evidence__u64(&e, "sq_wait_ns", worst->sq_wait_ns);
	evidence__u64(&e, "sq_cpu_ns", worst->sq_cpu_ns);
	evidence__real(&e, "sq_wait_pct", wait_pct(worst));
	return diagnosis__add(d, &f, e, "%s: the poller waited for a CPU for %s, and had one for %s",
		hit_group__whose(g, whose), fmt_ns(wait, worst->sq_wait_ns), fmt_ns(cpu, worst->sq_cpu_ns));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	size_t unknown = 0;
	int err = rings__judge(r, s, fires, report, d);

	for (size_t i = 0; i < s->n_rings; i++)
		unknown += s->rings[i].sq_tid && !(s->rings[i].sq_wait_known && s->rings[i].sq_cpu_known);
	if (!err && unknown)
		err = diagnosis__not_checked(d, r->id, true,
			"not on %zu %s: how long the poller waited for a CPU is not known", unknown,
			unknown == 1 ? "ring" : "rings");
	return err;
}

const struct rule rule_sqpoll_stall = {
	.id = "SQPOLL-STALL",
	.what = "a polling thread (SQPOLL) wants to run and gets no CPU",
	.severity = "info; warn from warn_wait_pct on",
	.advice = "While the poller does not run nothing is submitted. Give it a CPU of its own "
		  "(IORING_SETUP_SQ_AFF, sq_thread_cpu), or do without SQPOLL where there is none to spare.",
	.needs = RULE_NEEDS(SUBMIT),
	.thresholds = {
		[STALL_MIN_PCT] = { "min_wait_pct", "% of the time in which it ran or would have", 25,
			"every thread waits now and then; one that polls is there in order not to" },
		[STALL_MIN_MS] = { "min_wait_ms", "ms in all", 100, "less is a moment" },
		[STALL_WARN_PCT] = { "warn_wait_pct", "% of the same time", 50,
			"it waits for longer than it runs" },
	},
	.evidence = {
		{ "sq_tid", "the polling thread; of several the worst" },
		{ "sq_wait_ns", "how long it was ready to run and had no CPU, as far as it was looked at" },
		{ "sq_cpu_ns", "how long it ran" },
		{ "sq_wait_pct", "the former as a share of both" },
	},
	.eval = eval,
};
