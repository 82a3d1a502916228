// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Submission: an SQE became a request, or was refused. */
#include "follow.h"
#include "issuing.h"
#include "rings.h"
#include "slots.h"
#include "spans.h"
#include "sqe.h"
#include "staged.h"
#include "tags.h"
#include "unseen.h"

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

/* A slot whose ring is gone: nothing will complete in it. */
static __noinline bool slot_is_dead(struct rs_hot *s)
{
	struct rs_ring *r;

	if (!s)
		return false;
	r = ring_by_uid(s->ring_uid);
	return !r || r->state == RS_RING_CLOSED;
}

/* Gives the slot that `key` holds to req, whose it is or else whose is dead. False: another was quicker. */
static __noinline bool slot_retake(struct rs_hot *s, u64 key, u64 req)
{
	if (!s || __sync_val_compare_and_swap(&s->key, key, RS_KEY_BUSY) != key)
		return false;
	/* the io_kiocb may have been submitted again since, on a ring that lives */
	if (key != req && !slot_is_dead(s)) {
		s->key = key;
		return false;
	}
	end_unseen(s->ring_uid, s->series, s->flags, s->user_data);
	/* ring 0 is never gone: nobody else takes it for dead before its new ring is written */
	s->ring_uid = 0;
	s->key = req;
	return true;
}

/* Index of a slot of a group that is dead, RS_GROUP if none. */
VERIFIED_ONCE u32 group_dead(u32 group)
{
	struct rs_hot_group *g = hot_group(group);
	u32 i;

	if (!g)
		return RS_GROUP;
#pragma unroll
	for (i = 0; i < RS_GROUP; i++)
		if (g->s[i].key != RS_KEY_BUSY && slot_is_dead(&g->s[i]))
			return i;
	return RS_GROUP;
}

/* Claims a slot of a group without a free one; as often as another is quicker, the next. */
static __noinline struct rs_hot *group_evict(u32 group, u64 req)
{
	struct rs_hot_group *g = hot_group(group);
	struct rs_hot *s;
	u32 i, tries;
	u64 key;

	for (tries = 0; tries < RS_GROUP; tries++) {
		i = group_dead(group);
		if (i >= RS_GROUP || !g)
			break;
		s = &g->s[in_group(i)];
		key = s->key;
		if (key != RS_KEY_BUSY && slot_retake(s, key, req))
			return s;
	}
	return NULL;
}

/*
 * A slot that is not free at home: the one that req has still, else a free one of its two groups,
 * else one of a ring that is gone. NULL: both are full.
 */
static __noinline struct rs_hot *slot_claim_slow(u32 req_low, u64 req)
{
	struct rs_hot_group *g, *other;
	u32 i, group, other_group;
	struct rs_hot *s;
	struct place p;

	if (!place_of(req_low, &p))
		return NULL;
	g = p.g;
	group = p.group;
	other_group = rs_place_other(p.hash, rs_config.group_mask);
	s = slot_find(&p, req, &i);
	if (s && slot_retake(s, req, req))
		return s;
	other = hot_group(other_group);
	i = any_index(group_claim(g, req));
	if (i < RS_GROUP)
		return &g->s[in_group(i)];
	i = any_index(group_claim(other, req));
	if (i < RS_GROUP && other)
		return &other->s[in_group(i)];
	s = group_evict(group, req);
	return s ? s : group_evict(other_group, req);
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

/*
 * Requests that may give many CQEs; zero-copy sends, whose notification comes whatever becomes of them;
 * and those that rename another request. Returns the flags that the request's slot gets.
 */
static __noinline u16 tag_request(struct io_kiocb *req, u32 ring_uid, u32 series)
{
	struct rs_tag_key key = { .ring_uid = ring_uid, .kind = RS_TAG_MULTI };
	struct io_ring_ctx *ctx;
	struct io_uring_sqe *sqe;
	u32 op;

	if (!req)
		return 0;
	ctx = BPF_CORE_READ(req, ctx);
	op = BPF_CORE_READ(req, opcode);
	if (op == IORING_OP_POLL_REMOVE) {
		sqe = current_sqe(ctx, op);
		if (BPF_CORE_READ(sqe, len) & IORING_POLL_UPDATE_USER_DATA)
			tag_rename(ring_uid, BPF_CORE_READ(sqe, addr), BPF_CORE_READ(sqe, off));
		return 0;
	}
	key.user_data = BPF_CORE_READ(req, cqe.user_data);
	if (rs_config.op_traits[op & (RS_OPS - 1)] & RS_OP_NOTIF) {
		key.kind = RS_TAG_NOTIF;
		tag_add(&key, series, bpf_ktime_get_ns());
		return RS_SLOT_NOTIF;
	}
	if (!sqe_is_multishot(ctx, op))
		return 0;
	tag_add(&key, series, bpf_ktime_get_ns());
	return RS_SLOT_MULTI;
}

/*
 * The kernel publishes sq.head at the end of a submission batch: when it moved since
 * the last SQE that we saw on this ring, this SQE is the first of another batch.
 * Rings that rewind publish nothing; there a batch starts where the position does not grow.
 * Whether this SQE is the first.
 */
static __always_inline bool count_batch(struct rs_ring *r, struct io_ring_ctx *ctx)
{
	bool first;
	u32 head;

	if (r->flags & RS_RING_REWIND) {
		head = ctx->cached_sq_head;
		first = head <= r->last_sq_head;
		if (first) {
			r->c[RS_RC_BATCHES]++;
			note_issuer(r);
		}
		r->last_sq_head = head;
		return first;
	}
	head = ctx->rings->sq.head;
	if (r->last_sq_head == head)
		return false;
	note_issuer(r);
	r->last_sq_head = head;
	r->batch_ns = 0;
	r->c[RS_RC_BATCHES]++;
	r->sq_dropped = ctx->rings->sq_dropped;
	return true;
}

/* Between two batches an application has most often consumed what there was. */
static __noinline int look_at_cq(struct rs_ring *r, struct io_ring_ctx *ctx, u64 now)
{
	u64 posted;
	u32 head;

	if (!r || !ctx)
		return 0;
	posted = r->reap.posted_ns;
	if (!posted)
		return 0;
	head = ctx->rings->cq.head;
	reap_look(r, posted, head, ctx->cached_cq_tail, now);
	return 0;
}

static __always_inline u16 slot_flags(struct io_kiocb *req, struct io_ring_ctx *ctx)
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
		if (sqe_asks_async(ctx, req->opcode))
			flags |= RS_SLOT_ASKED;
	}
	return flags;
}

/* Tells the slot of a request whose span it is. Returns the flags that it gets. */
static __noinline u16 slot_enters_span(u32 req_low, u64 req, u32 op)
{
	u32 pair = rs_span_submit(op), i;
	struct rs_cold *cold;
	struct place p;

	if (!pair || !place_of(req_low, &p) || !slot_find(&p, req, &i))
		return 0;
	cold = cold_at(p.group, i);
	if (!cold)
		return 0;
	cold->span_op = pair;
	return RS_SLOT_SPAN;
}

static __always_inline int on_submit(struct io_kiocb *req)
{
	struct io_ring_ctx *ctx;
	struct rs_series *se;
	struct rs_ring *r;
	struct rs_hot *s;
	bool shared, first = false;
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
	s = slot_claim(PTR_LOW32(req), (u64)req);
	shared = series_is_shared(idx);
	if (RS_RING_IDX(r->uid))
		first = count_batch(r, ctx);
	else
		ATOMIC_ADD(&rs.rings_full, 1);
	rs_add(&se->c[RS_SC_SUBMITTED], 1, shared);
	if (!s) {
		if (rs_config.spans)
			rs_span_submit(req->opcode);
		/* without a CQE, as a follower of a chain that failed with IOSQE_CQE_SKIP_SUCCESS */
		take_rejected(r, (u64)req);
		r->untagged = 1;
		ATOMIC_ADD(&r->no_slot, 1);
		rs_add(&se->c[RS_SC_NO_SLOT], 1, shared);
		return 0;
	}
	s->user_data = req->cqe.user_data;
	s->ring_uid = r->uid;
	s->series = idx;
	flags = slot_flags(req, ctx);
	if (rs_config.spans)
		flags |= slot_enters_span(PTR_LOW32(req), (u64)req, req->opcode);
	now = 0;
	if (ring_samples(r)) {
		now = bpf_ktime_get_ns();
		if (!r->batch_ns)
			r->batch_ns = now;
	}
	if (se->traits & (RS_OP_MULTI | RS_OP_RENAME | RS_OP_NOTIF))
		flags |= tag_request(req, r->uid, idx);
	s->flags = flags;
	s->submit_ns = now;
	if (rs_config.block)
		issuing_begins((u64)req);
	if (first)
		look_at_cq(r, ctx, now);
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
	u32 uid;

	if (!r)
		return 0;
	uid = r->uid;
	take_rejected(r, req);
	ATOMIC_ADD(&r->rejected_no_slot, 1);
	if (bpf_map_update_elem(&rs_rejected, &req, &uid, BPF_ANY))
		ATOMIC_ADD(&rs.rejected_full, 1);
	return 0;
}

/* A zero-copy send that was refused after its notification had been made: that comes all the same. */
static __noinline int tag_refused(u32 ring_uid, u64 user_data, u32 series)
{
	struct rs_tag_key key = { .ring_uid = ring_uid, .kind = RS_TAG_NOTIF, .user_data = user_data };

	return tag_add(&key, series, bpf_ktime_get_ns());
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
	if (rs_config.spans)
		rs_span_reject(sqe->opcode);
	if (se && (se->traits & RS_OP_NOTIF) && (req->flags & REQ_F_NEED_CLEANUP))
		tag_refused(r->uid, sqe->user_data, idx);
	s = slot_claim(PTR_LOW32(req), (u64)req);
	if (!s)
		return remember_rejected(r, (u64)req);
	s->user_data = sqe->user_data;
	s->ring_uid = r->uid;
	s->series = idx;
	s->flags = RS_SLOT_REJECTED;
	return 0;
}
