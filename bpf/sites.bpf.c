// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * The stack of a thread is copied, not walked: most programs have no frame pointers, nor have liburing and libc.
 * User space unwinds it with what their files say of their stack frames.
 */
#include "sites.h"

#include "pidns.h"
#include "slots.h"

/* Whether this CPU may take another stack: an average rate, and a number at once. */
static __noinline bool may_take(u64 now)
{
	u64 *paid, until;
	u32 zero = 0;

	paid = bpf_map_lookup_elem(&rs_stacks_paid, &zero);
	if (!paid)
		return false;
	until = *paid > now ? *paid : now;
	if (until - now > RS_STACK_BURST * RS_STACK_EVERY_NS)
		return false;
	*paid = until + RS_STACK_EVERY_NS;
	return true;
}

/* As much of it as is there. */
static __noinline u32 copy_stack(struct rs_stack *st)
{
	if (!st)
		return 0;
	/* its end may be near: then less of it, as nothing is copied of what is not there as a whole */
	if (!bpf_probe_read_user(st->bytes, RS_STACK_BYTES, (void *)st->sp))
		return RS_STACK_BYTES;
	if (!bpf_probe_read_user(st->bytes, RS_STACK_BYTES / 4, (void *)st->sp))
		return RS_STACK_BYTES / 4;
	if (!bpf_probe_read_user(st->bytes, RS_STACK_BYTES / 16, (void *)st->sp))
		return RS_STACK_BYTES / 16;
	return 0;
}

static __always_inline int take(u32 op)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs;
	struct rs_stack *st;

	/* the thread of an SQPOLL ring submits for others */
	if (task->flags & (PF_IO_WORKER | PF_KTHREAD))
		return 0;
	st = bpf_ringbuf_reserve(&rs_stacks, sizeof(*st), 0);
	if (!st) {
		ATOMIC_ADD(&rs.stacks_skipped, 1);
		return 0;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	st->ip = regs->ip;
	st->sp = regs->sp;
	st->bp = regs->bp;
	st->pid = process_here(task, NULL);
	st->op = op;
	st->pad = 0;
	st->size = copy_stack(st);
	bpf_ringbuf_submit(st, 0);
	return 0;
}

__noinline int rs_site_take(u32 group, u32 i, u64 now)
{
	struct rs_hot_group *g = hot_group(group);
	struct rs_series *se;
	struct rs_hot *s;

	if (!g)
		return 0;
	s = &g->s[in_group(i)];
	se = series_at(s->series);
	if (!se || !punt_is_unwanted(se, s->flags))
		return 0;
	if (!may_take(now)) {
		ATOMIC_ADD(&rs.stacks_skipped, 1);
		return 0;
	}
	return take(se->op);
}
