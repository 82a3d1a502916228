// SPDX-License-Identifier: MIT
#include "privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 38 and 39 since 5.8; older headers lack them. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

int privileges__missing(char *buf, size_t size)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	uint64_t have;
	int bpf, perfmon;

	if (syscall(SYS_capget, &header, data))
		return -errno;
	have = data[0].effective | (uint64_t)data[1].effective << 32;
	bpf = !(have & (1ull << CAP_BPF));
	perfmon = !(have & (1ull << CAP_PERFMON));
	if (have & (1ull << CAP_SYS_ADMIN))
		bpf = perfmon = 0;
	snprintf(buf, size, "%s%s%s", bpf ? "CAP_BPF" : "", bpf && perfmon ? " and " : "",
		perfmon ? "CAP_PERFMON" : "");
	return 0;
}
