/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* The end of a request that its CQE names, however it was learnt of. */
#ifndef RINGSIDE_END_H
#define RINGSIDE_END_H

#include "cqe.h"
#include "rings.h"
#include "slots.h"
#include "unseen.h"
#include "workers.h"

/* A request that we did not see being submitted, or found no slot for. */
static __noinline int end_without_slot(u64 ctx, u64 req, s32 res)
{
	struct rs_ring *r = ring_get(ctx, PTR_LOW32(ctx));
	struct rs_series *se;
	u32 idx, op;

	if (!r)
		return 0;
	r->last_end = req;
	if (take_rejected(r, req)) {
		ATOMIC_ADD(&r->c[RS_RC_CQES_REJECTED], 1);
		return 0;
	}
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

/* What few requests need: the last CQE of a multishot request, the first of a zero-copy send. */
static __noinline int end_tagged(struct rs_hot *s, const struct completion *c)
{
	struct rs_tag_key key = {};

	if (!s || !c)
		return 0;
	key.ring_uid = s->ring_uid;
	key.user_data = c->user_data;
	if (!(s->flags & RS_SLOT_MULTI)) {
		key.kind = RS_TAG_NOTIF;
		return tag_touch(&key, bpf_ktime_get_ns());
	}
	key.kind = RS_TAG_MULTI;
	tag_cqe(&key, c->res, true);
	/* renamed since */
	if (s->user_data != c->user_data)
		tag_drop(s->ring_uid, RS_TAG_MULTI, s->user_data);
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
	if (!s) {
		end_without_slot(c->ctx, c->req, c->res);
		return;
	}
	r = ring_by_uid(s->ring_uid);
	sidx = s->series;
	se = series_at(sidx);
	/* an io_kiocb that another ring, not ours to count, has by now; user_data can't tell: POLL_REMOVE changes it */
	if (!r || !se || (r->ctx != c->ctx && RS_RING_IDX(r->uid))) {
		end_unseen(s->ring_uid, s->series, s->flags, s->user_data);
		slot_free(s);
		end_without_slot(c->ctx, c->req, c->res);
		return;
	}
	*ret_ring = r;
	r->last_end = c->req;
	flags = s->flags;
	if (flags & RS_SLOT_REJECTED) {
		slot_free(s);
		ATOMIC_ADD(&r->c[RS_RC_CQES_REJECTED], 1);
		return;
	}
	submit_ns = s->submit_ns;
	now = submit_ns ? bpf_ktime_get_ns() : 0;
	shared = series_is_shared(sidx);
	rs_series_end(se, c->res, shared);
	if (submit_ns && !(flags & RS_SLOT_MULTI))
		rs_lat_add(&se->lat, now > submit_ns ? now - submit_ns : 0, shared);
	if (c->res < 0)
		count_errno(r->uid, se->op, c->res);
	if (flags & (RS_SLOT_MULTI | RS_SLOT_NOTIF))
		end_tagged(s, c);
	task = bpf_get_current_task_btf();
	if (on_worker(r, task)) {
		if (!(flags & RS_SLOT_PUNTED))
			count_punt(se, flags);
		note_worker(task);
	}
	if (submit_ns && (flags & RS_SLOT_PUNTED)) {
		struct rs_cold_group *cg = bpf_map_lookup_elem(&rs_cold, &p.group);

		if (cg)
			end_punted(se, cg->s[in_group(i)].punt_ns, now);
	}
	slot_free(s);
}

#endif
