// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Rings and processes: created, inherited, gone. All rare. */
#include "follow.h"
#include "rings.h"

/* The ring at this address is gone: no request of it can be in flight, whatever we saw of its end. */
static __noinline int ring_forget(u64 ctx)
{
	struct rs_ring *r = ring_find_slow(ctx);

	ring_forget_unplaced(ctx);
	if (!r)
		return 0;
	if (!r->closed_ns)
		r->closed_ns = bpf_ktime_get_ns();
	r->ctx = 0;
	bpf_map_delete_elem(&rs_ring_index, &ctx);
	/* last: the loader may take the entry back from here on */
	r->state = RS_RING_CLOSED;
	return 0;
}

SEC("?tp_btf/io_uring_create")
int BPF_PROG(rs_create, int fd, void *ring_ctx)
{
	struct owner o;

	if (!rs.active)
		return 0;
	owner_current(&o);
	o.fd = fd;
	o.created_ns = bpf_ktime_get_ns();
	ring_forget((u64)ring_ctx);
	if (!is_wanted(&o))
		return ring_remember_unplaced((u64)ring_ctx, false);
	if (!ring_add((u64)ring_ctx, &o, RS_RING_CREATED_IN_WINDOW))
		return ring_remember_unplaced((u64)ring_ctx, true);
	return 0;
}

static __always_inline bool current_exits(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, flags) & PF_EXITING;
}

/*
 * The last file reference of a ring is gone: what is left of it is torn down by
 * io_ring_exit_work on a kworker, where cancellations still complete.
 */
SEC("?tp_btf/workqueue_queue_work")
int BPF_PROG(rs_ring_exit, int cpu, void *pwq, struct work_struct *work)
{
	struct io_ring_ctx *ring_ctx;
	struct rs_ring *r;

	if ((u64)work->func != rs_config.ring_exit_work || !rs.active)
		return 0;
	ring_ctx = (void *)work - bpf_core_field_offset(struct io_ring_ctx, exit_work);
	r = ring_find_slow((u64)ring_ctx);
	/* one that could not be set up is torn down the same way; its address may be that of a ring before it */
	if (!r || r->state != RS_RING_LISTED)
		return 0;
	r->sq_dropped = BPF_CORE_READ(ring_ctx, rings, sq_dropped);
	reap_look_last(r, (u64)ring_ctx);
	r->closed_ns = bpf_ktime_get_ns();
	r->exited = current_exits();
	r->state = RS_RING_CLOSING;
	return 0;
}

/* io_ring_exit_work has run: the io_ring_ctx has been given back. */
SEC("?raw_tp/workqueue_execute_end")
int rs_ring_gone(struct bpf_raw_tracepoint_args *ctx)
{
	u64 work = ctx->args[0], function = ctx->args[1], ring;
	struct rs_ring *r;

	if (function != rs_config.ring_exit_work || !rs.active)
		return 0;
	ring = work - bpf_core_field_offset(struct io_ring_ctx, exit_work);
	/* the memory has been given back before: a new ring may have it by now */
	r = ring_find_slow(ring);
	return r && r->state == RS_RING_CLOSING ? ring_forget(ring) : 0;
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(rs_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 tgid = parent->tgid, new_tgid = child->tgid;
	u8 one = 1;

	if (new_tgid == tgid || !bpf_map_lookup_elem(&rs_targets, &tgid))
		return 0;
	if (bpf_map_update_elem(&rs_targets, &new_tgid, &one, BPF_ANY))
		ATOMIC_ADD(&rs.targets_full, 1);
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(rs_exit, struct task_struct *p)
{
	struct signal_struct *signal = p->signal;
	struct rs_sq_exit *e;
	u32 pid;

	if (p->flags & PF_IO_WORKER) {
		pid = p->pid;
		e = bpf_map_lookup_elem(&rs_sq_exits, &pid);
		if (e)
			e->cpu_ns = p->se.sum_exec_runtime;
	}
	if (rs_config.all || signal->live.counter)
		return 0;
	/* the number may soon be another process's */
	pid = p->tgid;
	bpf_map_delete_elem(&rs_targets, &pid);
	return 0;
}

/* A ring met through a task: it existed before, or at the end may have dropped SQEs since its last batch. */
VERIFIED_ONCE int scan_found(u64 task, u64 ring, int fd)
{
	struct io_ring_ctx *x = (void *)ring;
	struct rs_ring *r;
	struct owner o;
	u32 dropped;

	r = ring ? ring_find_slow(ring) : NULL;
	if (r) {
		/* less: the address is another ring's by now */
		dropped = BPF_CORE_READ(x, rings, sq_dropped);
		if (dropped > r->sq_dropped)
			r->sq_dropped = dropped;
		if (rs.refresh)
			reap_look_last(r, ring);
		return 0;
	}
	owner_of(&o, (struct task_struct *)task);
	o.fd = fd;
	if (ring && !rs.refresh && is_wanted(&o))
		ring_add(ring, &o, 0);
	return 0;
}

/* Files whose poll is io_uring's. */
SEC("?iter/task_file")
int rs_scan_files(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	u64 task;

	if (!file || (u64)file->f_op->poll != rs_config.ring_file_poll)
		return 0;
	task = (u64)BPF_CORE_READ(ctx, task);
	if (task)
		scan_found(task, (u64)BPF_CORE_READ(file, private_data), ctx->fd);
	return 0;
}

/* Rings whose descriptor was closed after it had been registered, or that never had one. */
SEC("?iter/task")
int rs_scan_tasks(struct bpf_iter__task *ctx)
{
	/* a number: the verifier takes no typed pointer for the argument of a function that it goes through once */
	struct task_struct *task = BPF_CORE_READ(ctx, task);
	struct io_uring_task *tctx;
	struct file *file;
	u32 i;

	if (!task)
		return 0;
	tctx = BPF_CORE_READ(task, io_uring);
	for (i = 0; i < IO_RINGFD_REG_MAX && tctx; i++) {
		file = BPF_CORE_READ(tctx, registered_rings[i]);
		if (file)
			scan_found((u64)task, (u64)BPF_CORE_READ(file, private_data), -1);
	}
	return 0;
}
