// SPDX-License-Identifier: MIT
#include "privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pidns.h"

/* 38 and 39 since 5.8; older headers lack them. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* PROC_USER_INIT_INO of the kernel: the number of the initial user namespace. */
#define INITIAL_USER_NS 0xEFFFFFFDu

static bool in_other_user_ns(void)
{
	struct stat st;

	return !stat("/proc/self/ns/user", &st) && st.st_ino != INITIAL_USER_NS;
}

int privileges__read(struct privileges *ret)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	uint64_t have;
	bool admin;

	if (syscall(SYS_capget, &header, data))
		return -errno;
	have = data[0].effective | (uint64_t)data[1].effective << 32;
	admin = have & (1ull << CAP_SYS_ADMIN);
	*ret = (struct privileges){
		.bpf = admin || have & (1ull << CAP_BPF),
		.perfmon = admin || have & (1ull << CAP_PERFMON),
		.syslog = have & (1ull << CAP_SYSLOG),
		.foreign_user_ns = in_other_user_ns(),
		.foreign_pid_ns = pidns__inode() != 0,
		.seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER,
	};
	return 0;
}

void privileges__list_missing(const struct privileges *p, bool syslog, char *buf, size_t size)
{
	const char *lacking[3];
	size_t n = 0, i, used = 0;

	if (!p->bpf)
		lacking[n++] = "CAP_BPF";
	if (!p->perfmon)
		lacking[n++] = "CAP_PERFMON";
	if (syslog && !p->syslog)
		lacking[n++] = "CAP_SYSLOG";
	buf[0] = '\0';
	for (i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s",
			!i	    ? ""
			: i + 1 < n ? ", "
				    : " and ",
			lacking[i]);
}

void privileges__missing(const struct privileges *p, char *buf, size_t size)
{
	char what[64];

	privileges__list_missing(p, false, what, sizeof(what));
	buf[0] = '\0';
	if (!what[0])
		return;
	if (p->foreign_user_ns)
		snprintf(buf, size,
			"missing %s of the initial user namespace: run as root outside of this one", what);
	else
		snprintf(buf, size, "missing %s: run as root, or grant them (ringside loads BPF programs)",
			what);
}

void privileges__why_refused(const struct privileges *p, int err, bool memlock, char *buf, size_t size)
{
	if (err != -EPERM)
		snprintf(buf, size, "the kernel refuses BPF: %s", strerror(-err));
	else if (p->foreign_user_ns)
		snprintf(buf, size,
			"the kernel refuses BPF to a user namespace, whose capabilities do not count: "
			"run as root outside of it");
	else if (p->seccomp)
		snprintf(buf, size,
			"bpf(): %s: there is a seccomp filter on this process, as in most containers: "
			"allow bpf() there, or run outside",
			strerror(-err));
	else if (memlock)
		snprintf(buf, size,
			"the kernel refuses BPF: %s: this kernel charges it to RLIMIT_MEMLOCK; "
			"try `ulimit -l unlimited`, or grant CAP_SYS_RESOURCE",
			strerror(-err));
	else
		snprintf(buf, size, "the kernel refuses BPF: %s: a security module may forbid it",
			strerror(-err));
}
