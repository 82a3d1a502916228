/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parse.h"
#include "pidns.h"
#include "pids.h"

/* glibc has a wrapper only since 2.36. */
static int pidfd_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

/* The process that a thread belongs to. */
static int read_tgid(pid_t tid, pid_t *ret)
{
	char path[64], line[256], *value;
	uint64_t tgid;
	int err = -ESRCH;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "Tgid:\t", 6) != 0)
			continue;
		value = line + 6;
		value[strcspn(value, "\n")] = '\0';
		err = parse_u64(value, 1, INT32_MAX, &tgid);
		if (!err)
			*ret = (pid_t)tgid;
		break;
	}
	fclose(f);
	return err;
}

/* Opens the process of *pid and makes *pid its id. */
static int open_process(pid_t *pid)
{
	pid_t tgid;
	int fd, err;

	if (*pid <= 0)
		return -ESRCH;
	fd = pidfd_open(*pid);
	/* A thread that leads no process is -EINVAL, on recent kernels -ENOENT. */
	if (fd != -EINVAL && fd != -ENOENT)
		return fd;
	/* else the number is another thread's there */
	err = pidns__owns_proc() ? read_tgid(*pid, &tgid) : -ESRCH;
	if (err)
		return err;
	fd = pidfd_open(tgid);
	if (fd >= 0)
		*pid = tgid;
	return fd;
}

static bool contains(const struct pid_set *s, pid_t pid)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->pids[i] == pid)
			return true;
	}
	return false;
}

int pid_set__open(const pid_t *pids, size_t n, struct pid_set *ret, pid_t *ret_bad)
{
	struct pid_set s = { 0 };
	pid_t pid;
	int fd;

	s.pids = calloc(n ? n : 1, sizeof(*s.pids));
	s.fds = calloc(n ? n : 1, sizeof(*s.fds));
	if (!s.pids || !s.fds) {
		pid_set__free(&s);
		*ret_bad = 0;
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		pid = pids[i];
		fd = open_process(&pid);
		if (fd < 0) {
			pid_set__free(&s);
			*ret_bad = pids[i];
			return fd;
		}
		if (contains(&s, pid)) {
			close(fd);
			continue;
		}
		s.pids[s.n] = pid;
		s.fds[s.n++] = fd;
	}
	*ret = s;
	return 0;
}

size_t pid_set__refresh(struct pid_set *s)
{
	size_t running = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct pollfd p = { .fd = s->fds[i], .events = POLLIN };

		if (p.fd < 0)
			continue;
		if (poll(&p, 1, 0) == 1) {
			close(p.fd);
			s->fds[i] = -1;
		} else {
			running++;
		}
	}
	return running;
}

void pid_set__free(struct pid_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (s->fds[i] >= 0)
			close(s->fds[i]);
	}
	free(s->pids);
	free(s->fds);
	*s = (struct pid_set){ 0 };
}
