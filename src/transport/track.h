/* SPDX-License-Identifier: MIT */
/*
 * What user space knows of a ring beyond the kernel's table: its number for people, its
 * cgroup, the CPU time of its SQPOLL thread.
 */
#ifndef RINGSIDE_TRACK_H
#define RINGSIDE_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "cgroup.h"

struct track {
	uint32_t uid; /* 0: none */
	uint32_t id;
	uint32_t pid, sq_tid; /* as /proc names them; 0: it does not show them */
	char *cgroup;	      /* NULL: not known */
	bool sq_known;
	bool sq_told_at_end; /* /proc does not show the thread, but it began with the ring */
	uint64_t sq_base_ns, sq_last_ns;
	uint64_t sq_from_ns; /* since when sq_base_ns counts */
	bool sq_wait_known;
	uint64_t sq_wait_base_ns, sq_wait_last_ns;
	uint32_t
		maker_tid; /* the thread that made the ring, as /proc names it; 0: it does not, or it has been asked */
	bool cpus_known;
	int sq_only_cpu, maker_only_cpu;
};

/*
 * Starts anew for the ring r. window_start_ns: monotonic. has_proc: /proc is that of our pid namespace.
 */
void track__begin(struct track *t, const struct rs_ring *r, uint32_t id, uint64_t window_start_ns,
	bool has_proc, struct cgroup_names *names);
/* Reads the SQPOLL thread's times; once the thread is gone, from exits_fd. */
void track__sample(struct track *t, const struct rs_ring *r, int exits_fd);
void track__free(struct track *t);

#endif
