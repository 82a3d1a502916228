/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Which ring is this, and is it ours? Decided once a ring, then one array read. */
#ifndef RINGSIDE_RINGS_H
#define RINGSIDE_RINGS_H

#include "common.h"
#include "pidns.h"
#include "sampling.h"

static __always_inline struct rs_ring *ring_at(u32 idx)
{
	return bpf_map_lookup_elem(&rs_rings, &idx);
}

/* The ring that uid names, NULL if its entry has been given to another since. */
static __always_inline struct rs_ring *ring_by_uid(u32 uid)
{
	struct rs_ring *r = ring_at(RS_RING_IDX(uid));

	return r && r->uid == uid ? r : NULL;
}

static __always_inline u32 ctx_hash(u32 ctx_low)
{
	return ((ctx_low >> 6) * 0x9E3779B1u) >> 20;
}

_Static_assert(RS_HINTS == 1u << 12, "ctx_hash gives 12 bits");

static __always_inline bool is_target(u32 tgid)
{
	return rs_config.all || bpf_map_lookup_elem(&rs_targets, &tgid);
}

/* Who made or uses a ring. */
struct owner {
	u32 pid;
	u32 tid;
	u32 user;
	u64 cgroup_id;
	struct task_struct *task;
	s32 fd;		/* of the ring there, -1: unknown */
	u64 created_ns; /* of the ring, 0: unknown */
};

static __always_inline void owner_current(struct owner *o)
{
	u64 id = bpf_get_current_pid_tgid();

	o->pid = id >> 32;
	o->tid = (u32)id;
	o->user = (u32)bpf_get_current_uid_gid();
	o->cgroup_id = bpf_get_current_cgroup_id();
	o->task = (void *)bpf_get_current_task();
	o->fd = -1;
	o->created_ns = 0;
}

static __always_inline void owner_of(struct owner *o, struct task_struct *task)
{
	o->pid = BPF_CORE_READ(task, tgid);
	o->tid = BPF_CORE_READ(task, pid);
	o->user = BPF_CORE_READ(task, cred, uid.val);
	o->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	o->task = task;
	o->fd = -1;
	o->created_ns = 0;
}

/* Whether a process belongs to the cgroup that was asked for, or to one below it. */
static __noinline bool in_cgroup(struct task_struct *task)
{
	struct cgroup *c = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	u32 i;

	for (i = 0; i < 32 && c; i++) {
		if (BPF_CORE_READ(c, kn, id) == rs_config.cgroup_id)
			return true;
		c = (void *)BPF_CORE_READ(c, self.parent);
		/* self is the first member: a cgroup and its css have one address */
	}
	return false;
}

static __noinline bool has_comm(struct task_struct *task)
{
	char comm[RS_COMM_LEN] = {};
	u32 i;

	BPF_CORE_READ_STR_INTO(&comm, task, group_leader, comm);
	for (i = 0; i < RS_COMM_LEN; i++) {
		if (comm[i] != rs_config.comm[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

static __always_inline bool is_ringside(struct owner *o)
{
	return rs.own_pid && o->pid == rs.own_pid;
}

/* Whether this owner is one of those who are observed: the target and the filters. */
static __always_inline bool is_observed(struct owner *o)
{
	if (!is_target(o->pid))
		return false;
	if (rs_config.by_user && o->user != rs_config.user)
		return false;
	if (rs_config.by_comm && !has_comm(o->task))
		return false;
	return !rs_config.by_cgroup || in_cgroup(o->task);
}

/* Whether rings of this owner are to be watched, decided once a ring. */
static __noinline bool is_wanted(struct owner *o)
{
	return o && (is_ringside(o) || is_observed(o));
}

/* Of its many steps the verifier goes through each. */
VERIFIED_ONCE u32 sample_gap(void)
{
	return rs_sample_gap(bpf_get_prandom_u32(), rs.sample_scale);
}

static __always_inline u32 sample_draw(struct rs_ring *r)
{
	/* ringside tells its own ring when to time */
	return RS_RING_IDX(r->uid) == rs_config.own_ring ? 0 : sample_gap();
}

/* Whether one thread submits, or several do. */
static __always_inline void note_issuer(struct rs_ring *r)
{
	s32 tid = (s32)bpf_get_current_pid_tgid();

	if (r->issuer == tid)
		return;
	if (r->issuer)
		r->issuers = 1;
	else
		r->issuer = tid;
}

/* Whether the request that is being submitted is to be timed. */
static __always_inline bool ring_samples(struct rs_ring *r)
{
	if (r->skip) {
		r->skip--;
		return false;
	}
	if (rs.sample_scale)
		r->skip = sample_draw(r);
	return true;
}

static __always_inline void ring_describe(struct rs_ring *r, struct io_ring_ctx *ctx)
{
	struct task_struct *sq = BPF_CORE_READ(ctx, sq_data, thread);
	struct rs_sq_exit none = {};
	u32 tid;

	r->sq_entries = BPF_CORE_READ(ctx, sq_entries);
	r->cq_entries = BPF_CORE_READ(ctx, cq_entries);
	r->setup_flags = BPF_CORE_READ(ctx, flags);
	r->sq_dropped_base = r->sq_dropped = BPF_CORE_READ(ctx, rings, sq_dropped);
	r->sq_tid = r->sq_tid_here = 0;
	if (!sq)
		return;
	tid = BPF_CORE_READ(sq, pid);
	r->sq_tid = tid;
	r->sq_tid_here = task_here(sq, NULL);
	if (!bpf_map_lookup_elem(&rs_sq_exits, &tid) &&
		bpf_map_update_elem(&rs_sq_exits, &tid, &none, BPF_NOEXIST))
		ATOMIC_ADD(&rs.sq_exits_full, 1);
}

/*
 * Takes an entry for the ring at ctx and fills it before others can find it. Several CPUs may
 * meet a ring for the first time at once: whoever gets into the index wins, the others give their
 * entry back. The loader reads listed entries only. NULL: the table is full.
 */
static __noinline struct rs_ring *ring_add(u64 ctx, struct owner *o, u32 flags)
{
	u32 idx, hash, uid, *winner, own = 0;
	struct task_struct *task;
	struct rs_ring *r;
	bool own_ring;

	if (!o)
		return NULL;
	own_ring = is_ringside(o);
	if (own_ring)
		idx = rs_config.own_ring;
	else if (bpf_map_pop_elem(&rs_free_rings, &idx))
		return NULL;
	r = ring_at(idx);
	if (!r)
		return NULL;
	task = o->task;
	ring_describe(r, (struct io_ring_ctx *)ctx);
	if (r->setup_flags & IORING_SETUP_SQ_REWIND)
		flags |= RS_RING_REWIND;
	r->flags = flags;
	r->pid = o->pid;
	r->pid_here = process_here(task, &own);
	r->pid_own = own;
	r->tid = o->tid;
	r->user = o->user;
	r->cgroup_id = o->cgroup_id;
	/* else an index among the registered rings */
	r->fd = r->setup_flags & IORING_SETUP_REGISTERED_FD_ONLY ? -1 : o->fd;
	r->created_ns = o->created_ns;
	r->skip = sample_draw(r);
	BPF_CORE_READ_STR_INTO(&r->comm, task, group_leader, comm);
	r->ctx = ctx;
	uid = r->uid;
	if (bpf_map_update_elem(&rs_ring_index, &ctx, &uid, BPF_NOEXIST)) {
		r->ctx = 0;
		if (!own_ring)
			bpf_map_push_elem(&rs_free_rings, &idx, 0);
		winner = bpf_map_lookup_elem(&rs_ring_index, &ctx);
		return winner ? ring_by_uid(*winner) : NULL;
	}
	r->state = RS_RING_LISTED;
	hash = ctx_hash(PTR_LOW32(ctx));
	bpf_map_update_elem(&rs_ring_hints, &hash, &idx, BPF_ANY);
	if (idx >= rs_config.wake_from && !own_ring)
		bpf_ringbuf_output(&rs_wakeups, &idx, sizeof(idx), BPF_RB_FORCE_WAKEUP);
	return r;
}

/* The ring at ctx if it is known, by the index, and puts it where ring_find() looks first. */
static __noinline struct rs_ring *ring_find_slow(u64 ctx)
{
	u32 *uid = bpf_map_lookup_elem(&rs_ring_index, &ctx);
	u32 hash = ctx_hash(PTR_LOW32(ctx)), idx;
	struct rs_ring *r;

	if (!uid)
		return NULL;
	r = ring_by_uid(*uid);
	if (!r || r->ctx != ctx) {
		/* the entry has been recycled: so has the ring */
		bpf_map_delete_elem(&rs_ring_index, &ctx);
		return NULL;
	}
	idx = RS_RING_IDX(*uid);
	bpf_map_update_elem(&rs_ring_hints, &hash, &idx, BPF_ANY);
	return r;
}

/* A ring that is not ours, or that found no entry: decided once, too. */
static __noinline int ring_remember_unplaced(u64 ctx, bool wanted)
{
	u32 hash = ctx_hash(PTR_LOW32(ctx));
	u8 ours = wanted;

	if (!wanted)
		bpf_map_update_elem(&rs_foreign, &hash, &ctx, BPF_ANY);
	return bpf_map_update_elem(&rs_unplaced, &ctx, &ours, BPF_ANY);
}

SHARED int ring_forget_unplaced(u64 ctx)
{
	u32 hash = ctx_hash(PTR_LOW32(ctx));
	u64 *foreign = bpf_map_lookup_elem(&rs_foreign, &hash);

	if (foreign && *foreign == ctx)
		*foreign = 0;
	return bpf_map_delete_elem(&rs_unplaced, &ctx);
}

/* Without an entry of its own: entry 0 if it is ours. *ret_met: whether it was met before. */
static __noinline struct rs_ring *ring_unplaced(u64 ctx, bool *ret_met)
{
	u8 *ours = bpf_map_lookup_elem(&rs_unplaced, &ctx);
	u32 hash = ctx_hash(PTR_LOW32(ctx));

	if (!ret_met)
		return NULL;
	*ret_met = ours != NULL;
	if (!ours)
		return NULL;
	if (*ours)
		return ring_at(0);
	bpf_map_update_elem(&rs_foreign, &hash, &ctx, BPF_ANY);
	return NULL;
}

/* A ring older than the observation, or created while nobody looked, or without an entry. */
SHARED struct rs_ring *ring_adopt(u64 ctx)
{
	struct rs_ring *r;
	struct owner o;
	bool met;

	r = ring_unplaced(ctx, &met);
	if (met)
		return r;
	owner_current(&o);
	if (!is_wanted(&o)) {
		ring_remember_unplaced(ctx, false);
		return NULL;
	}
	r = ring_add(ctx, &o, 0);
	if (r)
		return r;
	ring_remember_unplaced(ctx, true);
	return ring_at(0);
}

/* Where the hint points, if that is the ring at ctx. *ret_foreign: it is known not to be ours. */
static __always_inline struct rs_ring *ring_hinted(u64 ctx, u32 ctx_low, bool *ret_foreign)
{
	u32 hash = ctx_hash(ctx_low), *hint;
	struct rs_ring *r = NULL;
	u64 *foreign;

	hint = bpf_map_lookup_elem(&rs_ring_hints, &hash);
	if (hint)
		r = ring_at(*hint);
	if (r && r->ctx == ctx)
		return r;
	foreign = bpf_map_lookup_elem(&rs_foreign, &hash);
	*ret_foreign = foreign && *foreign == ctx;
	return NULL;
}

/*
 * The entry of the ring at ctx, adopted if new; entry 0 if the table is full;
 * NULL: not ours.
 */
static __always_inline struct rs_ring *ring_get(u64 ctx, u32 ctx_low)
{
	bool foreign = false;
	struct rs_ring *r = ring_hinted(ctx, ctx_low, &foreign);

	if (r || foreign)
		return r;
	r = ring_find_slow(ctx);
	return r ? r : ring_adopt(ctx);
}

/* The same for events that say nothing of whose ring it is: one that was not met before is not ours. */
static __always_inline struct rs_ring *ring_known(u64 ctx, u32 ctx_low)
{
	bool foreign = false, met;
	struct rs_ring *r = ring_hinted(ctx, ctx_low, &foreign);

	if (r || foreign)
		return r;
	r = ring_find_slow(ctx);
	return r ? r : ring_unplaced(ctx, &met);
}

#endif
