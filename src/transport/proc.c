// SPDX-License-Identifier: MIT
#include "proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int proc__thread_cpu_ns(uint32_t pid, uint32_t tid, uint64_t *ret_ns)
{
	char path[64];
	uint64_t ns;
	FILE *f;
	int n;

	if (!pid || !tid)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/schedstat", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	n = fscanf(f, "%" SCNu64, &ns);
	fclose(f);
	if (n != 1)
		return -ESRCH;
	*ret_ns = ns;
	return 0;
}

int proc__cgroup(uint32_t pid, char **ret)
{
	char path[64], *line = NULL, *copy = NULL;
	size_t cap = 0;
	ssize_t len;
	int err = -ENOENT;
	FILE *f;

	if (!pid)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cgroup", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while ((len = getline(&line, &cap, f)) > 0) {
		if (strncmp(line, "0::", 3))
			continue;
		line[strcspn(line, "\n")] = '\0';
		copy = strdup(line + 3);
		err = copy ? 0 : -ENOMEM;
		break;
	}
	free(line);
	fclose(f);
	if (!err)
		*ret = copy;
	return err;
}
