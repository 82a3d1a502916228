/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* A CQE, its error, and what one that ends no request counts as. */
#ifndef RINGSIDE_CQE_H
#define RINGSIDE_CQE_H

#include "follow.h"
#include "rings.h"
#include "tags.h"

struct completion {
	u64 ctx;
	u64 req;
	u64 user_data;
	s32 res;
	u32 cflags;
};

VERIFIED_ONCE int count_errno(u32 ring_uid, u32 op, s32 res)
{
	struct rs_errno_key key = { .ring_uid = ring_uid, .op = op, .err = -res };
	u64 one = 1, *n;

	n = bpf_map_lookup_elem(&rs_errnos, &key);
	if (!n) {
		if (!bpf_map_update_elem(&rs_errnos, &key, &one, BPF_NOEXIST))
			return 0;
		n = bpf_map_lookup_elem(&rs_errnos, &key);
	}
	if (n)
		ATOMIC_ADD(n, 1);
	else
		ATOMIC_ADD(&rs.errnos_full, 1);
	return 0;
}

static __always_inline void note_depth(struct rs_ring *r, u32 depth)
{
	/* an application may write anything to its CQ head */
	if (depth > r->cq_entries)
		depth = r->cq_entries;
	if (depth > r->cq_depth_max)
		r->cq_depth_max = depth;
}

/* The same, from the ring itself, of a CQE that was posted there. */
static __noinline int note_other_cqe(struct rs_ring *r, u64 ctx)
{
	struct io_ring_ctx *x = (void *)ctx;
	u32 head, tail;

	if (!r || !RS_RING_IDX(r->uid))
		return 0;
	tail = BPF_CORE_READ(x, cached_cq_tail);
	head = BPF_CORE_READ(x, rings, cq.head);
	note_depth(r, tail - head);
	/* before 5.19 the event comes before the CQE has its place */
	if (bpf_core_field_exists(struct io_kiocb, cqe) && (!rs.sample_scale || !sample_draw(r)))
		reap_posted(r, head, tail, bpf_ktime_get_ns());
	return 0;
}

/* Whether every request of this ring that may give further CQEs has its tag. */
static __always_inline bool tags_are_complete(struct rs_ring *r)
{
	return (r->flags & RS_RING_CREATED_IN_WINDOW) && !r->untagged && !rs.tags_full;
}

/*
 * A CQE that ends no request. msg_ring may post any flags to another ring (IORING_MSG_RING_FLAGS_PASS):
 * they mean something only if a request of this ring is known to give such CQEs, or may be.
 */
SHARED int count_other_cqe(const struct completion *c)
{
	struct rs_tag_key key = {};
	struct rs_ring *r;
	bool notif;

	if (!c)
		return 0;
	/* may come from another ring's task (msg_ring), so says nothing of whose ring this is */
	r = ring_known(c->ctx, PTR_LOW32(c->ctx));
	if (!r)
		return 0;
	note_other_cqe(r, c->ctx);
	key.ring_uid = r->uid;
	key.user_data = c->user_data;
	if (c->cflags & (IORING_CQE_F_NOTIF | IORING_CQE_F_MORE)) {
		notif = c->cflags & IORING_CQE_F_NOTIF;
		key.kind = notif ? RS_TAG_NOTIF : RS_TAG_MULTI;
		/* one with an io_kiocb of its own was posted by the kernel */
		if (tag_cqe(&key, c->res, notif) || c->req || !tags_are_complete(r)) {
			if (notif)
				ATOMIC_ADD(&r->c[RS_RC_NOTIFS], 1);
			else
				ATOMIC_ADD(&r->c[RS_RC_CQES_MULTISHOT], 1);
			return 0;
		}
	}
	ATOMIC_ADD(&r->c[RS_RC_CQES_AUX], 1);
	return 0;
}

#endif
