/* SPDX-License-Identifier: MIT */
/* What /proc says of a task, by its number there; 0: it has none, which is -ESRCH. */
#ifndef RINGSIDE_PROC_H
#define RINGSIDE_PROC_H

#include <stdint.h>

/* Of a thread, from schedstat. */
struct proc_times {
	uint64_t cpu_ns;
	uint64_t wait_ns; /* it was ready to run, and had no CPU */
};

/* 0; -ESRCH: it is gone; other negative errno. */
int proc__thread_times(uint32_t pid, uint32_t tid, struct proc_times *ret);
/* The only CPU on which a thread may run, -1: there are several. 0, or negative errno. */
int proc__only_cpu(uint32_t pid, uint32_t tid, int *ret_cpu);

/* Path of a process in the cgroup v2 hierarchy, malloc'ed. 0; -ENOENT: none; other negative errno. */
int proc__cgroup(uint32_t pid, char **ret);

#endif
