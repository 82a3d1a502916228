/* SPDX-License-Identifier: MIT */
/* How long CQEs lay in the CQ of a ring: bounds, of those CQEs that were followed. See contract/reap.h. */
#ifndef RINGSIDE_REAPING_H
#define RINGSIDE_REAPING_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

/* As the kernel side has it, which takes a quarter of the room of a struct rs_lat: every ring has its own. */
struct reap_times {
	struct rs_reap_dist lower, upper;
	struct rs_reap_dist lag; /* of those whose end was seen itself */
};

/* For lat.h. */
void reap_dist__lat(const struct rs_reap_dist *d, struct rs_lat *ret);

struct reap_stats {
	struct reap_times *times; /* NULL: none was followed to its end */
	bool exact;		  /* every move of the CQ head is seen, since it is watched */
	bool left_known;
	uint32_t left;	      /* CQEs that were still in the CQ at the end */
	uint64_t unreaped_ns; /* for so long at least one of them has lain there; 0: unknown */
};

/* What the kernel side has of a ring; lags: NULL if its CQ head is not watched. 0 or -ENOMEM. */
int reap_stats__read(const struct rs_reap *f, uint32_t depth_max, const struct rs_reaped *sum,
	const struct rs_lags *lags, struct reap_stats *ret);
/* A copy that owns its own memory. 0 or -ENOMEM. */
int reap_stats__copy(const struct reap_stats *r, struct reap_stats *ret);
/* cur - prev; what is left is cur's. 0 or -ENOMEM. */
int reap_stats__delta(const struct reap_stats *prev, const struct reap_stats *cur, struct reap_stats *ret);
void reap_stats__free(struct reap_stats *r);

/* CQEs that times are known of: of r->exact those in lag. */
uint64_t reap_stats__count(const struct reap_stats *r);

/*
 * CQEs that lay in the CQ on average over time, within *ret_lower and *ret_upper: n_cqes in all within span_ns, each
 * as long as those that were followed. False: unknown.
 */
bool reap_stats__depth(const struct reap_stats *r, uint64_t n_cqes, uint64_t span_ns, double *ret_lower,
	double *ret_upper);

#endif
