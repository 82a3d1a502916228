/* SPDX-License-Identifier: MIT */
/* Rules on a stage that the slowest requests spent most of their time in. */
#ifndef RINGSIDE_TAIL_H
#define RINGSIDE_TAIL_H

#include "rules.h"

/* The thresholds of such a rule. */
enum tail_threshold { TAIL_MIN_REQUESTS, TAIL_MIN_PCT, TAIL_MIN_P99_MS };

/* `where` completes "N% of the time of the slowest was spent". 0 or -ENOMEM. */
int tail__judge(const struct rule *r, const struct snapshot *s, const char *stage, const char *where,
	struct diagnosis *d);

#endif
