// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Spans: which functions a thread is in, what they ask of io_uring, how long they wait for it.
 *
 * A function is left by its return, by longjmp() or with its thread. The stacks are the threads' own and go with them.
 * A call that was jumped out of is told by its place on the thread's stack: the return address there is that of the
 * uretprobe as long as the call lasts.
 */
#include "spans.h"

#include "agg.h"
#include "cqe.h"
#include "rings.h"
#include "staged.h"
#include "workers.h"

/* Between the stack pointer at a function's entry and after its return: the return address. */
#define RETURN_BYTES 8

static __always_inline struct rs_span *span_at(u32 idx)
{
	return bpf_map_lookup_elem(&rs_spans, &idx);
}

/* The series of a pair of span and opcode: main, or one of its kin. */
static __always_inline struct rs_series *span_series(u32 pair, u32 kind)
{
	u32 idx = rs_span_series_index(pair, kind);

	return bpf_map_lookup_elem(&rs_span_series, &idx);
}

static __always_inline struct rs_span_stack *stack_of(struct task_struct *task)
{
	return bpf_task_storage_get(&rs_span_stacks, task, NULL, 0);
}

static __always_inline u64 trampoline_of(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct xol_area *area = mm ? mm->uprobes_state.xol_area : NULL;

	return area ? area->vaddr : 0;
}

static __always_inline u32 in_stack(u32 i)
{
	asm volatile("%0 &= %1" : "+w"(i) : "i"(RS_SPAN_DEPTH - 1));
	return i;
}

_Static_assert((RS_SPAN_DEPTH & (RS_SPAN_DEPTH - 1)) == 0, "in_stack() masks");

/* Programs of 32 bits have return addresses of as many: the low half tells enough. */
static __always_inline bool has_ended(const struct rs_span_call *call, u64 sp, u64 trampoline)
{
	u32 returns_to = 0;

	if (call->sp < sp)
		return true;
	if (bpf_probe_read_user(&returns_to, sizeof(returns_to), (void *)call->sp))
		return false;
	return returns_to != (u32)trampoline;
}

/*
 * Forgets calls that have been jumped out of; the thread's stack pointer is sp. How many are left. From the outermost
 * on: with it all end that are further in, and what the stack has of these may lie there for long.
 */
static __noinline u32 unwind(struct rs_span_stack *st, u64 sp, u64 trampoline)
{
	u32 i, depth;

	if (!st)
		return 0;
	depth = st->depth;
	for (i = 0; i < RS_SPAN_DEPTH; i++) {
		if (i >= depth)
			return depth;
		if (has_ended(&st->calls[in_stack(i)], sp, trampoline)) {
			st->depth = i;
			return i;
		}
	}
	return depth;
}

/* The number, plus 1, of the span that this thread is in; 0: none. */
static __always_inline u32 current_span(struct task_struct *task, struct rs_span_stack *st)
{
	struct pt_regs *regs;
	u32 depth;

	if (!st->depth)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	depth = unwind(st, regs->sp, trampoline_of(task));
	return depth ? st->calls[in_stack(depth - 1)].span + 1 : 0;
}

/* Functions that ringside calls, or what it has forked before that becomes the program, are nobody's. */
static __always_inline bool is_own(struct task_struct *task)
{
	struct task_struct *leader = task->group_leader, *parent = leader ? leader->real_parent : NULL;
	int self = (int)rs.self;

	/* a thread has the flag of its own, too */
	return task->tgid == self || (parent && parent->tgid == self && (leader->flags & PF_FORKNOEXEC));
}

static __noinline bool is_of_observed(void)
{
	struct owner o;

	owner_current(&o);
	return is_observed(&o);
}

SEC("?uprobe")
int rs_span_begin(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 depth, span = bpf_get_attach_cookie(ctx);
	u64 now = bpf_ktime_get_ns(), sp = ctx->sp;
	struct rs_span *se = span_at(span);
	struct rs_span_stack *st;
	struct rs_span_call *call;

	if (!rs.active || !se || is_own(task) || !is_of_observed())
		return 0;
	ATOMIC_ADD(&se->calls, 1);
	st = bpf_task_storage_get(&rs_span_stacks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	depth = st ? unwind(st, sp, trampoline_of(task)) : RS_SPAN_DEPTH;
	if (!st || depth >= RS_SPAN_DEPTH) {
		ATOMIC_ADD(&rs.spans_full, 1);
		return 0;
	}
	call = &st->calls[in_stack(depth)];
	call->begin_ns = now;
	call->sp = sp;
	call->span = span;
	st->depth = depth + 1;
	return 0;
}

SEC("?uretprobe")
int rs_span_return(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now = bpf_ktime_get_ns(), sp = ctx->sp;
	u32 i, depth, span = bpf_get_attach_cookie(ctx);
	struct rs_span *se = span_at(span);
	struct rs_span_stack *st = stack_of(task);
	struct rs_span_call *call;

	if (!rs.active || !se || !st)
		return 0;
	depth = st->depth;
	for (i = 0; i < RS_SPAN_DEPTH; i++) {
		if (i >= depth)
			break;
		call = &st->calls[in_stack(depth - 1 - i)];
		if (call->span != span || call->sp > sp || sp - call->sp > RETURN_BYTES)
			continue;
		/* those further in have been jumped out of */
		st->depth = depth - 1 - i;
		ATOMIC_ADD(&se->returned, 1);
		rs_lat_add(&se->lat, now - call->begin_ns, 1);
		break;
	}
	return 0;
}

/* Gives a pair its series. Several CPUs may ask at once. 0: none left. */
static __noinline u32 span_op_make(u32 span, u32 op)
{
	struct rs_span *sp = span_at(span);
	struct rs_series *se;
	u32 pair, before, kind;

	if (!sp || op >= RS_OPS || bpf_map_pop_elem(&rs_free_span_ops, &pair))
		return 0;
	for (kind = RS_KIND_SLOW; kind < RS_KINDS; kind++) {
		se = span_series(pair, kind);
		if (se)
			se->lat.min_ns = ~0ull;
	}
	se = span_series(pair, RS_KIND_MAIN);
	if (!se)
		return 0;
	se->lat.min_ns = ~0ull;
	se->op = op;
	se->traits = rs_config.op_traits[op];
	se->span = span;
	before = __sync_val_compare_and_swap(&sp->ops[op], 0, pair);
	if (!before)
		return pair;
	bpf_map_push_elem(&rs_free_span_ops, &pair, 0);
	return before;
}

/* The pair of the span that this thread is in and op; 0: it is in none, or there is no room. */
static __noinline u32 current_span_op(u32 op)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rs_span_stack *st = stack_of(task);
	struct rs_span *sp;
	u32 span, pair;

	if (!st)
		return 0;
	/* in another call of io_uring_enter() */
	st->waiting = 0;
	span = current_span(task, st);
	sp = span ? span_at(span - 1) : NULL;
	if (!sp)
		return 0;
	op &= RS_OPS - 1;
	pair = sp->ops[op];
	if (!pair)
		pair = span_op_make(span - 1, op);
	if (!pair)
		ATOMIC_ADD(&rs.spans_full, 1);
	return pair;
}

__noinline u32 rs_span_submit(u32 op)
{
	struct rs_series *se;
	u32 pair;

	if (!rs_config.spans)
		return 0;
	pair = current_span_op(op);
	se = pair ? span_series(pair, RS_KIND_MAIN) : NULL;
	if (se)
		ATOMIC_ADD(&se->c[RS_SC_SUBMITTED], 1);
	return pair;
}

__noinline int rs_span_reject(u32 op)
{
	struct rs_series *se;
	u32 pair;

	if (!rs_config.spans)
		return 0;
	pair = current_span_op(op);
	se = pair ? span_series(pair, RS_KIND_MAIN) : NULL;
	if (se)
		ATOMIC_ADD(&se->c[RS_SC_REJECTED], 1);
	return 0;
}

__noinline int rs_span_end(u32 group, u32 i, s32 res, u64 now, u32 on_worker)
{
	struct rs_hot_group *g;
	struct rs_series *se;
	struct rs_cold *cold;
	u64 submit_ns;
	u32 flags;

	if (!rs_config.spans)
		return 0;
	g = hot_group(group);
	cold = cold_at(group, i);
	se = cold ? span_series(cold->span_op, RS_KIND_MAIN) : NULL;
	if (!g || !se)
		return 0;
	flags = g->s[in_group(i)].flags;
	submit_ns = g->s[in_group(i)].submit_ns;
	rs_series_end(se, res, 1);
	if (res < 0)
		count_errno(RS_SPAN_UID(se->span), se->op, res);
	if (submit_ns && !(flags & RS_SLOT_MULTI))
		rs_lat_add(&se->lat, now > submit_ns ? now - submit_ns : 0, 1);
	if (on_worker || (flags & RS_SLOT_PUNTED))
		count_punt(se, flags);
	return 0;
}

VERIFIED_ONCE int span_count_kin(u32 pair, u32 kind, u64 ns, u64 latency_ns)
{
	u32 octave = rs_hist_bucket(latency_ns) / RS_HIST_SUB;
	struct rs_series *se = span_series(pair, kind);

	if (!se)
		return 0;
	rs_lat_add(&se->lat, ns, 1);
	if (octave < RS_HIST_OCTAVES)
		ATOMIC_ADD(&se->tail_ns[octave], ns);
	return 0;
}

__noinline int rs_span_stage(u32 pair, u32 stage, u64 ns, u64 latency_ns)
{
	return ns ? span_count_kin(pair, RS_KIND_STAGE(stage), ns, latency_ns) : 0;
}

__noinline int rs_span_staged(u32 group, u32 i, u64 latency_ns)
{
	struct rs_cold *cold;
	u32 st;

	if (!rs_config.spans)
		return 0;
	cold = cold_at(group, i);
	if (!cold)
		return 0;
	span_count_kin(cold->span_op, RS_KIND_SLOW, latency_ns, latency_ns);
	for (st = 0; st < RS_LIVE_STAGES; st++)
		if (cold->ns[st])
			span_count_kin(cold->span_op, RS_KIND_STAGE(st), cold->ns[st], latency_ns);
	return 0;
}

/* From here to the end of its call of io_uring_enter() the thread waits when it is off the CPU. */
SEC("?tp_btf/io_uring_cqring_wait")
int BPF_PROG(rs_span_wait, void *ring_ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rs_span_stack *st = stack_of(task);
	struct rs_span *sp;

	if (!rs.active || !st || !ring_known((u64)ring_ctx, PTR_LOW32(ring_ctx)))
		return 0;
	st->waiting = current_span(task, st);
	sp = st->waiting ? span_at(st->waiting - 1) : NULL;
	if (sp)
		ATOMIC_ADD(&sp->waits, 1);
	return 0;
}

static __always_inline void wait_leaves_cpu(struct task_struct *task, struct rs_span_stack *st)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (regs->orig_ax == SYS_IO_URING_ENTER)
		st->off_ns = bpf_ktime_get_ns();
	else
		st->waiting = st->off_ns = 0;
}

static __always_inline void wait_takes_cpu(struct rs_span_stack *st)
{
	u64 off_ns = st->off_ns, now = bpf_ktime_get_ns();
	struct rs_span *sp = span_at(st->waiting - 1);

	st->off_ns = 0;
	if (sp && now > off_ns)
		ATOMIC_ADD(&sp->wait_ns, now - off_ns);
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(rs_span_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct rs_span_stack *st;

	if (!rs.active)
		return 0;
	st = stack_of(prev);
	if (st && st->waiting)
		wait_leaves_cpu(prev, st);
	st = stack_of(next);
	if (st && st->off_ns)
		wait_takes_cpu(st);
	return 0;
}
