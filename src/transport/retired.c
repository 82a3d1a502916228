// SPDX-License-Identifier: MIT
#include "retired.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool less_busy(const struct retired_ring *a, const struct retired_ring *b)
{
	return a->requests != b->requests ? a->requests < b->requests : a->ring.id > b->ring.id;
}

/* Moves what stands at i up until its parent is less busy. */
static void sift_up(struct retired *c, size_t i)
{
	struct retired_ring moved = c->heap[i];

	for (; i && less_busy(&moved, &c->heap[(i - 1) / 2]); i = (i - 1) / 2)
		c->heap[i] = c->heap[(i - 1) / 2];
	c->heap[i] = moved;
}

/* Moves what stands first down until its children are busier. */
static void sift_down(struct retired *c)
{
	struct retired_ring moved = c->heap[0];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < c->n; i = child) {
		if (child + 1 < c->n && less_busy(&c->heap[child + 1], &c->heap[child]))
			child++;
		if (!less_busy(&c->heap[child], &moved))
			break;
		c->heap[i] = c->heap[child];
	}
	c->heap[i] = moved;
}

static int make_room(struct retired *c)
{
	size_t room = c->room ? 2 * c->room : 16;
	struct retired_ring *heap;

	if (c->n < c->room)
		return 0;
	if (room > c->max)
		room = c->max;
	heap = reallocarray(c->heap, room, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	c->heap = heap;
	c->room = room;
	return 0;
}

/* By way of a copy: an addition that fails halfway must not have counted anything. */
static int add_to_sum(struct retired *c, const struct ring_stats *r)
{
	struct ring_stats sum;
	int err = ring_stats__copy(&c->sum, &sum);

	if (err)
		return err;
	err = ring_stats__add(&sum, r);
	if (err) {
		ring_stats__free(&sum);
		return err;
	}
	ring_stats__free(&c->sum);
	c->sum = sum;
	c->n_sum++;
	return 0;
}

int retired__keep(struct retired *c, struct ring_stats *r)
{
	struct retired_ring new = { ring_stats__requests(r), *r };
	int err;

	if (c->n < c->max) {
		err = make_room(c);
		if (err)
			return err;
		c->heap[c->n++] = new;
		sift_up(c, c->n - 1);
	} else if (!c->n || less_busy(&new, &c->heap[0])) {
		err = add_to_sum(c, r);
		if (err)
			return err;
		ring_stats__free(r);
	} else {
		err = add_to_sum(c, &c->heap[0].ring);
		if (err)
			return err;
		ring_stats__free(&c->heap[0].ring);
		c->heap[0] = new;
		sift_down(c);
	}
	memset(r, 0, sizeof(*r));
	return 0;
}

size_t retired__n(const struct retired *c)
{
	return c->n;
}

const struct ring_stats *retired__at(const struct retired *c, size_t i)
{
	return &c->heap[i].ring;
}

const struct ring_stats *retired__sum(const struct retired *c)
{
	return &c->sum;
}

size_t retired__n_sum(const struct retired *c)
{
	return c->n_sum;
}

void retired__free(struct retired *c)
{
	size_t max;

	if (!c)
		return;
	max = c->max;
	for (size_t i = 0; i < c->n; i++)
		ring_stats__free(&c->heap[i].ring);
	free(c->heap);
	ring_stats__free(&c->sum);
	*c = (struct retired){ .max = max };
}
