// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Completion: a CQE was posted, or found the CQ ring full.
 *
 * A request ends exactly when io_uring_complete carries it. Without a request the event
 * is a multishot CQE (IORING_CQE_F_MORE) or an auxiliary one (msg_ring, resource tags).
 */
#include "rings.h"
#include "slots.h"
#include "workers.h"

struct completion {
	u64 ctx;
	u64 req;
	u64 user_data;
	s32 res;
	u32 cflags;
};

static __always_inline void note_depth(struct rs_ring *r, u32 depth)
{
	/* an application may write anything to its CQ head */
	if (depth > r->cq_entries)
		depth = r->cq_entries;
	if (depth > r->cq_depth_max)
		r->cq_depth_max = depth;
}

static __noinline int count_errno(u32 ring_uid, u32 op, s32 res)
{
	struct rs_errno_key key = {.ring_uid = ring_uid, .op = op, .err = -res};
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

/* A request that we did not see being submitted, or found no slot for. */
static __noinline int end_without_slot(u64 ctx, u64 req, s32 res)
{
	struct rs_series *se;
	struct rs_ring *r = ring_get(ctx, PTR_LOW32(ctx));
	u32 idx, op;

	if (!r)
		return 0;
	op = BPF_CORE_READ((struct io_kiocb *)req, opcode);
	idx = series_of(r, op);
	se = series_at(idx);
	if (!se)
		return 0;
	/* rare enough to be atomic always */
	rs_series_end(se, res, 1);
	if (res < 0)
		count_errno(r->uid, se->op, res);
	if ((s64)r->no_slot > 0)
		ATOMIC_ADD(&r->no_slot, -1);
	else if (r->flags & RS_RING_CREATED_IN_WINDOW)
		ATOMIC_ADD(&se->c[RS_SC_UNTRACKED], 1);
	else
		ATOMIC_ADD(&se->c[RS_SC_AT_ATTACH], 1);
	return 0;
}

/* A CQE that ends no request. */
static __noinline int count_other_cqe(u64 ctx, u32 cflags)
{
	struct rs_ring *r = ring_get(ctx, PTR_LOW32(ctx));

	if (!r)
		return 0;
	if (cflags & IORING_CQE_F_NOTIF)
		ATOMIC_ADD(&r->c[RS_RC_NOTIFS], 1);
	else if (cflags & IORING_CQE_F_MORE)
		ATOMIC_ADD(&r->c[RS_RC_CQES_MULTISHOT], 1);
	else
		ATOMIC_ADD(&r->c[RS_RC_CQES_AUX], 1);
	return 0;
}

/* Runs on a thread of io-wq, or of an SQPOLL ring: they are made the same way. */
static __always_inline bool on_worker(struct rs_ring *r, struct task_struct *task)
{
	return (task->flags & PF_IO_WORKER) && task->pid != r->sq_tid;
}

static __noinline int end_punted(struct rs_series *se, u64 punt_ns, u64 now)
{
	if (!se || !punt_ns || now < punt_ns)
		return 0;
	ATOMIC_ADD(&se->c[RS_SC_WQ_NS], now - punt_ns);
	ATOMIC_ADD(&se->c[RS_SC_WQ_TIMED], 1);
	return 0;
}

/* *ret_ring gets the ring for what is left to do on it. */
static __always_inline void end_request(const struct completion *c, struct rs_ring **ret_ring)
{
	struct task_struct *task;
	struct rs_series *se;
	struct rs_ring *r;
	struct rs_hot *s;
	struct place p;
	u32 i, sidx;
	u16 flags;
	u64 now, submit_ns;
	bool shared;

	if (!place_of(PTR_LOW32(c->req), &p))
		return;
	s = slot_find(&p, c->req, &i);
	if (!s || s->user_data != c->user_data) {
		end_without_slot(c->ctx, c->req, c->res);
		return;
	}
	r = ring_by_uid(s->ring_uid);
	sidx = s->series;
	se = series_at(sidx);
	if (!r || !se) {
		s->key = 0;
		end_without_slot(c->ctx, c->req, c->res);
		return;
	}
	*ret_ring = r;
	flags = s->flags;
	if (flags & RS_SLOT_REJECTED) {
		s->key = 0;
		ATOMIC_ADD(&r->c[RS_RC_CQES_REJECTED], 1);
		return;
	}
	now = bpf_ktime_get_ns();
	submit_ns = s->submit_ns;
	shared = series_is_shared(sidx);
	rs_series_end(se, c->res, shared);
	rs_lat_add(&se->lat, now > submit_ns ? now - submit_ns : 0, shared);
	if (c->res < 0)
		count_errno(r->uid, se->op, c->res);
	task = bpf_get_current_task_btf();
	if (on_worker(r, task)) {
		if (!(flags & RS_SLOT_PUNTED))
			count_punt(se, flags);
		note_worker(task);
	}
	if (flags & RS_SLOT_PUNTED) {
		struct rs_cold_group *cg = bpf_map_lookup_elem(&rs_cold, &p.group);

		if (cg)
			end_punted(se, cg->s[in_group(i)].punt_ns, now);
	}
	s->key = 0;
}

/* From 6.16 on. */
SEC("?tp_btf/io_uring_complete")
int BPF_PROG(rs_complete_cqe, struct io_ring_ctx *ring_ctx, void *req, struct io_uring_cqe *cqe)
{
	struct completion c;
	struct rs_ring *r = NULL;

	if (!rs.active)
		return 0;
	c.ctx = (u64)ring_ctx;
	c.req = (u64)req;
	c.user_data = cqe->user_data;
	c.res = cqe->res;
	c.cflags = cqe->flags;
	if (!req || (c.cflags & IORING_CQE_F_NOTIF)) {
		count_other_cqe(c.ctx, c.cflags);
		return 0;
	}
	end_request(&c, &r);
	if (r)
		note_depth(r, ring_ctx->cached_cq_tail - ring_ctx->rings->cq.head);
	return 0;
}

/*
 * 6.1 to 6.15. The context is an untyped pointer here.
 */
SEC("?tp_btf/io_uring_complete")
int BPF_PROG(rs_complete_args, void *ring_ctx, void *req, u64 user_data, int res, unsigned int cflags)
{
	struct completion c = {(u64)ring_ctx, (u64)req, user_data, res, cflags};
	struct io_ring_ctx *x = ring_ctx;
	struct rs_ring *r = NULL;

	if (!rs.active)
		return 0;
	if (!req || (cflags & IORING_CQE_F_NOTIF)) {
		count_other_cqe(c.ctx, cflags);
		return 0;
	}
	end_request(&c, &r);
	if (r)
		note_depth(r, BPF_CORE_READ(x, cached_cq_tail) - BPF_CORE_READ(x, rings, cq.head));
	return 0;
}

static __noinline int remember_overflow(u32 ring_uid, u64 user_data)
{
	struct rs_overflow_key key = {.ring_uid = ring_uid, .user_data = user_data};
	u64 one = 1, *n;

	n = bpf_map_lookup_elem(&rs_overflowed, &key);
	if (n)
		ATOMIC_ADD(n, 1);
	else if (bpf_map_update_elem(&rs_overflowed, &key, &one, BPF_ANY))
		ATOMIC_ADD(&rs.overflow_full, 1);
	return 0;
}

/*
 * The CQ ring was full. Nothing fires when the CQE is flushed to it later. The event does
 * not name the request: its opcode is known when the io_kiocb is used again.
 */
SEC("?tp_btf/io_uring_cqe_overflow")
int BPF_PROG(rs_cqe_overflow, void *ring_ctx, u64 user_data, s32 res, u32 cflags, void *ocqe)
{
	struct rs_ring *r;

	if (!rs.active)
		return 0;
	r = ring_get((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	ATOMIC_ADD(&r->c[RS_RC_CQ_OVERFLOWS], 1);
	r->cq_depth_max = r->cq_entries;
	if (!ocqe)
		ATOMIC_ADD(&r->c[RS_RC_CQ_DROPPED], 1);
	if (cflags & (IORING_CQE_F_NOTIF | IORING_CQE_F_MORE))
		return count_other_cqe((u64)ring_ctx, cflags);
	ATOMIC_ADD(&r->c[RS_RC_OVERFLOW_ENDS], 1);
	if (res < 0) {
		ATOMIC_ADD(&r->c[RS_RC_OVERFLOW_ERRORS], 1);
		count_errno(r->uid, RS_OPS, res);
	}
	return remember_overflow(r->uid, user_data);
}
