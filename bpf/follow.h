/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Following CQEs to the moment when the application has consumed them. See contract/reap.h. */
#ifndef RINGSIDE_FOLLOW_H
#define RINGSIDE_FOLLOW_H

#include "common.h"
#include "reap.h"
#include "rings.h"

/* rs.sample_scale is about 0.7 n, 16 bits after the point. */
static __always_inline u32 log2_of_sample(void)
{
	u64 scale = rs.sample_scale;

	return scale >> 16 ? rs_log2(scale >> 16) : 0;
}

/* A look at the CQ by anyone. posted: reap.posted_ns, read before its head; now: read before it too, 0: unknown. */
static __always_inline void reap_look(struct rs_ring *r, u64 posted, u32 head, u32 tail, u64 now)
{
	enum rs_reap_state state = rs_reap_judge(r->reap.end, head, tail, r->cq_entries);

	if (state == RS_REAP_WAITS && now)
		r->reap.unreaped_ns = now;
	else if (state == RS_REAP_GONE && r->reap.gone_of_ns != posted)
		/* the time after the head was read */
		rs_reap_note(&r->reap, posted, bpf_ktime_get_ns());
}

/* The same where nothing is at hand. */
SHARED int reap_look_into(struct rs_ring *r, u64 ctx)
{
	struct io_ring_ctx *x = (void *)ctx;
	u64 posted, now;
	u32 head;

	if (!r)
		return 0;
	posted = r->reap.posted_ns;
	if (!posted)
		return 0;
	now = bpf_ktime_get_ns();
	head = BPF_CORE_READ(x, rings, cq.head);
	reap_look(r, posted, head, BPF_CORE_READ(x, cached_cq_tail), now);
	return 0;
}

/* The flag is set with the first CQE that overflows, and cleared when none is left. */
static __noinline int overflow_look_last(struct rs_ring *r, u64 ctx)
{
	struct io_ring_ctx *x = (void *)ctx;
	struct io_rings *rings;
	u64 now, since;

	if (!r)
		return 0;
	rings = BPF_CORE_READ(x, rings);
	if (!rings || !bpf_core_field_exists(rings->sq_flags))
		return 0;
	since = r->overflow_ns;
	now = bpf_ktime_get_ns();
	r->stuck_ns = 1;
	if (since && now > since && (BPF_CORE_READ(rings, sq_flags.counter) & IORING_SQ_CQ_OVERFLOW))
		r->stuck_ns = now - since + 1;
	return 0;
}

/* The application will look no more, or we won't. */
SHARED int reap_look_last(struct rs_ring *r, u64 ctx)
{
	struct io_ring_ctx *x = (void *)ctx;
	u32 head, depth;

	if (!r)
		return 0;
	reap_look_into(r, ctx);
	overflow_look_last(r, ctx);
	head = BPF_CORE_READ(x, rings, cq.head);
	depth = BPF_CORE_READ(x, cached_cq_tail) - head;
	r->reap.left = depth <= r->cq_entries ? depth + 1 : 0;
	return 0;
}

/* The completer is done with the one that is followed. gone: when it was seen to be consumed, 0: it is lost. */
VERIFIED_ONCE int reap_end(u32 ring_idx, u64 gone)
{
	struct rs_reaped *sum = bpf_map_lookup_elem(&rs_reaped, &ring_idx);
	struct rs_ring *r = ring_at(ring_idx);
	u32 depth;

	if (!r)
		return 0;
	depth = r->cq_depth_max;
	if (sum && gone)
		rs_reap_record(&r->reap, depth, gone, sum);
	rs_reap_end(&r->reap, depth, rs_reap_skip(bpf_get_prandom_u32(), depth, log2_of_sample()));
	return 0;
}

/* A CQE was posted before tail, at `now`, and is not one to skip. */
static __noinline int reap_timed(struct rs_ring *r, u32 head, u32 tail, u64 now)
{
	enum rs_reap_state state;
	u64 gone;

	if (!r)
		return 0;
	/* not on entry 0, of many rings, and not once nobody can consume it */
	if (!RS_RING_IDX(r->uid) || r->state != RS_RING_LISTED) {
		r->reap.skip = ~0u;
		return 0;
	}
	if (!r->reap.posted_ns) {
		rs_reap_begin(&r->reap, tail, now);
		return 0;
	}
	gone = rs_reap_gone_ns(&r->reap);
	if (gone)
		return reap_end(RS_RING_IDX(r->uid), gone);
	state = rs_reap_judge(r->reap.end, head, tail, r->cq_entries);
	if (state != RS_REAP_WAITS)
		return reap_end(RS_RING_IDX(r->uid), state == RS_REAP_GONE ? bpf_ktime_get_ns() : 0);
	r->reap.unreaped_ns = now;
	return 0;
}

static __noinline int lag_posted(struct rs_ring *r, u32 head, u32 tail, u64 now)
{
	struct rs_lags *l;
	u32 idx;

	if (!r)
		return 0;
	idx = RS_RING_IDX(r->uid);
	l = bpf_map_lookup_elem(&rs_lags, &idx);
	if (l)
		rs_lags_post(l, head, tail, now);
	return 0;
}

/* now is 0 for a CQE that is not timed. There is nothing to skip while one is followed. */
static __always_inline void reap_posted(struct rs_ring *r, u32 head, u32 tail, u64 now)
{
	if (!now)
		return;
	if (rs_config.watch_heads && r->watched)
		lag_posted(r, head, tail, now);
	if (r->reap.skip)
		r->reap.skip--;
	else
		reap_timed(r, head, tail, now);
}

#endif
