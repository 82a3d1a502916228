/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* The end of a request that its CQE names, however it was learnt of. */
#ifndef RINGSIDE_END_H
#define RINGSIDE_END_H

#include "cqe.h"
#include "rings.h"
#include "slots.h"
#include "spans.h"
#include "staged.h"
#include "troubled.h"
#include "unseen.h"
#include "workers.h"

/* Whether the task that runs cancels all that it has in flight: it exits, or calls exec. */
static __always_inline bool cancels_all(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct io_uring_task *tctx = BPF_CORE_READ(task, io_uring);
	struct io_uring_task___idle *old = (void *)tctx;

	if (!tctx)
		return false;
	if (bpf_core_field_exists(tctx->in_cancel))
		return BPF_CORE_READ(tctx, in_cancel.counter) > 0;
	return bpf_core_field_exists(old->in_idle) && BPF_CORE_READ(old, in_idle.counter) > 0;
}

#define ECANCELED 125
#define EINTR 4

/*
 * Ended by the end of its ring or thread, rather than by somebody who asked for that; or in a chain, where it is
 * mostly the failure of another request.
 */
static __noinline int count_canceled(struct rs_ring *r, struct rs_series *se, s32 res, u32 flags)
{
	if (!r || !se || (res != -ECANCELED && res != -EINTR))
		return 0;
	if (r->state < RS_RING_CLOSING && !cancels_all()) {
		if ((flags & RS_SLOT_LINKED) && res == -ECANCELED)
			ATOMIC_ADD(&se->c[RS_SC_CANCELED_LINK], 1);
		return 0;
	}
	if (r->state >= RS_RING_CLOSING && !r->exited)
		ATOMIC_ADD(&se->c[RS_SC_CANCELED_CLOSE], 1);
	else
		ATOMIC_ADD(&se->c[RS_SC_CANCELED_EXIT], 1);
	return 0;
}

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
	if (res < 0 && rs_config.files)
		rs_file_note(req, se->op, TROUBLE_ERROR, 0);
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

/*
 * Who got to a worker was queued for one, or follows a request that was: asking whose thread this is can be spared
 * elsewhere.
 */
static __always_inline bool may_be_on_worker(u32 flags)
{
	return !rs_config.links_told || (flags & (RS_SLOT_PUNTED | RS_SLOT_LINKED));
}

static __noinline bool end_on_worker(struct rs_ring *r, struct rs_series *se, u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!r || !on_worker(r, task))
		return false;
	if (!(flags & RS_SLOT_PUNTED))
		count_punt(se, flags);
	note_worker(task);
	return true;
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

/* The request behind this one in its chain has waited long enough. On a worker it comes next there. */
static __noinline int end_of_waiting(u64 req, bool worker)
{
	u32 stage = !worker ? RS_ST_OTHER : rs_config.wq_told ? RS_ST_WQ_RUN : RS_ST_WQ;
	struct io_kiocb *next = BPF_CORE_READ((struct io_kiocb *)req, link);
	struct rs_cold *cold;
	struct rs_hot *s;
	struct place p;
	u32 i;

	if (!next || !place_of(PTR_LOW32(next), &p))
		return 0;
	s = slot_find(&p, (u64)next, &i);
	if (!s || !slot_is_staged(s) || !(s->flags & RS_SLOT_STAGED))
		return 0;
	cold = cold_at(p.group, i);
	if (cold && cold->stage == RS_ST_LINK)
		rs_slot_enters(p.group, i, stage, bpf_ktime_get_ns());
	return 0;
}

/* A request that ends, and what it is counted for. */
struct ending {
	struct rs_ring *r;
	struct rs_series *se;
	struct rs_hot *s;
	struct place p;
	u64 submit_ns; /* 0: it is not timed */
	u64 now;       /* of its end, if it is timed; else 0 */
	u32 i;	       /* of s in p.g */
	u16 flags;
};

/* Finds it. False: there is nothing more to do; *e has the ring all the same if it is known. */
static __always_inline bool ending_find(const struct completion *c, struct ending *e)
{
	struct rs_series *se;
	struct rs_ring *r;
	struct rs_hot *s;

	e->r = NULL;
	e->now = 0;
	if (!place_of(PTR_LOW32(c->req), &e->p))
		return false;
	s = slot_find(&e->p, c->req, &e->i);
	if (!s) {
		end_without_slot(c->ctx, c->req, c->res);
		return false;
	}
	r = ring_by_uid(s->ring_uid);
	se = series_at(s->series);
	/* an io_kiocb that another ring, not ours to count, has by now; user_data can't tell: POLL_REMOVE changes it */
	if (!r || !se || (r->ctx != c->ctx && RS_RING_IDX(r->uid))) {
		end_unseen(s->ring_uid, s->series, s->flags, s->user_data);
		slot_free(s);
		end_without_slot(c->ctx, c->req, c->res);
		return false;
	}
	e->r = r;
	r->last_end = c->req;
	e->flags = s->flags;
	if (e->flags & RS_SLOT_REJECTED) {
		slot_free(s);
		ATOMIC_ADD(&r->c[RS_RC_CQES_REJECTED], 1);
		return false;
	}
	e->s = s;
	e->se = se;
	e->submit_ns = s->submit_ns;
	return true;
}

/*
 * Whether the batch that the request was submitted with is still being submitted: sq.head moves at its end, after
 * the CQEs of those that ended inline have been posted. REWIND rings publish no head.
 */
static __always_inline bool ending_is_inline(const struct ending *e, u32 sq_head)
{
	return e->r->batch_ns && e->submit_ns >= e->r->batch_ns && (u32)e->r->last_sq_head == sq_head &&
	       !(e->flags & (RS_SLOT_STAGED | RS_SLOT_PUNTED)) && !(e->r->flags & RS_RING_REWIND);
}

/* sq_head: of the ring, now; used only if the request is timed. */
static __always_inline void ending_count(const struct completion *c, struct ending *e, u32 sq_head)
{
	u64 now, latency_ns = 0;
	bool shared = series_is_shared(e->s->series), worker;
	struct rs_cold *cold;

	now = e->submit_ns ? bpf_ktime_get_ns() : 0;
	e->now = now;
	rs_series_end(e->se, c->res, shared);
	if (e->submit_ns && !(e->flags & RS_SLOT_MULTI)) {
		latency_ns = now > e->submit_ns ? now - e->submit_ns : 0;
		rs_lat_add(&e->se->lat, latency_ns, shared);
		if (!ending_is_inline(e, sq_head) || slot_did_direct_io(e->s, e->p.group, e->i))
			rs_slot_staged_end(e->p.group, e->i, latency_ns);
	}
	if (c->res < 0) {
		count_errno(e->r->uid, e->se->op, c->res);
		count_canceled(e->r, e->se, c->res, e->flags);
	}
	if (e->flags & (RS_SLOT_MULTI | RS_SLOT_NOTIF))
		end_tagged(e->s, c);
	worker = may_be_on_worker(e->flags) && end_on_worker(e->r, e->se, e->flags);
	if (e->submit_ns && (e->flags & RS_SLOT_PUNTED)) {
		cold = cold_at(e->p.group, e->i);
		if (cold)
			end_punted(e->se, cold->punt_ns, now);
	}
	if (rs_config.files && worker && !(e->flags & RS_SLOT_PUNTED)) {
		/* it got there behind another */
		e->s->flags |= RS_SLOT_PUNTED;
		rs_slot_punted(e->p.group, e->i);
	}
	if (rs_config.files &&
		(c->res < 0 || worker || (e->flags & RS_SLOT_PUNTED) || latency_ns >= rs_config.slow_ns))
		rs_slot_troubled(e->p.group, e->i, c->res, latency_ns);
	if (rs_config.spans && (e->flags & RS_SLOT_SPAN))
		rs_span_end(e->p.group, e->i, c->res, now, worker);
	slot_free(e->s);
	if (e->flags & (RS_SLOT_LINKED | RS_SLOT_HEAD))
		end_of_waiting(c->req, worker);
}

#endif
