// SPDX-License-Identifier: MIT
/* SQPOLL-IDLE: a polling thread takes CPU time for little work. */
#include "fmt.h"
#include "rules.h"

enum threshold_index { IDLE_MIN_PCT, IDLE_MIN_CPU, IDLE_MIN_US, IDLE_WARN_PCT };

/* What a request takes of a poller that has enough to do, generously. */
#define USEFUL_NS 10000u

/* Rings can share a thread. */
static bool same_thread(const struct ring_stats *a, const struct ring_stats *b)
{
	return a->sq_tid && a->sq_tid == b->sq_tid && a->sq_outside == b->sq_outside;
}

/* Whether an earlier ring stands for its thread. */
static bool is_told(const struct snapshot *s, const struct ring_stats *ring)
{
	for (size_t i = 0; i < s->n_rings && &s->rings[i] != ring; i++)
		if (same_thread(&s->rings[i], ring) && s->rings[i].sq_cpu_known)
			return true;
	return false;
}

static uint64_t sqes(const struct snapshot *s, const struct ring_stats *ring)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_rings; i++) {
		if (same_thread(&s->rings[i], ring)) {
			struct totals t = ring_stats__totals(&s->rings[i]);

			n += t.submitted + t.rejected;
		}
	}
	return n;
}

static double cpu_pct(const struct ring_stats *ring)
{
	return rule__pct(ring->sq_cpu_ns, ring->sq_alive_ns);
}

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	if (!ring->id || !ring->sq_tid || !ring->sq_cpu_known || is_told(s, ring))
		return false;
	ret_hit->weight = sqes(s, ring);
	if (cpu_pct(ring) < rule__limit(r, IDLE_WARN_PCT))
		ret_hit->severity = SEVERITY_INFO;
	return (double)ring->sq_cpu_ns >= rule__limit(r, IDLE_MIN_CPU) * 1e6 &&
	       cpu_pct(ring) >= rule__limit(r, IDLE_MIN_PCT) &&
	       (double)ring->sq_cpu_ns >= (double)ret_hit->weight * rule__limit(r, IDLE_MIN_US) * 1e3;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct ring_stats *worst = g->hits[0].ring;
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], n[FMT_LEN], cpu[FMT_LEN];
	uint64_t cpu_ns = 0;
	json_t *e = json_object();

	for (size_t i = 0; i < g->n; i++)
		cpu_ns += g->hits[i].ring->sq_cpu_ns;
	f.time_ns = cpu_ns > g->weight * USEFUL_NS ? cpu_ns - g->weight * USEFUL_NS : 0;
	hit_group__evidence(g, &e);
	evidence__u64(&e, "sq_tid", worst->sq_tid);
	evidence__u64(&e, "sq_cpu_ns", cpu_ns);
	evidence__real(&e, "sq_cpu_pct", cpu_pct(worst));
	evidence__u64(&e, "sqes", g->weight);
	if (g->weight)
		evidence__u64(&e, "cpu_per_sqe_ns", cpu_ns / g->weight);
	return diagnosis__add(d, &f, e, "%s: the poller took %s of CPU time for %s SQEs",
		hit_group__whose(g, whose), fmt_ns(cpu, cpu_ns), fmt_count(n, (double)g->weight));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	size_t unknown = 0;
	int err = rings__judge(r, s, fires, report, d);

	for (size_t i = 0; i < s->n_rings; i++)
		unknown += s->rings[i].sq_tid && !s->rings[i].sq_cpu_known;
	if (!err && unknown)
		err = diagnosis__not_checked(d, r->id, true,
			"not on %zu %s: the CPU time of the poller is not known", unknown,
			unknown == 1 ? "ring" : "rings");
	return err;
}

const struct rule rule_sqpoll_idle = {
	.id = "SQPOLL-IDLE",
	.what = "a polling thread (SQPOLL) burns CPU time for little work",
	.severity = "info; warn from warn_cpu_pct on",
	.advice = "Let the poller sleep earlier (io_uring_params.sq_thread_idle, in milliseconds), let several "
		  "rings share one (IORING_SETUP_ATTACH_WQ), or do without SQPOLL: at this rate the system "
		  "calls that it saves cost next to nothing.",
	.needs = RULE_NEEDS(SUBMIT),
	.thresholds = {
		[IDLE_MIN_PCT] = { "min_cpu_pct", "% of a CPU", 10, "less is hardly missed" },
		[IDLE_MIN_CPU] = { "min_cpu_ms", "ms of CPU time", 100, "less is a start, or an end" },
		[IDLE_MIN_US] = { "min_us", "us of CPU time for an SQE", 200,
			"two hundred times what a system call takes: what polling saves is lost many times "
			"over" },
		[IDLE_WARN_PCT] = { "warn_cpu_pct", "% of a CPU", 50, "half a CPU would be of use elsewhere" },
	},
	.evidence = {
		{ "sq_tid", "the polling thread; of several the worst" },
		{ "sq_cpu_ns", "its CPU time; of several the sum" },
		{ "sq_cpu_pct", "as a share of the time that it was there" },
		{ "sqes", "SQEs that it took, from all rings that share it" },
		{ "cpu_per_sqe_ns", "CPU time for each" },
	},
	.eval = eval,
};
