// SPDX-License-Identifier: MIT
/*
 * WAIT-SPIN: io_uring_enter called for nothing.
 *
 * A call may submit, wait and bring CQEs at once. So those that can be explained are at most as many as there were
 * submissions, waits and CQEs: what is left did none of these.
 */
#include <errno.h>
#include <stdlib.h>

#include "fmt.h"
#include "uapi.h"
#include "rules.h"

enum threshold_index { WAIT_SPIN_MIN_CALLS, WAIT_SPIN_MIN_PER_S };

static uint64_t useless(const struct ring_stats *ring)
{
	struct totals t = ring_stats__totals(ring);
	uint64_t explained =
		t.batches + t.waits + ring_stats__cqes(ring) + t.cq_dropped + t.cq_overflows + t.sq_dropped;

	return t.enters > explained ? t.enters - explained : 0;
}

/* There calls wake the kernel's thread, or poll the device themselves. */
static bool is_polled(const struct ring_stats *ring)
{
	return (ring->setup_flags & (FLAG_SQPOLL | FLAG_IOPOLL)) || ring->sq_tid;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	struct totals sum = { .batches_known = true }, t;
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], rate[FMT_LEN], pct[FMT_LEN];
	json_t *e = json_object();
	uint64_t cqes = 0;

	for (size_t i = 0; i < g->n; i++) {
		t = ring_stats__totals(g->hits[i].ring);
		totals__add(&sum, &t);
		cqes += ring_stats__cqes(g->hits[i].ring);
	}
	hit_group__evidence(g, &e);
	evidence__u64(&e, "useless", g->weight);
	evidence__u64(&e, "enters", sum.enters);
	evidence__u64(&e, "batches", sum.batches);
	evidence__u64(&e, "waits", sum.waits);
	evidence__u64(&e, "cqes", cqes);
	return diagnosis__add(d, &f, e,
		"%s: %s calls of io_uring_enter/s, %s of all, neither submitted nor waited nor brought a CQE",
		hit_group__whose(g, whose), fmt_count(rate, rule__per_s(g->snap, g->weight)),
		fmt_pct(pct, (double)g->weight, (double)sum.enters));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	struct ring_hit *hits = calloc(s->n_rings + 1, sizeof(*hits));
	size_t n = 0;
	int err;

	if (!hits)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_rings; i++) {
		const struct ring_stats *ring = &s->rings[i];
		uint64_t calls = useless(ring);

		if (!ring->id || is_polled(ring) || ring->batchless)
			continue;
		if (calls && (double)calls >= r->thresholds[WAIT_SPIN_MIN_CALLS].value &&
			rule__per_s(s, calls) >= r->thresholds[WAIT_SPIN_MIN_PER_S].value)
			hits[n++] = (struct ring_hit){ ring, SEVERITY_WARN, calls };
	}
	err = ring_hits__report(r, s, hits, n, report, d);
	free(hits);
	return err;
}

const struct rule rule_wait_spin = {
	.id = "WAIT-SPIN",
	.what = "io_uring_enter is called again and again for nothing",
	.severity = "warn",
	.advice = "Look at the CQ first (io_uring_cq_ready() makes no system call), and then wait for at least one CQE: "
		  "io_uring_submit_and_wait() with 1, with a timeout if need be. A wait for 0 CQEs returns at once.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(ENDS) | RULE_NEEDS(WAIT) |
		 RULE_NEEDS(OVERFLOW) | RULE_NEEDS(ENTER),
	.thresholds = {
		[WAIT_SPIN_MIN_CALLS] = { "min_calls", "calls", 10000, "fewer are no pattern" },
		[WAIT_SPIN_MIN_PER_S] = { "min_per_s", "calls/s", 10000,
			"at some 0.3 us a system call, slower ones lose less than 0.5 % of a CPU" },
	},
	.evidence = {
		{ "useless", "calls that no submission, wait or CQE explains, at least" },
		{ "enters", "calls of io_uring_enter" },
		{ "batches", "submissions" },
		{ "waits", "times that a thread really waited" },
		{ "cqes", "CQEs posted" },
	},
	.eval = eval,
};
