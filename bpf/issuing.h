/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Which request a thread is at work on. */
#ifndef RINGSIDE_ISSUING_H
#define RINGSIDE_ISSUING_H

#include "common.h"

/* What an io-wq worker works on. */
VERIFIED_ONCE u64 worked_on(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct io_worker *w;
	u64 work;

	if (!(BPF_CORE_READ(task, flags) & PF_IO_WORKER))
		return 0;
	w = BPF_CORE_READ(task, worker_private);
	work = w ? (u64)BPF_CORE_READ(w, cur_work) : 0;
	return work ? work - bpf_core_field_offset(struct io_kiocb, work) : 0;
}

static __always_inline struct rs_issuing *issuing_of(u32 tid)
{
	u32 at = tid & (RS_ISSUING - 1);

	return bpf_map_lookup_elem(&rs_issuing, &at);
}

/* This thread issues req next; a follower of a chain not before the head. Only where somebody is going to ask. */
static __always_inline void issuing_begins(u64 req)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct rs_issuing *e = issuing_of(tid);

	if (!e)
		return;
	e->before = e->tid == tid ? e->req : 0;
	e->tid = tid;
	e->req = req;
}

/* It turns out to be a follower: the head, submitted before it, is issued when the chain is complete. */
static __always_inline void issuing_follows(u64 req)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct rs_issuing *e = issuing_of(tid);

	if (e && e->tid == tid && e->req == req)
		e->req = e->before;
}

#endif
