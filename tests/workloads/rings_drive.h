/* SPDX-License-Identifier: MIT */
/* What is done with rings: requests of several kinds, and requests that are left behind. */
#ifndef RINGS_DRIVE_H
#define RINGS_DRIVE_H

#include <poll.h>
#include <sys/socket.h>

#include "rings_raw.h"

#define RINGS_ENTRIES 32u
#define RINGS_BATCH 16u
#define RINGS_BAD_OPCODE 200

static inline void open_pair(int sv[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		die(1, "socketpair: %s", strerror(errno));
}

static inline void close_pair(const int sv[2])
{
	close(sv[0]);
	close(sv[1]);
}

static inline void write_bytes(int fd, unsigned int n)
{
	static const char zeros[WORK_SLOTS];

	if (n && write(fd, zeros, n) != (ssize_t)n)
		die(1, "write: %s", strerror(errno));
}

static inline void queue_recv(struct raw *r, int fd)
{
	static char byte;
	unsigned int slot;
	struct io_uring_sqe *sqe = raw__sqe(r, &slot);

	io_uring_prep_recv(sqe, fd, &byte, 1, 0);
	raw__queue(r, sqe, slot, SLOT_REQUEST);
}

/* A NOP that is like no other on this ring. sqe_flags: IOSQE_*. */
static inline void queue_nop(struct raw *r, unsigned int sqe_flags)
{
	unsigned int slot;
	struct io_uring_sqe *sqe = raw__sqe(r, &slot);

	io_uring_prep_nop(sqe);
	sqe->flags = (uint8_t)sqe_flags;
	raw__queue(r, sqe, slot, SLOT_REQUEST);
}

static inline void queue_refused(struct raw *r)
{
	unsigned int slot;
	struct io_uring_sqe *sqe = raw__sqe(r, &slot);

	sqe->opcode = RINGS_BAD_OPCODE;
	raw__queue(r, sqe, slot, SLOT_REJECTED);
}

/* A large CQE where they are mixed. */
static inline void queue_large_cqe(struct raw *r)
{
	unsigned int slot;
	struct io_uring_sqe *sqe = raw__sqe(r, &slot);

	io_uring_prep_nop(sqe);
	sqe->rw_flags = (int)RAW_NOP_CQE32;
	raw__queue(r, sqe, slot, SLOT_REQUEST);
}

/* A large SQE where they are mixed, on a worker so that its flags matter; it may not wrap. */
static inline void queue_large_sqe(struct raw *r)
{
	unsigned int slot;
	struct io_uring_sqe *sqe;

	if (((raw__rewinds(r) ? r->w.n_sqes : r->tail) & (r->p.sq_entries - 1)) == r->p.sq_entries - 1)
		queue_nop(r, 0);
	sqe = raw__sqe(r, &slot);
	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = RAW_OP_NOP128;
	sqe->flags = IOSQE_ASYNC;
	raw__queue(r, sqe, slot, SLOT_REQUEST);
}

/*
 * Request number i: NOPs, some on a worker, SQEs that are refused, reads that are parked, and
 * large entries where the ring has them. True: a read.
 */
static inline bool queue_one(struct raw *r, uint64_t i, int fd)
{
	if (i % 16 == 3 && !(r->p.flags & IORING_SETUP_IOPOLL)) {
		queue_recv(r, fd);
		return true;
	}
	if (i % 16 == 11)
		queue_refused(r);
	else if (i % 4 == 1 && r->p.flags & RAW_SETUP_CQE_MIXED)
		queue_large_cqe(r);
	else if (i % 4 == 1 && r->p.flags & RAW_SETUP_SQE_MIXED)
		queue_large_sqe(r);
	else
		queue_nop(r, i % 16 == 7 ? IOSQE_ASYNC : 0);
	return false;
}

/* `count` requests in batches; all of a batch end before the next. */
static inline void raw__drive(struct raw *r, uint64_t count)
{
	struct tally *t = r->w.t;
	int sv[2];

	open_pair(sv);
	tally__never_punted(t, IORING_OP_RECV);
	tally__punted(t, IORING_OP_NOP, PUNT_OPCODE, 0);
	tally__punted(t, IORING_OP_NOP, PUNT_UNWANTED, 0);
	for (uint64_t i = 0; i < count;) {
		unsigned int reads = 0;

		while (i < count && r->w.n_sqes < RINGS_BATCH)
			reads += queue_one(r, i++, sv[0]);
		raw__submit(r);
		/* who of SQPOLL thread and writer comes first is not known */
		if (!r->w.sqpoll)
			t->poll_armed = known_sum(t->poll_armed, reads);
		write_bytes(sv[1], reads);
		raw__drain(r);
	}
	close_pair(sv);
}

/*
 * Reads that were in flight when their ring was released. Their socket is the requests' alone,
 * so its peer hears of it when the last of them is gone.
 */
struct orphans {
	int peer;
	unsigned int n;
	uint64_t submit_ns;
};

/* Parks n reads on r, whose ring is to be released next. */
static inline void orphans__make(struct orphans *o, struct raw *r, unsigned int n)
{
	int sv[2];

	open_pair(sv);
	*o = (struct orphans){ .peer = sv[1], .n = n, .submit_ns = r->w.timed ? now_ns() : 0 };
	for (unsigned int i = 0; i < n; i++) {
		queue_recv(r, sv[0]);
		if (r->w.n_sqes == RINGS_BATCH || i == n - 1)
			raw__submit(r);
	}
	tally__never_punted(r->w.t, IORING_OP_RECV);
	r->w.t->poll_armed = known_sum(r->w.t->poll_armed, n);
	close(sv[0]);
}

/* Returns when the kernel has cancelled all of them, and counts that. */
static inline void orphans__await(struct orphans *o, struct tally *t)
{
	struct pollfd p = { .fd = o->peer };
	uint64_t took;

	while (poll(&p, 1, -1) < 1 || !(p.revents & POLLHUP))
		;
	took = t->max_samples ? now_ns() - o->submit_ns : 0;
	close(o->peer);
	t->op[IORING_OP_RECV].completed += o->n;
	t->op[IORING_OP_RECV].errors += o->n;
	t->errnos[ECANCELED] += o->n;
	for (unsigned int i = 0; i < o->n && t->max_samples; i++)
		tally__sample(t, IORING_OP_RECV, took);
}

#endif
