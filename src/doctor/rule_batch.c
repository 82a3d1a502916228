// SPDX-License-Identifier: MIT
/* BATCH: near one SQE a submission, at a rate where the system calls cost something. */
#include <errno.h>
#include <stdlib.h>

#include "fmt.h"
#include "rules.h"

enum threshold_index {
	BATCH_MIN_BATCHES,
	BATCH_MAX_MEAN,
	BATCH_MIN_PER_S,
	BATCH_WARN_PER_S,
	BATCH_LONE_DEPTH
};

/* Bit 1 of io_uring_params.flags, IORING_SETUP_SQPOLL: there a batch is a pass of the kernel's thread. */
#define SETUP_SQPOLL (1u << 1)

static const char lone_advice[] =
	"This looks like one request at a time: each I/O pays a system call, and io_uring wins nothing "
	"over plain read() and write(). If the requests do not depend on each other, keep several in "
	"flight and submit them together. If they do, nothing is wrong; io_uring_submit_and_wait() at "
	"least waits in the same system call.";

static double batch_mean(const struct totals *t)
{
	return t->batches ? (double)(t->submitted + t->rejected) / (double)t->batches : 0;
}

/* On an SQPOLL ring no system call submits. */
static bool is_polled(const struct ring_stats *ring)
{
	return (ring->setup_flags & SETUP_SQPOLL) || ring->sq_tid;
}

/* So many submissions of one ring, and so fast, that it matters how large they are. */
static bool is_busy(const struct rule *r, const struct snapshot *s, uint64_t batches)
{
	return (double)batches >= r->thresholds[BATCH_MIN_BATCHES].value &&
	       rule__per_s(s, batches) >= r->thresholds[BATCH_MIN_PER_S].value;
}

/* Busy, and small as far as its SQEs are known: not all are if !t->batches_known. */
static bool looks_small(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	const struct totals *t)
{
	return ring->id && !is_polled(ring) && is_busy(r, s, t->batches) &&
	       batch_mean(t) < r->thresholds[BATCH_MAX_MEAN].value;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	struct totals sum = { .batches_known = true }, t;
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], rate[FMT_LEN];
	json_t *e = json_object();
	uint32_t depth_max = 0;

	for (size_t i = 0; i < g->n; i++) {
		t = ring_stats__totals(g->hits[i].ring);
		totals__add(&sum, &t);
		if (g->hits[i].ring->cq_depth_max > depth_max)
			depth_max = g->hits[i].ring->cq_depth_max;
	}
	hit_group__evidence(g, &e);
	evidence__u64(&e, "submitted", sum.submitted);
	evidence__u64(&e, "rejected", sum.rejected);
	evidence__u64(&e, "batches", sum.batches);
	evidence__real(&e, "batch_mean", batch_mean(&sum));
	evidence__real(&e, "batches_per_s", rule__per_s(g->snap, sum.batches));
	evidence__u64(&e, "cq_depth_max", depth_max);
	if (depth_max <= g->rule->thresholds[BATCH_LONE_DEPTH].value)
		f.advice = lone_advice;
	return diagnosis__add(d, &f, e, "%s: %s submissions/s of %.2f SQEs each on average",
		hit_group__whose(g, whose), fmt_count(rate, rule__per_s(g->snap, sum.batches)),
		batch_mean(&sum));
}

/*
 * Such a ring may be among those whose SQEs are in part counted elsewhere, those without an entry, of
 * which each request may have been a submission of its own, and those that are only summed.
 */
static int report_unjudged(const struct rule *r, const struct snapshot *s, size_t n_rings,
	struct diagnosis *d)
{
	const struct fidelity *f = &s->fidelity;
	uint64_t unplaced = f->rings_full > f->series_full ? f->rings_full - f->series_full : 0;
	int err = 0;

	if (n_rings)
		err = diagnosis__not_checked(d, r->id, true,
			"not on %zu %s that had no room for all opcodes: --max-rings", n_rings,
			n_rings == 1 ? "ring" : "rings");
	if (!err && s->others && is_busy(r, s, unplaced))
		err = diagnosis__not_checked(d, r->id, true,
			"not on rings that found the ring table full: --max-rings");
	if (!err && s->others && is_busy(r, s, s->others->batches_max))
		err = diagnosis__not_checked(d, r->id, true,
			"not on %zu %s that are only summed: --max-report-rings", s->n_others,
			s->n_others == 1 ? "ring" : "rings");
	return err;
}

static enum severity severity_of(const struct rule *r, const struct snapshot *s,
	const struct ring_stats *ring, const struct totals *t)
{
	bool lone = ring->cq_depth_max <= r->thresholds[BATCH_LONE_DEPTH].value;

	return !lone && rule__per_s(s, t->batches) >= r->thresholds[BATCH_WARN_PER_S].value ? SEVERITY_WARN
											    : SEVERITY_INFO;
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	struct ring_hit *hits = calloc(s->n_rings + 1, sizeof(*hits));
	size_t n = 0, n_unjudged = 0;
	int err;

	if (!hits)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_rings; i++) {
		const struct ring_stats *ring = &s->rings[i];
		struct totals t = ring_stats__totals(ring);

		if (!looks_small(r, s, ring, &t))
			continue;
		if (!t.batches_known)
			n_unjudged++;
		else
			hits[n++] = (struct ring_hit){ ring, severity_of(r, s, ring, &t), t.submitted };
	}
	err = ring_hits__report(r, s, hits, n, report, d);
	err = err ? err : report_unjudged(r, s, n_unjudged, d);
	free(hits);
	return err;
}

const struct rule rule_batch = {
	.id = "BATCH",
	.what = "a busy ring submits its SQEs one at a time",
	.severity = "info; warn from warn_per_s submissions a second on, but not where there never was more than one CQE to "
		    "reap (lone_depth)",
	.advice = "Prepare all SQEs that are ready and submit them with one io_uring_submit(); "
		  "in an event loop submit once a turn, best with io_uring_submit_and_wait(), "
		  "which waits in the same system call. A thread that must submit at once can "
		  "let the kernel do it (IORING_SETUP_SQPOLL, for the price of a polling CPU).",
	.needs = RULE_NEEDS(SUBMIT),
	.thresholds = {
		[BATCH_MIN_BATCHES] = { "min_batches", "submissions", 1000,
			"fewer are no pattern" },
		[BATCH_MAX_MEAN] = { "max_mean", "SQEs a submission", 1.5,
			"below it, most submissions carry a single SQE" },
		[BATCH_MIN_PER_S] = { "min_per_s", "submissions/s", 10000,
			"at some 0.3 us a system call, slower rings lose less than 0.5 % of a CPU" },
		[BATCH_WARN_PER_S] = { "warn_per_s", "submissions/s", 200000,
			"6 % of a CPU; fio with its defaults stays below on most devices" },
		[BATCH_LONE_DEPTH] = { "lone_depth", "CQEs", 1,
			"never more than one CQE waiting: most likely one request at a time, "
			"nothing to batch: info" },
	},
	.evidence = {
		{ "submitted", "requests of these rings" },
		{ "rejected", "SQEs refused" },
		{ "batches", "submissions" },
		{ "batch_mean", "SQEs to a submission" },
		{ "batches_per_s", "submissions by second of the window" },
		{ "cq_depth_max", "most CQEs that were to be reaped at a time" },
	},
	.eval = eval,
};
