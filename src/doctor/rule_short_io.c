// SPDX-License-Identifier: MIT
/* SHORT-IO: writes that the file system took only a part of at first. */
#include "fmt.h"
#include "opcode.h"
#include "rules.h"

enum threshold_index { SHORT_MIN_WRITES, SHORT_MIN_PCT };

static bool writes(unsigned int op)
{
	return op == OPCODE_WRITE || op == OPCODE_WRITEV || op == OPCODE_WRITE_FIXED ||
	       op == OPCODE_WRITEV_FIXED;
}

static uint64_t n_writes(const struct ring_stats *ring)
{
	uint64_t n = 0;

	for (size_t i = 0; i < ring->n_ops; i++)
		if (writes(ring->ops[i].op))
			n += ring->ops[i].c[RS_SC_SUBMITTED] + ring->ops[i].c[RS_SC_AT_ATTACH];
	return n;
}

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	(void)s;
	ret_hit->weight = ring->c[RS_RC_SHORT_WRITES];
	return (double)ret_hit->weight >= rule__limit(r, SHORT_MIN_WRITES) &&
	       rule__pct(ret_hit->weight, n_writes(ring)) >= rule__limit(r, SHORT_MIN_PCT);
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	char whose[WHOSE_LEN], n[FMT_LEN], of[FMT_LEN], pct[FMT_LEN];
	struct finding f = hit_group__finding(g);
	json_t *e = json_object();
	uint64_t all = 0;

	for (size_t i = 0; i < g->n; i++)
		all += n_writes(g->hits[i].ring);
	hit_group__evidence(g, &e);
	evidence__u64(&e, "short_writes", g->weight);
	evidence__u64(&e, "writes", all);
	evidence__real(&e, "short_pct", rule__pct(g->weight, all));
	return diagnosis__add(d, &f, e, "%s: %s of %s writes (%s) were done only in part at first",
		hit_group__whose(g, whose), fmt_count(n, (double)g->weight), fmt_count(of, (double)all),
		fmt_pct(pct, (double)g->weight, (double)all));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return rings__judge(r, s, fires, report, d);
}

const struct rule rule_short_io = {
	.id = "SHORT-IO",
	.what = "writes to files are done only in part at first",
	.severity = "warn",
	.advice = "The kernel tries the rest in a worker thread. A file system that is nearly full, a limit on the "
		  "size of files (RLIMIT_FSIZE), or a buffer that is not in memory: check these, and check in "
		  "the program that each result is what was asked for.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(SHORT_WRITE),
	.thresholds = {
		[SHORT_MIN_WRITES] = { "min_writes", "writes", 100, "fewer are the end of a file" },
		[SHORT_MIN_PCT] = { "min_pct", "% of the writes of the ring", 1, "below it nobody will notice" },
	},
	.evidence = {
		{ "short_writes", "writes that were done in part at first" },
		{ "writes", "all writes of the ring" },
		{ "short_pct", "the former as a share of the latter" },
	},
	.eval = eval,
};
