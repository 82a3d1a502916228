// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* What only functions of the kernel tell, where it lets them be observed. */
#include "rings.h"
#include "slots.h"
#include "staged.h"

/* The thread's entry, of any call of it before this one. */
static __always_inline void call_begin(u64 ctx)
{
	struct rs_call fresh = {}, *call;
	u32 tid = (u32)bpf_get_current_pid_tgid();
	u64 now = bpf_ktime_get_ns();

	call = bpf_map_lookup_elem(&rs_calls, &tid);
	if (call) {
		call->ctx = ctx;
		call->begin_ns = now;
		return;
	}
	fresh.ctx = ctx;
	fresh.begin_ns = now;
	bpf_map_update_elem(&rs_calls, &tid, &fresh, BPF_ANY);
}

static __always_inline u64 ctx_of(struct file *file)
{
	return file ? (u64)BPF_CORE_READ(file, private_data) : 0;
}

/* The descriptor is an index among those that the thread has registered. */
static __noinline u64 ctx_of_registered(u32 index)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct io_uring_task *tctx = BPF_CORE_READ(task, io_uring);
	struct file *file = NULL;
	void *files;

	if (!tctx || index >= IO_RINGFD_REG_MAX || !bpf_core_field_exists(tctx->registered_rings))
		return 0;
	files = (void *)tctx + bpf_core_field_offset(struct io_uring_task, registered_rings);
	bpf_probe_read_kernel(&file, sizeof(file), files + index * sizeof(file));
	return ctx_of(file);
}

/*
 * The private data of whatever file it is: only that of our rings will be known. What typed pointers reach costs
 * a load instead of a call.
 */
static __noinline u64 ctx_of_fd(u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct files_struct *open_files = task->files;
	struct file *file = NULL;
	struct fdtable *table;

	if (!open_files)
		return 0;
	table = open_files->fdt;
	if (!table || fd >= table->max_fds)
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return ctx_of(file);
}

SEC("?fentry/__x64_sys_io_uring_enter")
int BPF_PROG(rs_enter_begin, const struct pt_regs *regs)
{
	bool foreign = false;
	u32 fd = regs->di, flags = regs->r10;
	u64 ring;

	if (!rs.active)
		return 0;
	ring = flags & IORING_ENTER_REGISTERED_RING ? ctx_of_registered(fd) : ctx_of_fd(fd);
	if (!ring)
		return 0;
	ring_hinted(ring, PTR_LOW32(ring), &foreign);
	if (!foreign)
		call_begin(ring);
	return 0;
}

/* The ring may have become known by what the call did, and its descriptor another's. */
SEC("?fexit/__x64_sys_io_uring_enter")
int BPF_PROG(rs_enter_end, const struct pt_regs *regs)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct rs_call *call;
	struct rs_ring *r;
	u64 ring, ns;

	if (!rs.active)
		return 0;
	call = bpf_map_lookup_elem(&rs_calls, &tid);
	if (!call || !call->begin_ns || !call->ctx)
		return 0;
	ring = call->ctx;
	ns = bpf_ktime_get_ns() - call->begin_ns;
	call->begin_ns = 0;
	r = ring_known(ring, PTR_LOW32(ring));
	if (!r)
		return 0;
	ATOMIC_ADD(&r->c[RS_RC_ENTERS], 1);
	ATOMIC_ADD(&r->c[RS_RC_ENTER_NS], ns);
	return 0;
}

/* Ends at the tracepoint io_uring_register, which knows the ring. */
SEC("?fentry/__x64_sys_io_uring_register")
int BPF_PROG(rs_register_begin, const struct pt_regs *regs)
{
	if (rs.active)
		call_begin(0);
	return 0;
}

SEC("?fentry/io_wq_submit_work")
int BPF_PROG(rs_wq_begin, struct io_wq_work *work)
{
	struct io_kiocb *req = (void *)work - bpf_core_field_offset(struct io_kiocb, work);
	struct rs_cold *cold;
	struct rs_series *se;
	struct rs_hot *s;
	struct place p;
	u64 now, punt_ns;
	u32 i;

	if (!rs.active || !place_of(PTR_LOW32(req), &p))
		return 0;
	s = slot_find(&p, (u64)req, &i);
	if (!s || (s->flags & (RS_SLOT_PUNTED | RS_SLOT_BEGUN)) != RS_SLOT_PUNTED ||
		!slot_is_of(s, (u64)BPF_CORE_READ(req, ctx)))
		return 0;
	s->flags |= RS_SLOT_BEGUN;
	cold = cold_at(p.group, i);
	se = series_at(s->series);
	if (!cold || !se)
		return 0;
	now = bpf_ktime_get_ns();
	punt_ns = cold->punt_ns;
	if (slot_is_staged(s))
		rs_slot_enters(p.group, i, RS_ST_WQ_RUN, now);
	ATOMIC_ADD(&se->c[RS_SC_WQ_QUEUED], 1);
	ATOMIC_ADD(&se->c[RS_SC_WQ_QUEUE_NS], now > punt_ns ? now - punt_ns : 0);
	return 0;
}

SEC("?fentry/io_import_reg_buf")
int BPF_PROG(rs_import_buffer, struct io_kiocb *req)
{
	struct io_ring_ctx *ring_ctx = req->ctx;
	struct rs_ring *r;

	if (!rs.active)
		return 0;
	r = ring_get((u64)ring_ctx, PTR_LOW32(ring_ctx));
	if (r)
		ATOMIC_ADD(&r->c[RS_RC_BUFFER_IMPORTS], 1);
	return 0;
}
