// SPDX-License-Identifier: MIT
/* POLL-RETRY: requests that are woken for nothing, and parked again. */
#include "fmt.h"
#include "names.h"
#include "rules.h"

enum threshold_index { POLL_RETRY_MIN_ARMED, POLL_RETRY_MIN_PER_S, POLL_RETRY_MIN_RATIO };

static uint64_t armed(const struct op_stats *o)
{
	return o->c[RS_SC_POLL_ARMED];
}

/* Occasions to be parked once: a multishot request may be parked anew after each of its CQEs. */
static uint64_t occasions(const struct op_stats *o)
{
	return o->c[RS_SC_SUBMITTED] + o->c[RS_SC_AT_ATTACH] + o->c[RS_SC_MULTISHOT];
}

static int look(const struct rule *r, const struct snapshot *s, const struct op_stats *o, struct diagnosis *d)
{
	uint64_t n = armed(o), all = occasions(o);
	char name[NAME_LEN], times[FMT_LEN], requests[FMT_LEN];
	struct finding f = { .rule = r->id,
		.severity = SEVERITY_WARN,
		.advice = r->advice,
		.op = (int)o->op };
	double ratio = all ? (double)n / (double)all : 0;
	json_t *e;

	if ((double)n < r->thresholds[POLL_RETRY_MIN_ARMED].value ||
		rule__per_s(s, n) < r->thresholds[POLL_RETRY_MIN_PER_S].value || ratio <= 0 ||
		ratio < r->thresholds[POLL_RETRY_MIN_RATIO].value)
		return 0;
	f.ring = rule__main_ring(s, o, armed);
	f.weight = n > all ? n - all : n;
	e = json_object();
	evidence__u64(&e, "poll_armed", n);
	evidence__u64(&e, "requests", all);
	evidence__real(&e, "armed_each", ratio);
	evidence__real(&e, "per_s", rule__per_s(s, n));
	return diagnosis__add(d, &f, e, "%s: parked on a poll %s times for %s requests, %.1f times each",
		op_name(o->op, name), fmt_count(times, (double)n), fmt_count(requests, (double)all), ratio);
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return ops__judge(r, s, look, d);
}

const struct rule rule_poll_retry = {
	.id = "POLL-RETRY",
	.what = "requests are woken from their poll again and again with nothing to do",
	.severity = "warn",
	.advice = "Keep one request on each socket or pipe, multishot where it can be (recv, accept): many that wait on "
		  "the same one are all woken for what only one of them gets. After 128 times a request goes to a "
		  "worker thread.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(ENDS) | RULE_NEEDS(POLL),
	.thresholds = {
		[POLL_RETRY_MIN_ARMED] = { "min_armed", "times", 1000, "fewer are no pattern" },
		[POLL_RETRY_MIN_PER_S] = { "min_per_s", "times/s", 1000,
			"at some microseconds each, tenths of a percent of a CPU" },
		[POLL_RETRY_MIN_RATIO] = { "min_ratio", "times a request", 3,
			"twice happens: somebody else was quicker" },
	},
	.evidence = {
		{ "poll_armed", "times that requests of this opcode were parked" },
		{ "requests", "these, and CQEs of multishot ones" },
		{ "armed_each", "times for each" },
		{ "per_s", "times by second of the window" },
	},
	.eval = eval,
};
