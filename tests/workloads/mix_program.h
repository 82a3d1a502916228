/* SPDX-License-Identifier: MIT */
/*
 * The books of a random program: every SQE it wrote, in groups that live and end together
 * (a link chain, or a single request), and what became of each.
 *
 * Everything that the kernel decides is taken from the CQEs. What never gives a CQE is
 * derived: see group__over().
 */
#ifndef MIX_PROGRAM_H
#define MIX_PROGRAM_H

#include "mix_ring.h"

#define MIX_REQS 32768
#define MIX_FDS 6
#define MIX_ARENA (8u << 20)
#define MIX_LIVE_RINGS 3
#define MIX_LINKED (IOSQE_IO_LINK | IOSQE_IO_HARDLINK)
#define MIX_TAG_AUX 0xffffffffu

struct rng {
	uint64_t state;
};

/* What makes a waiting request go on. */
enum feed { FEED_NONE, FEED_WRITE, FEED_HANGUP, FEED_EVENT, FEED_CONNECT, FEED_FUTEX, FEED_CANCEL, FEED_FED };

struct req {
	struct io_uring_sqe *sqe; /* while it is written */
	struct req *renames;	  /* gets its next_tag if this one succeeds */
	uint32_t tag, next_tag;	  /* upper half of its user_data, below which stands its number */
	uint32_t group;
	uint8_t op, flags;
	bool rejected;
	bool early;	/* refused before its flags had any effect */
	bool crowd;	/* shares its user_data with the others of its group */
	bool mixed;	/* which are of other opcodes */
	bool multishot; /* F_MORE does not mean zero-copy */
	bool zerocopy;
	bool ended;  /* its own CQE was seen */
	bool notify; /* which is still to come */
	bool notified;
	bool touched;  /* something was done to it: it may end by itself */
	bool gives_fd; /* its result is a file descriptor to close */
	uint8_t feed;
	bool waits;	  /* for something, or has many CQEs */
	uint8_t aux_ring; /* 1 + the ring that gets a CQE if this one succeeds */
	int32_t res;
	uint32_t want;	  /* transferring less breaks a chain */
	uint32_t len;	  /* upper bound of its result in bytes */
	uint32_t n_cqes;  /* multishot */
	int fds[MIX_FDS]; /* closed when it is over; a feed writes to fds[1] */
	uint32_t *futex;
};

struct group {
	uint32_t first;
	uint16_t n;
	uint8_t ring;
	bool skips;   /* some member asks for no CQE */
	bool rejects; /* some member is refused */
	bool proven;  /* everything silent in it is known to have ended */
	uint8_t next; /* of a crowd: the member that has the next CQE, if it has not ended */
};

struct program {
	uint64_t seed;
	struct rng rng, noise;
	struct req *reqs;
	struct group *groups;
	uint32_t *open_groups;
	uint32_t n_reqs, n_groups, n_open;
	struct mring rings[MIX_LIVE_RINGS];
	struct mix_truth *truths;
	uint32_t n_truths;
	char *arena;
	size_t arena_used;
	bool verbose;
	unsigned int last_op; /* highest opcode that the kernel knows */
	int dir, file, scratch, direct;
	char *file_buf; /* page aligned, for transfers */
	uint32_t n_names;
	unsigned int step;
};

#define MIX_BUF_BYTES (64u << 10)
#define MIX_FILE_BYTES (64u << 10)

/* --- chance --------------------------------------------------------------- */
static uint64_t rng__next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint32_t below(struct program *p, uint32_t n)
{
	return (uint32_t)(rng__next(&p->rng) >> 32) % n;
}

/*
 * For what happens more or less often as the kernel is quick or slow, so that it does not change
 * what the program does next.
 */
static uint64_t noise(struct program *p)
{
	return rng__next(&p->noise);
}

static bool chance(struct program *p, unsigned int percent)
{
	return below(p, 100) < percent;
}

__attribute__((format(printf, 2, 3))) static void say(struct program *p, const char *fmt, ...)
{
	va_list ap;

	if (!p->verbose)
		return;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* Zeroed memory that stays as long as the program: what the kernel reads or writes late. */
static void *arena__take(struct program *p, size_t bytes)
{
	void *m = p->arena + p->arena_used;

	p->arena_used += (bytes + 63) & ~(size_t)63;
	if (p->arena_used > MIX_ARENA)
		die(1, "the arena is too small");
	return m;
}

/* --- writing SQEs ----------------------------------------------------------- */
static unsigned int ring__index(struct program *p, const struct mring *r)
{
	return (unsigned int)(r - p->rings);
}

static struct group *group__begin(struct program *p, struct mring *r)
{
	struct group *g = &p->groups[p->n_groups];

	memset(g, 0, sizeof(*g));
	g->first = p->n_reqs;
	g->ring = (uint8_t)ring__index(p, r);
	return g;
}

/* The next member; its SQE is blank. */
static struct req *group__add(struct program *p, struct group *g)
{
	struct req *q = &p->reqs[p->n_reqs];

	if (p->n_reqs == MIX_REQS)
		die(1, "too many requests");
	memset(q, 0, sizeof(*q));
	q->sqe = mring__sqe(&p->rings[g->ring]);
	q->tag = q->next_tag = (uint32_t)noise(p);
	q->group = p->n_groups;
	for (unsigned int i = 0; i < MIX_FDS; i++)
		q->fds[i] = -1;
	p->n_reqs++;
	g->n++;
	return q;
}

static uint32_t req__index(struct program *p, const struct req *q)
{
	return (uint32_t)(q - p->reqs);
}

static uint64_t req__user_data(struct program *p, const struct req *q)
{
	if (q->crowd)
		q = &p->reqs[p->groups[q->group].first];
	return (uint64_t)q->tag << 32 | req__index(p, q);
}

/* CQEs that this request may yet bring. */
static uint32_t req__potential(const struct req *q)
{
	return q->zerocopy || q->multishot ? 2 : 1;
}

/* The kernel looks at opcode and flags in this order, whatever else is wrong with the SQE. */
static void req__judge(struct mring *r, struct req *q)
{
	if (q->early)
		return;
	if (q->flags & IOSQE_CQE_SKIP_SUCCESS)
		r->skip_used = true;
	if (q->flags & IOSQE_IO_DRAIN && r->skip_used) {
		q->rejected = true;
		q->zerocopy = false;
	}
}

static void req__close_book(struct program *p, struct group *g, struct req *q)
{
	struct mring *r = &p->rings[g->ring];
	struct mix_op *o;
	char buf[16];

	q->op = q->sqe->opcode;
	q->flags = q->sqe->flags;
	q->sqe->user_data = req__user_data(p, q);
	req__judge(r, q);
	g->rejects |= q->rejected;
	g->skips |= !!(q->flags & IOSQE_CQE_SKIP_SUCCESS);
	o = &r->t->op[q->op];
	o->submitted += !q->rejected;
	o->rejected += q->rejected;
	r->potential += req__potential(q);
	r->promised += req__potential(q);
	say(p, "  ring %u: #%u %s flags 0x%02x fd %d off %lld addr 0x%llx len %u%s%s", g->ring,
		req__index(p, q), mix_op_name(q->op, buf), q->flags, q->sqe->fd, (long long)q->sqe->off,
		(unsigned long long)q->sqe->addr, q->sqe->len, q->rejected ? " refused" : "",
		q->multishot ? " multishot" : "");
	q->sqe = NULL;
}

/* The group is complete. It is submitted later. */
static void group__end(struct program *p, struct group *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		req__close_book(p, g, &p->reqs[g->first + i]);
	mring__mark(&p->rings[g->ring]);
	p->open_groups[p->n_open++] = p->n_groups++;
}

/* --- what became of them ---------------------------------------------------- */
/* Its failure ends the chain. */
static bool req__breaks(const struct req *q)
{
	/* a linked timeout leaves its chain before it completes, and never fails it */
	if (q->flags & IOSQE_IO_HARDLINK || q->op == IORING_OP_LINK_TIMEOUT)
		return false;
	return q->res < 0 || (q->want && (uint32_t)q->res < q->want);
}

static bool req__done(const struct req *q)
{
	return q->ended && !q->notify;
}

/* The first member that broke the chain, g->n if none did (yet). */
static uint32_t group__break(struct program *p, const struct group *g)
{
	const struct req *q = &p->reqs[g->first];

	/* a refused SQE makes its whole chain fail at its head */
	if (g->rejects && g->n > 1)
		return 0;
	for (uint32_t i = 0; i < g->n; i++)
		if (q[i].ended && req__breaks(&q[i]))
			return i;
	return g->n;
}

/*
 * Whether member i, which has no CQE, will not have one. Successful members that asked for
 * none have none. A member that asked for none and fails has one, and takes those of all that
 * follow it away; but not that of a timeout linked to it, which leaves the chain first. When
 * one that did not ask fails, all that follow have theirs, whatever they asked for.
 */
static bool req__silent(struct program *p, const struct group *g, uint32_t i, uint32_t broken)
{
	const struct req *q = &p->reqs[g->first];

	if (i < broken || (i == broken + 1 && q[i].op == IORING_OP_LINK_TIMEOUT && !q[i].rejected))
		return q[i].flags & IOSQE_CQE_SKIP_SUCCESS;
	return i > broken && q[broken].flags & IOSQE_CQE_SKIP_SUCCESS;
}

/* Whether nothing of this group is in flight. */
static bool group__over(struct program *p, const struct group *g)
{
	uint32_t broken = group__break(p, g);
	const struct req *q = &p->reqs[g->first];

	for (uint32_t i = 0; i < g->n; i++, q++) {
		if (req__done(q) || g->proven)
			continue;
		if (q->ended || !g->skips || !req__silent(p, g, i, broken))
			return false;
		/* nothing says yet that the last one is through */
		if (i == g->n - 1u && broken == g->n)
			return false;
		if (q->zerocopy && !q->notified)
			return false;
	}
	return true;
}

static void req__release(struct req *q)
{
	if (q->gives_fd && q->ended && q->res >= 0)
		close(q->res);
	for (unsigned int i = 0; i < MIX_FDS; i++)
		if (q->fds[i] >= 0)
			close(q->fds[i]);
	memset(q->fds, 0xff, sizeof(q->fds));
	q->feed = FEED_NONE;
}

static void req__succeeded_silently(struct program *p, struct req *q)
{
	if (q->aux_ring)
		p->rings[q->aux_ring - 1].aux_due++;
}

/* The group is over: what has no CQE ended without one. */
static void group__settle(struct program *p, struct group *g)
{
	struct mring *r = &p->rings[g->ring];
	uint32_t broken = group__break(p, g);

	for (uint32_t i = 0; i < g->n; i++) {
		struct req *q = &p->reqs[g->first + i];

		if (!q->ended) {
			r->potential -= req__potential(q) - q->notified;
			r->t->op[q->op].silent += !q->rejected;
			if (i < broken)
				req__succeeded_silently(p, q);
			say(p, "  ring %u: #%u ended silently", g->ring, req__index(p, q));
		}
		req__release(q);
	}
}

/* The ring is gone: how the members without a CQE end, nobody will see. */
static void group__abandon(struct program *p, struct group *g)
{
	struct mix_truth *t = p->rings[g->ring].t;

	for (uint32_t i = 0; i < g->n; i++) {
		struct req *q = &p->reqs[g->first + i];

		if (!req__done(q) && q->zerocopy && !q->notified)
			t->op[q->op].unreaped_notifs++;
		if (q->ended)
			req__release(q);
		if (q->ended || q->rejected)
			continue;
		t->op[q->op].unreaped++;
		if (mix_op_moves_bytes(q->op))
			t->op[q->op].unreaped_bytes += q->len;
		say(p, "  ring %u: #%u abandoned", g->ring, req__index(p, q));
	}
}

/* This ring is about to be closed. */
static void ring__abandon(struct program *p, struct mring *r)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->n_open; i++) {
		struct group *g = &p->groups[p->open_groups[i]];

		if (g->ring == ring__index(p, r))
			group__abandon(p, g);
		else
			p->open_groups[kept++] = p->open_groups[i];
	}
	p->n_open = kept;
}

/* Takes the groups of this ring that are over out of the open ones. Returns how many are left. */
static uint32_t ring__settle(struct program *p, struct mring *r)
{
	uint32_t kept = 0, left = 0;

	for (uint32_t i = 0; i < p->n_open; i++) {
		struct group *g = &p->groups[p->open_groups[i]];

		if (g->ring == ring__index(p, r)) {
			if (group__over(p, g)) {
				group__settle(p, g);
				continue;
			}
			left++;
		}
		p->open_groups[kept++] = p->open_groups[i];
	}
	p->n_open = kept;
	return left;
}

/* --- CQEs ------------------------------------------------------------------- */
static struct req *program__req(struct program *p, uint64_t user_data)
{
	uint32_t i = (uint32_t)user_data;
	const struct group *g;
	struct req *q;

	if (i >= p->n_reqs)
		return NULL;
	q = &p->reqs[i];
	if (q->tag != user_data >> 32 && q->next_tag != user_data >> 32)
		return NULL;
	if (!q->crowd)
		return q;
	g = &p->groups[q->group];
	q += g->next;
	for (uint32_t i = 0; i < g->n && q->ended; i++)
		q = &p->reqs[g->first + i];
	return q;
}

static void req__on_notif(struct mring *r, struct req *q)
{
	r->t->op[q->op].notifs++;
	q->notify = false;
	q->notified = true;
	r->potential--;
}

static void req__on_multishot(struct mring *r, struct req *q, int32_t res)
{
	struct mix_op *o = &r->t->op[q->op];

	o->cqes_multishot += !q->mixed;
	r->t->mixed += q->mixed;
	/* nor can an observer tell that a result is a number of bytes */
	if (res > 0 && mix_op_moves_bytes(q->op) && !q->mixed)
		o->bytes += (uint32_t)res;
	q->n_cqes++;
	if (q->gives_fd && res >= 0)
		close(res);
}

static void req__on_end(struct program *p, struct mring *r, struct req *q, const struct io_uring_cqe *cqe,
	bool overflowed)
{
	if (q->ended)
		die(1, "#%u ended twice", req__index(p, q));
	q->ended = true;
	q->res = cqe->res;
	q->n_cqes++;
	/* the request is over, its buffer is not; one that was cancelled or refused may not say so */
	q->notify = q->zerocopy && !q->notified;
	r->potential -= req__potential(q) - q->notify - q->notified;
	if (!q->rejected) {
		mix_op__end(&r->t->op[q->op], cqe->res, mix_op_moves_bytes(q->op), overflowed);
		r->t->op[q->op].multishot_ends += q->multishot && !q->mixed;
		r->t->op[q->op].mixed_ends += q->mixed;
	}
	if (q->aux_ring && cqe->res >= 0)
		p->rings[q->aux_ring - 1].aux_due++;
	if (q->renames && cqe->res >= 0)
		q->renames->tag = q->renames->next_tag;
}

static void ring__on_cqe(struct program *p, struct mring *r, const struct io_uring_cqe *cqe)
{
	bool overflowed = r->n_cqes++ >= r->overflow_at;
	struct req *q = program__req(p, cqe->user_data);

	r->t->overflows += overflowed;
	say(p, "  ring %u: CQE %lld #%u res %d flags 0x%x%s", ring__index(p, r), (long long)r->n_cqes - 1,
		(uint32_t)cqe->user_data, cqe->res, cqe->flags, overflowed ? " overflowed" : "");
	if ((uint32_t)cqe->user_data == MIX_TAG_AUX) {
		r->t->cqes_aux++;
		r->aux_seen++;
		return;
	}
	if (!q || p->groups[q->group].ring != ring__index(p, r))
		die(1, "a CQE for nobody: user_data 0x%llx res %d flags 0x%x",
			(unsigned long long)cqe->user_data, cqe->res, cqe->flags);
	if (cqe->flags & IORING_CQE_F_NOTIF)
		req__on_notif(r, q);
	else if (cqe->flags & IORING_CQE_F_MORE && !q->zerocopy)
		req__on_multishot(r, q, cqe->res);
	else
		req__on_end(p, r, q, cqe, overflowed);
}

/* Consumes what is there. */
static uint32_t ring__reap(struct program *p, struct mring *r)
{
	struct io_uring_cqe cqe;
	uint32_t n = 0;

	while (mring__next_cqe(r, &cqe)) {
		ring__on_cqe(p, r, &cqe);
		n++;
	}
	return n;
}

static void ring__submit(struct program *p, struct mring *r)
{
	if (!r->n_marks)
		return;
	say(p, "  ring %u: submit", ring__index(p, r));
	mring__submit(r, noise(p) & noise(p), noise(p) % 5 ? 0 : IORING_ENTER_GETEVENTS);
}

/* Prints what a program that hangs is waiting for. */
static void program__dump(struct program *p)
{
	char buf[16];

	fprintf(stderr, "seed %llu, step %u hangs\n", (unsigned long long)p->seed, p->step);
	for (uint32_t i = 0; i < p->n_open; i++) {
		const struct group *g = &p->groups[p->open_groups[i]];

		for (uint32_t k = 0; k < g->n; k++) {
			const struct req *q = &p->reqs[g->first + k];

			fprintf(stderr, "ring %u group %u: #%u %s flags 0x%02x %s res %d\n", g->ring,
				p->open_groups[i], req__index(p, q), mix_op_name(q->op, buf), q->flags,
				q->ended ? "ended" : "in flight", q->res);
		}
	}
}

/* Consumes at least one CQE. */
static void ring__wait(struct program *p, struct mring *r)
{
	while (!ring__reap(p, r)) {
		if (mring__enter(r, 0, 1, IORING_ENTER_GETEVENTS) != -ETIME || mring__ready(r))
			continue;
		program__dump(p);
		die(1, "ring %u has no CQE", ring__index(p, r));
	}
}

/* Lets the kernel deliver what is due, without waiting. */
static void ring__poke(struct program *p, struct mring *r)
{
	mring__enter(r, 0, 0, IORING_ENTER_GETEVENTS);
	ring__reap(p, r);
}

#endif
