// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* The stages of a request, followed and in the end counted. */
#include "staged.h"

#include "agg.h"
#include "spans.h"

static __always_inline struct rs_hot *hot_at(u32 group, u32 i)
{
	struct rs_hot_group *g = hot_group(group);

	return g ? &g->s[in_group(i)] : NULL;
}

__noinline int rs_slot_enters(u32 group, u32 i, u32 stage, u64 now)
{
	struct rs_hot *s = hot_at(group, i);
	struct rs_cold *c = cold_at(group, i);
	struct rs_series *se;
	struct rs_block *b;

	if (!s || !c || stage >= RS_LIVE_STAGES)
		return 0;
	if (!(s->flags & RS_SLOT_STAGED)) {
		se = series_at(s->series);
		rs_stages_begin(c, rs_stage_first(se ? se->traits : 0), s->submit_ns);
		s->flags |= RS_SLOT_STAGED;
	}
	b = block_at(group, i);
	if (b && b->of_ns == s->submit_ns)
		rs_block_settle(c, b, stage_after_block(b, c->stage), now);
	rs_stage_enter(c, stage, now);
	return 0;
}

/* What the block layer did for a request that has ended, and in *ret how long. False: nothing. */
static __always_inline bool block_end(struct rs_hot *s, struct rs_cold *c, struct rs_block *b, u64 now,
	struct rs_block *ret)
{
	if (!b || b->of_ns != s->submit_ns)
		return false;
	if (!(s->flags & RS_SLOT_STAGED) && rs_block_is_done(b)) {
		rs_stages_begin(c, RS_ST_ISSUE, s->submit_ns);
		s->flags |= RS_SLOT_STAGED;
	}
	rs_block_settle(c, b, stage_after_block(b, c->stage), now);
	ret->blk_queue_ns = b->blk_queue_ns;
	ret->device_ns = b->device_ns;
	b->of_ns = 0;
	return true;
}

/* The series of another kind that goes with a main one. Only one CPU at a time ends requests of a ring. */
static __noinline struct rs_series *kin_of(struct rs_series *se, u32 kind)
{
	struct rs_series *kin;
	u32 idx;

	if (!se || kind >= RS_KINDS)
		return NULL;
	idx = se->kin[kind];
	if (idx)
		return series_at(idx);
	if (bpf_map_pop_elem(&rs_free_kin, &idx))
		return NULL;
	kin = series_at(idx);
	if (!kin)
		return NULL;
	kin->lat.min_ns = ~0ull;
	se->kin[kind] = idx;
	return kin;
}

/*
 * Of a request that took latency_ns, a stage took ns. Each of the two is looked up in a histogram, which the verifier
 * goes through bit by bit: not again for each stage.
 */
VERIFIED_ONCE int count_kin(u32 series, u32 kind, u64 ns, u64 latency_ns)
{
	struct rs_series *se = series_at(series), *kin = kin_of(se, kind);
	u32 octave;

	if (!se)
		return 0;
	if (!kin) {
		se->stages_lost++;
		ATOMIC_ADD(&rs.stages_full, 1);
		return 0;
	}
	rs_lat_add(&kin->lat, ns, 0);
	octave = rs_hist_bucket(latency_ns) / RS_HIST_SUB;
	if (octave < RS_HIST_OCTAVES)
		kin->tail_ns[octave] += ns;
	return 0;
}

__noinline int rs_slot_staged_end(u32 group, u32 i, u64 latency_ns)
{
	struct rs_hot *s = hot_at(group, i);
	struct rs_cold *c = cold_at(group, i);
	struct rs_block block;
	struct rs_series *se;
	u32 st, series;
	bool blocked;

	if (!s || !c)
		return 0;
	series = s->series;
	se = series_at(series);
	if (!se)
		return 0;
	blocked = block_end(s, c, block_at(group, i), s->submit_ns + latency_ns, &block);
	rs_stages_end(c, s->flags & RS_SLOT_STAGED, se->traits, s->submit_ns, latency_ns);
	if (rs_config.spans && (s->flags & RS_SLOT_SPAN))
		rs_span_staged(group, i, latency_ns);
	if (rs_config.block && blocked && rs_config.spans && (s->flags & RS_SLOT_SPAN)) {
		rs_span_stage(c->span_op, RS_ST_BLK_QUEUE, block.blk_queue_ns, latency_ns);
		rs_span_stage(c->span_op, RS_ST_DEVICE, block.device_ns, latency_ns);
	}
	if (series_is_shared(series))
		return 0;
	count_kin(series, RS_KIND_SLOW, latency_ns, latency_ns);
	for (st = 0; st < RS_LIVE_STAGES; st++)
		if (c->ns[st])
			count_kin(series, RS_KIND_STAGE(st), c->ns[st], latency_ns);
	if (!rs_config.block || !blocked)
		return 0;
	if (block.blk_queue_ns)
		count_kin(series, RS_KIND_STAGE(RS_ST_BLK_QUEUE), block.blk_queue_ns, latency_ns);
	if (block.device_ns)
		count_kin(series, RS_KIND_STAGE(RS_ST_DEVICE), block.device_ns, latency_ns);
	return 0;
}
