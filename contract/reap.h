/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Reaping: how long CQEs lie in the CQ. Of each ring one at a time is followed. Its position is known, so whenever
 * the CQ head is at hand it is seen to be still there, or consumed: the time of the latter is after the last
 * of the former and before the first of the latter.
 *
 * Which one is followed must not depend on its place among those that are posted together: the first of them may
 * lie longest. So a number of them is skipped that chance draws when the last one has been consumed, from a range
 * that many times as many as lie in the CQ at a time fit into.
 */
#ifndef RINGSIDE_REAP_H
#define RINGSIDE_REAP_H

#include "abi.h"

#define RS_REAP_SPREAD 8u
#define RS_REAP_MAX_DEPTH 8192u

enum rs_reap_state {
	RS_REAP_WAITS, /* in the CQ */
	RS_REAP_GONE,  /* consumed */
	RS_REAP_LOST,  /* unknown: the application wrote a CQ head that can't be */
};

/* What became of the CQE that ends at `end`. tail: of the CQ, read after head or by who alone may move it. */
static __always_inline enum rs_reap_state rs_reap_judge(__u32 end, __u32 head, __u32 tail, __u32 entries)
{
	if (tail - head > entries)
		return RS_REAP_LOST;
	return (__s32)(head - end) >= 0 ? RS_REAP_GONE : RS_REAP_WAITS;
}

/*
 * How many CQEs to skip before the next one is followed. random: 32 random bits; depth_max: of the CQ so far; log_n:
 * log2 of n, where one in n is at hand to be followed and chance has chosen which.
 */
static __always_inline __u32 rs_reap_skip(__u32 random, __u32 depth_max, __u32 log_n)
{
	__u32 range = depth_max < RS_REAP_MAX_DEPTH ? depth_max : RS_REAP_MAX_DEPTH;

	range = (range ? range : 1) * RS_REAP_SPREAD >> (log_n & 31);
	if (range < RS_REAP_SPREAD)
		range = RS_REAP_SPREAD;
	return (__u64)random * range >> 32;
}

/* One of two maxima in the same nanoseconds may be lost. */
static __always_inline void rs_reap_dist_add_shared(struct rs_reap_dist *d, __u64 ns)
{
	__u32 i = rs_hist_bucket(ns) >> 1;

	(void)__sync_fetch_and_add(&d->sum_ns, ns);
	if (ns > d->max_ns)
		d->max_ns = ns;
	if (i < RS_REAP_BUCKETS && d->buckets[i] != ~0u)
		(void)__sync_fetch_and_add(&d->buckets[i], 1);
}

static __always_inline void rs_reap_dist_add(struct rs_reap_dist *d, __u64 ns)
{
	__u32 i = rs_hist_bucket(ns) >> 1;

	d->sum_ns += ns;
	if (ns > d->max_ns)
		d->max_ns = ns;
	if (i < RS_REAP_BUCKETS && d->buckets[i] != ~0u)
		d->buckets[i]++;
}

/* From now_ns on the CQE before tail is followed. By the completer, while none is. */
static __always_inline void rs_reap_begin(struct rs_reap *f, __u32 tail, __u64 now_ns)
{
	f->end = tail;
	f->unreaped_ns = now_ns;
	/* last: others go by it */
	*(volatile __u64 *)&f->posted_ns = now_ns;
}

/*
 * When the CQE that is followed was first seen to be consumed by others than the completer, 0: it was not. These may
 * come late, and mean one that was followed before, or overwrite each other: then it is seen again.
 */
static __always_inline __u64 rs_reap_gone_ns(const struct rs_reap *f)
{
	__u64 posted_ns = f->posted_ns, gone_ns = f->gone_ns;

	return posted_ns && f->gone_of_ns == posted_ns && gone_ns >= posted_ns ? gone_ns : 0;
}

/* By anyone: the CQE that was posted at posted_ns was consumed before now_ns. */
static __always_inline void rs_reap_note(struct rs_reap *f, __u64 posted_ns, __u64 now_ns)
{
	f->gone_ns = now_ns;
	*(volatile __u64 *)&f->gone_of_ns = posted_ns;
}

/* Whether the choice was fair still: not if the CQ has since held more than chance had reckoned with. */
static __always_inline int rs_reap_is_fair(const struct rs_reap *f, __u32 depth_max)
{
	return depth_max <= 2 * f->depth || depth_max <= 1;
}

/* The CQE that is followed was consumed before gone_ns. */
static __always_inline void rs_reap_record(const struct rs_reap *f, __u32 depth_max, __u64 gone_ns,
	struct rs_reaped *sum)
{
	__u64 posted_ns = f->posted_ns, unreaped_ns = f->unreaped_ns;

	if (!rs_reap_is_fair(f, depth_max))
		return;
	/* one who looked saw it late, and another earlier that it was gone */
	if (unreaped_ns > gone_ns)
		unreaped_ns = gone_ns;
	rs_reap_dist_add(&sum->lower, unreaped_ns > posted_ns ? unreaped_ns - posted_ns : 0);
	rs_reap_dist_add(&sum->upper, gone_ns > posted_ns ? gone_ns - posted_ns : 0);
}

/* For so long the CQ head may stand elsewhere than it was seen to move to: the two are not seen by the same CPU. */
#define RS_LAG_ASTRAY_NS 1000000u

/* By the completer: a CQE was posted before tail, when the CQ head stood at head. */
static __always_inline void rs_lags_post(struct rs_lags *l, __u32 head, __u32 tail, __u64 now_ns)
{
	struct rs_lag_slot *s = &l->s[tail & (RS_LAG_SLOTS - 1)];

	if (!l->begun) {
		l->begun = 1;
		l->head = head;
	}
	if (head == l->head)
		l->astray_ns = 0;
	else if (!l->astray_ns)
		l->astray_ns = now_ns;
	else if (now_ns - l->astray_ns > RS_LAG_ASTRAY_NS)
		l->unseen = 1;
	*(volatile __u64 *)&s->posted_ns = 0;
	s->end = tail;
	*(volatile __u64 *)&s->posted_ns = now_ns;
}

/* The CQ head has moved there. */
static __always_inline void rs_lags_move(struct rs_lags *l, __u32 head, __u64 now_ns)
{
	__u32 i;

	l->head = head;
	l->astray_ns = 0;
	for (i = 0; i < RS_LAG_SLOTS; i++) {
		struct rs_lag_slot *s = &l->s[i];
		__u64 posted_ns = s->posted_ns;

		if (!posted_ns || (__s32)(head - s->end) < 0 ||
			__sync_val_compare_and_swap(&s->posted_ns, posted_ns, 0) != posted_ns)
			continue;
		rs_reap_dist_add_shared(&l->dist, now_ns > posted_ns ? now_ns - posted_ns : 0);
	}
}

/* Another may be followed. */
static __always_inline void rs_reap_end(struct rs_reap *f, __u32 depth_max, __u32 skip)
{
	f->depth = depth_max;
	f->skip = skip;
	*(volatile __u64 *)&f->posted_ns = 0;
}

#endif
