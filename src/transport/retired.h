/* SPDX-License-Identifier: MIT */
/* Rings that are gone: the busiest keep a place of their own, the others are summed. */
#ifndef RINGSIDE_RETIRED_H
#define RINGSIDE_RETIRED_H

#include "snapshot.h"

struct retired_ring {
	uint64_t requests;
	struct ring_stats ring;
};

/* Zeroed but for max, it is empty. */
struct retired {
	size_t max;		   /* so many keep a place of their own */
	struct retired_ring *heap; /* the least busy first; of equals the one seen last */
	size_t n, room;
	struct ring_stats sum; /* of those that found no place, or lost it */
	size_t n_sum;
};

/*
 * Keeps what r owns and zeroes *r. Whoever is the least busy joins the sum when there are too many.
 * 0, or -ENOMEM: nothing has changed, r is still the caller's.
 */
int retired__keep(struct retired *c, struct ring_stats *r);

/* Those with a place of their own, in no order. */
size_t retired__n(const struct retired *c);
const struct ring_stats *retired__at(const struct retired *c, size_t i);

/* Their sum and number. */
const struct ring_stats *retired__sum(const struct retired *c);
size_t retired__n_sum(const struct retired *c);

/* Frees everything; c is empty then and keeps its max. */
void retired__free(struct retired *c);

#endif
