/* SPDX-License-Identifier: MIT */
/* Processes named with -p: do they exist, when are all of them gone. */
#ifndef RINGSIDE_PIDS_H
#define RINGSIDE_PIDS_H

#include <stddef.h>
#include <sys/types.h>

struct pid_set {
	pid_t *pids; /* thread group leaders, no duplicates */
	int *fds;    /* pidfds, -1 once the process ended */
	size_t n;
};

/*
 * Opens every process of pids[]; a thread id is taken as its process.
 * 0; -ESRCH: *ret_bad is the first that does not exist; other negative errno, *ret_bad is the pid it
 * concerns, 0 for none. *ret is untouched on failure.
 */
int pid_set__open(const pid_t *pids, size_t n, struct pid_set *ret, pid_t *ret_bad);

/* Closes the pidfds of those that ended; a zombie has ended. Returns how many still run. */
size_t pid_set__refresh(struct pid_set *s);
void pid_set__free(struct pid_set *s);

#endif
