// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * A CQE found the CQ ring full. Since 6.0 io_uring_complete does not fire for it, nor does
 * anything when it is flushed to the ring later; and the event does not name the request.
 */
#include "end.h"
#include "issuing.h"

/* How far a list is followed in search of the request: as many as most CQ rings hold. */
#define WALK_MAX 8192

/*
 * Whether the io_kiocb at `req` is the one: of this ring, with this user_data and result, and, when
 * `slot`, in flight by the slot table. Reads may hit memory that is no io_kiocb any more. Takes a pointer, which
 * a function of its own may since 5.13: older than the overflow event.
 */
VERIFIED_ONCE bool is_the_request(u64 req, const struct completion *c, bool slot)
{
	struct io_kiocb *k = (void *)req;
	struct place p;
	u32 i;

	if (!req || !c || BPF_CORE_READ(k, cqe.user_data) != c->user_data)
		return false;
	if ((u64)BPF_CORE_READ(k, ctx) != c->ctx || BPF_CORE_READ(k, cqe.res) != c->res)
		return false;
	if (BPF_CORE_READ(k, flags) & REQ_F_CQE_SKIP)
		return false;
	return !slot || (place_of(PTR_LOW32(req), &p) && slot_find(&p, req, &i));
}

static __always_inline u64 req_of_node(u64 node)
{
	return node ? node - bpf_core_field_offset(struct io_kiocb, comp_list) : 0;
}

static __always_inline u64 next_req(u64 req)
{
	struct io_kiocb *k = (void *)req;

	return req ? req_of_node((u64)BPF_CORE_READ(k, comp_list.next)) : 0;
}

struct walk {
	u64 req;
	u64 found;
	bool slot;
	bool cut; /* the list is longer than WALK_MAX */
	struct completion c;
};

static int walk_step(u32 i, void *arg)
{
	struct walk *w = arg;

	if (is_the_request(w->req, &w->c, w->slot))
		w->found = w->req;
	w->req = next_req(w->req);
	w->cut = i == WALK_MAX - 1 && w->req;
	return !w->req || w->found;
}

/* The first match from `req` on along the list of requests that are being completed. */
VERIFIED_ONCE u64 walk(u64 req, struct walk *w)
{
	/* what bpf_loop() hands to its function has to be on the stack here */
	struct walk here;

	if (!req || !w)
		return 0;
	here = *w;
	here.req = req;
	here.found = 0;
	/* since 5.17, older than the overflow event */
	bpf_loop(WALK_MAX, walk_step, &here, 0);
	w->cut = here.cut;
	return here.found;
}

/* The first of the requests whose CQEs are being posted. */
static __noinline u64 first_completing(u64 ctx)
{
	struct io_ring_ctx *x = (void *)ctx;

	return req_of_node((u64)BPF_CORE_READ(x, submit_state.compl_reqs.first));
}

/*
 * CQEs are posted in the order of ctx->submit_state.compl_reqs, so this request is its first
 * or comes soon after the one that ended last. On a worker it is what the worker works on.
 */
static __noinline u64 find_request(struct rs_ring *r, struct walk *w)
{
	u64 first, req = worked_on();

	if (!r || !w)
		return 0;
	w->slot = true;
	if (is_the_request(req, &w->c, true))
		return req;
	first = first_completing(w->c.ctx);
	if (is_the_request(first, &w->c, true))
		return first;
	req = walk(next_req(r->last_end), w);
	return req ? req : walk(first, w);
}

/*
 * The same among requests that have no slot. One that was completed a moment ago can look the same, so
 * only where such requests are known to be.
 */
static __noinline u64 find_slotless(struct rs_ring *r, struct walk *w)
{
	u64 req = worked_on();

	if (!r || !w || ((r->flags & RS_RING_CREATED_IN_WINDOW) && (s64)r->no_slot <= 0))
		return 0;
	w->slot = false;
	if (is_the_request(req, &w->c, false))
		return req;
	req = walk(next_req(r->last_end), w);
	return req ? req : walk(first_completing(w->c.ctx), w);
}

VERIFIED_ONCE int remember_overflow(u32 ring_uid, u64 user_data)
{
	struct rs_overflow_key key = { .ring_uid = ring_uid, .user_data = user_data };
	u64 one = 1, *n;

	n = bpf_map_lookup_elem(&rs_overflowed, &key);
	if (n)
		ATOMIC_ADD(n, 1);
	else if (bpf_map_update_elem(&rs_overflowed, &key, &one, BPF_ANY))
		ATOMIC_ADD(&rs.overflow_full, 1);
	return 0;
}

SEC("?tp_btf/io_uring_cqe_overflow")
int BPF_PROG(rs_cqe_overflow, void *ring_ctx, u64 user_data, s32 res, u32 cflags, void *ocqe)
{
	struct walk w = { .c = { (u64)ring_ctx, 0, user_data, res, cflags } };
	struct io_ring_ctx *x = ring_ctx;
	struct rs_ring *r;
	struct ending e;

	if (!rs.active)
		return 0;
	r = ring_known((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	ATOMIC_ADD(&r->c[RS_RC_CQ_OVERFLOWS], 1);
	r->cq_depth_max = r->cq_entries;
	r->overflow_ns = bpf_ktime_get_ns();
	if (!ocqe)
		ATOMIC_ADD(&r->c[RS_RC_CQ_DROPPED], 1);
	if (cflags & IORING_CQE_F_NOTIF)
		return count_other_cqe(&w.c);
	w.c.req = find_request(r, &w);
	if (!w.c.req)
		w.c.req = find_slotless(r, &w);
	if (w.c.req) {
		if (ending_find(&w.c, &e))
			ending_count(&w.c, &e, e.submit_ns ? BPF_CORE_READ(x, rings, sq.head) : 0);
		return 0;
	}
	if ((cflags & IORING_CQE_F_MORE) || (rs_config.overflow_names_request && !w.cut))
		return count_other_cqe(&w.c);
	/* its opcode will be known when the io_kiocb is used again */
	ATOMIC_ADD(&r->c[RS_RC_OVERFLOW_ENDS], 1);
	if (res < 0) {
		ATOMIC_ADD(&r->c[RS_RC_OVERFLOW_ERRORS], 1);
		count_errno(r->uid, RS_OPS, res);
	}
	return remember_overflow(r->uid, user_data);
}
