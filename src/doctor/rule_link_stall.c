// SPDX-License-Identifier: MIT
/* LINK-STALL: the time of an opcode's requests is spent behind others, in chains or behind drains. */
#include "fmt.h"
#include "lat.h"
#include "names.h"
#include "op_stages.h"
#include "rules.h"

enum threshold_index {
	LINK_STALL_MIN_REQUESTS,
	LINK_STALL_MIN_PCT,
	LINK_STALL_MIN_MEAN_MS,
	LINK_STALL_DRAIN_PCT
};

static uint64_t waited(const struct op_stats *o)
{
	const struct rs_lat *l = op_stats__times(o, RS_KIND_STAGE(RS_ST_LINK));

	return l ? lat__count(l) : 0;
}

/* Requests that were drained on rings on which requests of this opcode waited. */
static uint64_t drained_with(const struct snapshot *s, unsigned int op)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_rings; i++)
		for (size_t k = 0; k < s->rings[i].n_ops; k++)
			if (s->rings[i].ops[k].op == op && waited(&s->rings[i].ops[k]))
				n += s->rings[i].c[RS_RC_DRAINED];
	return n;
}

static int report(const struct rule *r, const struct snapshot *s, const struct op_stats *o, double share,
	struct diagnosis *d)
{
	const struct rs_lat *l = op_stats__times(o, RS_KIND_STAGE(RS_ST_LINK));
	uint64_t n = waited(o), drained = drained_with(s, o->op);
	bool by_drain = rule__pct(drained, n) >= r->thresholds[LINK_STALL_DRAIN_PCT].value;
	char name[NAME_LEN], count[FMT_LEN], mean[FMT_LEN];
	struct finding f = {
		.rule = r->id,
		.severity = by_drain ? SEVERITY_WARN : SEVERITY_INFO,
		.advice = r->advice,
		.ring = rule__main_ring(s, o, waited),
		.op = (int)o->op,
		.weight = n,
		.time_ns = l->sum_ns,
	};
	json_t *e = json_object();

	evidence__u64(&e, "waited", n);
	evidence__u64(&e, "timed", lat__count(&o->lat));
	evidence__u64(&e, "link_mean_ns", l->sum_ns / n);
	evidence__u64(&e, "link_p99_ns", lat__quantile_ns(l, 0.99));
	evidence__real(&e, "link_pct", 100 * share);
	evidence__u64(&e, "drained", drained);
	return diagnosis__add(d, &f, e,
		"%s: %s requests waited behind %s for %s on average, %.0f%% of their time",
		op_name(o->op, name), fmt_count(count, (double)n),
		by_drain ? "a drain" : "others of their chain", fmt_ns(mean, l->sum_ns / n), 100 * share);
}

static int look(const struct rule *r, const struct snapshot *s, const struct op_stats *o, struct diagnosis *d)
{
	uint64_t n = waited(o);
	struct op_stages st;
	double share;

	if (!n || (double)n < r->thresholds[LINK_STALL_MIN_REQUESTS].value || !op_stats__knows_stages(s, o))
		return 0;
	op_stages__make(o, &st);
	share = op_stages__share(&st, RS_ST_LINK);
	if (100 * share < r->thresholds[LINK_STALL_MIN_PCT].value ||
		(double)st.lat[RS_ST_LINK]->sum_ns / (double)n <
			r->thresholds[LINK_STALL_MIN_MEAN_MS].value * 1e6)
		return 0;
	return report(r, s, o, share, d);
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return ops__judge(r, s, look, d);
}

const struct rule rule_link_stall = {
	.id = "LINK-STALL",
	.what = "requests spend most of their time behind others, in a chain or behind a drain",
	.severity = "warn where drains make them wait (drain_pct); else info",
	.advice = "Link only what depends on its predecessor. IOSQE_IO_DRAIN lets everything before it end and holds up "
		  "all that comes after it: put what must come in order into a chain of its own, or submit it when "
		  "the CQE that it waits for is there.",
	.needs = RULE_NEEDS(STAGES) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(LINK) | RULE_NEEDS(DEFER),
	.thresholds = {
		[LINK_STALL_MIN_REQUESTS] = { "min_requests", "requests", 100, "fewer are chance" },
		[LINK_STALL_MIN_PCT] = { "min_pct", "% of the time", 50,
			"of all requests of the opcode: else something else takes longer" },
		[LINK_STALL_MIN_MEAN_MS] = { "min_mean_ms", "ms", 1,
			"a chain of quick requests waits as well, and nobody feels it" },
		[LINK_STALL_DRAIN_PCT] = { "drain_pct", "% of those that waited", 50,
			"from here on it is drains: a chain was meant to wait" },
	},
	.evidence = {
		{ "waited", "requests of this opcode that waited behind others and were timed" },
		{ "timed", "requests of this opcode that were timed" },
		{ "link_mean_ns", "for how long they waited" },
		{ "link_p99_ns", "the same, 99th percentile" },
		{ "link_pct", "that time as a part of all time of requests of this opcode" },
		{ "drained", "requests of any opcode on these rings that waited because of a drain" },
	},
	.eval = eval,
};
