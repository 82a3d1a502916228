// SPDX-License-Identifier: MIT
/* The targets, which the programs know by their numbers in the initial pid namespace. */
#include "session_private.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ringside.skel.h"

static int add_target(struct session *s, uint32_t pid)
{
	uint8_t one = 1;

	return bpf_map_update_elem(bpf_map__fd(s->skel->maps.rs_targets), &pid, &one, BPF_ANY) ? -errno : 0;
}

struct pid_visit {
	int (*visit)(const struct pid_visit *v, const struct rs_pid *p); /* negative errno ends it */
	struct session *s;
	const struct session_options *o;
	uint32_t *ret_own;
};

/* Goes through all processes that rs_list_pids tells. 0 or negative errno. */
static int visit_all(const struct pid_visit *v, int fd)
{
	struct rs_pid pids[64];
	size_t have = 0, i, n;
	ssize_t got;
	int err;

	for (;;) {
		got = read(fd, (char *)pids + have, sizeof(pids) - have);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		have += (size_t)got;
		n = have / sizeof(pids[0]);
		for (i = 0; i < n; i++) {
			err = v->visit(v, &pids[i]);
			if (err)
				return err;
		}
		have -= n * sizeof(pids[0]);
		memmove(pids, pids + n, have);
	}
}

/* Adds a process if it is one of those that were named. */
static int add_if_named(const struct pid_visit *v, const struct rs_pid *p)
{
	size_t i;

	for (i = 0; i < v->o->n_targets; i++)
		if (p->here && p->here == (uint32_t)v->o->targets[i])
			return add_target(v->s, p->pid);
	return 0;
}

static int find_own(const struct pid_visit *v, const struct rs_pid *p)
{
	if (p->here == (uint32_t)getpid())
		*v->ret_own = p->pid;
	return 0;
}

static int list_pids(const struct pid_visit *v)
{
	int fd = bpf_iter_create(bpf_link__fd(v->s->links[RS_F_PIDS])), err;

	if (fd < 0)
		return fd;
	err = visit_all(v, fd);
	close(fd);
	return err;
}

int session__own_pid(struct session *s, uint32_t *ret)
{
	uint32_t own = s->pid_ns ? 0 : (uint32_t)getpid();
	const struct pid_visit v = { .visit = find_own, .s = s, .ret_own = &own };
	int err = 0;

	if (s->pid_ns)
		err = s->links[RS_F_PIDS] ? list_pids(&v) : -EOPNOTSUPP;
	if (!err && !own)
		err = -ESRCH;
	if (!err)
		*ret = own;
	return err;
}

/*
 * In another pid namespace than the initial one. Which process a number there stands for is not known to the
 * programs that count, which would have to find out at every event: it is asked once, before they begin.
 */
static int add_from_namespace(struct session *s, const struct session_options *o, char *errmsg,
	size_t errsize)
{
	const struct pid_visit v = { .visit = add_if_named, .s = s, .o = o };
	int err;

	if (!s->links[RS_F_PIDS]) {
		snprintf(errmsg, errsize,
			"in this pid namespace only the whole machine can be observed (-a): %s",
			s->plan.state[RS_F_PIDS].why);
		return -EOPNOTSUPP;
	}
	err = list_pids(&v);
	if (err)
		snprintf(errmsg, errsize, "can't list the processes of this pid namespace: %s",
			strerror(-err));
	return err;
}

int session__add_targets(struct session *s, const struct session_options *o, char *errmsg, size_t errsize)
{
	size_t i;
	int err;

	if (o->pid_ns && o->n_targets)
		return add_from_namespace(s, o, errmsg, errsize);
	for (i = 0; i < o->n_targets; i++) {
		err = add_target(s, (uint32_t)o->targets[i]);
		if (!err)
			continue;
		snprintf(errmsg, errsize, "can't set up the BPF maps: %s", strerror(-err));
		return err;
	}
	return 0;
}
