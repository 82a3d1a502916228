/* SPDX-License-Identifier: MIT */
/* A full CQ ring. */
#ifndef MIX_FULL_H
#define MIX_FULL_H

#include "mix_shots.h"

/* One group whose CQEs come before the submission returns. */
static void add_prompt(struct program *p, struct mring *r)
{
	struct group *g = group__begin(p, r);
	struct req *q = group__add(p, g);
	uint32_t dice = below(p, 100);

	if (dice < 60) {
		op_nop(p, r, q);
	} else if (dice < 70) {
		op_read(p, r, q);
		q->sqe->fd = MIX_BAD_FD;
		q->sqe->flags = 0;
	} else if (dice < 80) {
		op_search(p, r, q);
	} else {
		refuse_opcode(p, q);
		q->rejected = true;
	}
	group__end(p, g);
	mring__submit(r, 0, 0);
}

/* When this returns, both its CQEs are there. */
static void add_prompt_zerocopy(struct program *p, struct mring *r)
{
	struct group *g = group__begin(p, r);
	struct req *q = group__add(p, g);
	char buf[1000];

	q->len = 1 + below(p, sizeof(buf));
	q->zerocopy = true;
	req__udp_to_itself(q);
	io_uring_prep_send_zc(q->sqe, q->fds[0], p->file_buf, q->len, 0, 0);
	group__end(p, g);
	mring__submit(r, 0, 0);
	if (recv(q->fds[0], buf, sizeof(buf), 0) < 0)
		die(1, "recv: %s", strerror(errno));
}

static void add_prompt_message(struct program *p, struct mring *r)
{
	struct group *g = group__begin(p, r);
	struct req *q = group__add(p, g);

	prep_message(p, q, r);
	group__end(p, g);
	mring__submit(r, 0, 0);
}

/* Delivers the CQEs that found no room, and consumes them. */
static void ring__flush(struct program *p, struct mring *r)
{
	do {
		mring__enter(r, 0, 0, IORING_ENTER_GETEVENTS);
		ring__reap(p, r);
	} while (mring__overflown(r) || mring__ready(r));
}

/*
 * More CQEs than the ring holds. Up to here nothing in flight may produce one by itself, and
 * from the first that finds no room all do until they are delivered: so which ones is known.
 */
static void scene_overflow(struct program *p, struct mring *r)
{
	uint32_t n = r->cq_entries + below(p, r->cq_entries + 10);
	bool polled = mring__has(r, IORING_SETUP_SQPOLL);
	struct req *shot;

	if (r->cq_entries > 64)
		return;
	ring__calm(p, r, true);
	r->overflow_at = r->n_cqes + r->cq_entries;
	for (uint32_t i = 0; i < n; i++)
		add_prompt(p, r);
	/* a multishot request ends when its CQE finds no room */
	shot = polled || chance(p, 30) ? NULL : ring__find_shot(p, r);
	if (shot && shot->flags & IOSQE_ASYNC && !shot->n_cqes)
		shot = NULL;
	if (shot)
		shot__feed(p, shot);
	if (!polled && p->last_op >= IORING_OP_SENDMSG_ZC && chance(p, 30))
		add_prompt_zerocopy(p, r);
	if (!polled && r->fd >= 0 && p->last_op >= IORING_OP_MSG_RING && chance(p, 30))
		add_prompt_message(p, r);
	ring__flush(p, r);
	r->overflow_at = UINT64_MAX;
	if (shot)
		shot__eat(shot);
	ring__settle(p, r);
	ring__quiesce_aux(p, r);
}

/* --- many CQEs at once, many requests without any between them --------------------- */
/* NOPs of one submission that have no CQE. */
static void add_hush(struct program *p, struct mring *r, uint32_t n)
{
	struct group *g = group__begin(p, r);

	g->proven = true;
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = group__add(p, g);

		io_uring_prep_nop(q->sqe);
		q->sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
	}
	group__end(p, g);
}

/* A chain that has one CQE: of its last member, or of its first that fails. */
static void add_hushed_chain(struct program *p, struct mring *r, uint32_t n)
{
	uint32_t fails = p->last_op >= MIX_OP_BIND && chance(p, 50) ? below(p, n) : n;
	struct group *g = group__begin(p, r);

	for (uint32_t i = 0; i < n; i++) {
		struct req *q = group__add(p, g);

		io_uring_prep_nop(q->sqe);
		if (i < n - 1)
			q->sqe->flags = IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK;
		if (i != fails)
			continue;
		q->sqe->rw_flags = (int)MIX_NOP_INJECT_RESULT;
		q->sqe->len = (uint32_t)-EIO;
	}
	group__end(p, g);
}

static void add_loud(struct program *p, struct mring *r)
{
	struct group *g = group__begin(p, r);
	struct req *q = group__add(p, g);

	if (chance(p, 90)) {
		op_nop(p, r, q);
	} else {
		refuse_opcode(p, q);
		q->rejected = true;
	}
	group__end(p, g);
}

/* As scene_overflow(), but in submissions as large as the ring takes. Each group has one CQE, a hush none. */
static void scene_flood(struct program *p, struct mring *r)
{
	uint32_t over = 1 + below(p, 100), cqes = r->cq_entries + over, hushes = 0;
	/* elsewhere a chain goes on after the submission has returned */
	bool chains = !mring__has(r, IORING_SETUP_SQPOLL | IORING_SETUP_DEFER_TASKRUN);

	if (r->cq_entries > 256 || r->sq_entries < 2)
		return;
	ring__calm(p, r, true);
	r->overflow_at = r->n_cqes + r->cq_entries;
	while (cqes) {
		uint32_t dice = below(p, 100), room = mring__sq_room(r);

		if (room < 2 || r->n_marks == MIX_MARKS || dice < 3) {
			mring__submit(r, 0, 0);
			continue;
		}
		/* most of them where CQEs find no room any more */
		if (dice < (cqes < over ? 15 : 4) && hushes++ < 10) {
			add_hush(p, r, 1 + below(p, room - 1));
			continue;
		}
		if (dice < 40 && chains)
			add_hushed_chain(p, r, 2 + below(p, room < 6 ? room - 1 : 5));
		else
			add_loud(p, r);
		cqes--;
	}
	mring__submit(r, 0, 0);
	ring__flush(p, r);
	r->overflow_at = UINT64_MAX;
	ring__settle(p, r);
}

#endif
