/* SPDX-License-Identifier: MIT */
/* Requests that wait for something, what they wait for, and how to make sure that all of them end. */
#ifndef MIX_WAIT_H
#define MIX_WAIT_H

#include <linux/futex.h>
#include <poll.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "mix_program.h"

#define MIX_OP_READ_MULTISHOT 49
#define MIX_OP_FUTEX_WAIT 51
#define MIX_OP_FUTEX_WAKE 52
/*
 * FUTEX2_SIZE_U32, and not FUTEX2_PRIVATE: a process gets a hash table of its own for these with its
 * first thread, be it an io-wq worker, and who waits since before that is not found there.
 */
#define MIX_FUTEX_FLAGS 2

/* --- things to wait for ------------------------------------------------------ */
static void req__pipe(struct req *q, unsigned int at)
{
	if (pipe2(&q->fds[at], O_CLOEXEC))
		die(1, "pipe: %s", strerror(errno));
}

static void req__pair(struct req *q, unsigned int at)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, &q->fds[at]))
		die(1, "socketpair: %s", strerror(errno));
}

static void req__eventfd(struct req *q)
{
	q->fds[0] = eventfd(0, EFD_CLOEXEC);
	if (q->fds[0] < 0)
		die(1, "eventfd: %s", strerror(errno));
}

/* A listening socket with an address of the kernel's choice. */
static void req__listener(struct req *q)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	q->fds[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (q->fds[0] < 0 || bind(q->fds[0], (struct sockaddr *)&addr, sizeof(sa_family_t)) ||
		listen(q->fds[0], 64))
		die(1, "no listening socket: %s", strerror(errno));
}

static void write_bytes(int fd, size_t n)
{
	static const char zeros[4096];

	if (write(fd, zeros, n) != (ssize_t)n)
		die(1, "write: %s", strerror(errno));
}

static socklen_t listener_address(int fd, struct sockaddr_un *ret)
{
	socklen_t len = sizeof(*ret);

	if (getsockname(fd, (struct sockaddr *)ret, &len))
		die(1, "getsockname: %s", strerror(errno));
	return len;
}

static void connect_to(int listener)
{
	struct sockaddr_un addr;
	socklen_t len = listener_address(listener, &addr);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, len))
		die(1, "connect: %s", strerror(errno));
	close(fd);
}

static void bump_eventfd(int fd)
{
	uint64_t v = 1;

	if (write(fd, &v, sizeof(v)) != sizeof(v))
		die(1, "eventfd: %s", strerror(errno));
}

/* --- waiting once -------------------------------------------------------------- */
static void wait_read(struct program *p, struct req *q)
{
	uint32_t len = 1 + below(p, 200);
	char *buf = arena__take(p, len);

	if (chance(p, 50))
		req__pipe(q, 0);
	else
		req__pair(q, 0);
	if (chance(p, 60)) {
		io_uring_prep_read(q->sqe, q->fds[0], buf, len, (uint64_t)-1);
	} else {
		struct iovec *iov = arena__take(p, 2 * sizeof(*iov));

		iov[0] = (struct iovec){ buf, len / 2 };
		iov[1] = (struct iovec){ buf + len / 2, len - len / 2 };
		io_uring_prep_readv(q->sqe, q->fds[0], iov, 2, (uint64_t)-1);
	}
	q->want = q->len = len;
	q->feed = chance(p, 90) ? FEED_WRITE : FEED_HANGUP;
}

static void wait_recv(struct program *p, struct req *q)
{
	uint32_t len = 1 + below(p, 200);
	char *buf = arena__take(p, len);

	req__pair(q, 0);
	if (chance(p, 60)) {
		io_uring_prep_recv(q->sqe, q->fds[0], buf, len, 0);
	} else {
		struct msghdr *m = arena__take(p, sizeof(*m));

		m->msg_iov = arena__take(p, sizeof(*m->msg_iov));
		*m->msg_iov = (struct iovec){ buf, len };
		m->msg_iovlen = 1;
		io_uring_prep_recvmsg(q->sqe, q->fds[0], m, 0);
	}
	if (chance(p, 30))
		q->sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
	q->len = len;
	q->feed = chance(p, 90) ? FEED_WRITE : FEED_HANGUP;
}

static void wait_poll(struct program *p, struct req *q)
{
	if (chance(p, 50)) {
		req__pipe(q, 0);
		q->feed = chance(p, 70) ? FEED_WRITE : FEED_HANGUP;
	} else {
		req__eventfd(q);
		q->feed = FEED_EVENT;
	}
	io_uring_prep_poll_add(q->sqe, q->fds[0], POLLIN);
}

static void wait_eventfd(struct program *p, struct req *q)
{
	req__eventfd(q);
	io_uring_prep_read(q->sqe, q->fds[0], arena__take(p, 8), 8, (uint64_t)-1);
	q->want = q->len = 8;
	q->feed = FEED_EVENT;
}

static void wait_accept(struct program *p, struct req *q)
{
	(void)p;
	req__listener(q);
	io_uring_prep_accept(q->sqe, q->fds[0], NULL, NULL, 0);
	q->gives_fd = true;
	q->feed = FEED_CONNECT;
}

static void wait_futex(struct program *p, struct req *q)
{
	if (p->last_op < MIX_OP_FUTEX_WAIT) {
		wait_eventfd(p, q);
		return;
	}
	q->futex = arena__take(p, sizeof(*q->futex));
	io_uring_prep_rw(MIX_OP_FUTEX_WAIT, q->sqe, MIX_FUTEX_FLAGS, q->futex, 0, 0);
	q->sqe->addr3 = FUTEX_BITSET_MATCH_ANY;
	q->feed = FEED_FUTEX;
}

/* A timeout that never comes. */
static void wait_timer(struct program *p, struct req *q)
{
	struct __kernel_timespec *ts = arena__take(p, sizeof(*ts));

	ts->tv_sec = 1000;
	io_uring_prep_timeout(q->sqe, ts, 0, 0);
	q->feed = FEED_CANCEL;
}

/*
 * LIMIT_DATA: a timer that has not started yet can't be cancelled.
 * LIMIT_PLAIN: a futex wait that is cancelled does not break its chain, as if it had succeeded.
 */
enum wait_limit { LIMIT_NONE, LIMIT_DATA = 1, LIMIT_PLAIN = 2 };

static void prep_waiting(struct program *p, struct req *q, unsigned int limits)
{
	static void (*const kinds[])(struct program *, struct req *) = { wait_read, wait_read, wait_recv,
		wait_recv, wait_poll, wait_eventfd, wait_accept, wait_futex, wait_timer };
	unsigned int i = below(p, sizeof(kinds) / sizeof(kinds[0]));

	if ((kinds[i] == wait_timer && limits & LIMIT_DATA) ||
		(kinds[i] == wait_futex && limits & LIMIT_PLAIN))
		i = 0;
	kinds[i](p, q);
	q->waits = true;
}

/* --- making it go on ------------------------------------------------------------- */
static void req__feed(struct program *p, struct req *q)
{
	switch (q->feed) {
	case FEED_WRITE:
		write_bytes(q->fds[1], 1 + q->tag % (2 * q->len + 1));
		break;
	case FEED_HANGUP:
		close(q->fds[1]);
		q->fds[1] = -1;
		break;
	case FEED_EVENT:
		bump_eventfd(q->fds[0]);
		break;
	case FEED_CONNECT:
		connect_to(q->fds[0]);
		break;
	case FEED_FUTEX:
		__atomic_store_n(q->futex, 1, __ATOMIC_RELEASE);
		syscall(__NR_futex, q->futex, FUTEX_WAKE, 1, NULL, NULL, 0);
		break;
	default:
		return;
	}
	say(p, "  #%u is fed", req__index(p, q));
	q->feed = FEED_FED;
}

/* Calls fn for every request of this ring that has not ended. */
static void for_each_open(struct program *p, struct mring *r, void (*fn)(struct program *, struct req *))
{
	for (uint32_t i = 0; i < p->n_open; i++) {
		struct group *g = &p->groups[p->open_groups[i]];

		for (uint32_t k = 0; k < g->n && g->ring == ring__index(p, r); k++)
			if (!p->reqs[g->first + k].ended)
				fn(p, &p->reqs[g->first + k]);
	}
}

static void req__feed_perhaps(struct program *p, struct req *q)
{
	if (!q->multishot && (q->tag >> p->step % 32) & 1)
		req__feed(p, q);
}

/* It brings no CQE until something is done to it, and nothing else depends on it. */
static bool group__passive(struct program *p, const struct group *g)
{
	const struct req *q = &p->reqs[g->first];

	return g->n == 1 && !p->rings[g->ring].draining && !q->ended && !q->touched && q->feed != FEED_NONE &&
	       q->feed != FEED_FED;
}

static void req__feed_once(struct program *p, struct req *q)
{
	if (!q->multishot)
		req__feed(p, q);
}

static void req__feed_unless_passive(struct program *p, struct req *q)
{
	if (!group__passive(p, &p->groups[q->group]))
		req__feed_once(p, q);
}

static struct req *ring__find_endless(struct program *p, struct mring *r, bool keep_passive)
{
	for (uint32_t i = 0; i < p->n_open; i++) {
		struct group *g = &p->groups[p->open_groups[i]];

		if (g->ring != ring__index(p, r) || (keep_passive && group__passive(p, g)))
			continue;
		for (uint32_t k = 0; k < g->n; k++) {
			struct req *q = &p->reqs[g->first + k];

			if (!q->ended && (q->multishot || q->feed == FEED_CANCEL))
				return q;
		}
	}
	return NULL;
}

/* Cancels a request until it is cancelled: it may not have started, or be in the middle of something. */
static void ring__end_endless(struct program *p, struct mring *r, struct req *q)
{
	while (!q->ended) {
		struct group *g = group__begin(p, r);
		struct req *c = group__add(p, g);

		io_uring_prep_cancel64(c->sqe, req__user_data(p, q), 0);
		group__end(p, g);
		ring__submit(p, r);
		while (!c->ended)
			ring__wait(p, r);
		ring__poke(p, r);
	}
}

static uint32_t ring__busy(struct program *p, struct mring *r, bool keep_passive)
{
	uint32_t busy = ring__settle(p, r);

	for (uint32_t i = 0; keep_passive && i < p->n_open; i++) {
		struct group *g = &p->groups[p->open_groups[i]];

		busy -= g->ring == ring__index(p, r) && group__passive(p, g);
	}
	return busy;
}

/* Makes everything on this ring end, perhaps but for what waits, and waits for it. */
static void ring__calm(struct program *p, struct mring *r, bool keep_passive)
{
	struct req *q;

	ring__submit(p, r);
	for_each_open(p, r, keep_passive ? req__feed_unless_passive : req__feed_once);
	while ((q = ring__find_endless(p, r, keep_passive)))
		ring__end_endless(p, r, q);
	while (ring__reap(p, r), ring__busy(p, r, keep_passive))
		ring__wait(p, r);
	r->promised = r->potential;
}

static void ring__quiesce(struct program *p, struct mring *r)
{
	ring__calm(p, r, false);
	if (r->potential)
		die(1, "%u CQEs of a quiet ring are due", r->potential);
}

static void ring__quiesce_aux(struct program *p, struct mring *r)
{
	while (r->aux_seen < r->aux_due)
		ring__wait(p, r);
	if (r->aux_seen != r->aux_due)
		die(1, "more messages than were sent");
}

/*
 * Room for another group of n SQEs, without overflow. It depends on what was submitted alone and not
 * on what has ended, so that a seed always does the same.
 */
static void ring__make_room(struct program *p, struct mring *r, uint32_t n)
{
	/* each may bring two CQEs, and what ends the endless brings some too */
	uint32_t need = 2 * n + 2;

	if (mring__sq_room(r) < n + 1 || r->n_marks >= MIX_MARKS - 2)
		ring__submit(p, r);
	if (r->promised + need <= r->cq_entries)
		return;
	ring__calm(p, r, true);
	if (r->promised + need > r->cq_entries)
		ring__quiesce(p, r);
	ring__quiesce_aux(p, r);
}

/* Members that a group on this ring may have. */
static uint32_t ring__max_group(const struct mring *r, uint32_t wish)
{
	uint32_t max = (r->cq_entries - 2) / 2;

	if (r->sq_entries - 1 < max)
		max = r->sq_entries - 1;
	if (!max)
		max = 1;
	return wish < max ? wish : max;
}

#endif
