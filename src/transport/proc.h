/* SPDX-License-Identifier: MIT */
/* What /proc says of a task, by its number there; 0: it has none, which is -ESRCH. */
#ifndef RINGSIDE_PROC_H
#define RINGSIDE_PROC_H

#include <stdint.h>

/* CPU time of a thread, from schedstat. 0; -ESRCH: it is gone; other negative errno. */
int proc__thread_cpu_ns(uint32_t pid, uint32_t tid, uint64_t *ret_ns);

/* Path of a process in the cgroup v2 hierarchy, malloc'ed. 0; -ENOENT: none; other negative errno. */
int proc__cgroup(uint32_t pid, char **ret);

#endif
