// SPDX-License-Identifier: MIT
/* TIMEOUT-STORM: timers that expire all the time, deadlines that requests miss. */
#include <errno.h>

#include "fmt.h"
#include "names.h"
#include "uapi.h"
#include "rules.h"

enum threshold_index {
	TIMEOUT_STORM_MIN_EXPIRED,
	TIMEOUT_STORM_MIN_PER_S,
	TIMEOUT_STORM_WARN_PER_S,
	TIMEOUT_STORM_MIN_MISSED,
	TIMEOUT_STORM_MIN_MISSED_PCT
};

static const char deadline_advice[] =
	"So many requests were cut off by their LINK_TIMEOUT. If they should be quicker, see where their time goes "
	"(stages); if the deadline is too short, what was begun is lost and most often done again.";

static uint64_t expired(const struct op_stats *o)
{
	uint64_t n = o->op == OPC_TIMEOUT ? o->c[RS_SC_MULTISHOT] : 0;

	for (size_t i = 0; i < o->n_errnos; i++)
		if (o->errnos[i].err == ETIME)
			n += o->errnos[i].count;
	return n;
}

static json_t *evidence_of(const struct snapshot *s, const struct op_stats *o, uint64_t n)
{
	json_t *e = json_object();

	evidence__u64(&e, "expired", n);
	evidence__u64(&e, "submitted", o->c[RS_SC_SUBMITTED]);
	evidence__real(&e, "per_s", rule__per_s(s, n));
	return e;
}

static int look_at_timers(const struct rule *r, const struct snapshot *s, const struct op_stats *o,
	struct diagnosis *d)
{
	uint64_t n = expired(o);
	double per_s = rule__per_s(s, n);
	char count[FMT_LEN], rate[FMT_LEN];
	struct finding f = {
		.rule = r->id,
		.severity = per_s >= r->thresholds[TIMEOUT_STORM_WARN_PER_S].value ? SEVERITY_WARN
										   : SEVERITY_INFO,
		.advice = r->advice,
		.ring = rule__main_ring(s, o, expired),
		.op = (int)o->op,
		.weight = n,
	};

	if (!n || (double)n < r->thresholds[TIMEOUT_STORM_MIN_EXPIRED].value ||
		per_s < r->thresholds[TIMEOUT_STORM_MIN_PER_S].value)
		return 0;
	return diagnosis__add(d, &f, evidence_of(s, o, n), "TIMEOUT: %s timers expired, %s/s",
		fmt_count(count, (double)n), fmt_count(rate, per_s));
}

static int look_at_deadlines(const struct rule *r, const struct snapshot *s, const struct op_stats *o,
	struct diagnosis *d)
{
	uint64_t n = expired(o), all = op_stats__completed(o);
	char count[FMT_LEN], of[FMT_LEN], pct[FMT_LEN];
	struct finding f = {
		.rule = r->id,
		.severity = SEVERITY_WARN,
		.advice = deadline_advice,
		.ring = rule__main_ring(s, o, expired),
		.op = (int)o->op,
		.weight = n,
	};

	if (!n || (double)n < r->thresholds[TIMEOUT_STORM_MIN_MISSED].value ||
		rule__pct(n, all) < r->thresholds[TIMEOUT_STORM_MIN_MISSED_PCT].value)
		return 0;
	return diagnosis__add(d, &f, evidence_of(s, o, n),
		"LINK_TIMEOUT: %s of %s requests (%s) missed their deadline", fmt_count(count, (double)n),
		fmt_count(of, (double)all), fmt_pct(pct, (double)n, (double)all));
}

static int look(const struct rule *r, const struct snapshot *s, const struct op_stats *o, struct diagnosis *d)
{
	if (o->op == OPC_TIMEOUT)
		return look_at_timers(r, s, o, d);
	return o->op == OPC_LINK_TIMEOUT ? look_at_deadlines(r, s, o, d) : 0;
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return ops__judge(r, s, look, d);
}

const struct rule rule_timeout_storm = {
	.id = "TIMEOUT-STORM",
	.what = "timers expire at a high rate, or requests miss their deadlines",
	.severity = "info; warn from warn_per_s on, and where requests miss their deadlines",
	.advice = "Keep one timer for the next that is due, or one multishot TIMEOUT (IORING_TIMEOUT_MULTISHOT), in place "
		  "of one for each request or turn. To wait with a limit needs no request: "
		  "io_uring_wait_cqes() and io_uring_submit_and_wait_timeout() take one.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE),
	.thresholds = {
		[TIMEOUT_STORM_MIN_EXPIRED] = { "min_expired", "timers", 1000, "fewer are no pattern" },
		[TIMEOUT_STORM_MIN_PER_S] = { "min_per_s", "timers/s", 1000,
			"more often than each millisecond nobody needs to look" },
		[TIMEOUT_STORM_WARN_PER_S] = { "warn_per_s", "timers/s", 10000,
			"at some microseconds each, percents of a CPU for nothing" },
		[TIMEOUT_STORM_MIN_MISSED] = { "min_missed", "LINK_TIMEOUTs", 100, "fewer are chance" },
		[TIMEOUT_STORM_MIN_MISSED_PCT] = { "min_missed_pct", "% of LINK_TIMEOUTs", 10,
			"a deadline is for what seldom happens" },
	},
	.evidence = {
		{ "expired", "requests that ended with ETIME, and CQEs of multishot timers" },
		{ "submitted", "requests of this opcode" },
		{ "per_s", "expired ones by second of the window" },
	},
	.eval = eval,
};
