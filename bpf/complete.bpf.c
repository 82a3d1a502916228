// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Completion: a CQE was posted.
 *
 * A request ends exactly when io_uring_complete carries it. Without a request the event
 * is a multishot CQE (IORING_CQE_F_MORE) or an auxiliary one (msg_ring, resource tags).
 */
#include "end.h"
#include "follow.h"

/* From 6.16 on. */
SEC("?tp_btf/io_uring_complete")
int BPF_PROG(rs_complete_cqe, struct io_ring_ctx *ring_ctx, void *req, struct io_uring_cqe *cqe)
{
	struct io_rings *rings = ring_ctx->rings;
	struct completion c;
	struct ending e;
	u32 head, tail;

	if (!rs.active)
		return 0;
	c.ctx = (u64)ring_ctx;
	c.req = (u64)req;
	c.user_data = cqe->user_data;
	c.res = cqe->res;
	c.cflags = cqe->flags;
	if (!req || (c.cflags & IORING_CQE_F_NOTIF))
		return count_other_cqe(&c);
	if (ending_find(&c, &e))
		ending_count(&c, &e, e.submit_ns ? rings->sq.head : 0);
	if (!e.r)
		return 0;
	tail = ring_ctx->cached_cq_tail;
	head = rings->cq.head;
	note_depth(e.r, tail - head);
	reap_posted(e.r, head, tail, e.now);
	return 0;
}

/* 6.1 to 6.15. The context is an untyped pointer here. */
SEC("?tp_btf/io_uring_complete")
int BPF_PROG(rs_complete_args, void *ring_ctx, void *req, u64 user_data, int res, unsigned int cflags)
{
	struct completion c = { (u64)ring_ctx, (u64)req, user_data, res, cflags };
	struct io_ring_ctx *x = ring_ctx;
	struct ending e;
	u32 head, tail;

	if (!rs.active)
		return 0;
	if (!req || (cflags & IORING_CQE_F_NOTIF))
		return count_other_cqe(&c);
	if (ending_find(&c, &e))
		ending_count(&c, &e, e.submit_ns ? BPF_CORE_READ(x, rings, sq.head) : 0);
	if (!e.r)
		return 0;
	tail = BPF_CORE_READ(x, cached_cq_tail);
	head = BPF_CORE_READ(x, rings, cq.head);
	note_depth(e.r, tail - head);
	reap_posted(e.r, head, tail, e.now);
	return 0;
}
