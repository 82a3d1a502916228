/* SPDX-License-Identifier: MIT */
/* What this process may do, and what it lacks to observe. */
#ifndef RINGSIDE_PRIVILEGES_H
#define RINGSIDE_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>

struct privileges {
	bool bpf, perfmon, syslog; /* effective capabilities; CAP_SYS_ADMIN stands for the first two */
	bool foreign_user_ns;	   /* in another user namespace than the initial one */
	bool foreign_pid_ns;	   /* the same of the pid namespace */
	bool seccomp;		   /* a seccomp filter is installed */
};

/* 0 or negative errno. */
int privileges__read(struct privileges *ret);

/* Names the capabilities that p lacks for loading, with `syslog` also CAP_SYSLOG: "CAP_BPF and CAP_PERFMON". */
void privileges__list_missing(const struct privileges *p, bool syslog, char *buf, size_t size);

/* What keeps p from loading BPF programs, and what would help, as one sentence; "" if nothing is known to. */
void privileges__missing(const struct privileges *p, char *buf, size_t size);

/*
 * Why the kernel refuses bpf() with err (negative errno) to p, which lacks no capability, and what would
 * help. `memlock`: this kernel charges what BPF needs to RLIMIT_MEMLOCK.
 */
void privileges__why_refused(const struct privileges *p, int err, bool memlock, char *buf, size_t size);

#endif
