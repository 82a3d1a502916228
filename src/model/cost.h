/* SPDX-License-Identifier: MIT */
/*
 * What the observation itself costs: CPU time, estimated from how often our programs ran and what a
 * run takes, which is measured on this machine when an observation begins.
 */
#ifndef RINGSIDE_COST_H
#define RINGSIDE_COST_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of CPU time that a request takes longer for being watched. */
struct cost_rates {
	double request_ns; /* counted, from its submission to its end */
	double timing_ns;  /* more for one that is timed */
};

/* Requests and other things seen that cost something. */
struct cost_work {
	uint64_t requests;
	uint64_t timed;	 /* of them */
	uint64_t events; /* runs of our programs, those of the requests included */
};

/* A limit on the cost, as a part of the time that the machine's CPUs are busy. */
struct cost_budget {
	bool on;
	double part;	  /* 0 .. 1 */
	uint64_t busy_ns; /* CPU time of the whole machine, idle and stolen time not included */
	uint64_t spent_ns;
	uint64_t over_ns;		 /* of the window: time in which even timing the fewest cost more */
	uint32_t sample_min, sample_max; /* of `sample` so far */
};

struct cost {
	bool known; /* rates were measured */
	struct cost_rates rates;
	uint64_t process_ns; /* CPU time of ringside's own process in the window */
	uint32_t sample;     /* one request in so many is timed, now */
	struct cost_budget budget;
};

/* Whether what was spent is no more than what was allowed. */
bool cost_budget__held(const struct cost_budget *b);

/* CPU time that our programs took for this work. */
uint64_t cost__programs_ns(const struct cost_rates *r, const struct cost_work *w);

#endif
