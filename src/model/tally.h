/* SPDX-License-Identifier: MIT */
/* Sums of counters, straight from the rows of counters.def. */
#ifndef RINGSIDE_TALLY_H
#define RINGSIDE_TALLY_H

#include "snapshot.h"

struct tally {
	uint64_t ring[RS_RC_COUNT];
	uint64_t op[RS_SC_COUNT];
};

struct tally ring_stats__tally(const struct ring_stats *r);
struct tally snapshot__tally(const struct snapshot *s);

/* How often our programs ran, as far as the counters tell. */
uint64_t tally__events(const struct tally *raw);

/* What of the snapshot had its cost. */
struct cost_work snapshot__work(const struct snapshot *s);

#endif
