// SPDX-License-Identifier: MIT
/* UNREGISTERED: requests at a high rate on a ring that has registered no files. */
#include <errno.h>
#include <stdlib.h>

#include "fmt.h"
#include "names.h"
#include "uapi.h"
#include "rules.h"

enum threshold_index { UNREGISTERED_MIN_REQUESTS, UNREGISTERED_MIN_PER_S, UNREGISTERED_GAIN_NS };

/* Requests that move bytes: each of them has a file. */
static uint64_t requests(const struct ring_stats *ring)
{
	uint64_t n = 0;

	for (size_t i = 0; i < ring->n_ops; i++)
		if (op_traits(ring->ops[i].op) & RS_OP_BYTES)
			n += ring->ops[i].c[RS_SC_SUBMITTED];
	return n;
}

static bool is_busy(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring)
{
	uint64_t n = requests(ring);

	return (double)n >= r->thresholds[UNREGISTERED_MIN_REQUESTS].value &&
	       rule__per_s(s, n) >= r->thresholds[UNREGISTERED_MIN_PER_S].value;
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	double gain_ns = g->rule->thresholds[UNREGISTERED_GAIN_NS].value,
	       per_s = rule__per_s(g->snap, g->weight);
	struct finding f = hit_group__finding(g);
	char whose[WHOSE_LEN], rate[FMT_LEN];
	json_t *e = json_object();

	f.time_ns = (uint64_t)(gain_ns * (double)g->weight);
	hit_group__evidence(g, &e);
	evidence__u64(&e, "requests", g->weight);
	evidence__real(&e, "per_s", per_s);
	evidence__real(&e, "gain_pct", gain_ns * per_s / 1e7);
	return diagnosis__add(d, &f, e,
		"%s: %s requests/s look up and hold their file; registered files would save about %.1f%% of a CPU",
		hit_group__whose(g, whose), fmt_count(rate, per_s), gain_ns * per_s / 1e7);
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	struct ring_hit *hits = calloc(s->n_rings + 1, sizeof(*hits));
	size_t n = 0, n_older = 0;
	int err;

	if (!hits)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_rings; i++) {
		const struct ring_stats *ring = &s->rings[i];

		if (!ring->id || !is_busy(r, s, ring) || ring->c[RS_RC_FILE_TABLES])
			continue;
		if (ring->created_in_window)
			hits[n++] = (struct ring_hit){ ring, SEVERITY_INFO, requests(ring) };
		else
			n_older++;
	}
	err = ring_hits__report(r, s, hits, n, report, d);
	if (!err && n_older)
		err = diagnosis__not_checked(d, r->id, true,
			"not on %zu %s older than the observation, which may have registered files before",
			n_older, n_older == 1 ? "ring" : "rings");
	free(hits);
	return err;
}

const struct rule rule_unregistered = {
	.id = "UNREGISTERED",
	.what = "a busy ring has registered no files",
	.severity = "info",
	.advice = "If the files are few or live long, register them (io_uring_register_files()) and name them by index "
		  "with IOSQE_FIXED_FILE; accept and open can put files there at once "
		  "(io_uring_prep_multishot_accept_direct()). Buffers that are used again for O_DIRECT gain more by "
		  "io_uring_register_buffers().",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(REGISTER) | RULE_NEEDS(RING_CREATE),
	.thresholds = {
		[UNREGISTERED_MIN_REQUESTS] = { "min_requests", "requests", 100000, "fewer are not worth a change" },
		[UNREGISTERED_MIN_PER_S] = { "min_per_s", "requests/s", 100000,
			"below it registered files save tenths of a percent of a CPU" },
		[UNREGISTERED_GAIN_NS] = { "gain_ns", "ns a request", 11,
			"measured with NOPs that take a file, one thread, Linux 6.18; more where threads share the "
			"file" },
	},
	.evidence = {
		{ "requests", "requests that move bytes: each has a file" },
		{ "per_s", "these by second of the window" },
		{ "gain_pct", "what registered files would save, as a part of a CPU: gain_ns for each" },
	},
	.eval = eval,
};
