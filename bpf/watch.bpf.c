// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Where applications keep their CQ heads, and what happens when one moves. */

/* Ours has four members. */
#define pt_regs user_pt_regs
#include <linux/bpf_perf_event.h>
#undef pt_regs

#include "common.h"
#include "reap.h"
#include "rings.h"

/* IORING_OFF_CQ_RING: where applications without IORING_FEAT_SINGLE_MMAP map the same pages again. */
#define OFF_CQ_RING 0x8000000ul
#define PAGE_SHIFT 12

SEC("?iter/task_vma")
int rs_find_heads(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct task_struct *task = ctx->task;
	struct rs_head h = {};
	struct rs_ring *r;
	struct file *file;
	u64 offset;

	if (!task || !vma || task->pid != task->tgid)
		return 0;
	file = vma->vm_file;
	if (!file || (u64)BPF_CORE_READ(file, f_op, poll) != rs_config.ring_file_poll)
		return 0;
	offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	if (offset && offset != OFF_CQ_RING)
		return 0;
	r = ring_find_slow((u64)BPF_CORE_READ(file, private_data));
	if (!r)
		return 0;
	h.key.addr = vma->vm_start + bpf_core_field_offset(struct io_rings, cq.head);
	h.key.pid = task->tgid;
	h.ring_uid = r->uid;
	h.cq_map = offset != 0;
	bpf_seq_write(ctx->meta->seq, &h, sizeof(h));
	return 0;
}

/* In the thread that has written it. */
SEC("?perf_event")
int rs_head_moved(struct bpf_perf_event_data *ctx)
{
	struct rs_head_key key = { .addr = ctx->addr, .pid = bpf_get_current_pid_tgid() >> 32 };
	u64 now = bpf_ktime_get_ns();
	struct io_ring_ctx *x;
	struct rs_lags *l;
	struct rs_ring *r;
	u32 *uid, idx;

	if (!rs.active)
		return 0;
	uid = bpf_map_lookup_elem(&rs_heads, &key);
	r = uid ? ring_by_uid(*uid) : NULL;
	if (!r)
		return 0;
	x = (void *)r->ctx;
	idx = RS_RING_IDX(r->uid);
	l = bpf_map_lookup_elem(&rs_lags, &idx);
	if (l && x)
		rs_lags_move(l, BPF_CORE_READ(x, rings, cq.head), now);
	return 0;
}
