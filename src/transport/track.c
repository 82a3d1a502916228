// SPDX-License-Identifier: MIT
#include "track.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"

void track__begin(struct track *t, const struct rs_ring *r, uint32_t id, uint64_t window_start_ns,
	struct cgroup_names *names)
{
	track__free(t);
	t->uid = r->uid;
	t->id = id;
	if (cgroup_names__path(names, r->cgroup_id, &t->cgroup) && proc__cgroup(r->pid, &t->cgroup))
		t->cgroup = NULL;
	if (!r->sq_tid)
		return;
	/* the thread of a new ring is as old as the ring */
	if (r->flags & RS_RING_CREATED_IN_WINDOW) {
		t->sq_from_ns = r->created_ns;
		t->sq_known = true;
		return;
	}
	t->sq_from_ns = window_start_ns;
	t->sq_known = !proc__thread_cpu_ns(r->pid, (uint32_t)r->sq_tid, &t->sq_base_ns);
	t->sq_last_ns = t->sq_base_ns;
}

void track__sample(struct track *t, const struct rs_ring *r, int exits_fd)
{
	struct rs_sq_exit e;
	uint32_t tid = (uint32_t)r->sq_tid;

	if (!t->sq_known || !tid)
		return;
	if (!proc__thread_cpu_ns(r->pid, tid, &t->sq_last_ns))
		return;
	/* gone, and its end was not seen: it may have run since it was last looked at */
	if (bpf_map_lookup_elem(exits_fd, &tid, &e) || !e.cpu_ns)
		t->sq_known = false;
	else if (e.cpu_ns > t->sq_last_ns)
		t->sq_last_ns = e.cpu_ns;
}

void track__free(struct track *t)
{
	free(t->cgroup);
	memset(t, 0, sizeof(*t));
}
