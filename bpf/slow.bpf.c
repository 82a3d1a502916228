// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* What a request may meet on its way: io-wq, poll; and what a ring's threads do: wait, register. */
#include "follow.h"
#include "rings.h"
#include "slots.h"
#include "sites.h"
#include "staged.h"
#include "troubled.h"
#include "workers.h"

static __always_inline struct io_wq *wq_of(struct io_kiocb *req)
{
	struct io_kiocb___task *old = (void *)req;

	if (bpf_core_field_exists(req->tctx))
		return BPF_CORE_READ(req, tctx, io_wq);
	return BPF_CORE_READ(old, task, io_uring, io_wq);
}

/* Punted without a slot: the flags tell less, and a second punt is counted again. */
static __noinline int punt_without_slot(struct io_kiocb *req, bool hashed)
{
	struct rs_series *se;
	struct rs_ring *r;
	u64 f, addr;
	u32 flags = 0;

	if (!req)
		return 0;
	r = ring_get((u64)BPF_CORE_READ(req, ctx), PTR_LOW32(BPF_CORE_READ(req, ctx)));
	if (!r)
		return 0;
	f = BPF_CORE_READ(req, flags);
	if (f & REQ_F_FORCE_ASYNC)
		flags |= RS_SLOT_FORCED;
	if (f & REQ_F_IO_DRAIN)
		flags |= RS_SLOT_DRAIN;
	se = series_at(series_of(r, BPF_CORE_READ(req, opcode)));
	count_punt(se, flags);
	if (hashed)
		count_hashed(r, se, BPF_CORE_READ(req, file));
	/* the address as a number, which a function that the verifier sees once wants */
	bpf_probe_read_kernel(&addr, sizeof(addr), &req);
	if (rs_config.files && se && punt_is_unwanted(se, flags))
		rs_file_note(addr, se->op, TROUBLE_PUNT, 0);
	return note_wq((u64)wq_of(req));
}

/* `hashed` was an int, then a bool: whether io-wq keeps this request apart from others of its file. */
SEC("?tp_btf/io_uring_queue_async_work")
int BPF_PROG(rs_punt, struct io_kiocb *req, int hashed)
{
	u64 ring = (u64)req->ctx;
	struct rs_cold *cold;
	struct rs_hot *s;
	struct place p;
	bool fresh;
	u64 now;
	u32 i;

	if (!rs.active || !place_of(PTR_LOW32(req), &p))
		return 0;
	s = slot_find(&p, (u64)req, &i);
	if (!s || !slot_is_of(s, ring))
		return punt_without_slot(req, hashed);
	now = bpf_ktime_get_ns();
	/* nothing has happened since its submission: that is still under way. Of requests that are not timed nobody knows. */
	fresh = s->submit_ns && !(s->flags & RS_SLOT_STAGED);
	cold = cold_at(p.group, i);
	if (slot_is_staged(s))
		rs_slot_enters(p.group, i, rs_config.wq_told ? RS_ST_WQ_QUEUE : RS_ST_WQ, now);
	if (s->flags & RS_SLOT_PUNTED)
		return 0;
	s->flags |= RS_SLOT_PUNTED;
	if (cold)
		cold->punt_ns = now;
	count_punt(series_at(s->series), s->flags);
	if (hashed)
		count_hashed(ring_by_uid(s->ring_uid), series_at(s->series), BPF_CORE_READ(req, file));
	if (rs_config.files)
		rs_slot_punted(p.group, i);
	if (rs_config.call_sites && fresh)
		rs_site_take(p.group, i, now);
	return note_wq((u64)wq_of(req));
}

SEC("?tp_btf/io_uring_poll_arm")
int BPF_PROG(rs_poll_arm, struct io_kiocb *req)
{
	struct io_ring_ctx *ring_ctx;
	struct rs_series *se;
	struct rs_ring *r;
	struct rs_hot *s;
	struct place p;
	u32 i;

	if (!rs.active)
		return 0;
	ring_ctx = req->ctx;
	r = ring_get((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	se = series_at(series_of(r, req->opcode));
	if (se)
		ATOMIC_ADD(&se->c[RS_SC_POLL_ARMED], 1);
	if (!place_of(PTR_LOW32(req), &p))
		return 0;
	s = slot_find(&p, (u64)req, &i);
	if (s && s->ring_uid == r->uid && slot_is_staged(s))
		rs_slot_enters(p.group, i, RS_ST_ARMED, bpf_ktime_get_ns());
	return 0;
}

static __always_inline bool is_armed(struct rs_hot *s, struct rs_cold *c)
{
	struct rs_series *se;

	if (s->flags & RS_SLOT_STAGED)
		return c->stage == RS_ST_ARMED;
	se = series_at(s->series);
	return se && rs_stage_first(se->traits) == RS_ST_ARMED;
}

/* What a request waited for has happened; may run in interrupts. Once is enough: others may follow. */
SEC("?tp_btf/io_uring_task_add")
int BPF_PROG(rs_task_add, struct io_kiocb *req)
{
	u64 ring = (u64)req->ctx;
	struct rs_cold *cold;
	struct rs_hot *s;
	struct place p;
	u32 i;

	if (!rs.active || !place_of(PTR_LOW32(req), &p))
		return 0;
	s = slot_find(&p, (u64)req, &i);
	if (!s || !slot_is_of(s, ring) || !slot_is_staged(s))
		return 0;
	cold = cold_at(p.group, i);
	if (cold && is_armed(s, cold))
		rs_slot_enters(p.group, i, RS_ST_DELIVER, bpf_ktime_get_ns());
	return 0;
}

static __always_inline struct rs_ring *count_on_ring(void *ctx, u32 counter)
{
	struct rs_ring *r;

	if (!rs.active)
		return NULL;
	r = ring_get((u64)ctx, PTR_LOW32(ctx));
	if (r)
		ATOMIC_ADD(&r->c[counter], 1);
	return r;
}

SEC("?tp_btf/io_uring_cqring_wait")
int BPF_PROG(rs_cqring_wait, void *ring_ctx)
{
	return reap_look_into(count_on_ring(ring_ctx, RS_RC_WAITS), (u64)ring_ctx);
}

SEC("?tp_btf/io_uring_short_write")
int BPF_PROG(rs_short_write, void *ring_ctx)
{
	count_on_ring(ring_ctx, RS_RC_SHORT_WRITES);
	return 0;
}

/* The end of this thread's call, whose beginning was seen where that can be. */
static __noinline int time_register(struct rs_register_stat *st)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct rs_call *call = bpf_map_lookup_elem(&rs_calls, &tid);
	u64 ns;

	if (!st || !call || !call->begin_ns || call->ctx)
		return 0;
	ns = bpf_ktime_get_ns() - call->begin_ns;
	call->begin_ns = 0;
	ATOMIC_ADD(&st->timed, 1);
	ATOMIC_ADD(&st->sum_ns, ns);
	/* one of two updates in the same nanoseconds may be lost */
	if (ns > st->max_ns)
		st->max_ns = ns;
	return 0;
}

static __always_inline int on_register(void *ring_ctx, u32 opcode, long ret)
{
	struct rs_register_stat fresh = {}, *st;
	struct rs_ring *r;
	u32 key = opcode;

	if (!rs.active)
		return 0;
	r = ring_get((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	if ((opcode == IORING_REGISTER_FILES || opcode == IORING_REGISTER_FILES2) && ret >= 0)
		ATOMIC_ADD(&r->c[RS_RC_FILE_TABLES], 1);
	if (opcode == IORING_REGISTER_RESIZE_RINGS && ret >= 0) {
		r->sq_entries = BPF_CORE_READ((struct io_ring_ctx *)ring_ctx, sq_entries);
		r->cq_entries = BPF_CORE_READ((struct io_ring_ctx *)ring_ctx, cq_entries);
	}
	st = bpf_map_lookup_elem(&rs_registers, &key);
	if (!st) {
		bpf_map_update_elem(&rs_registers, &key, &fresh, BPF_NOEXIST);
		st = bpf_map_lookup_elem(&rs_registers, &key);
		if (!st)
			return 0;
	}
	ATOMIC_ADD(&st->count, 1);
	if (ret < 0)
		ATOMIC_ADD(&st->errors, 1);
	return time_register(st);
}

SEC("?tp_btf/io_uring_register")
int BPF_PROG(rs_register, void *ring_ctx, unsigned int opcode, unsigned int nr_files, unsigned int nr_bufs,
	long ret)
{
	return on_register(ring_ctx, opcode, ret);
}

/* Until 5.16. */
SEC("?tp_btf/io_uring_register")
int BPF_PROG(rs_register_eventfd, void *ring_ctx, unsigned int opcode, unsigned int nr_files,
	unsigned int nr_bufs, bool eventfd, long ret)
{
	return on_register(ring_ctx, opcode, ret);
}
