// SPDX-License-Identifier: MIT
/* DEFER-TW: see delivery.c. */
#include "delivery.h"

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return delivery__judge(r, s, true, d);
}

const struct rule rule_defer_tw = {
	.id = "DEFER-TW",
	.what = "requests of a DEFER_TASKRUN ring are ready, and its owner does not enter the kernel",
	.severity = "warn",
	.advice =
		"With IORING_SETUP_DEFER_TASKRUN a request that is ready gets its CQE only when its thread enters the "
		"kernel for events: looking at the CQ is not enough. Call io_uring_get_events() or "
		"io_uring_submit_and_wait() each turn, at the latest when IORING_SQ_TASKRUN says that there is "
		"something (IORING_SETUP_TASKRUN_FLAG), and keep long work off that thread.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(STAGES) | RULE_NEEDS(WAKE),
	.thresholds = DELIVERY_THRESHOLDS,
	.evidence = DELIVERY_EVIDENCE,
	.eval = eval,
};
