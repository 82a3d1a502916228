/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The table of requests in flight: io_kiocb address -> slot, and the series that a slot
 * counts for. No hash map, no helper call on the fast path.
 */
#ifndef RINGSIDE_SLOTS_H
#define RINGSIDE_SLOTS_H

#include "agg.h"
#include "common.h"
#include "place.h"
#include "rings.h"

/* Where a request belongs, then where it is. */
struct place {
	struct rs_hot_group *g;
	u32 hash;
	u32 group; /* index of g, for the cold table */
};

static __always_inline struct rs_hot_group *hot_group(u32 idx)
{
	return bpf_map_lookup_elem(&rs_hot, &idx);
}

static __always_inline bool place_of(u32 req_low, struct place *p)
{
	u32 hash = rs_place_hash(req_low), group = rs_place_group(hash, rs_config.group_mask);

	p->hash = hash;
	p->group = group;
	p->g = hot_group(group);
	return p->g != NULL;
}

/* The compiler knows that an index is in range and drops the mask; the verifier may have lost it by then. */
static __always_inline u32 in_group(u32 i)
{
	asm volatile("%0 &= %1" : "+w"(i) : "i"(RS_GROUP - 1));
	return i;
}

/* The same, but unknown to the verifier: else it goes on from a scan once for each slot where that may end. */
static __always_inline u32 any_index(u32 i)
{
	return i + rs.zero;
}

/* Index in its group of the slot that holds key, RS_GROUP if none. */
static __noinline u32 group_scan(struct rs_hot_group *g, u64 key)
{
	u32 i;

	if (!g)
		return RS_GROUP;
#pragma unroll
	for (i = 0; i < RS_GROUP; i++)
		if (g->s[i].key == key)
			return i;
	return RS_GROUP;
}

/* Looks where a request may be besides its home; p is moved along. */
static __always_inline struct rs_hot *slot_search(struct place *p, u64 req, u32 *ret_idx)
{
	u32 i = any_index(group_scan(p->g, req)), other;

	if (i >= RS_GROUP) {
		other = rs_place_other(p->hash, rs_config.group_mask);
		p->group = other;
		p->g = hot_group(other);
		i = any_index(group_scan(p->g, req));
		if (i >= RS_GROUP || !p->g)
			return NULL;
	}
	i = in_group(i);
	*ret_idx = i;
	return &p->g->s[i];
}

/* The slot of a request in flight, NULL if it has none. *ret_idx is its index in p->g. */
static __always_inline struct rs_hot *slot_find(struct place *p, u64 req, u32 *ret_idx)
{
	u32 i = in_group(rs_place_home(p->hash));

	if (p->g->s[i].key != req)
		return slot_search(p, req, ret_idx);
	*ret_idx = i;
	return &p->g->s[i];
}

/* Its next owner's ring is written after its key: until then it must not look like one of a ring that is gone. */
static __always_inline void slot_free(struct rs_hot *s)
{
	s->ring_uid = 0;
	s->key = 0;
}

/* Whether a slot's request is of the ring at ctx; else its io_kiocb is in other hands by now. */
static __always_inline bool slot_is_of(struct rs_hot *s, u64 ctx)
{
	struct rs_ring *r = ring_by_uid(s->ring_uid);

	return r && (r->ctx == ctx || !RS_RING_IDX(r->uid));
}

static __always_inline struct rs_series *series_at(u32 idx)
{
	return bpf_map_lookup_elem(&rs_series, &idx);
}

static __always_inline bool series_is_shared(u32 idx)
{
	return idx < RS_SERIES_FIRST;
}

/* The inline attempt would have blocked: neither the application nor the opcode sent it to a worker. */
static __always_inline bool punt_is_unwanted(struct rs_series *se, u32 slot_flags)
{
	return !(slot_flags & (RS_SLOT_ASKED | RS_SLOT_DRAIN | RS_SLOT_FORCED)) &&
	       !(se->traits & RS_OP_ASYNC);
}

/*
 * The series of (ring, op, kind), made when first asked for. Several CPUs may ask at once: the map
 * decides. 0: none left.
 */
VERIFIED_ONCE u32 series_make(u32 ring_uid, u32 op, u32 kind)
{
	struct rs_series_key key = { .ring_uid = ring_uid, .op = op, .kind = kind };
	u32 idx, *known = bpf_map_lookup_elem(&rs_series_index, &key);
	struct rs_series *se;

	if (known)
		return *known;
	if (op >= RS_OPS || bpf_map_pop_elem(&rs_free_series, &idx))
		return 0;
	se = series_at(idx);
	if (!se)
		return 0;
	se->op = op;
	se->traits = rs_config.op_traits[op];
	se->lat.min_ns = ~0ull;
	if (idx >= rs_config.wake_from_series)
		bpf_ringbuf_output(&rs_wakeups, &idx, sizeof(idx), BPF_RB_FORCE_WAKEUP);
	if (!bpf_map_update_elem(&rs_series_index, &key, &idx, BPF_NOEXIST))
		return idx;
	bpf_map_push_elem(&rs_free_series, &idx, 0);
	known = bpf_map_lookup_elem(&rs_series_index, &key);
	return known ? *known : 0;
}

/* Gives (ring, op) a series: one of its own, or when none is left the opcode's shared one. */
static __noinline u32 series_take(struct rs_ring *r, u32 op)
{
	u32 idx;

	if (!r || op >= RS_OPS)
		return 0;
	if (RS_RING_IDX(r->uid) == 0)
		return RS_SERIES_SHARED(op);
	idx = series_make(r->uid, op, RS_KIND_MAIN);
	if (!idx)
		idx = RS_SERIES_SHARED(op);
	r->series[op] = idx;
	return idx;
}

/* Index of the series of (ring, op). */
static __always_inline u32 series_of(struct rs_ring *r, u32 op)
{
	u32 idx;

	idx = r->series[op & (RS_OPS - 1)];
	return idx ? idx : series_take(r, op);
}

#endif
