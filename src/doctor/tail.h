/* SPDX-License-Identifier: MIT */
/* Rules on a stage that the slowest requests spent most of their time in. */
#ifndef RINGSIDE_TAIL_H
#define RINGSIDE_TAIL_H

#include "rules.h"

/* The thresholds of such a rule. */
enum tail_threshold { TAIL_MIN_REQUESTS, TAIL_MIN_PCT, TAIL_MIN_P99_MS };

#define TAIL_THRESHOLDS                                                                                      \
	{                                                                                                    \
		[TAIL_MIN_REQUESTS] = { "min_requests", "requests", 1000,                                    \
			"fewer have no tail: ten are the slowest percent" },                                 \
		[TAIL_MIN_PCT] = { "min_pct", "% of the time", 50,                                           \
			"of the slowest percent of requests: else something else takes longer" },            \
		[TAIL_MIN_P99_MS] = { "min_p99_ms", "ms", 1,                                                 \
			"a shorter tail is not worth the question whose it is" },                            \
	}

/* where: as below, a literal. */
#define TAIL_EVIDENCE(where)                                                                                 \
	{                                                                                                    \
		{ "timed", "requests of this opcode that were timed" },                                      \
			{ "p50_ns", "how long they took, median" },                                          \
			{ "p99_ns", "the same, 99th percentile" },                                           \
			{ "tail_pct", where ", of the time of the slowest percent" },                        \
			{ "share_pct", "the same of the time of all of them" },                              \
			{ "stage_p50_ns", "how long they were there, median" },                              \
			{ "stage_p99_ns", "the same, 99th percentile" },                                     \
	}

/* `where` completes "N% of the time of the slowest was spent". 0 or -ENOMEM. */
int tail__judge(const struct rule *r, const struct snapshot *s, enum rs_stage stage, const char *where,
	struct diagnosis *d);

#endif
