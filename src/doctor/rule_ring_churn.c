// SPDX-License-Identifier: MIT
/* RING-CHURN: rings that live for a moment, one after the other. */
#include <string.h>

#include "fmt.h"
#include "rules.h"

enum threshold_index {
	RING_CHURN_MIN_RINGS,
	RING_CHURN_MIN_PER_S,
	RING_CHURN_MAX_LIFE_MS,
	RING_CHURN_WARN_PER_S
};

struct churn {
	uint64_t rings, ns, requests;
	const struct ring_stats *one; /* a listed one of them */
	bool one_comm, one_pid;	      /* those that are listed have these in common */
};

static void add_listed(const struct ring_stats *ring, struct churn *c)
{
	uint64_t ns;

	if (!ring_stats__brief(ring, &ns))
		return;
	c->rings++;
	c->ns += ns;
	c->requests += ring_stats__requests(ring);
	if (!c->one) {
		c->one = ring;
		c->one_comm = c->one_pid = true;
		return;
	}
	c->one_comm = c->one_comm && !strncmp(c->one->comm, ring->comm, sizeof(ring->comm));
	c->one_pid = c->one_pid && c->one->pid == ring->pid;
}

static int report(const struct rule *r, const struct snapshot *s, const struct churn *c, struct diagnosis *d)
{
	double per_s = rule__per_s(s, c->rings);
	char n[FMT_LEN], rate[FMT_LEN], life[FMT_LEN];
	struct finding f = {
		.rule = r->id,
		.severity =
			per_s >= r->thresholds[RING_CHURN_WARN_PER_S].value ? SEVERITY_WARN : SEVERITY_INFO,
		.advice = r->advice,
		.op = -1,
		.weight = c->rings,
	};
	json_t *e = json_object();

	if (c->one && c->one_pid && c->one->pid)
		evidence__u64(&e, "pid", c->one->pid);
	if (c->one && c->one_comm && c->one->comm[0])
		evidence__string(&e, "comm", c->one->comm);
	evidence__u64(&e, "created_and_closed", c->rings);
	evidence__real(&e, "per_s", per_s);
	evidence__u64(&e, "life_mean_ns", c->ns / c->rings);
	evidence__u64(&e, "requests", c->requests);
	return diagnosis__add(d, &f, e, "%s rings were created and closed again (%s/s), after %s on average",
		fmt_count(n, (double)c->rings), fmt_count(rate, per_s), fmt_ns(life, c->ns / c->rings));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	struct churn c = { 0 };

	for (size_t i = 0; i < s->n_rings; i++)
		add_listed(&s->rings[i], &c);
	if (s->others) {
		c.rings += s->others->n_brief;
		c.ns += s->others->brief_ns;
	}
	if (!c.rings || (double)c.rings < r->thresholds[RING_CHURN_MIN_RINGS].value ||
		rule__per_s(s, c.rings) < r->thresholds[RING_CHURN_MIN_PER_S].value ||
		(double)c.ns / (double)c.rings > r->thresholds[RING_CHURN_MAX_LIFE_MS].value * 1e6)
		return 0;
	return report(r, s, &c, d);
}

const struct rule rule_ring_churn = {
	.id = "RING-CHURN",
	.what = "rings are created and closed again at a rate",
	.severity = "info; warn from warn_per_s on",
	.advice = "Keep a ring for each thread as long as the thread lives, and give it the next task. Where a library "
		  "makes a ring for each call, hand it one, or share the workers of one (IORING_SETUP_ATTACH_WQ).",
	.needs = RULE_NEEDS(RING_CREATE) | RULE_NEEDS(RING_EXIT),
	.thresholds = {
		[RING_CHURN_MIN_RINGS] = { "min_rings", "rings", 100,
			"fewer are a program with many threads, which comes and goes" },
		[RING_CHURN_MIN_PER_S] = { "min_per_s", "rings/s", 10, "slower than this it costs nothing" },
		[RING_CHURN_MAX_LIFE_MS] = { "max_life_ms", "ms", 100,
			"on average; rings that live longer have done something for it" },
		[RING_CHURN_WARN_PER_S] = { "warn_per_s", "rings/s", 100,
			"a ring takes some 100 us of CPU time, memory that is mapped and unmapped, and a kernel "
			"worker that tears it down" },
	},
	.evidence = {
		{ "comm", "the program, if it is one" },
		{ "created_and_closed", "rings of which both was seen" },
		{ "per_s", "these by second of the window" },
		{ "life_mean_ns", "how long they were there" },
		{ "requests", "that were made on them, as far as they are listed" },
	},
	.eval = eval,
};
