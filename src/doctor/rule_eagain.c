// SPDX-License-Identifier: MIT
/* EAGAIN: requests that come back at once with nothing done. */
#include <errno.h>

#include "failing.h"
#include "fmt.h"
#include "names.h"
#include "opcode.h"

enum threshold_index { EAGAIN_MIN_REQUESTS, EAGAIN_MIN_PCT };

/* Of a futex it says that the value had changed. */
static bool means_retry(unsigned int op)
{
	return op != OPCODE_FUTEX_WAIT && op != OPCODE_FUTEX_WAITV;
}

static int judge(const struct rule *r, const struct failing *f, struct diagnosis *d)
{
	char op[NAME_LEN], n[FMT_LEN], of[FMT_LEN], pct[FMT_LEN];
	struct finding finding;

	if (f->err != EAGAIN || !means_retry(f->op->op) ||
		(double)f->n < rule__limit(r, EAGAIN_MIN_REQUESTS) ||
		rule__pct(f->n, f->of) < rule__limit(r, EAGAIN_MIN_PCT))
		return 0;
	finding = failing__finding(r, f);
	return diagnosis__add(d, &finding, failing__evidence(f),
		"%s: %s of %s requests (%s) came back with EAGAIN", op_name(f->op->op, op),
		fmt_count(n, (double)f->n), fmt_count(of, (double)f->of),
		fmt_pct(pct, (double)f->n, (double)f->of));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return failing__each(r, s, judge, d);
}

const struct rule rule_eagain = {
	.id = "EAGAIN",
	.what = "requests come back with EAGAIN, and nothing done",
	.severity = "warn",
	.advice = "Who asks not to wait is told so: O_NONBLOCK, MSG_DONTWAIT or RWF_NOWAIT. io_uring waits without "
		  "blocking anybody, so leave these out and let the request be parked until the file is ready.",
	.needs = RULE_NEEDS(COMPLETE),
	.thresholds = {
		[EAGAIN_MIN_REQUESTS] = { "min_requests", "requests", 100, "fewer cost nothing to speak of" },
		[EAGAIN_MIN_PCT] = { "min_pct", "% of the CQEs of this opcode", 10,
			"a program that looks now and then whether there is more is right to" },
	},
	.evidence = {
		{ "failed", "requests of this opcode that ended with EAGAIN" },
		{ "cqes", "CQEs of this opcode" },
		{ "failed_pct", "failed as a share of these" },
		{ "failed_per_s", "failed by second of the window" },
	},
	.eval = eval,
};
