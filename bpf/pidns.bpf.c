// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Which processes are those that ringside's user names, in another pid namespace than the initial one. */
#include "pidns.h"

/*
 * Tells user space of every process that its pid namespace shows it: the iterator goes through that
 * namespace, and none but those in it and in the ones below.
 */
SEC("?iter/task")
int rs_list_pids(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct rs_pid p = {};

	if (!task || task->pid != task->tgid)
		return 0;
	p.pid = task->tgid;
	p.here = task_here(task, NULL);
	/* without room the kernel comes again, with an empty buffer */
	bpf_seq_write(ctx->meta->seq, &p, sizeof(p));
	return 0;
}
