// SPDX-License-Identifier: MIT
/* DEVICE: the slowest requests are slow because the device is. */
#include "tail.h"

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return tail__judge(r, s, "device", "in the device", d);
}

const struct rule rule_device = {
	.id = "DEVICE",
	.what = "the slowest requests are as slow as the device",
	.severity = "info",
	.advice = "Nothing is wrong with how io_uring is used: look at the device. Fewer requests at a time shorten its queue, large sequential writes and flushes of others delay reads; see what else uses it, and its own health (smartctl, nvme smart-log).",
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
		{ "tail_pct", "in the device, of the time of the slowest percent" },
		{ "share_pct", "the same of the time of all of them" },
		{ "stage_p50_ns", "how long they were there, median" },
		{ "stage_p99_ns", "the same, 99th percentile" },
	},
	.eval = eval,
};
