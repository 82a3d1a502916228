/* SPDX-License-Identifier: MIT */
/*
 * Keeps what observing costs below a part of the time that the machine's CPUs are busy, by timing fewer
 * or more requests. Counting all of them is not up for decision: where that alone costs more, it says so.
 */
#ifndef RINGSIDE_BUDGET_H
#define RINGSIDE_BUDGET_H

#include "cost.h"

/* Cumulative, at a moment. */
struct budget_reading {
	uint64_t now_ns, busy_ns, process_ns;
	uint64_t requests, events; /* of struct cost_work */
};

struct budget {
	struct cost_budget said; /* for reports */
	struct budget_reading last;
	uint32_t sample;
};

/* Where it begins: dear enough to learn something soon, cheap enough to be no harm. */
#define BUDGET_FIRST_SAMPLE 64u

void budget__begin(struct budget *b, double part, const struct budget_reading *r);

/* One request in how many is to be timed, from now to the next call. */
uint32_t budget__next(struct budget *b, const struct cost_rates *rates, const struct budget_reading *r);

/* CPU time, of all CPUs since they came up, that was neither idle nor stolen: /proc/stat. 0 or negative errno. */
int budget__read_busy(uint64_t *ret_ns);

#endif
