/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * What processes are called. The programs know them by their numbers in the initial pid namespace; people
 * know them by those in the namespace where they look, ringside's.
 */
#ifndef RINGSIDE_PIDNS_H
#define RINGSIDE_PIDNS_H

#include "common.h"

/* MAX_PID_NS_LEVEL of the kernel: how deep namespaces can be nested. */
#define PID_NS_LEVELS 32u

static __always_inline struct upid *upid_at(struct pid *pid, u32 level)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
}

/* The level of ringside's pid namespace among those that a process is in; above its last one: none of them. */
static __noinline u32 level_here(struct pid *pid)
{
	u32 i;

	if (!rs_config.pid_ns)
		return 0;
	for (i = 0; i <= PID_NS_LEVELS; i++)
		if (i > BPF_CORE_READ(pid, level) ||
			BPF_CORE_READ(upid_at(pid, i), ns, ns.inum) == rs_config.pid_ns)
			break;
	return i;
}

/*
 * The number of a task in ringside's pid namespace, 0: it has none. *ret_own (may be NULL) becomes that in the
 * task's own namespace, unless that is ringside's or the initial one.
 */
SHARED u32 task_here(struct task_struct *task, u32 *ret_own)
{
	u32 here, last;
	struct pid *pid;

	if (!rs_config.pid_numbers)
		return rs_config.pid_ns ? 0 : BPF_CORE_READ(task, pid);
	pid = BPF_CORE_READ(task, thread_pid);
	here = level_here(pid);
	last = BPF_CORE_READ(pid, level);
	if (ret_own && last && here != last && last <= PID_NS_LEVELS)
		*ret_own = BPF_CORE_READ(upid_at(pid, last), nr);
	return here <= last ? BPF_CORE_READ(upid_at(pid, here), nr) : 0;
}

/* The same of the process that a task belongs to. */
SHARED u32 process_here(struct task_struct *task, u32 *ret_own)
{
	return task_here(BPF_CORE_READ(task, group_leader), ret_own);
}

#endif
