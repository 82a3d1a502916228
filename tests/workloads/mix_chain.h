/* SPDX-License-Identifier: MIT */
/* Single requests, chains of requests, and SQEs that the kernel refuses. */
#ifndef MIX_CHAIN_H
#define MIX_CHAIN_H

#include "mix_ops.h"

#define MIX_BAD_SQE_FLAG 0x80u
#define MIX_BAD_ZC_FLAG 0x8000u

/* --- refused ------------------------------------------------------------------ */
static void refuse_opcode(struct program *p, struct req *q)
{
	q->sqe->opcode = (uint8_t)(252 + below(p, 4));
	q->early = true;
}

static void refuse_flag(struct program *p, struct req *q)
{
	(void)p;
	io_uring_prep_nop(q->sqe);
	q->sqe->flags = MIX_BAD_SQE_FLAG;
	q->early = true;
}

static void refuse_buffer_select(struct program *p, struct req *q)
{
	(void)p;
	io_uring_prep_nop(q->sqe);
	q->sqe->flags = IOSQE_BUFFER_SELECT;
	q->early = true;
}

static void refuse_priority(struct program *p, struct req *q)
{
	(void)p;
	io_uring_prep_fsync(q->sqe, 0, 0);
	q->sqe->ioprio = 1;
}

static void refuse_personality(struct program *p, struct req *q)
{
	(void)p;
	io_uring_prep_nop(q->sqe);
	q->sqe->personality = 4711;
}

static void refuse_timeout(struct program *p, struct req *q)
{
	io_uring_prep_timeout(q->sqe, short_time(p), 0, 0x8000);
}

static void refuse_fsync(struct program *p, struct req *q)
{
	io_uring_prep_fsync(q->sqe, p->file, 0x8000);
}

/* This one has its notification all the same. */
static void refuse_zerocopy(struct program *p, struct req *q)
{
	io_uring_prep_send_zc(q->sqe, p->file, p->file_buf, 10, 0, MIX_BAD_ZC_FLAG);
	q->zerocopy = true;
}

static void refuse_multishot_skip(struct program *p, struct req *q)
{
	io_uring_prep_poll_multishot(q->sqe, p->file, POLLIN);
	q->sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
}

static void prep_refused(struct program *p, struct req *q)
{
	static void (*const kinds[])(struct program *, struct req *) = { refuse_opcode, refuse_opcode,
		refuse_flag, refuse_buffer_select, refuse_priority, refuse_personality, refuse_timeout,
		refuse_fsync, refuse_zerocopy, refuse_multishot_skip };

	kinds[below(p, sizeof(kinds) / sizeof(kinds[0]))](p, q);
	q->rejected = true;
}

/* --- single requests ------------------------------------------------------------- */
static void add_single(struct program *p, struct mring *r, unsigned int waiting_pct, unsigned int refused_pct)
{
	struct group *g;
	struct req *q;
	uint32_t dice = below(p, 100);

	ring__make_room(p, r, 1);
	g = group__begin(p, r);
	q = group__add(p, g);
	if (dice < refused_pct)
		prep_refused(p, q);
	else if (dice < refused_pct + waiting_pct)
		prep_waiting(p, q, LIMIT_NONE);
	else
		prep_instant(p, r, q, 0);
	if (!q->rejected && chance(p, 15))
		q->sqe->flags |= IOSQE_ASYNC;
	/* a link that the end of the submission cuts, or a refusal before it */
	if (!q->early && chance(p, 3))
		q->sqe->flags |= IOSQE_IO_LINK;
	group__end(p, g);
	if (q->flags & IOSQE_IO_LINK)
		ring__submit(p, r);
}

static void scene_singles(struct program *p, struct mring *r)
{
	uint32_t n = 1 + below(p, 12);

	for (uint32_t i = 0; i < n; i++)
		add_single(p, r, 15, 4);
}

static void scene_refused(struct program *p, struct mring *r)
{
	uint32_t n = 1 + below(p, 6);

	for (uint32_t i = 0; i < n; i++)
		add_single(p, r, 0, 70);
}

static void add_plain_nop(struct program *p, struct mring *r)
{
	struct group *g;

	ring__make_room(p, r, 1);
	g = group__begin(p, r);
	io_uring_prep_nop(group__add(p, g)->sqe);
	group__end(p, g);
}

/* Many requests, so that memory of requests that ended is used again. */
static void scene_storm(struct program *p, struct mring *r)
{
	uint32_t n = 20 + below(p, 200);

	for (uint32_t i = 0; i < n; i++) {
		struct group *g;

		ring__make_room(p, r, 1);
		g = group__begin(p, r);
		op_nop(p, r, group__add(p, g));
		group__end(p, g);
	}
}

/* Some NOPs that share their user_data. */
static void scene_crowd(struct program *p, struct mring *r)
{
	uint32_t n = ring__max_group(r, 2 + below(p, 10));
	struct group *g;

	ring__make_room(p, r, n);
	g = group__begin(p, r);
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = group__add(p, g);

		io_uring_prep_nop(q->sqe);
		q->crowd = true;
		if (chance(p, 30))
			q->sqe->flags |= IOSQE_ASYNC;
	}
	group__end(p, g);
}

/* --- chains ------------------------------------------------------------------------ */
struct chain_style {
	bool skip;		  /* members may ask for no CQE */
	unsigned int refused_pct; /* a member */
	unsigned int hard_pct, async_pct, waiting_pct;
};

static struct chain_style choose_style(struct program *p)
{
	return (struct chain_style){
		.skip = chance(p, 40),
		.refused_pct = chance(p, 20) ? 20 : 0,
		.hard_pct = chance(p, 30) ? 50 : 5,
		.async_pct = chance(p, 20) ? 40 : 0,
		.waiting_pct = chance(p, 50) ? 25 : 5,
	};
}

static void prep_link_timeout(struct program *p, struct req *q)
{
	struct __kernel_timespec *ts = short_time(p);

	if (chance(p, 30))
		ts->tv_sec = 1000;
	io_uring_prep_link_timeout(q->sqe, ts, 0);
}

static void prep_member(struct program *p, struct mring *r, struct req *q, const struct chain_style *s,
	bool head)
{
	uint32_t dice = below(p, 100);

	if (dice < s->refused_pct) {
		prep_refused(p, q);
		return;
	}
	if (dice < s->refused_pct + s->waiting_pct)
		prep_waiting(p, q, (head ? 0 : LIMIT_DATA) | (s->skip ? LIMIT_PLAIN : 0));
	else
		prep_instant(p, r, q, s->skip ? OP_PLAIN : 0);
	if (chance(p, s->async_pct))
		q->sqe->flags |= IOSQE_ASYNC;
}

static uint8_t choose_link(struct program *p, const struct chain_style *s)
{
	return chance(p, s->hard_pct) ? IOSQE_IO_HARDLINK : IOSQE_IO_LINK;
}

/*
 * A chain. If members may end without a CQE, the last one is a NOP that has one, or is
 * taken down with the others.
 */
static void add_chain(struct program *p, struct mring *r, const struct chain_style *s)
{
	uint32_t n = ring__max_group(r, 2 + below(p, 6));
	bool timeout_may_follow = false;
	struct group *g;

	ring__make_room(p, r, n);
	g = group__begin(p, r);
	for (uint32_t i = 0; i < n; i++) {
		struct req *q = group__add(p, g);
		bool last = i == n - 1;

		if (last && s->skip) {
			io_uring_prep_nop(q->sqe);
			continue;
		}
		if (timeout_may_follow && chance(p, 25)) {
			prep_link_timeout(p, q);
			timeout_may_follow = false;
		} else {
			prep_member(p, r, q, s, i == 0);
			timeout_may_follow = true;
		}
		if (!last)
			q->sqe->flags |= choose_link(p, s);
		/* a send without copies can't be silent: it would be refused */
		if (s->skip && chance(p, 50) && !q->zerocopy)
			q->sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	}
	group__end(p, g);
}

static void scene_chains(struct program *p, struct mring *r)
{
	struct chain_style style = choose_style(p);
	uint32_t n = 1 + below(p, 4);

	for (uint32_t i = 0; i < n; i++)
		add_chain(p, r, &style);
}

/* --- silence without a chain --------------------------------------------------------- */
/* NOPs end during their submission; those that fail have a CQE. */
static void scene_silent_nops(struct program *p, struct mring *r)
{
	uint32_t n = 1 + below(p, 20);

	for (uint32_t i = 0; i < n; i++) {
		struct group *g;
		struct req *q;
		bool fails;

		ring__make_room(p, r, 1);
		g = group__begin(p, r);
		q = group__add(p, g);
		io_uring_prep_nop(q->sqe);
		q->sqe->flags = chance(p, 80) ? IOSQE_CQE_SKIP_SUCCESS : 0;
		fails = p->last_op >= MIX_OP_BIND && chance(p, 15);
		if (fails) {
			q->sqe->rw_flags = (int)MIX_NOP_INJECT_RESULT;
			q->sqe->len = (uint32_t)-EIO;
		}
		group__end(p, g);
		g->proven = q->flags & IOSQE_CQE_SKIP_SUCCESS && !fails;
		if (chance(p, 20))
			ring__submit(p, r);
	}
	ring__submit(p, r);
}

/* What a silent write wrote can be read once it has succeeded. */
static void scene_silent_write(struct program *p, struct mring *r)
{
	struct group *g;
	struct req *q;
	char buf[64];
	uint32_t got = 0;

	ring__make_room(p, r, 1);
	g = group__begin(p, r);
	q = group__add(p, g);
	req__pair(q, 0);
	q->len = 1 + below(p, sizeof(buf));
	io_uring_prep_send(q->sqe, q->fds[1], buf, q->len, 0);
	q->sqe->flags = (uint8_t)(IOSQE_CQE_SKIP_SUCCESS | (chance(p, 40) ? IOSQE_ASYNC : 0));
	group__end(p, g);
	ring__submit(p, r);
	while (got < q->len) {
		ssize_t n = read(q->fds[0], buf, sizeof(buf));

		if (n <= 0)
			die(1, "a silent write was not heard: %s", strerror(errno));
		got += (uint32_t)n;
	}
	g->proven = true;
}

#endif
