// SPDX-License-Identifier: MIT
/* DELIVERY: see delivery.c. */
#include "delivery.h"

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return delivery__judge(r, s, false, d);
}

const struct rule rule_delivery = {
	.id = "DELIVERY",
	.what = "requests are ready long before their CQE is posted",
	.severity = "warn",
	.advice =
		"The CQE is posted by the thread that submitted the request, and that thread does not come to it: it "
		"sleeps where it cannot be woken, is deep in the kernel, or does not get a CPU. Give the ring a "
		"thread of its own; with IORING_SETUP_COOP_TASKRUN enter the kernel more often.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(STAGES) | RULE_NEEDS(WAKE),
	.thresholds = DELIVERY_THRESHOLDS,
	.evidence = DELIVERY_EVIDENCE,
	.eval = eval,
};
