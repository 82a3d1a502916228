// SPDX-License-Identifier: MIT
#include "track.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"

void track__begin(struct track *t, const struct rs_ring *r, uint32_t id, uint64_t window_start_ns,
	bool has_proc, struct cgroup_names *names)
{
	struct proc_times times;

	track__free(t);
	t->uid = r->uid;
	t->id = id;
	t->pid = has_proc ? r->pid_here : 0;
	t->sq_tid = has_proc ? r->sq_tid_here : 0;
	if (cgroup_names__path(names, r->cgroup_id, &t->cgroup) && proc__cgroup(t->pid, &t->cgroup))
		t->cgroup = NULL;
	if (!r->sq_tid)
		return;
	/* numbers of threads are only known in the initial pid namespace */
	t->maker_tid = t->pid == r->pid ? r->tid : 0;
	/* the thread of a new ring is as old as the ring */
	if (r->flags & RS_RING_CREATED_IN_WINDOW) {
		t->sq_from_ns = r->created_ns;
		t->sq_known = t->sq_tid != 0;
		t->sq_told_at_end = !t->sq_tid;
		return;
	}
	t->sq_from_ns = window_start_ns;
	t->sq_known = !proc__thread_times(t->pid, t->sq_tid, &times);
	if (!t->sq_known)
		return;
	t->sq_last_ns = t->sq_base_ns = times.cpu_ns;
	t->sq_wait_last_ns = t->sq_wait_base_ns = times.wait_ns;
}

/* The CPU time of a thread that has ended, 0: it runs, or its end was not seen. */
static uint64_t cpu_ns_at_exit(uint32_t tid, int exits_fd)
{
	struct rs_sq_exit e;

	return bpf_map_lookup_elem(exits_fd, &tid, &e) ? 0 : e.cpu_ns;
}

/* Once: who binds threads does so when they begin. */
static void ask_cpus(struct track *t)
{
	if (!t->maker_tid)
		return;
	t->cpus_known = !proc__only_cpu(t->pid, t->sq_tid, &t->sq_only_cpu) &&
			!proc__only_cpu(t->pid, t->maker_tid, &t->maker_only_cpu);
	t->maker_tid = 0;
}

void track__sample(struct track *t, const struct rs_ring *r, int exits_fd)
{
	uint32_t tid = (uint32_t)r->sq_tid;
	struct proc_times times;
	uint64_t cpu_ns;

	if (!tid || (!t->sq_known && !t->sq_told_at_end))
		return;
	if (!proc__thread_times(t->pid, t->sq_tid, &times)) {
		t->sq_last_ns = times.cpu_ns;
		/* what it waits after this is not seen if it ends before the next look */
		t->sq_wait_last_ns = times.wait_ns;
		t->sq_wait_known = true;
		ask_cpus(t);
		return;
	}
	cpu_ns = cpu_ns_at_exit(tid, exits_fd);
	/* gone, and its end was not seen: it may have run since it was last looked at */
	t->sq_known = cpu_ns != 0;
	if (cpu_ns > t->sq_last_ns)
		t->sq_last_ns = cpu_ns;
}

void track__free(struct track *t)
{
	free(t->cgroup);
	memset(t, 0, sizeof(*t));
}
