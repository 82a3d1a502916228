// SPDX-License-Identifier: MIT
/* SETUP-FLAGS: completions that interrupt the thread, where a flag of this kernel would let them wait for it. */
#include <errno.h>
#include <stdlib.h>

#include "fmt.h"
#include "lat.h"
#include "uapi.h"
#include "rules.h"

enum threshold_index { SETUP_FLAGS_MIN_REQUESTS, SETUP_FLAGS_MIN_PER_S };

static const char defer_advice[] =
	"Create the ring with IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, in the thread that uses it "
	"(or with IORING_SETUP_R_DISABLED and enabled there). CQEs then come when that thread asks the kernel for "
	"them: it has to wait with io_uring_enter(), or call io_uring_get_events(), and not only look at the CQ.";

static uint64_t count_of(const struct op_stats *o, unsigned int kind)
{
	const struct rs_lat *l = op_stats__times(o, kind);

	return l ? lat__count(l) : 0;
}

/* Requests that ended neither inline nor in a worker: their CQEs were posted by task work. */
static uint64_t by_task_work(const struct op_stats *o)
{
	uint64_t slow = count_of(o, RS_KIND_SLOW), timed = lat__count(&o->lat);
	uint64_t wq = count_of(o, RS_KIND_STAGE(RS_ST_WQ)) + count_of(o, RS_KIND_STAGE(RS_ST_WQ_RUN));
	double part = timed && slow > wq ? (double)(slow - wq) / (double)timed : 0;

	return (uint64_t)(part * (double)op_stats__completed(o)) + o->c[RS_SC_MULTISHOT];
}

static uint64_t ring_by_task_work(const struct snapshot *s, const struct ring_stats *ring)
{
	uint64_t n = 0;

	for (size_t i = 0; i < ring->n_ops; i++)
		if (!ring->ops[i].stages_lost)
			n += by_task_work(&ring->ops[i]);
	(void)s;
	return n;
}

/* The flag to add, 0: none. */
static uint32_t missing(const struct snapshot *s, const struct ring_stats *ring)
{
	uint32_t has = ring->setup_flags;

	if ((has & (FLAG_SQPOLL | FLAG_IOPOLL | FLAG_DEFER_TASKRUN)) || ring->sq_tid)
		return 0;
	if (ring->submitters == SUBMITTERS_ONE && (s->setup_flags & FLAG_DEFER_TASKRUN))
		return FLAG_DEFER_TASKRUN;
	if (ring->submitters != SUBMITTERS_UNKNOWN && (s->setup_flags & FLAG_COOP_TASKRUN) &&
		!(has & FLAG_COOP_TASKRUN))
		return FLAG_COOP_TASKRUN;
	return 0;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	bool defer = missing(g->snap, g->hits[0].ring) == FLAG_DEFER_TASKRUN;
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], rate[FMT_LEN];
	json_t *e = json_object();

	if (defer)
		f.advice = defer_advice;
	hit_group__evidence(g, &e);
	evidence__u64(&e, "by_task_work", g->weight);
	evidence__real(&e, "per_s", rule__per_s(g->snap, g->weight));
	evidence__string(&e, "missing", defer ? "DEFER_TASKRUN" : "COOP_TASKRUN");
	evidence__string(&e, "submitters",
		g->hits[0].ring->submitters == SUBMITTERS_ONE ? "one thread" : "several threads");
	return diagnosis__add(d, &f, e, "%s: %s CQEs/s are posted by task work, without %s (%s)",
		hit_group__whose(g, whose), fmt_count(rate, rule__per_s(g->snap, g->weight)),
		defer ? "DEFER_TASKRUN" : "COOP_TASKRUN",
		g->hits[0].ring->submitters == SUBMITTERS_ONE ? "one thread submits"
							      : "several threads submit");
}

/* Hits of one flag: each has its advice. */
static int look_for(const struct rule *r, const struct snapshot *s, uint32_t flag, struct ring_hit *hits,
	struct diagnosis *d)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_rings; i++) {
		const struct ring_stats *ring = &s->rings[i];
		uint64_t count;

		if (!ring->id || missing(s, ring) != flag)
			continue;
		count = ring_by_task_work(s, ring);
		if ((double)count >= r->thresholds[SETUP_FLAGS_MIN_REQUESTS].value &&
			rule__per_s(s, count) >= r->thresholds[SETUP_FLAGS_MIN_PER_S].value)
			hits[n++] = (struct ring_hit){ ring, SEVERITY_INFO, count };
	}
	return ring_hits__report(r, s, hits, n, report, d);
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	struct ring_hit *hits = calloc(s->n_rings + 1, sizeof(*hits));
	int err;

	if (!hits)
		return -ENOMEM;
	err = look_for(r, s, FLAG_DEFER_TASKRUN, hits, d);
	err = err ? err : look_for(r, s, FLAG_COOP_TASKRUN, hits, d);
	free(hits);
	return err;
}

const struct rule rule_setup_flags = {
	.id = "SETUP-FLAGS",
	.what = "a busy ring was set up without a flag of this kernel that makes completions cheaper",
	.severity = "info",
	.advice = "Create the ring with IORING_SETUP_COOP_TASKRUN: completions then wait until the thread enters the "
		  "kernel for whatever reason, and do not interrupt it. A thread that only looks at the CQ needs "
		  "IORING_SETUP_TASKRUN_FLAG besides, and to enter the kernel when IORING_SQ_TASKRUN is set.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(STAGES) | RULE_NEEDS(PUNT),
	.thresholds = {
		[SETUP_FLAGS_MIN_REQUESTS] = { "min_requests", "CQEs", 10000, "fewer are no pattern" },
		[SETUP_FLAGS_MIN_PER_S] = { "min_per_s", "CQEs/s", 10000,
			"an interrupt of the thread takes a microsecond or so: below it less than 1 % of a CPU" },
	},
	.evidence = {
		{ "by_task_work", "CQEs of requests that ended neither inline nor in a worker" },
		{ "per_s", "these by second of the window" },
		{ "missing", "the flag" },
		{ "submitters", "threads that submitted while observing" },
	},
	.eval = eval,
};
