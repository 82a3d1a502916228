// SPDX-License-Identifier: MIT
/* ENTER-BLOCK: io_uring_enter takes long although nobody waits in it. */
#include <errno.h>
#include <stdlib.h>

#include "fmt.h"
#include "uapi.h"
#include "rules.h"

enum threshold_index { ENTER_BLOCK_MIN_CALLS, ENTER_BLOCK_MIN_MEAN_MS };

/* There calls do other things: wake the kernel's thread, poll the device. */
static bool is_polled(const struct ring_stats *ring)
{
	return (ring->setup_flags & (FLAG_SQPOLL | FLAG_IOPOLL)) || ring->sq_tid;
}

static bool is_slow(const struct rule *r, const struct totals *t)
{
	return t->enters && (double)t->enters >= r->thresholds[ENTER_BLOCK_MIN_CALLS].value &&
	       (double)t->enter_ns / (double)t->enters >= r->thresholds[ENTER_BLOCK_MIN_MEAN_MS].value * 1e6;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	struct totals sum = { .batches_known = true }, t;
	char whose[WHOSE_LEN], n[FMT_LEN], mean[FMT_LEN];
	struct finding f = hit_group__finding(g);
	json_t *e = json_object();

	for (size_t i = 0; i < g->n; i++) {
		t = ring_stats__totals(g->hits[i].ring);
		totals__add(&sum, &t);
	}
	f.time_ns = sum.enter_ns;
	hit_group__evidence(g, &e);
	evidence__u64(&e, "enters", sum.enters);
	evidence__u64(&e, "enter_mean_ns", sum.enter_ns / sum.enters);
	evidence__u64(&e, "enter_ns", sum.enter_ns);
	evidence__u64(&e, "submitted", sum.submitted);
	return diagnosis__add(d, &f, e,
		"%s: %s calls of io_uring_enter took %s on average, and none of them waited",
		hit_group__whose(g, whose), fmt_count(n, (double)sum.enters),
		fmt_ns(mean, sum.enter_ns / sum.enters));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	struct ring_hit *hits = calloc(s->n_rings + 1, sizeof(*hits));
	size_t n = 0, n_waiting = 0;
	int err;

	if (!hits)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_rings; i++) {
		struct totals t = ring_stats__totals(&s->rings[i]);

		if (!s->rings[i].id || is_polled(&s->rings[i]) || !is_slow(r, &t))
			continue;
		if (t.waits)
			n_waiting++;
		else
			hits[n++] = (struct ring_hit){ &s->rings[i], SEVERITY_WARN, t.submitted };
	}
	err = ring_hits__report(r, s, hits, n, report, d);
	if (!err && n_waiting)
		err = diagnosis__not_checked(d, r->id, true,
			"not on %zu %s also waited in io_uring_enter: its time is both together", n_waiting,
			n_waiting == 1 ? "ring that" : "rings that");
	free(hits);
	return err;
}

const struct rule rule_enter_block = {
	.id = "ENTER-BLOCK",
	.what = "io_uring_enter takes long to submit",
	.severity = "warn",
	.advice = "Whatever blocks inline holds up the thread and the rest of its batch. Submit such requests with "
		  "IOSQE_ASYNC, which hands them to a worker, or from a thread of their own, or let the kernel submit "
		  "(IORING_SETUP_SQPOLL); smaller batches give the thread back sooner.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(WAIT) | RULE_NEEDS(ENTER),
	.thresholds = {
		[ENTER_BLOCK_MIN_CALLS] = { "min_calls", "calls", 100, "fewer are chance" },
		[ENTER_BLOCK_MIN_MEAN_MS] = { "min_mean_ms", "ms", 1,
			"on average; a large batch of cached reads takes less" },
	},
	.evidence = {
		{ "enters", "calls of io_uring_enter" },
		{ "enter_mean_ns", "how long they took" },
		{ "enter_ns", "the same in all" },
		{ "submitted", "requests that they submitted" },
	},
	.eval = eval,
};
