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
	char *cgroup; /* NULL: not known */
	bool sq_known;
	uint64_t sq_base_ns, sq_last_ns;
	uint64_t sq_from_ns; /* since when sq_base_ns counts */
};

/* Starts anew for the ring r. window_start_ns: monotonic. */
void track__begin(struct track *t, const struct rs_ring *r, uint32_t id, uint64_t window_start_ns,
	struct cgroup_names *names);
/* Reads the SQPOLL thread's CPU time; once the thread is gone, from exits_fd. */
void track__sample(struct track *t, const struct rs_ring *r, int exits_fd);
void track__free(struct track *t);

#endif
