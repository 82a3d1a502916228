// SPDX-License-Identifier: MIT
/* BLK-QUEUE: the slowest requests wait in the queue before the device. */
#include "tail.h"

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return tail__judge(r, s, "blk_queue", "in the queue before the device", d);
}

const struct rule rule_blk_queue = {
	.id = "BLK-QUEUE",
	.what = "the slowest requests wait in the block layer, before the device gets them",
	.severity = "info",
	.advice = "More is submitted than the device takes at a time: keep fewer requests in flight. Else see what holds them back: the I/O scheduler and nr_requests in /sys/block/*/queue, limits of the cgroup (io.max), or other users of the device.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(STAGES),
	.thresholds = {
		[TAIL_MIN_REQUESTS] = { "min_requests", "requests", 1000,
			"fewer have no tail: ten are the slowest percent" },
		[TAIL_MIN_PCT] = { "min_pct", "% of the time", 50,
			"of the slowest percent of requests: else something else takes longer" },
		[TAIL_MIN_P99_MS] = { "min_p99_ms", "ms", 1, "a shorter tail is not worth the question whose it is" },
	},
	.evidence = {
		{ "timed", "requests of this opcode that were timed" },
		{ "p50_ns", "how long they took, median" },
		{ "p99_ns", "the same, 99th percentile" },
		{ "tail_pct", "in the queue before the device, of the time of the slowest percent" },
		{ "share_pct", "the same of the time of all of them" },
		{ "stage_p50_ns", "how long they were there, median" },
		{ "stage_p99_ns", "the same, 99th percentile" },
	},
	.eval = eval,
};
