/* SPDX-License-Identifier: MIT */
/* What DEFER-TW and DELIVERY share: requests that were ready for long before their CQE was posted. */
#ifndef RINGSIDE_DELIVERY_H
#define RINGSIDE_DELIVERY_H

#include "rules.h"

enum delivery_threshold { DELIVERY_MIN_REQUESTS, DELIVERY_MIN_P50, DELIVERY_MIN_SHARE };

#define DELIVERY_THRESHOLDS                                                                                  \
	{                                                                                                    \
		[DELIVERY_MIN_REQUESTS] = { "min_requests", "requests", 100, "fewer are chance" },           \
		[DELIVERY_MIN_P50] = { "min_p50_ms", "ms, the median", 5,                                    \
			"shorter ones come from a busy scheduler, too" },                                    \
		[DELIVERY_MIN_SHARE] = { "min_share_pct", "% of the latency", 50,                            \
			"the time not counted in which the request had to wait for its file or for another " \
			"request: from here on delivery is the larger part" },                               \
	}

#define DELIVERY_EVIDENCE                                                                                    \
	{                                                                                                    \
		{ "delivered", "timed requests of this opcode that were woken from a poll" },                \
			{ "deliver_p50_ns", "for so long half of them were ready, or longer" },              \
			{ "deliver_p99_ns", "the same of 1 in 100" },                                        \
			{ "deliver_sum_ns", "all together, of those that are timed" },                       \
			{ "deliver_pct", "as a share of the latency, without armed and link" },              \
			{ "waits", "times that a thread slept until CQEs came" },                            \
	}

/* deferred: rings with IORING_SETUP_DEFER_TASKRUN, or those without. 0 or -ENOMEM. */
int delivery__judge(const struct rule *r, const struct snapshot *s, bool deferred, struct diagnosis *d);

#endif
