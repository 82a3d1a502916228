// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Submission: an SQE became a request, or was refused. */
#include "rings.h"
#include "slots.h"
#include "tags.h"

/* Claims a free slot other than the home; the group may have changed since it was scanned. */
static __noinline u32 group_claim(struct rs_hot_group *g, u64 req)
{
	u32 i;

	if (!g)
		return RS_GROUP;
#pragma unroll
	for (i = 0; i < RS_GROUP; i++)
		if (!g->s[i].key && __sync_val_compare_and_swap(&g->s[i].key, 0, req) == 0)
			return i;
	return RS_GROUP;
}

/*
 * A slot that is not free at home: the one that req has still, else a free one of its two groups.
 * NULL: both are full.
 */
static __noinline struct rs_hot *slot_claim_slow(u32 req_low, u64 req)
{
	struct rs_hot_group *g;
	struct rs_hot *s;
	struct place p;
	u32 i, hash;

	if (!place_of(req_low, &p))
		return NULL;
	g = p.g;
	hash = p.hash;
	s = slot_find(&p, req, &i);
	if (s) {
		end_unseen(s);
		return s;
	}
	i = group_claim(g, req);
	if (i < RS_GROUP)
		return &g->s[in_group(i)];
	g = hot_group(rs_place_other(hash, rs_config.group_mask));
	i = group_claim(g, req);
	return i < RS_GROUP && g ? &g->s[in_group(i)] : NULL;
}

/* A slot for req, its last occupant accounted for. NULL: there is none. */
static __always_inline struct rs_hot *slot_claim(u32 req_low, u64 req)
{
	struct rs_hot *s;
	struct place p;

	if (!place_of(req_low, &p))
		return NULL;
	s = &p.g->s[in_group(rs_place_home(p.hash))];
	if (!s->key && __sync_val_compare_and_swap(&s->key, 0, req) == 0)
		return s;
	return slot_claim_slow(req_low, req);
}

/* The SQE that is being submitted; its opcode is op. */
static __always_inline struct io_uring_sqe *current_sqe(struct io_ring_ctx *ctx, u32 op)
{
	u32 i = BPF_CORE_READ(ctx, cached_sq_head) - 1, shift = 6, setup = BPF_CORE_READ(ctx, flags);

	/* where sizes are mixed, a large one takes two entries, and both have been consumed */
	if ((setup & IORING_SETUP_SQE_MIXED) && (op == IORING_OP_NOP128 || op == IORING_OP_URING_CMD128))
		i--;
	i &= BPF_CORE_READ(ctx, sq_entries) - 1;
	if (!(setup & IORING_SETUP_NO_SQARRAY))
		bpf_probe_read_kernel(&i, sizeof(i), BPF_CORE_READ(ctx, sq_array) + i);
	if (setup & IORING_SETUP_SQE128)
		shift = 7;
	return (void *)BPF_CORE_READ(ctx, sq_sqes) + ((u64)i << shift);
}

/* Whether the SQE itself asked for a worker: REQ_F_FORCE_ASYNC is also set by opcodes. */
static __noinline bool sqe_asks_async(struct io_ring_ctx *ctx, u32 op)
{
	return BPF_CORE_READ(current_sqe(ctx, op), flags) & IOSQE_ASYNC;
}

/* Whether this SQE may give many CQEs; called for opcodes that can. */
static __noinline bool sqe_is_multishot(struct io_ring_ctx *ctx, u32 op)
{
	struct io_uring_sqe *sqe = current_sqe(ctx, op);

	switch (op) {
	case IORING_OP_POLL_ADD:
		return BPF_CORE_READ(sqe, len) & IORING_POLL_ADD_MULTI;
	case IORING_OP_ACCEPT:
		return BPF_CORE_READ(sqe, ioprio) & IORING_ACCEPT_MULTISHOT;
	case IORING_OP_RECV:
	case IORING_OP_RECVMSG:
		return BPF_CORE_READ(sqe, ioprio) & IORING_RECV_MULTISHOT;
	case IORING_OP_TIMEOUT:
		return BPF_CORE_READ(sqe, rw_flags) & IORING_TIMEOUT_MULTISHOT;
	case IORING_OP_URING_CMD:
	case IORING_OP_URING_CMD128:
		return BPF_CORE_READ(sqe, rw_flags) & IORING_URING_CMD_MULTISHOT;
	default:
		/* READ_MULTISHOT, RECV_ZC */
		return true;
	}
}

/*
 * The kernel publishes sq.head at the end of a submission batch: when it moved since
 * the last SQE that we saw on this ring, this SQE is the first of another batch.
 * Rings that rewind publish nothing; there a batch starts where the position does not grow.
 */
static __always_inline void count_batch(struct rs_ring *r, struct io_ring_ctx *ctx)
{
	u32 head;

	if (r->flags & RS_RING_REWIND) {
		head = ctx->cached_sq_head;
		if (head <= r->last_sq_head)
			r->c[RS_RC_BATCHES]++;
		r->last_sq_head = head;
		return;
	}
	head = ctx->rings->sq.head;
	if (r->last_sq_head == head)
		return;
	r->last_sq_head = head;
	r->c[RS_RC_BATCHES]++;
	r->sq_dropped = ctx->rings->sq_dropped;
}

static __always_inline u16 slot_flags(struct io_kiocb *req)
{
	u32 f = (u32)req->flags & (REQ_F_IO_DRAIN | REQ_F_FORCE_ASYNC | REQ_F_CQE_SKIP);
	u16 flags = 0;

	if (!f)
		return 0;
	if (f & REQ_F_CQE_SKIP)
		flags |= RS_SLOT_CQE_SKIP;
	if (f & REQ_F_IO_DRAIN)
		flags |= RS_SLOT_DRAIN;
	if (f & REQ_F_FORCE_ASYNC) {
		flags |= RS_SLOT_FORCED;
		if (sqe_asks_async(req->ctx, req->opcode))
			flags |= RS_SLOT_ASKED;
	}
	return flags;
}

static __always_inline int on_submit(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx;
	struct rs_series *se;
	struct rs_ring *r;
	struct rs_hot *s;
	bool shared;
	u16 flags;
	u32 idx;
	u64 now;

	if (!rs.active)
		return 0;
	ctx = req->ctx;
	r = ring_get((u64)ctx, PTR_LOW32(ctx));
	if (!r)
		return 0;
	idx = series_of(r, req->opcode);
	se = series_at(idx);
	if (!se)
		return 0;
	shared = series_is_shared(idx);
	if (RS_RING_IDX(r->uid))
		count_batch(r, ctx);
	rs_add(&se->c[RS_SC_SUBMITTED], 1, shared);
	s = slot_claim(PTR_LOW32(req), (u64)req);
	if (!s) {
		ATOMIC_ADD(&r->no_slot, 1);
		rs_add(&se->c[RS_SC_NO_SLOT], 1, shared);
		return 0;
	}
	s->user_data = req->cqe.user_data;
	s->ring_uid = r->uid;
	s->series = idx;
	flags = slot_flags(req);
	now = bpf_ktime_get_ns();
	if ((se->traits & RS_OP_MULTI) && sqe_is_multishot(ctx, se->op)) {
		flags |= RS_SLOT_MULTI;
		tag_add(r->uid, RS_TAG_MULTI, s->user_data, idx, now);
	}
	s->flags = flags;
	s->submit_ns = now;
	return 0;
}

SEC("?tp_btf/io_uring_submit_req")
int BPF_PROG(rs_submit_req, struct io_kiocb *req)
{
	return on_submit(req);
}

SEC("?tp_btf/io_uring_submit_sqe")
int BPF_PROG(rs_submit_sqe, struct io_kiocb *req)
{
	return on_submit(req);
}

/* Without a slot: a CQE names the io_kiocb only, and a request without a slot may end in its place. */
static __noinline int remember_rejected(struct rs_ring *r, u64 req)
{
	u8 one = 1;

	if (!r)
		return 0;
	ATOMIC_ADD(&r->rejected_no_slot, 1);
	if (bpf_map_update_elem(&rs_rejected, &req, &one, BPF_ANY))
		ATOMIC_ADD(&rs.rejected_full, 1);
	return 0;
}

/*
 * An SQE was refused: a CQE follows without a submission. The slot keeps it from being
 * taken for the end of an older request at the same address.
 */
SEC("?tp_btf/io_uring_req_failed")
int BPF_PROG(rs_req_failed, const struct io_uring_sqe *sqe, struct io_kiocb *req)
{
	struct io_ring_ctx *ring_ctx;
	struct rs_series *se;
	struct rs_ring *r;
	struct rs_hot *s;
	u32 idx;

	if (!rs.active)
		return 0;
	ring_ctx = req->ctx;
	r = ring_get((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	if (RS_RING_IDX(r->uid))
		count_batch(r, ring_ctx);
	idx = series_of(r, sqe->opcode);
	se = series_at(idx);
	if (se)
		ATOMIC_ADD(&se->c[RS_SC_REJECTED], 1);
	s = slot_claim(PTR_LOW32(req), (u64)req);
	if (!s)
		return remember_rejected(r, (u64)req);
	s->user_data = sqe->user_data;
	s->ring_uid = r->uid;
	s->series = idx;
	s->flags = RS_SLOT_REJECTED;
	return 0;
}

/* A follower of a chain shares its head's fate: asked for a worker with the head, it runs there too. */
SEC("?tp_btf/io_uring_link")
int BPF_PROG(rs_link, struct io_kiocb *req, struct io_kiocb *target)
{
	struct rs_hot *s, *head;
	struct place p;
	u32 i;

	if (!rs.active || !place_of(PTR_LOW32(target), &p))
		return 0;
	head = slot_find(&p, (u64)target, &i);
	if (!head || !(head->flags & RS_SLOT_ASKED) || !place_of(PTR_LOW32(req), &p))
		return 0;
	s = slot_find(&p, (u64)req, &i);
	if (s && slot_is_of(s, (u64)req->ctx) && slot_is_of(head, (u64)req->ctx))
		s->flags |= RS_SLOT_ASKED;
	return 0;
}
