// SPDX-License-Identifier: MIT
#include "slots.h"
#include "named.h"
#include "place.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* CQEs that overflowed and whose request is not known yet. */
struct overflow {
	struct rs_overflow_key key;
	uint64_t n;
};

struct overflow_list {
	struct overflow *o;
	size_t n;
};

static int compare_overflows(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct rs_overflow_key));
}

static int read_overflows(const struct session *s, struct overflow_list *l)
{
	int fd = session__maps(s)->overflowed;
	struct rs_overflow_key key, *prev = NULL;
	struct overflow *more;
	size_t cap = 0;
	uint64_t n;

	while (!bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		if (bpf_map_lookup_elem(fd, &key, &n))
			continue;
		if (l->n == cap) {
			cap = cap ? cap * 2 : 64;
			more = realloc(l->o, cap * sizeof(*more));
			if (!more)
				return -ENOMEM;
			l->o = more;
		}
		l->o[l->n++] = (struct overflow){ key, n };
	}
	if (l->n)
		qsort(l->o, l->n, sizeof(*l->o), compare_overflows);
	return 0;
}

/* Whether this slot's CQE is among the overflowed ones; takes it from the list. */
static bool take_overflow(struct overflow_list *l, const struct rs_hot *slot)
{
	struct overflow want = { .key = { .ring_uid = slot->ring_uid, .user_data = slot->user_data } }, *o;

	if (!l->n)
		return false;
	o = bsearch(&want, l->o, l->n, sizeof(*l->o), compare_overflows);
	if (!o || !o->n)
		return false;
	o->n--;
	return true;
}

/*
 * A slot away from home whose io_kiocb was submitted again and then found its home free; while it has its home
 * it is submitted again there.
 */
static bool outlived(const struct session_tables *t, const struct rs_hot *at, const struct rs_hot *slot)
{
	uint32_t hash = rs_place_hash((uint32_t)slot->key);
	const struct rs_hot_group *g = &t->hot[rs_place_group(hash, t->n_groups - 1)];
	const struct rs_hot *home = &g->s[rs_place_home(hash)];

	return home != at && home->key == slot->key;
}

static void count_in_flight(struct slot_counts *c, uint32_t series, uint32_t ring)
{
	c->in_flight[series]++;
	c->ring_in_flight[ring]++;
}

static void count_group(const struct session_tables *t, uint32_t group, struct overflow_list *l,
	struct slot_counts *c)
{
	struct rs_hot copy[RS_GROUP];
	unsigned int i;

	memcpy(copy, t->hot[group].s, sizeof(copy));
	for (i = 0; i < RS_GROUP; i++) {
		const struct rs_hot *slot = &copy[i];
		uint32_t idx = RS_RING_IDX(slot->ring_uid);

		if (!slot->key || slot->series >= t->n_series || idx >= t->n_rings)
			continue;
		/* its ring has been read out and its entry given to another */
		if (t->rings[idx].uid != slot->ring_uid)
			continue;
		if (slot->flags & RS_SLOT_REJECTED)
			c->rejected_overflowed[idx] += take_overflow(l, slot);
		else if (take_overflow(l, slot))
			c->overflowed[slot->series]++;
		else if (t->rings[idx].state == RS_RING_CLOSED || outlived(t, &t->hot[group].s[i], slot))
			c->silent[slot->series]++;
		else
			count_in_flight(c, slot->series, idx);
	}
}

static void take_series(const struct session_tables *t, struct slot_counts *c)
{
	uint32_t i;

	for (i = 0; i < t->n_series; i++) {
		c->silent[i] = t->series[i].c[RS_SC_SILENT];
		c->overflowed[i] = t->series[i].c[RS_SC_OVERFLOWED];
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

int slot_counts__take(const struct session *s, struct slot_counts *ret)
{
	const struct session_tables *t = session__tables(s);
	struct slot_counts c = {
		.in_flight = calloc(t->n_series, sizeof(uint64_t)),
		.ring_in_flight = calloc(t->n_rings, sizeof(uint64_t)),
		.silent = calloc(t->n_series, sizeof(uint64_t)),
		.overflowed = calloc(t->n_series, sizeof(uint64_t)),
		.unnamed = calloc(t->n_rings, sizeof(uint64_t)),
		.rejected_overflowed = calloc(t->n_rings, sizeof(uint64_t)),
	};
	struct overflow_list l = { 0 };
	uint32_t g;
	int err = -ENOMEM;

	if (c.in_flight && c.ring_in_flight && c.silent && c.overflowed && c.unnamed && c.rejected_overflowed)
		err = read_overflows(s, &l);
	if (!err)
		take_series(t, &c);
	for (g = 0; !err && g < t->n_groups; g++)
		count_group(t, g, &l, &c);
	free(l.o);
	err = err ? err : named__count(s, &c);
	if (err)
		slot_counts__free(&c);
	else
		*ret = c;
	return err;
}

void slot_counts__free(struct slot_counts *c)
{
	free(c->in_flight);
	free(c->ring_in_flight);
	free(c->silent);
	free(c->overflowed);
	free(c->unnamed);
	free(c->rejected_overflowed);
	memset(c, 0, sizeof(*c));
}
