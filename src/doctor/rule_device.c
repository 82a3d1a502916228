// SPDX-License-Identifier: MIT
/* DEVICE: the slowest requests are slow because the device is. */
#include "tail.h"

#define WHERE "in the device"

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return tail__judge(r, s, RS_ST_DEVICE, WHERE, d);
}

const struct rule rule_device = {
	.id = "DEVICE",
	.what = "the slowest requests are as slow as the device",
	.severity = "info",
	.advice =
		"Nothing is wrong with how io_uring is used: look at the device. Fewer requests at a time shorten its "
		"queue, large sequential writes and flushes of others delay reads; see what else uses it, and its own "
		"health (smartctl, nvme smart-log).",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(STAGES),
	.thresholds = TAIL_THRESHOLDS,
	.evidence = TAIL_EVIDENCE(WHERE),
	.eval = eval,
};
