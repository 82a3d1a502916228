// SPDX-License-Identifier: MIT
#include "cost.h"

uint64_t cost__programs_ns(const struct cost_rates *r, const struct cost_work *w)
{
	/* a request takes two runs, and any other run is about as long as one of these */
	uint64_t others = w->events > 2 * w->requests ? w->events - 2 * w->requests : 0;

	return (uint64_t)(((double)w->requests + (double)others / 2) * r->request_ns +
			  (double)w->timed * r->timing_ns);
}

bool cost_budget__held(const struct cost_budget *b)
{
	return (double)b->spent_ns <= b->part * (double)b->busy_ns;
}
