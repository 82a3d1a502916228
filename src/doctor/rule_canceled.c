// SPDX-License-Identifier: MIT
/* CANCELED: chains that broke because a request in them had failed. */
#include <errno.h>
#include <stdlib.h>

#include "failing.h"
#include "fmt.h"
#include "names.h"
#include "opcode.h"

enum threshold_index { CANCELED_MIN_REQUESTS, CANCELED_MIN_PCT };

static uint64_t in_chains(const struct op_stats *o)
{
	/* one whose request ended in time is canceled, and that is all right */
	return o->op == OPCODE_LINK_TIMEOUT ? 0 : o->c[RS_SC_CANCELED_LINK];
}

/* Requests in chains that were canceled, without as many as linked timeouts may have. */
static uint64_t broken(const struct ring_stats *ring)
{
	uint64_t n = 0, cut_off = 0;

	for (size_t i = 0; i < ring->n_ops; i++) {
		n += in_chains(&ring->ops[i]);
		if (ring->ops[i].op == OPCODE_LINK_TIMEOUT)
			cut_off += op_stats__errno(&ring->ops[i], ETIME);
	}
	return n > cut_off ? n - cut_off : 0;
}

/* Somebody cancels requests there, and which of them is not known. */
static bool is_ambiguous(const struct ring_stats *ring)
{
	for (size_t i = 0; i < ring->n_ops; i++)
		if (ring->ops[i].op == OPCODE_ASYNC_CANCEL &&
			op_stats__completed(&ring->ops[i]) > ring->ops[i].c[RS_SC_ERRORS])
			return true;
	return false;
}

static bool is_much(const struct rule *r, const struct ring_stats *ring)
{
	uint64_t n = broken(ring);

	return (double)n >= rule__limit(r, CANCELED_MIN_REQUESTS) &&
	       rule__pct(n, ring_stats__requests(ring)) >= rule__limit(r, CANCELED_MIN_PCT);
}

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	(void)s;
	ret_hit->weight = broken(ring);
	return ring->id && is_much(r, ring) && !is_ambiguous(ring);
}

/* The opcode that most of them are of. */
static const struct op_stats *main_op(const struct ring_stats *ring)
{
	const struct op_stats *most = &ring->ops[0];

	for (size_t i = 1; i < ring->n_ops; i++)
		if (in_chains(&ring->ops[i]) > in_chains(most))
			most = &ring->ops[i];
	return most;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], n[FMT_LEN], name[NAME_LEN];
	uint64_t requests = 0;
	json_t *e = json_object();

	for (size_t i = 0; i < g->n; i++)
		requests += ring_stats__requests(g->hits[i].ring);
	f.op = (int)main_op(g->hits[0].ring)->op;
	hit_group__evidence(g, &e);
	evidence__u64(&e, "canceled", g->weight);
	evidence__u64(&e, "requests", requests);
	evidence__real(&e, "canceled_pct", rule__pct(g->weight, requests));
	return diagnosis__add(d, &f, e,
		"%s: %s requests, mostly %s, were canceled with the chain that they were in",
		hit_group__whose(g, whose), fmt_count(n, (double)g->weight),
		op_name((unsigned int)f.op, name));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	int err = rings__judge(r, s, fires, report, d);
	size_t unjudged = 0;

	for (size_t i = 0; i < s->n_rings; i++)
		unjudged += is_much(r, &s->rings[i]) && is_ambiguous(&s->rings[i]);
	if (!err && unjudged)
		err = diagnosis__not_checked(d, r->id, true,
			"not on %zu %s on which ASYNC_CANCEL may have ended the requests", unjudged,
			unjudged == 1 ? "ring" : "rings");
	return err ? err : rule__skips_summed(r, s, d);
}

const struct rule rule_canceled = {
	.id = "CANCELED",
	.what = "chains break: a request in them fails, and the rest is canceled",
	.severity = "warn",
	.advice = "Find the request in front of them that fails or does less than it was asked for: another finding "
		  "mostly names it. If the next step does not depend on its success, use IOSQE_IO_HARDLINK.",
	.needs = RULE_NEEDS(COMPLETE) | RULE_NEEDS(ENDS) | RULE_NEEDS(LINK),
	.thresholds = {
		[CANCELED_MIN_REQUESTS] = { "min_requests", "requests", 100, "fewer are what error handling is for" },
		[CANCELED_MIN_PCT] = { "min_pct", "% of the requests of the ring", 1, "below it nobody will notice" },
	},
	.evidence = {
		{ "canceled", "requests that follow others in a chain and ended with ECANCELED, without as many as "
			      "linked timeouts may have cut off" },
		{ "requests", "requests of the ring" },
		{ "canceled_pct", "canceled as a share of these" },
	},
	.eval = eval,
};
