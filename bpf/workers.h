/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* io-wq: why a request went there, and how many workers a task has. Slow path. */
#ifndef RINGSIDE_WORKERS_H
#define RINGSIDE_WORKERS_H

#include "common.h"
#include "pidns.h"

static __noinline int count_punt(struct rs_series *se, u32 slot_flags)
{
	if (!se)
		return 0;
	if (slot_flags & RS_SLOT_ASKED)
		ATOMIC_ADD(&se->c[RS_SC_PUNT_ASKED], 1);
	else if (slot_flags & RS_SLOT_DRAIN)
		ATOMIC_ADD(&se->c[RS_SC_PUNT_DRAIN], 1);
	else if ((slot_flags & RS_SLOT_FORCED) || (se->traits & RS_OP_ASYNC))
		ATOMIC_ADD(&se->c[RS_SC_PUNT_OPCODE], 1);
	else
		ATOMIC_ADD(&se->c[RS_SC_PUNT_UNWANTED], 1);
	return 0;
}

/*
 * io-wq runs such requests of one file one after the other. `file` is there: only what has one is hashed.
 * Whether two in a row are of one inode is a guess where submitters race, which costs a count.
 */
SHARED int count_hashed(struct rs_ring *r, struct rs_series *se, struct file *file)
{
	u64 inode;

	if (!r || !se)
		return 0;
	inode = (u64)BPF_CORE_READ(file, f_inode);
	ATOMIC_ADD(&se->c[RS_SC_HASHED], 1);
	if (inode && inode == r->hashed_inode)
		ATOMIC_ADD(&r->c[RS_RC_HASHED_AGAIN], 1);
	r->hashed_inode = inode;
	return 0;
}

/* io-wq belongs to a task; the counts include workers that are being created. */
VERIFIED_ONCE int note_wq(u64 io_wq)
{
	struct io_wq *wq = (void *)io_wq;
	struct io_wq___wqe *old = (void *)wq;
	struct rs_workers fresh = {}, *w;
	struct task_struct *owner;
	u32 bounded, unbounded, bounded_limit, unbounded_limit, tid;

	if (!wq)
		return 0;
	if (bpf_core_field_exists(wq->acct)) {
		bounded = BPF_CORE_READ(wq, acct[0].nr_workers);
		unbounded = BPF_CORE_READ(wq, acct[1].nr_workers);
		bounded_limit = BPF_CORE_READ(wq, acct[0].max_workers);
		unbounded_limit = BPF_CORE_READ(wq, acct[1].max_workers);
	} else {
		bounded = BPF_CORE_READ(old, wqes[0], acct[0].nr_workers);
		unbounded = BPF_CORE_READ(old, wqes[0], acct[1].nr_workers);
		bounded_limit = BPF_CORE_READ(old, wqes[0], acct[0].max_workers);
		unbounded_limit = BPF_CORE_READ(old, wqes[0], acct[1].max_workers);
	}
	owner = BPF_CORE_READ(wq, task);
	tid = BPF_CORE_READ(owner, pid);
	fresh.start_ns = BPF_CORE_READ(owner, start_time);
	w = bpf_map_lookup_elem(&rs_workers, &tid);
	if (!w || w->start_ns != fresh.start_ns) {
		fresh.pid = BPF_CORE_READ(owner, tgid);
		fresh.pid_here = process_here(owner, NULL);
		fresh.tid_here = task_here(owner, NULL);
		BPF_CORE_READ_STR_INTO(&fresh.comm, owner, comm);
		bpf_map_update_elem(&rs_workers, &tid, &fresh, BPF_ANY);
		w = bpf_map_lookup_elem(&rs_workers, &tid);
		if (!w) {
			ATOMIC_ADD(&rs.workers_full, 1);
			return 0;
		}
	}
	if (bounded > w->bounded_max)
		w->bounded_max = bounded;
	if (unbounded > w->unbounded_max)
		w->unbounded_max = unbounded;
	w->bounded_limit = bounded_limit;
	w->unbounded_limit = unbounded_limit;
	return 0;
}

/* The io-wq of a worker thread. */
static __always_inline void note_worker(struct task_struct *task)
{
	struct io_worker *worker = task->worker_private;
	struct io_worker___wqe *old = (void *)worker;

	if (bpf_core_field_exists(worker->wq))
		note_wq((u64)BPF_CORE_READ(worker, wq));
	else
		note_wq((u64)BPF_CORE_READ(old, wqe, wq));
}

#endif
