// SPDX-License-Identifier: MIT
#include "slots.h"
#include "agg.h"
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

/* The slots of a group, as they were at a moment; what is read of them once it is needed. */
struct group_reader {
	const struct session *s;
	uint32_t group;
	uint64_t now_ns; /* 0: ages are of no interest */
	bool has_cold;
	struct rs_cold_group cold;
};

/* Whether it is in flight for long, and waits for nothing but its own work as far as that is known. */
static bool should_run(struct group_reader *r, unsigned int i, const struct rs_hot *slot)
{
	/* that it ended without a CQE would not be known yet */
	const uint16_t unsure = RS_SLOT_CQE_SKIP | RS_SLOT_LINKED | RS_SLOT_MULTI;

	if (!slot->submit_ns || (slot->flags & unsure) || slot->submit_ns + SLOT_AGE_MIN_NS > r->now_ns)
		return false;
	if (!(slot->flags & RS_SLOT_STAGED))
		return true;
	if (!r->has_cold && session__read_cold(r->s, r->group, &r->cold))
		return false;
	r->has_cold = true;
	return r->cold.s[i].stage != RS_ST_ARMED && r->cold.s[i].stage != RS_ST_LINK;
}

static int count_age(const struct rs_hot *slot, uint64_t now_ns, struct slot_counts *c)
{
	uint64_t age_ns = now_ns - slot->submit_ns;
	struct op_times **t = &c->ages[slot->series];

	if (!*t) {
		*t = calloc(1, sizeof(**t));
		if (!*t)
			return -ENOMEM;
		(*t)->lat.min_ns = UINT64_MAX;
	}
	rs_lat_add(&(*t)->lat, age_ns, 0);
	return 0;
}

static int count_group(const struct session *s, uint32_t group, uint64_t now_ns, struct overflow_list *l,
	struct slot_counts *c)
{
	struct group_reader r = { .s = s, .group = group, .now_ns = now_ns };
	const struct session_tables *t = session__tables(s);
	struct rs_hot copy[RS_GROUP];
	uint64_t before;
	unsigned int i;
	int err = 0;

	memcpy(copy, t->hot[group].s, sizeof(copy));
	for (i = 0; i < RS_GROUP && !err; i++) {
		const struct rs_hot *slot = &copy[i];
		uint32_t idx = RS_RING_IDX(slot->ring_uid);

		if (!slot->key || slot->series >= t->n_series || idx >= t->n_rings)
			continue;
		/* its ring has been read out and its entry given to another */
		if (t->rings[idx].uid != slot->ring_uid)
			continue;
		before = c->in_flight[slot->series];
		if (slot->flags & RS_SLOT_REJECTED)
			c->rejected_overflowed[idx] += take_overflow(l, slot);
		else if (take_overflow(l, slot))
			c->overflowed[slot->series]++;
		else if (t->rings[idx].state == RS_RING_CLOSED || outlived(t, &t->hot[group].s[i], slot))
			c->silent[slot->series]++;
		else
			count_in_flight(c, slot->series, idx);
		if (c->in_flight[slot->series] != before && should_run(&r, i, slot))
			err = count_age(slot, now_ns, c);
	}
	return err;
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

int slot_counts__take(const struct session *s, uint64_t now_ns, struct slot_counts *ret)
{
	const struct session_tables *t = session__tables(s);
	struct slot_counts c = {
		.in_flight = calloc(t->n_series, sizeof(uint64_t)),
		.n_series = t->n_series,
		.ages = calloc(t->n_series, sizeof(*c.ages)),
		.ring_in_flight = calloc(t->n_rings, sizeof(uint64_t)),
		.silent = calloc(t->n_series, sizeof(uint64_t)),
		.overflowed = calloc(t->n_series, sizeof(uint64_t)),
		.unnamed = calloc(t->n_rings, sizeof(uint64_t)),
		.rejected_overflowed = calloc(t->n_rings, sizeof(uint64_t)),
	};
	struct overflow_list l = { 0 };
	uint32_t g;
	int err = -ENOMEM;

	if (c.in_flight && c.ages && c.ring_in_flight && c.silent && c.overflowed && c.unnamed &&
		c.rejected_overflowed)
		err = read_overflows(s, &l);
	if (!err)
		take_series(t, &c);
	for (g = 0; !err && g < t->n_groups; g++)
		err = count_group(s, g, now_ns, &l, &c);
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
	for (size_t i = 0; c->ages && i < c->n_series; i++)
		free(c->ages[i]);
	free(c->ages);
	free(c->in_flight);
	free(c->ring_in_flight);
	free(c->silent);
	free(c->overflowed);
	free(c->unnamed);
	free(c->rejected_overflowed);
	memset(c, 0, sizeof(*c));
}
