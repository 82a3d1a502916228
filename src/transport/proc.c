// SPDX-License-Identifier: MIT
#include "proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_thread(uint32_t pid, uint32_t tid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", pid, tid, name);
	return fopen(path, "re");
}

int proc__thread_times(uint32_t pid, uint32_t tid, struct proc_times *ret)
{
	struct proc_times t;
	FILE *f;
	int n;

	if (!pid || !tid)
		return -ESRCH;
	f = open_thread(pid, tid, "schedstat");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	n = fscanf(f, "%" SCNu64 " %" SCNu64, &t.cpu_ns, &t.wait_ns);
	fclose(f);
	if (n != 2)
		return -ESRCH;
	*ret = t;
	return 0;
}

int proc__only_cpu(uint32_t pid, uint32_t tid, int *ret_cpu)
{
	static const char key[] = "Cpus_allowed_list:";
	char *line = NULL, *end, *value;
	size_t cap = 0;
	int err = -ENOENT;
	FILE *f;

	if (!pid || !tid)
		return -ESRCH;
	f = open_thread(pid, tid, "status");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (err && getline(&line, &cap, f) > 0) {
		if (strncmp(line, key, sizeof(key) - 1))
			continue;
		value = line + sizeof(key) - 1;
		*ret_cpu = (int)strtol(value, &end, 10);
		/* "3"; several are "0-3" or "1,3" */
		if (end == value || *end != '\n')
			*ret_cpu = -1;
		err = 0;
	}
	free(line);
	fclose(f);
	return err;
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
