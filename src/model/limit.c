// SPDX-License-Identifier: MIT
/* Reports list the busiest rings and sum the rest. */
#include <errno.h>
#include <stdlib.h>

#include "snapshot.h"

struct busy_ring {
	struct ring_stats *ring;
	uint64_t requests;
};

static int by_requests(const void *a, const void *b)
{
	const struct busy_ring *x = a, *y = b;

	if (x->requests != y->requests)
		return x->requests > y->requests ? -1 : 1;
	return x->ring->id < y->ring->id ? -1 : x->ring->id > y->ring->id;
}

static int by_id(const void *a, const void *b)
{
	const struct ring_stats *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Adds the rings from the n-th on to *sum, and marks them. */
static int fold(struct busy_ring *busy, size_t n_rings, size_t n, struct ring_stats *sum)
{
	int err = 0;

	for (size_t i = n; i < n_rings && !err; i++)
		err = ring_stats__add(sum, busy[i].ring);
	for (size_t i = n; i < n_rings && !err; i++)
		busy[i].ring->id = UINT32_MAX;
	return err;
}

int snapshot__limit_rings(struct snapshot *s, size_t n)
{
	struct ring_stats sum = { 0 }, *others;
	struct busy_ring *busy;
	int err = -ENOMEM;

	if (s->n_rings <= n)
		return 0;
	others = s->others ? s->others : calloc(1, sizeof(*others));
	busy = calloc(s->n_rings, sizeof(*busy));
	for (size_t i = 0; i < s->n_rings && busy; i++)
		busy[i] = (struct busy_ring){ &s->rings[i], ring_stats__requests(&s->rings[i]) };
	if (others && busy) {
		qsort(busy, s->n_rings, sizeof(*busy), by_requests);
		if (s->others)
			err = ring_stats__add(&sum, s->others);
		else
			err = 0;
		err = err ? err : fold(busy, s->n_rings, n, &sum);
	}
	free(busy);
	if (err) {
		ring_stats__free(&sum);
		if (others != s->others)
			free(others);
		return err;
	}
	ring_stats__free(others);
	*others = sum;
	s->others = others;
	s->n_others += s->n_rings - n;
	qsort(s->rings, s->n_rings, sizeof(*s->rings), by_id);
	while (s->n_rings > n)
		ring_stats__free(&s->rings[--s->n_rings]);
	return 0;
}
