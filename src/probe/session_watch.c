// SPDX-License-Identifier: MIT
/* Hardware watchpoints on CQ heads, in the memory of the applications that move them. */
#include "session_private.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ringside.skel.h"

/* One link a thread. */
struct watch {
	struct rs_head head;
	struct bpf_link **links;
	size_t n;
};

static int visit_heads(int fd, int (*visit)(const struct rs_head *h, void *arg), void *arg)
{
	struct rs_head heads[64];
	size_t have = 0, i, n;
	ssize_t got;
	int err;

	for (;;) {
		got = read(fd, (char *)heads + have, sizeof(heads) - have);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		have += (size_t)got;
		n = have / sizeof(heads[0]);
		for (i = 0; i < n; i++) {
			err = visit(&heads[i], arg);
			if (err)
				return err;
		}
		have -= n * sizeof(heads[0]);
		memmove(heads, heads + n, have);
	}
}

int session__find_heads(struct session *s, int (*visit)(const struct rs_head *h, void *arg), void *arg)
{
	struct bpf_link *link;
	int fd, err;

	if (!s->tables.lags)
		return -EOPNOTSUPP;
	link = bpf_program__attach_iter(s->skel->progs.rs_find_heads, NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? fd : visit_heads(fd, visit, arg);
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

/* -ESRCH: the thread has ended. */
static int watch_thread(struct session *s, struct watch *w, pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = w->head.key.addr,
		.bp_len = HW_BREAKPOINT_LEN_4,
		.sample_period = 1,
		.inherit = 1,
		.inherit_thread = 1, /* since 5.13 */
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct bpf_link **more = reallocarray(w->links, w->n + 1, sizeof(*more)), *link;
	int fd, err;

	if (!more)
		return -ENOMEM;
	w->links = more;
	fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event(s->skel->progs.rs_head_moved, fd);
	if (!link) {
		err = -errno;
		close(fd);
		return err;
	}
	w->links[w->n++] = link;
	return 0;
}

/* Threads that are made meanwhile inherit it from those that make them. */
static int watch_threads(struct session *s, struct watch *w, uint32_t pid)
{
	struct dirent *e;
	char path[64];
	int err = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	if (!d)
		return -errno;
	while (!err && (e = readdir(d))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		err = watch_thread(s, w, (pid_t)strtol(e->d_name, NULL, 10));
		if (err == -ESRCH)
			err = 0;
	}
	closedir(d);
	return err ? err : w->n ? 0 : -ESRCH;
}

int session__watch(struct session *s, const struct rs_head *h, uint32_t pid, struct watch **ret)
{
	int heads = bpf_map__fd(s->skel->maps.rs_heads), err;
	struct watch *w;

	if (!s->tables.lags)
		return -EOPNOTSUPP;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->head = *h;
	if (bpf_map_update_elem(heads, &h->key, &h->ring_uid, BPF_ANY)) {
		err = -errno;
		free(w);
		return err;
	}
	err = watch_threads(s, w, pid);
	if (err) {
		session__unwatch(s, w);
		return err;
	}
	*ret = w;
	return 0;
}

void session__unwatch(struct session *s, struct watch *w)
{
	uint32_t uid;

	if (!w)
		return;
	while (w->n)
		bpf_link__destroy(w->links[--w->n]);
	/* another ring may have been mapped there since */
	if (!bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.rs_heads), &w->head.key, &uid) &&
		uid == w->head.ring_uid)
		bpf_map_delete_elem(bpf_map__fd(s->skel->maps.rs_heads), &w->head.key);
	free(w->links);
	free(w);
}
