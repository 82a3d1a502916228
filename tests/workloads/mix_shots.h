/* SPDX-License-Identifier: MIT */
/* Requests with more than one CQE: multishot, zero-copy sends; and CQEs without a request. */
#ifndef MIX_SHOTS_H
#define MIX_SHOTS_H

#include <arpa/inet.h>
#include <netinet/in.h>

#include "mix_chain.h"

#define MIX_SHOT_BUFS 8
#define MIX_SHOT_BUF_BYTES 64
#define MIX_TIMEOUT_MULTISHOT (1u << 6)
#define MIX_MSG_RING_FLAGS_PASS (1 << 1)

/* --- buffers for the kernel to choose from --------------------------------------- */
/* Every multishot receive has a group of its own: its number is that of the request. */
static bool ring__lend_buffers(struct program *p, struct mring *r, uint16_t group)
{
	size_t bytes = MIX_SHOT_BUFS * sizeof(struct io_uring_buf);
	struct io_uring_buf_ring *br =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct io_uring_buf_reg reg = { .ring_entries = MIX_SHOT_BUFS, .bgid = group };
	char *mem = arena__take(p, MIX_SHOT_BUFS * MIX_SHOT_BUF_BYTES);

	if (br == MAP_FAILED || bytes > 4096)
		die(1, "out of memory");
	reg.ring_addr = (uint64_t)(uintptr_t)br;
	if (mring__register(r, IORING_REGISTER_PBUF_RING, &reg, 1))
		return false;
	for (uint16_t i = 0; i < MIX_SHOT_BUFS; i++)
		io_uring_buf_ring_add(br, mem + i * MIX_SHOT_BUF_BYTES, MIX_SHOT_BUF_BYTES, i,
			MIX_SHOT_BUFS - 1, i);
	io_uring_buf_ring_advance(br, MIX_SHOT_BUFS);
	return true;
}

/* --- multishot ---------------------------------------------------------------------- */
static void shot_poll(struct program *p, struct mring *r, struct req *q)
{
	(void)p;
	(void)r;
	req__eventfd(q);
	io_uring_prep_poll_multishot(q->sqe, q->fds[0], POLLIN);
	q->feed = FEED_EVENT;
}

static void shot_accept(struct program *p, struct mring *r, struct req *q)
{
	(void)p;
	(void)r;
	req__listener(q);
	io_uring_prep_multishot_accept(q->sqe, q->fds[0], NULL, NULL, 0);
	q->gives_fd = true;
	q->feed = FEED_CONNECT;
}

static void shot_recv(struct program *p, struct mring *r, struct req *q)
{
	uint16_t group = (uint16_t)(100 + req__index(p, q));

	if (!ring__lend_buffers(p, r, group)) {
		shot_poll(p, r, q);
		return;
	}
	if (p->last_op >= MIX_OP_READ_MULTISHOT && chance(p, 40)) {
		req__pipe(q, 0);
		io_uring_prep_rw(MIX_OP_READ_MULTISHOT, q->sqe, q->fds[0], NULL, 0, (uint64_t)-1);
	} else {
		req__pair(q, 0);
		io_uring_prep_recv_multishot(q->sqe, q->fds[0], NULL, 0, 0);
	}
	q->sqe->flags |= IOSQE_BUFFER_SELECT;
	q->sqe->buf_group = group;
	q->len = MIX_SHOT_BUF_BYTES;
	q->feed = FEED_WRITE;
}

static void scene_shot(struct program *p, struct mring *r)
{
	static const fill_fn kinds[] = { shot_poll, shot_accept, shot_recv, shot_recv };
	struct group *g;
	struct req *q;

	ring__make_room(p, r, 1);
	g = group__begin(p, r);
	q = group__add(p, g);
	q->multishot = q->waits = true;
	kinds[below(p, 4)](p, r, q);
	if (chance(p, 15))
		q->sqe->flags |= IOSQE_ASYNC;
	group__end(p, g);
	ring__submit(p, r);
}

/* Something for a multishot request; consumes of it what the request leaves. */
static void shot__feed(struct program *p, struct req *q)
{
	switch (q->feed) {
	case FEED_WRITE:
		write_bytes(q->fds[1], 1 + (q->tag + q->n_cqes) % MIX_SHOT_BUF_BYTES);
		break;
	case FEED_EVENT:
		bump_eventfd(q->fds[0]);
		break;
	case FEED_CONNECT:
		connect_to(q->fds[0]);
		break;
	default:
		break;
	}
	say(p, "  #%u is fed", req__index(p, q));
}

static void shot__eat(struct req *q)
{
	uint64_t v;

	if (q->feed == FEED_EVENT && read(q->fds[0], &v, sizeof(v)) != sizeof(v))
		die(1, "eventfd: %s", strerror(errno));
}

static struct req *ring__find_shot(struct program *p, struct mring *r)
{
	for (uint32_t i = 0; i < p->n_open; i++) {
		struct req *q = &p->reqs[p->groups[p->open_groups[i]].first];

		if (p->groups[q->group].ring == ring__index(p, r) && q->multishot && !q->ended &&
			q->feed != FEED_NONE)
			return q;
	}
	return NULL;
}

/* CQEs from a multishot request, one at a time; a seventh finds no buffer. */
static void scene_shoot(struct program *p, struct mring *r)
{
	uint32_t n = 1 + below(p, 12);
	struct req *q;

	ring__submit(p, r);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t before;

		ring__make_room(p, r, 1);
		q = ring__find_shot(p, r);
		if (!q)
			return;
		before = q->n_cqes;
		shot__feed(p, q);
		while (q->n_cqes == before)
			ring__wait(p, r);
		shot__eat(q);
		ring__settle(p, r);
	}
}

/* Two of them that share their user_data: whose CQE it is, only who made it come can tell. */
static void scene_twins(struct program *p, struct mring *r)
{
	static const fill_fn kinds[] = { shot_poll, shot_accept, shot_recv };
	uint32_t n = 1 + below(p, 6), kind = below(p, 3), other = chance(p, 50) ? kind : below(p, 3);
	struct group *g;
	struct req *q;

	if (r->sq_entries < 2)
		return;
	ring__make_room(p, r, 2);
	g = group__begin(p, r);
	for (uint32_t i = 0; i < 2; i++) {
		q = group__add(p, g);
		q->multishot = q->crowd = true;
		kinds[i ? other : kind](p, r, q);
	}
	q -= 1;
	q[0].mixed = q[1].mixed = q[0].sqe->opcode != q[1].sqe->opcode;
	group__end(p, g);
	ring__submit(p, r);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t before;

		g->next = (uint8_t)below(p, 2);
		before = q[g->next].n_cqes;
		shot__feed(p, &q[g->next]);
		while (q[g->next].n_cqes == before)
			ring__wait(p, r);
		shot__eat(&q[g->next]);
	}
	ring__end_endless(p, r, &q[0]);
	ring__end_endless(p, r, &q[1]);
	ring__settle(p, r);
}

/* A timeout that comes again and again; waited for, so that none is missed. */
static void scene_ticks(struct program *p, struct mring *r)
{
	struct __kernel_timespec *ts = arena__take(p, sizeof(*ts));
	struct group *g;
	struct req *q;

	if (p->last_op < MIX_OP_READ_MULTISHOT)
		return;
	ts->tv_nsec = 100000;
	ring__make_room(p, r, 3);
	g = group__begin(p, r);
	q = group__add(p, g);
	q->multishot = true;
	io_uring_prep_timeout(q->sqe, ts, 1 + below(p, 3), MIX_TIMEOUT_MULTISHOT);
	group__end(p, g);
	ring__submit(p, r);
	while (!q->ended)
		ring__wait(p, r);
}

/* --- zero-copy sends ------------------------------------------------------------------ */
static int inet_socket(int type, struct sockaddr_in *ret_addr)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*ret_addr);

	*ret_addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)ret_addr, len) ||
		getsockname(fd, (struct sockaddr *)ret_addr, &len))
		die(WORK_SKIP, "no loopback network: %s", strerror(errno));
	return fd;
}

static void req__udp_to_itself(struct req *q)
{
	struct sockaddr_in addr;

	q->fds[0] = inet_socket(SOCK_DGRAM, &addr);
	if (connect(q->fds[0], (struct sockaddr *)&addr, sizeof(addr)))
		die(1, "connect: %s", strerror(errno));
}

static void req__tcp(struct req *q)
{
	struct sockaddr_in addr, own;

	q->fds[2] = inet_socket(SOCK_STREAM, &addr);
	q->fds[0] = inet_socket(SOCK_STREAM, &own);
	if (listen(q->fds[2], 1) || connect(q->fds[0], (struct sockaddr *)&addr, sizeof(addr)))
		die(1, "no connection: %s", strerror(errno));
	q->fds[1] = accept4(q->fds[2], NULL, NULL, SOCK_CLOEXEC);
	if (q->fds[1] < 0)
		die(1, "accept: %s", strerror(errno));
}

static void op_zerocopy(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	q->len = 1 + below(p, 1000);
	q->zerocopy = true;
	if (chance(p, 50))
		req__udp_to_itself(q);
	else if (chance(p, 70))
		req__tcp(q);
	else
		/* can't: the notification comes all the same */
		req__pair(q, 0);
	if (chance(p, 50)) {
		io_uring_prep_send_zc(q->sqe, q->fds[0], p->file_buf, q->len, 0, 0);
	} else {
		struct msghdr *m = arena__take(p, sizeof(*m));

		m->msg_iov = iovec_of(p, p->file_buf, q->len);
		m->msg_iovlen = 2;
		io_uring_prep_sendmsg_zc(q->sqe, q->fds[0], m, 0);
	}
}

static void scene_zerocopy(struct program *p, struct mring *r)
{
	uint32_t n = 1 + below(p, 5);

	if (p->last_op < IORING_OP_SENDMSG_ZC)
		return;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t members = chance(p, 70) ? 1 : ring__max_group(r, 1 + below(p, 4));
		struct group *g;

		ring__make_room(p, r, members);
		g = group__begin(p, r);
		for (uint32_t k = 0; k < members; k++) {
			struct req *q = group__add(p, g);

			if (k == 0 && members > 1 && chance(p, 30))
				op_bad_fd(p, r, q);
			else
				op_zerocopy(p, r, q);
			if (k < members - 1)
				q->sqe->flags |= IOSQE_IO_LINK;
			if (chance(p, 15))
				q->sqe->flags |= IOSQE_ASYNC;
		}
		group__end(p, g);
	}
}

/* --- CQEs from elsewhere ----------------------------------------------------------------- */
static void prep_message(struct program *p, struct req *q, struct mring *to)
{
	static const uint32_t passed[] = { IORING_CQE_F_MORE, IORING_CQE_F_NOTIF, IORING_CQE_F_BUFFER,
		IORING_CQE_F_MORE | IORING_CQE_F_NOTIF };

	io_uring_prep_msg_ring(q->sqe, to->fd, 4711, (uint64_t)below(p, 1000) << 32 | MIX_TAG_AUX, 0);
	if (p->last_op >= MIX_OP_READ_MULTISHOT && chance(p, 40)) {
		/* its CQE looks like one that a request of the other ring has */
		q->sqe->rw_flags = MIX_MSG_RING_FLAGS_PASS;
		q->sqe->file_index = passed[below(p, 4)];
	}
	q->aux_ring = (uint8_t)(1 + ring__index(p, to));
}

static void add_message(struct program *p, struct group *g, struct mring *to)
{
	struct req *q = group__add(p, g);

	prep_message(p, q, to);
	if (chance(p, 15))
		q->sqe->fd = p->file;
	if (chance(p, 15))
		q->sqe->flags |= IOSQE_ASYNC;
	if (p->rings[g->ring].sq_entries < 2 || chance(p, 70))
		return;
	q->sqe->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
	io_uring_prep_nop(group__add(p, g)->sqe);
}

static struct mring *program__other_ring(struct program *p, struct mring *r)
{
	unsigned int first = below(p, MIX_LIVE_RINGS);

	for (unsigned int i = 0; i < MIX_LIVE_RINGS; i++) {
		struct mring *to = &p->rings[(first + i) % MIX_LIVE_RINGS];

		if (to->open && to->fd >= 0 && (to != r || chance(p, 30)))
			return to;
	}
	return NULL;
}

static void scene_messages(struct program *p, struct mring *r)
{
	struct mring *to = program__other_ring(p, r);
	uint32_t n = 1 + below(p, 4);

	if (!to || p->last_op < IORING_OP_MSG_RING)
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct group *g;

		ring__make_room(p, r, 2);
		ring__make_room(p, to, 2);
		g = group__begin(p, r);
		add_message(p, g, to);
		group__end(p, g);
		ring__submit(p, r);
		while (!group__over(p, g))
			ring__wait(p, r);
		ring__settle(p, r);
		if (chance(p, 50))
			ring__quiesce_aux(p, to);
	}
	ring__quiesce_aux(p, to);
}

/* Registered resources with a tag give a CQE when they are no longer in use. */
static void scene_tags(struct program *p, struct mring *r)
{
	struct iovec iov[2] = { { p->file_buf, 4096 }, { p->file_buf + 4096, 4096 } };
	uint64_t tags[2] = { MIX_TAG_AUX, (uint64_t)below(p, 100) << 32 | MIX_TAG_AUX };
	struct io_uring_rsrc_register reg = { .nr = 2,
		.data = (uint64_t)(uintptr_t)iov,
		.tags = (uint64_t)(uintptr_t)tags };

	if (r->has_buffers)
		return;
	ring__make_room(p, r, 2);
	if (mring__register(r, IORING_REGISTER_BUFFERS2, &reg, sizeof(reg)))
		return;
	if (mring__register(r, IORING_UNREGISTER_BUFFERS, NULL, 0))
		die(1, "buffers can't be unregistered");
	r->aux_due += 2;
	ring__quiesce_aux(p, r);
}

#endif
