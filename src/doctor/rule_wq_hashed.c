// SPDX-License-Identifier: MIT
/*
 * WQ-HASHED: buffered writes to one file, which io-wq runs one after the other.
 *
 * That they waited for each other is no guess: one of them runs at a time, so whatever time they spent with io-wq
 * beyond the time that passed they spent waiting.
 */
#include <errno.h>
#include <stdlib.h>

#include "fmt.h"
#include "rules.h"

enum threshold_index { WQ_HASHED_MIN_REQUESTS, WQ_HASHED_MIN_SAME_PCT, WQ_HASHED_MIN_DEPTH };

struct hashed {
	uint64_t n, again; /* requests, those of the same file as the one before */
	double wq_ns;	   /* with io-wq, all of them */
	uint64_t timed, timed_ns;
	uint64_t alive_ns;
	int op; /* the only opcode, else -1 */
};

static void add_op(const struct op_stats *o, struct hashed *h)
{
	uint64_t n = o->c[RS_SC_HASHED];

	if (!n)
		return;
	h->op = h->n ? -1 : (int)o->op;
	h->n += n;
	h->timed += o->c[RS_SC_WQ_TIMED];
	h->timed_ns += o->c[RS_SC_WQ_NS];
	if (o->c[RS_SC_WQ_TIMED])
		h->wq_ns += (double)o->c[RS_SC_WQ_NS] / (double)o->c[RS_SC_WQ_TIMED] * (double)n;
}

static struct hashed hashed_of(const struct ring_stats *ring)
{
	struct hashed h = { .again = ring->c[RS_RC_HASHED_AGAIN], .alive_ns = ring->alive_ns, .op = -1 };

	for (size_t i = 0; i < ring->n_ops; i++)
		add_op(&ring->ops[i], &h);
	return h;
}

static double depth(const struct hashed *h)
{
	return h->alive_ns ? h->wq_ns / (double)h->alive_ns : 0;
}

/* The name of the file, NULL: not known, or they may be those of another ring. */
static const char *file_of(const struct rule *r, const struct snapshot *s, const struct hashed *h)
{
	for (size_t i = 0; i < s->files.n && h->op >= 0; i++) {
		const struct file_stats *f = &s->files.list[i];

		if (f->op == (unsigned int)h->op && f->name && f->c.punted <= h->n &&
			rule__pct(f->c.punted, h->n) >= r->thresholds[WQ_HASHED_MIN_SAME_PCT].value)
			return f->name;
	}
	return NULL;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct hashed worst = hashed_of(g->hits[0].ring);
	char whose[WHOSE_LEN], n[FMT_LEN], mean[FMT_LEN];
	struct finding f = hit_group__finding(g);
	double wait_ns = worst.wq_ns - (double)worst.alive_ns;
	json_t *e = json_object();

	f.op = worst.op;
	f.file = file_of(g->rule, g->snap, &worst);
	f.time_ns = (uint64_t)wait_ns;
	hit_group__evidence(g, &e);
	evidence__u64(&e, "wq_hashed", worst.n);
	evidence__real(&e, "same_file_pct", rule__pct(worst.again, worst.n));
	evidence__real(&e, "in_wq_mean", depth(&worst));
	evidence__u64(&e, "wq_mean_ns", worst.timed_ns / worst.timed);
	evidence__real(&e, "waiting_pct", 100 * wait_ns / worst.wq_ns);
	return diagnosis__add(d, &f, e,
		"%s: %s requests for one file went to io-wq, which runs one at a time: %.1f were there on "
		"average, for %s",
		hit_group__whose(g, whose), fmt_count(n, (double)worst.n), depth(&worst),
		fmt_ns(mean, worst.timed_ns / worst.timed));
}

static bool fires(const struct rule *r, const struct hashed *h)
{
	return h->timed && (double)h->n >= r->thresholds[WQ_HASHED_MIN_REQUESTS].value &&
	       rule__pct(h->again, h->n) >= r->thresholds[WQ_HASHED_MIN_SAME_PCT].value &&
	       depth(h) >= r->thresholds[WQ_HASHED_MIN_DEPTH].value;
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	struct ring_hit *hits = calloc(s->n_rings + 1, sizeof(*hits));
	size_t n = 0;
	int err;

	if (!hits)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_rings; i++) {
		struct hashed h = hashed_of(&s->rings[i]);

		if (s->rings[i].id && fires(r, &h))
			hits[n++] = (struct ring_hit){ &s->rings[i], SEVERITY_WARN, h.n };
	}
	err = ring_hits__report(r, s, hits, n, report, d);
	free(hits);
	return err;
}

const struct rule rule_wq_hashed = {
	.id = "WQ-HASHED",
	.what = "requests for one file queued up in io-wq, which runs such one after the other",
	.severity = "warn",
	.advice = "More workers do not help. Keep such requests from io-wq: write with O_DIRECT, or buffered on a "
		  "file system that can without blocking (xfs, btrfs); else spread the data over several files, "
		  "or make fewer and larger writes.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(PUNT),
	.thresholds = {
		[WQ_HASHED_MIN_REQUESTS] = { "min_requests", "requests", 100, "fewer are a moment" },
		[WQ_HASHED_MIN_SAME_PCT] = { "min_same_pct", "% of them", 90,
			"of the same file as the one before: of several files some would run side by side" },
		[WQ_HASHED_MIN_DEPTH] = { "min_depth", "requests", 4,
			"in io-wq on average: one runs, so three of four wait" },
	},
	.evidence = {
		{ "wq_hashed", "requests of the worst ring that io-wq keeps in order for their file" },
		{ "same_file_pct", "those of them for the same file as the one before" },
		{ "in_wq_mean", "requests that were with io-wq, on average over the time that the ring was there" },
		{ "wq_mean_ns", "for how long they were there" },
		{ "waiting_pct", "the part of that time that they waited, at least" },
	},
	.eval = eval,
};
