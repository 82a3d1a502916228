// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * io_uring as of 5.15 (and of stable 5.10): the events carry numbers, and a CQE does not say whose it is.
 * Requests are known by (ring, user_data); of two in flight with the same one, either may have ended.
 *
 * For kernels of that time: no fetching atomics, no typed pointers.
 */
#include "cqe.h"
#include "rings.h"
#include "slots.h"
#include "sqe.h"
#include "tags.h"
#include "workers.h"

static __always_inline u64 user_data_of(void *req)
{
	struct io_kiocb___5_15 *k = req;

	return BPF_CORE_READ(k, user_data);
}

static __always_inline u32 doubt_between(struct rs_series *a, struct rs_series *b)
{
	return a && b && a->op == b->op ? RS_DOUBT_TIME : RS_DOUBT_TIME | RS_DOUBT_OP;
}

/* Files a request; only its ring's submitter does. False: there is no room. */
static __noinline bool named_add(struct rs_named_key *key, struct rs_named *fresh)
{
	struct rs_named *n;
	u32 i, doubt, place = RS_COPIES;

	if (!key || !fresh)
		return false;
	for (i = 0; i < RS_COPIES; i++) {
		key->copy = i;
		n = bpf_map_lookup_elem(&rs_named, key);
		if (!n) {
			place = place < i ? place : i;
			continue;
		}
		doubt = doubt_between(series_at(n->series), series_at(fresh->series));
		n->doubt |= doubt;
		fresh->doubt |= doubt;
	}
	key->copy = place;
	return place < RS_COPIES && !bpf_map_update_elem(&rs_named, key, fresh, BPF_NOEXIST);
}

/* The request with this user_data, one of them if there are several; key gets its copy. */
static __noinline struct rs_named *named_find(struct rs_named_key *key)
{
	struct rs_named *n;
	u32 i;

	if (!key)
		return NULL;
	for (i = 0; i < RS_COPIES; i++) {
		key->copy = i;
		n = bpf_map_lookup_elem(&rs_named, key);
		if (n)
			return n;
	}
	return NULL;
}

static __noinline int count_batch(struct rs_ring *r, struct io_ring_ctx *ctx)
{
	u32 head;

	if (!r || !RS_RING_IDX(r->uid))
		return 0;
	head = BPF_CORE_READ(ctx, rings, sq.head);
	if (r->last_sq_head == head)
		return 0;
	note_issuer(r);
	r->last_sq_head = head;
	r->c[RS_RC_BATCHES]++;
	r->sq_dropped = BPF_CORE_READ(ctx, rings, sq_dropped);
	return 0;
}

static __always_inline u16 flags_of(struct io_ring_ctx *ctx, u32 op, u32 req_flags)
{
	u16 flags = 0;

	if (req_flags & REQ_F_IO_DRAIN)
		flags |= RS_SLOT_DRAIN;
	if (!(req_flags & REQ_F_FORCE_ASYNC))
		return flags;
	return flags | RS_SLOT_FORCED | (sqe_asks_async(ctx, op) ? RS_SLOT_ASKED : 0);
}

SEC("?tp_btf/io_uring_submit_sqe")
int BPF_PROG(rs_submit_named, void *ring_ctx, void *req, u8 opcode, u64 user_data, u32 req_flags)
{
	struct rs_named_key key = { .user_data = user_data };
	struct rs_named fresh = {};
	struct rs_tag_key tag = { .kind = RS_TAG_MULTI, .user_data = user_data };
	struct rs_series *se;
	struct rs_ring *r;
	u32 idx;

	if (!rs.active)
		return 0;
	r = ring_get((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	idx = series_of(r, opcode);
	se = series_at(idx);
	if (!se)
		return 0;
	count_batch(r, ring_ctx);
	rs_add(&se->c[RS_SC_SUBMITTED], 1, series_is_shared(idx));
	key.ring_uid = r->uid;
	tag.ring_uid = r->uid;
	fresh.series = idx;
	fresh.flags = flags_of(ring_ctx, opcode, req_flags);
	if (ring_samples(r))
		fresh.submit_ns = bpf_ktime_get_ns();
	if ((se->traits & RS_OP_MULTI) && sqe_is_multishot(ring_ctx, opcode)) {
		fresh.flags |= RS_SLOT_MULTI;
		tag_add(&tag, idx, bpf_ktime_get_ns());
	}
	if (named_add(&key, &fresh))
		return 0;
	ATOMIC_ADD(&r->no_slot, 1);
	rs_add(&se->c[RS_SC_NO_SLOT], 1, series_is_shared(idx));
	return 0;
}

/* A request ended whose opcode is not known. */
static __noinline int end_unnamed(struct rs_ring *r, s32 res)
{
	if (!r)
		return 0;
	ATOMIC_ADD(&r->c[RS_RC_OVERFLOW_ENDS], 1);
	if (res >= 0)
		return 0;
	ATOMIC_ADD(&r->c[RS_RC_OVERFLOW_ERRORS], 1);
	return count_errno(r->uid, RS_OPS, res);
}

static __noinline int end_on_worker(struct rs_ring *r, struct rs_series *se, struct rs_named *n, u64 now)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!r || !se || !n)
		return 0;
	if ((n->flags & RS_SLOT_PUNTED) && n->punt_ns && now > n->punt_ns) {
		ATOMIC_ADD(&se->c[RS_SC_WQ_NS], now - n->punt_ns);
		ATOMIC_ADD(&se->c[RS_SC_WQ_TIMED], 1);
	}
	if (!(BPF_CORE_READ(task, flags) & PF_IO_WORKER) || BPF_CORE_READ(task, pid) == r->sq_tid)
		return 0;
	return n->flags & RS_SLOT_PUNTED ? 0 : count_punt(se, n->flags);
}

/* n is the request that c ends, unless another has its user_data. */
static __noinline int end_named(struct rs_ring *r, struct rs_named *n, const struct completion *c)
{
	struct rs_tag_key tag = { .kind = RS_TAG_MULTI };
	struct rs_series *se;
	u64 now = 0, since;
	u32 idx;

	if (!r || !n || !c)
		return 0;
	if (n->doubt)
		ATOMIC_ADD(&rs.ambiguous, 1);
	if (n->flags & RS_SLOT_MULTI) {
		tag.ring_uid = r->uid;
		tag.user_data = c->user_data;
		tag_cqe(&tag, c->res, true);
	}
	if (n->doubt & RS_DOUBT_OP)
		return end_unnamed(r, c->res);
	idx = n->series;
	se = series_at(idx);
	if (!se)
		return 0;
	rs_series_end(se, c->res, series_is_shared(idx));
	since = n->submit_ns;
	if (since)
		now = bpf_ktime_get_ns();
	if (since && !n->doubt && !(n->flags & RS_SLOT_MULTI))
		rs_lat_add(&se->lat, now > since ? now - since : 0, series_is_shared(idx));
	if (c->res < 0)
		count_errno(r->uid, se->op, c->res);
	return end_on_worker(r, se, n, now);
}

/* Fires for a CQE that overflows, too. */
SEC("?tp_btf/io_uring_complete")
int BPF_PROG(rs_complete_named, void *ring_ctx, u64 user_data, int res, unsigned int cflags)
{
	struct completion c = { (u64)ring_ctx, 0, user_data, res, cflags };
	struct rs_named_key key = { .user_data = user_data };
	struct rs_named *n;
	struct rs_ring *r;

	if (!rs.active)
		return 0;
	if (cflags & IORING_CQE_F_MORE)
		return count_other_cqe(&c);
	r = ring_known((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	key.ring_uid = r->uid;
	n = named_find(&key);
	if (n) {
		end_named(r, n, &c);
		bpf_map_delete_elem(&rs_named, &key);
	} else if ((s64)r->no_slot > 0) {
		ATOMIC_ADD(&r->no_slot, -1);
		end_unnamed(r, res);
	} else {
		ATOMIC_ADD(&rs.unmatched, 1);
		ATOMIC_ADD(&r->c[RS_RC_CQES_AUX], 1);
	}
	return 0;
}

SEC("?tp_btf/io_uring_queue_async_work")
int BPF_PROG(rs_punt_named, void *ring_ctx, int hashed, void *req)
{
	struct rs_named_key key = {};
	struct io_kiocb___task *k = req;
	struct io_kiocb *any = req;
	struct rs_named *n;
	struct rs_ring *r;

	if (!rs.active)
		return 0;
	r = ring_get((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	key.ring_uid = r->uid;
	key.user_data = user_data_of(req);
	n = named_find(&key);
	if (!n || (n->flags & RS_SLOT_PUNTED))
		return 0;
	n->flags |= RS_SLOT_PUNTED;
	n->punt_ns = bpf_ktime_get_ns();
	count_punt(series_at(n->series), n->flags);
	if (hashed)
		count_hashed(r, series_at(n->series), BPF_CORE_READ(any, file));
	return note_wq((u64)BPF_CORE_READ(k, task, io_uring, io_wq));
}

SEC("?tp_btf/io_uring_poll_arm")
int BPF_PROG(rs_poll_arm_named, void *ring_ctx, void *req, u8 opcode)
{
	struct rs_series *se;
	struct rs_ring *r;

	if (!rs.active)
		return 0;
	r = ring_get((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	se = series_at(series_of(r, opcode));
	if (se)
		ATOMIC_ADD(&se->c[RS_SC_POLL_ARMED], 1);
	return 0;
}

SEC("?tp_btf/io_uring_link")
int BPF_PROG(rs_link_named, void *ring_ctx, void *req, void *target)
{
	struct rs_named_key key = {}, head_key = {};
	struct rs_named *n, *head;
	struct rs_ring *r;

	if (!rs.active)
		return 0;
	r = ring_get((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	head_key.ring_uid = key.ring_uid = r->uid;
	head_key.user_data = user_data_of(target);
	head = named_find(&head_key);
	if (!head || !(head->flags & RS_SLOT_ASKED))
		return 0;
	key.user_data = user_data_of(req);
	n = named_find(&key);
	if (n)
		n->flags |= RS_SLOT_ASKED;
	return 0;
}
