/* SPDX-License-Identifier: MIT */
/* Rings whose requests no CQE of theirs ends: they asked for none, or the ring or its owner ends first. */
#ifndef RINGS_LAST_H
#define RINGS_LAST_H

#include <signal.h>

#include "rings_told.h"

/* --- silent ------------------------------------------------------------------------------------- */
#define HUSH_DYING 64u /* rings that the kernel may be busy tearing down */

/* Returns when the other end of a pair of sockets has been closed, and closes this. */
static inline void await_hangup(int fd)
{
	struct pollfd p = { .fd = fd };

	while (poll(&p, 1, -1) < 1 || !(p.revents & (POLLHUP | POLLERR)))
		;
	close(fd);
}

/* A file that the kernel closes when it tears r down. Returns the descriptor that hears of it. */
static inline int raw__give_file(struct raw *r)
{
	int sv[2], err;

	open_pair(sv);
	err = raw__register(r, IORING_REGISTER_FILES, "REGISTER_FILES", &sv[0], 1);
	if (err)
		die(1, "registering a file: %s", strerror(-err));
	close(sv[0]);
	return sv[1];
}

/* The --batch requests on this ring ask for no CQE. */
static inline void raw__hush(struct raw *r, unsigned int batch)
{
	unsigned int slot;

	for (unsigned int i = 0; i < batch; i++) {
		struct io_uring_sqe *sqe = raw__sqe(r, &slot);

		io_uring_prep_nop(sqe);
		wring__queue_silent(&r->w, sqe);
		r->tail++;
	}
	raw__submit(r);
}

/* --workers rings, one after the other, of which the kernel has few to tear down at a time. */
static inline void run_hush(struct work *w, struct tally *t)
{
	int peers[HUSH_DYING];
	struct raw r;

	t->max_samples = 0;
	for (unsigned int k = 0; k < w->workers; k++) {
		if (k >= HUSH_DYING)
			await_hangup(peers[k % HUSH_DYING]);
		raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
		peers[k % HUSH_DYING] = raw__give_file(&r);
		raw__hush(&r, w->batch);
		raw__close(&r);
	}
	for (unsigned int k = 0; k < HUSH_DYING && k < w->workers; k++)
		await_hangup(peers[k]);
}

/* The same as fast as it goes. */
static inline void run_hush_storm(struct work *w, struct tally *t)
{
	struct raw r;

	t->max_samples = 0;
	for (unsigned int k = 0; k < w->workers; k++) {
		raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
		raw__hush(&r, w->batch);
		raw__close(&r);
	}
}

/* --- waiting -------------------------------------------------------------------------------------- */
/* A pipe that --count requests wait for. */
struct waiters {
	int peer; /* its other end */
	unsigned int polls, reads;
};

/* With room for all their CQEs, or for few of them. */
static inline void waiters__open(struct raw *r, const struct work *w, struct tally *t)
{
	int err;

	*r = (struct raw){ .p = { .flags = w->setup_flags } };
	if (!strstr(w->scenario, "tight")) {
		r->p.flags |= IORING_SETUP_CQSIZE;
		r->p.cq_entries = 2 * WORK_SLOTS;
	}
	err = raw__try_open(r, t, RINGS_ENTRIES, WORK_SLOTS);
	if (err)
		die(WORK_SKIP, "io_uring_setup: %s", strerror(-err));
}

static inline void waiters__park(struct waiters *a, struct raw *r, unsigned int n)
{
	static char byte;
	unsigned int slot;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		die(1, "pipe: %s", strerror(errno));
	*a = (struct waiters){ .peer = ends[1], .polls = n / 2, .reads = n - n / 2 };
	for (unsigned int i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = raw__sqe(r, &slot);

		if (i % 2)
			io_uring_prep_poll_add(sqe, ends[0], POLLIN);
		else
			io_uring_prep_read(sqe, ends[0], &byte, 1, 0);
		raw__queue(r, sqe, slot, SLOT_REQUEST);
		if (r->w.n_sqes == RINGS_ENTRIES || i == n - 1)
			raw__submit(r);
	}
	r->w.t->poll_armed = known_sum(r->w.t->poll_armed, a->reads);
	close(ends[0]);
}

/* Returns when the kernel has cancelled all, and counts that. cq_entries: where their CQEs had room. */
static inline void waiters__await(struct waiters *a, struct tally *t, unsigned int cq_entries)
{
	unsigned int n = a->polls + a->reads;

	await_hangup(a->peer);
	t->op[IORING_OP_POLL_ADD].completed += a->polls;
	t->op[IORING_OP_POLL_ADD].errors += a->polls;
	t->op[IORING_OP_READ].completed += a->reads;
	t->op[IORING_OP_READ].errors += a->reads;
	t->errnos[ECANCELED] += n;
	t->overflows += n > cq_entries ? n - cq_entries : 0;
}

/* A ring that is released while --count requests wait on it. */
static inline void run_waiters(struct work *w, struct tally *t)
{
	struct waiters a;
	unsigned int cq_entries;
	struct raw r;

	t->max_samples = 0;
	waiters__open(&r, w, t);
	cq_entries = r.p.cq_entries;
	raw__drive(&r, w->batch);
	waiters__park(&a, &r, (unsigned int)w->count);
	raw__close(&r);
	waiters__await(&a, t, cq_entries);
}

/* A process that is killed while --count requests wait on its ring. */
static inline void run_killed(struct work *w, struct tally *t)
{
	struct {
		struct waiters a;
		unsigned int cq_entries;
	} *s = shared_alloc(sizeof(*s));
	int line, status;
	struct raw r;
	pid_t pid;

	t->max_samples = 0;
	pid = fork_worker(&line);
	if (pid == 0) {
		waiters__open(&r, w, t);
		s->cq_entries = r.p.cq_entries;
		raw__drive(&r, w->batch);
		waiters__park(&s->a, &r, (unsigned int)w->count);
		end_worker(line);
	}
	await_word(line);
	s->a.peer = take_fd(pid, s->a.peer);
	if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		die(1, "can't kill the worker");
	close(line);
	waiters__await(&s->a, t, s->cq_entries);
	munmap(s, sizeof(*s));
}

#endif
