/* SPDX-License-Identifier: MIT */
/* Scenes about requests in flight, full CQ rings, and the life of rings. */
#ifndef MIX_SCENES_H
#define MIX_SCENES_H

#include "mix_full.h"

#define MIX_ASYNC_CANCEL_OP (1u << 5)
#define MIX_REGISTER_SYNC_CANCEL 24

struct sync_cancel {
	uint64_t addr;
	int32_t fd;
	uint32_t flags;
	struct __kernel_timespec timeout;
	uint8_t opcode;
	uint8_t pad[7];
	uint64_t pad2[3];
};

/* --- what is in flight ------------------------------------------------------------ */
/*
 * One of the last requests of this ring, rather one that may still be in flight, NULL if there is
 * none. Whether it has ended is not asked: a seed always finds the same.
 */
static struct req *ring__victim(struct program *p, struct mring *r)
{
	bool waits = chance(p, 75);
	struct req *found = NULL;
	uint32_t n = 0;

	for (uint32_t i = p->n_reqs; i-- && n < 12;) {
		struct req *q = &p->reqs[i];

		if (p->groups[q->group].ring != ring__index(p, r) || q->crowd || (waits && !q->waits))
			continue;
		if (!below(p, ++n))
			found = q;
	}
	return found;
}

static void scene_feed(struct program *p, struct mring *r)
{
	ring__submit(p, r);
	for_each_open(p, r, req__feed_perhaps);
	ring__poke(p, r);
}

static void scene_reap(struct program *p, struct mring *r)
{
	ring__submit(p, r);
	ring__poke(p, r);
	ring__settle(p, r);
}

static void scene_quiesce(struct program *p, struct mring *r)
{
	ring__quiesce(p, r);
	ring__quiesce_aux(p, r);
}

/* Long timers, so that there is something to cancel or change. */
static void scene_timers(struct program *p, struct mring *r)
{
	uint32_t n = 1 + below(p, 3);

	for (uint32_t i = 0; i < n; i++) {
		struct group *g;

		ring__make_room(p, r, 1);
		g = group__begin(p, r);
		wait_timer(p, group__add(p, g));
		group__end(p, g);
	}
}

static void prep_cancel(struct program *p, struct req *c, struct req *victim)
{
	static const unsigned int kinds[] = { 0, 0, IORING_ASYNC_CANCEL_ALL, IORING_ASYNC_CANCEL_FD,
		IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_ALL, IORING_ASYNC_CANCEL_ANY,
		IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL, MIX_ASYNC_CANCEL_OP };
	unsigned int flags = kinds[below(p, p->last_op >= MIX_OP_FUTEX_WAIT ? 8 : 7)];

	io_uring_prep_cancel64(c->sqe, req__user_data(p, victim), (int)flags);
	if (flags & IORING_ASYNC_CANCEL_FD)
		c->sqe->fd = victim->fds[0];
	if (flags & MIX_ASYNC_CANCEL_OP)
		c->sqe->len = victim->op;
	if (flags & (IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_ANY | MIX_ASYNC_CANCEL_OP))
		c->sqe->addr = 0;
}

/* Another deadline for a timer, or none; other events for a poll, or another name. */
static void prep_change(struct program *p, struct req *c, struct req *victim)
{
	uint64_t name = req__user_data(p, victim);

	if (victim->op == IORING_OP_POLL_ADD && chance(p, 70)) {
		uint32_t tag = (uint32_t)rng__next(&p->rng);
		bool rename = chance(p, 50);

		io_uring_prep_poll_update(c->sqe, name, rename ? (uint64_t)tag << 32 | (uint32_t)name : 0,
			POLLIN | POLLPRI,
			IORING_POLL_UPDATE_EVENTS | (rename ? IORING_POLL_UPDATE_USER_DATA : 0) |
				(victim->multishot ? IORING_POLL_ADD_MULTI : 0));
		victim->next_tag = rename ? tag : victim->tag;
		c->renames = rename ? victim : NULL;
	} else if (victim->op == IORING_OP_TIMEOUT && chance(p, 60)) {
		io_uring_prep_timeout_update(c->sqe, short_time(p), name, 0);
	} else if (victim->op == IORING_OP_LINK_TIMEOUT && chance(p, 60)) {
		io_uring_prep_timeout_update(c->sqe, short_time(p), name, 0);
		c->sqe->timeout_flags = IORING_LINK_TIMEOUT_UPDATE | IORING_TIMEOUT_UPDATE;
	} else if (victim->op == IORING_OP_POLL_ADD) {
		io_uring_prep_poll_remove(c->sqe, name);
	} else {
		io_uring_prep_timeout_remove(c->sqe, name, 0);
	}
}

typedef void (*interfere_fn)(struct program *p, struct req *q, struct req *victim);

static void req__touch(struct program *p, struct req *q)
{
	(void)p;
	q->touched = true;
}

static void scene_interfere(struct program *p, struct mring *r, interfere_fn prep)
{
	uint32_t n = 1 + below(p, 3);

	for (uint32_t i = 0; i < n; i++) {
		struct req *victim, *c;
		struct group *g;

		ring__make_room(p, r, 1);
		ring__submit(p, r);
		victim = ring__victim(p, r);
		if (!victim)
			return;
		g = group__begin(p, r);
		c = group__add(p, g);
		prep(p, c, victim);
		group__end(p, g);
		ring__submit(p, r);
		while (!c->ended)
			ring__wait(p, r);
		for_each_open(p, r, req__touch);
		ring__settle(p, r);
	}
}

static void scene_cancel(struct program *p, struct mring *r)
{
	scene_interfere(p, r, prep_cancel);
}

static void scene_change(struct program *p, struct mring *r)
{
	scene_interfere(p, r, prep_change);
}

static void scene_sync_cancel(struct program *p, struct mring *r)
{
	struct sync_cancel c = { .fd = -1, .timeout = { .tv_nsec = 1000000 } };
	struct req *victim;

	ring__submit(p, r);
	victim = ring__victim(p, r);
	if (!victim)
		return;
	c.addr = req__user_data(p, victim);
	mring__register(r, MIX_REGISTER_SYNC_CANCEL, &c, 1);
	for_each_open(p, r, req__touch);
	ring__poke(p, r);
}

/* --- wrong entries of sq_array ------------------------------------------------------- */
static void scene_bad_entries(struct program *p, struct mring *r)
{
	uint32_t n = 1 + below(p, 4);

	if (!r->array)
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (chance(p, 50))
			add_plain_nop(p, r);
		ring__make_room(p, r, 1);
		mring__bad_entry(r, below(p, 1000));
		mring__mark(r);
	}
	ring__submit(p, r);
}

/* --- the life of rings ----------------------------------------------------------------- */
static void scene_resize(struct program *p, struct mring *r)
{
	uint32_t sq = 8u << below(p, 4), cq = sq << below(p, 3);

	if (!mring__has(r, IORING_SETUP_DEFER_TASKRUN) || r->array || mring__has(r, MIX_SETUP_NO_MMAP))
		return;
	ring__quiesce(p, r);
	ring__quiesce_aux(p, r);
	mring__resize(r, sq, cq);
}

/* Requests that ask for no CQE and wait: whether they ever ended, nobody will know. */
static void add_mutes(struct program *p, struct mring *r)
{
	uint32_t n = below(p, 4);

	ring__make_room(p, r, n);
	for (uint32_t i = 0; i < n; i++) {
		struct group *g;
		struct req *q;

		g = group__begin(p, r);
		q = group__add(p, g);
		prep_waiting(p, q, LIMIT_NONE);
		q->sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
		group__end(p, g);
		ring__submit(p, r);
		if (chance(p, 50))
			req__feed(p, q);
	}
}

/* Closes a ring at rest, or with whatever is in flight on it. */
static void scene_close(struct program *p, struct mring *r)
{
	ring__submit(p, r);
	if (chance(p, 60)) {
		ring__quiesce(p, r);
	} else {
		add_mutes(p, r);
		ring__reap(p, r);
		ring__settle(p, r);
	}
	ring__quiesce_aux(p, r);
	ring__abandon(p, r);
	mring__close(r);
}

/* A ring that the kernel gives up late: all of it has been made by then, at the address of an older one perhaps. */
static void scene_impossible(struct program *p, struct mring *r)
{
	uint32_t n = 1 + below(p, 3);

	for (uint32_t i = 0; i < n; i++) {
		struct io_uring_params params = { .flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF,
			.sq_thread_cpu = 1u << 30 };

		if (syscall(__NR_io_uring_setup, r->sq_entries, &params) >= 0)
			die(1, "a ring on a CPU that does not exist");
	}
}

/* A chain with a member that waits for all before it. */
static void add_draining(struct program *p, struct mring *r)
{
	struct chain_style style = { .hard_pct = 20, .waiting_pct = 20 };
	uint32_t n = ring__max_group(r, 1 + below(p, 4)), at = below(p, n);
	struct group *g;

	ring__make_room(p, r, n);
	g = group__begin(p, r);
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = group__add(p, g);

		prep_member(p, r, q, &style, false);
		q->sqe->flags |= i == at ? IOSQE_IO_DRAIN : 0;
		q->sqe->flags |= i < n - 1 ? choose_link(p, &style) : 0;
	}
	group__end(p, g);
}

/*
 * Drains. Nothing endless may be in flight, and what waits for data gets it. Long after it, a
 * drain still makes requests wait for all before them (a zero-copy send for ever, as its own
 * notification is among them), so the ring ends with the scene.
 */
static void scene_drain(struct program *p, struct mring *r)
{
	uint32_t n = 1 + below(p, 8);

	ring__quiesce(p, r);
	r->draining = true;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t dice = below(p, 100);
		struct group *g;

		if (dice < 50) {
			add_draining(p, r);
		} else if (dice < 90) {
			ring__make_room(p, r, 1);
			g = group__begin(p, r);
			if (chance(p, 50))
				prep_waiting(p, group__add(p, g), LIMIT_DATA);
			else
				prep_instant(p, r, group__add(p, g), 0);
			group__end(p, g);
		} else {
			ring__quiesce(p, r);
		}
	}
	scene_close(p, r);
}

#endif
