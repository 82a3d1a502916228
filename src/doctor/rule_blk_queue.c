// SPDX-License-Identifier: MIT
/* BLK-QUEUE: the slowest requests wait in the queue before the device. */
#include "tail.h"

#define WHERE "in the queue before the device"

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return tail__judge(r, s, RS_ST_BLK_QUEUE, WHERE, d);
}

const struct rule rule_blk_queue = {
	.id = "BLK-QUEUE",
	.what = "the slowest requests wait in the block layer, before the device gets them",
	.severity = "info",
	.advice =
		"More is submitted than the device takes at a time: keep fewer requests in flight. Else see what holds "
		"them back: the I/O scheduler and nr_requests in /sys/block/*/queue, limits of the cgroup (io.max), or "
		"other users of the device.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(STAGES),
	.thresholds = TAIL_THRESHOLDS,
	.evidence = TAIL_EVIDENCE(WHERE),
	.eval = eval,
};
