// SPDX-License-Identifier: MIT
/* Rings of every setup, by the thousand, resized, handed on, released with requests in flight. */
#include "rings_last.h"
#include "rings_steps.h"
#include "rings_told.h"

#define ERRNOS 20u
#define RESIZE_ROUND 24u /* requests between two sizes */

/* --- one ring of each setup ---------------------------------------------------------- */
/* The scenario's name is that of the setup. */
static void run_setup(struct work *w, struct tally *t)
{
	struct raw r;

	raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, setup_of(w->scenario)->flags);
	raw__drive(&r, w->count);
	raw__close(&r);
}

/* A ring that starts disabled; what it refuses meanwhile is no submission. */
static void run_disabled(struct work *w, struct tally *t)
{
	struct raw r;
	int err;

	raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, setup_of(w->scenario)->flags);
	err = raw__enter(&r, 1, 0, 0);
	if (err != -EBADFD)
		die(1, "a disabled ring says %d", err);
	err = raw__register(&r, IORING_REGISTER_ENABLE_RINGS, "REGISTER_ENABLE_RINGS", NULL, 0);
	if (err)
		die(1, "enabling a ring: %s", strerror(-err));
	raw__drive(&r, w->count);
	raw__close(&r);
}

/* Two rings whose submissions one thread of the kernel polls. */
static void run_attach_wq(struct work *w, struct tally *t)
{
	struct raw a,
		b = { .p = { .flags = IORING_SETUP_SQPOLL | IORING_SETUP_ATTACH_WQ, .sq_thread_idle = 50 } };
	int err;

	raw__open(&a, t, RINGS_ENTRIES, RINGS_ENTRIES, IORING_SETUP_SQPOLL);
	b.p.wq_fd = (unsigned int)a.fd;
	err = raw__try_open(&b, t, RINGS_ENTRIES, RINGS_ENTRIES);
	if (err)
		die(1, "attaching a ring: %s", strerror(-err));
	for (uint64_t left = w->count; left;) {
		uint64_t n = left < RINGS_BATCH ? left : RINGS_BATCH;

		raw__drive(left / RINGS_BATCH % 3 ? &a : &b, n);
		left -= n;
	}
	raw__close(&a);
	raw__close(&b);
}

/* Reads that the device is polled for. */
static void run_polled_reads(struct work *w, struct tally *t)
{
	const size_t blocks = 256;
	int fd = work__file(w, blocks * WORK_BLOCK, O_RDWR | O_DIRECT);
	char *buf = block_alloc(RINGS_BATCH);
	struct raw r;

	raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, setup_of(w->scenario)->flags);
	for (uint64_t i = 0; i < w->count;) {
		for (unsigned int k = 0; k < RINGS_BATCH && i < w->count; k++, i++) {
			unsigned int slot;
			struct io_uring_sqe *sqe = raw__sqe(&r, &slot);

			io_uring_prep_read(sqe, fd, buf + k * WORK_BLOCK, WORK_BLOCK,
				i % blocks * WORK_BLOCK);
			raw__queue(&r, sqe, slot, SLOT_REQUEST);
		}
		raw__submit(&r);
		raw__drain(&r);
		if (t->errnos[EOPNOTSUPP])
			die(WORK_SKIP, "%s: its device can't be polled", w->dir);
	}
	raw__close(&r);
	free(buf);
	close(fd);
}

/* --- resized ---------------------------------------------------------------------------- */
static int raw__resize(struct raw *r, unsigned int sq, unsigned int cq)
{
	struct io_uring_params p = { .flags = IORING_SETUP_CQSIZE, .sq_entries = sq, .cq_entries = cq };
	int err = raw__register(r, RAW_RESIZE_RINGS, "REGISTER_RESIZE_RINGS", &p, 1);

	if (err)
		return err;
	raw__unmap(r);
	p.flags |= r->p.flags;
	r->p = p;
	raw__map(r);
	/* SQEs that were queued have moved with the others */
	r->tail = *r->sq_tail;
	return 0;
}

/*
 * A ring that grows and shrinks with CQEs unread and reads parked, and that can't shrink below
 * what it holds. The sizes in the end are the last ones.
 */
static void run_resize(struct work *w, struct tally *t)
{
	static const unsigned int sizes[][2] = { { 64, 512 }, { 16, 64 }, { 256, 256 }, { 32, 1024 },
		{ 16, 128 } };
	const size_t n_sizes = sizeof(sizes) / sizeof(sizes[0]);
	struct raw r;
	int sv[2], err;

	open_pair(sv);
	/* the kernel does not say where the SQ array of a resized ring is */
	raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, SETUP_DEFER | RAW_SETUP_NO_SQARRAY);
	for (uint64_t i = 0; i < w->count / RESIZE_ROUND; i++) {
		const unsigned int *size = sizes[i % n_sizes];
		unsigned int reads = 8;

		for (unsigned int k = 0; k < RINGS_BATCH - reads; k++)
			queue_nop(&r, 0);
		for (unsigned int k = 0; k < reads; k++)
			queue_recv(&r, sv[0]);
		raw__submit(&r);
		err = raw__resize(&r, 4, 4);
		if (err == -EINVAL)
			die(WORK_SKIP, "this kernel does not resize rings");
		if (err != -EOVERFLOW)
			die(1, "a ring of 8 CQEs became one of 4: %d", err);
		err = raw__resize(&r, size[0], size[1]);
		if (err)
			die(1, "a ring of %u and %u: %s", size[0], size[1], strerror(-err));
		t->poll_armed = known_sum(t->poll_armed, reads);
		write_bytes(sv[1], reads);
		raw__drain(&r);
		raw__drive(&r, RESIZE_ROUND - RINGS_BATCH);
	}
	raw__close(&r);
	close_pair(sv);
}

/* --- many --------------------------------------------------------------------------------- */
/* One NOP; one in --stray fails, with one of 20 errors. */
static void queue_maybe_failing(struct raw *r, const struct work *w, uint64_t i)
{
	static const int errors[ERRNOS] = { EPERM, ENOENT, EINTR, EIO, ENXIO, E2BIG, EBADF, EAGAIN, ENOMEM,
		EACCES, EFAULT, EBUSY, EEXIST, ENODEV, ENOTDIR, EISDIR, EINVAL, ENFILE, EFBIG, ENOSPC };
	unsigned int slot;
	struct io_uring_sqe *sqe = raw__sqe(r, &slot);

	io_uring_prep_nop(sqe);
	if (w->stray && i % w->stray == 0) {
		sqe->rw_flags = (int)RAW_NOP_INJECT_RESULT;
		sqe->len = (uint32_t)-errors[i / w->stray % ERRNOS];
	}
	raw__queue(r, sqe, slot, SLOT_REQUEST);
}

/*
 * --workers rings that are all open before the first request. The later a ring was opened, the
 * more of the --count requests are its own.
 */
static void run_alive(struct work *w, struct tally *t)
{
	uint64_t n = w->workers, i = 0;
	struct raw *rings = zalloc(n, sizeof(*rings));

	for (uint64_t k = 0; k < n; k++)
		raw__open(&rings[k], t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
	tally__never_punted(t, IORING_OP_NOP);
	for (uint64_t k = 0; k < n; k++) {
		uint64_t until = w->count * (k + 1) * (k + 2) / (n * (n + 1));

		while (i < until) {
			while (i < until && rings[k].w.n_sqes < RINGS_BATCH)
				queue_maybe_failing(&rings[k], w, i++);
			raw__submit(&rings[k]);
			raw__drain(&rings[k]);
		}
	}
	for (uint64_t k = 0; k < n; k++)
		raw__close(&rings[k]);
	free(rings);
}

/* --workers rings that are all open before the first request, with requests of all kinds. */
static void run_crowd(struct work *w, struct tally *t)
{
	struct raw *rings = zalloc(w->workers, sizeof(*rings));

	for (unsigned int k = 0; k < w->workers; k++)
		raw__open(&rings[k], t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
	for (unsigned int k = 0; k < w->workers; k++)
		raw__drive(&rings[k], w->batch);
	for (unsigned int k = 0; k < w->workers; k++)
		raw__close(&rings[k]);
	free(rings);
}

/* One after the other: each registers its descriptor, as runtimes do, and makes another call that fails. */
static void run_register(struct work *w, struct tally *t)
{
	struct raw r;

	for (unsigned int k = 0; k < w->workers; k++) {
		raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
		raw__hide_descriptor(&r);
		if (raw__register(&r, IORING_UNREGISTER_BUFFERS, "UNREGISTER_BUFFERS", NULL, 0) != -ENXIO)
			die(1, "a ring had buffers");
		raw__drive(&r, w->batch);
		raw__close(&r);
	}
}

/* --- released with requests in flight --------------------------------------------------- */
/* The next ring comes at once, on every other turn when the kernel is done with the last. */
static void run_reuse(struct work *w, struct tally *t)
{
	struct orphans *o = zalloc(w->workers, sizeof(*o));
	struct raw r;

	for (unsigned int k = 0; k < w->workers; k++) {
		raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
		raw__drive(&r, w->batch);
		orphans__make(&o[k], &r, 1 + k % RINGS_BATCH);
		raw__close(&r);
		if (k % 2)
			orphans__await(&o[k], t);
	}
	for (unsigned int k = 0; k < w->workers; k += 2)
		orphans__await(&o[k], t);
	free(o);
}

/* Processes that end with reads in flight and never released their rings. */
static void run_exit(struct work *w, struct tally *t)
{
	struct orphans *o = shared_alloc(sizeof(*o));
	struct raw r;

	for (unsigned int k = 0; k < w->workers; k++) {
		int line;
		pid_t pid = fork_worker(&line);

		if (pid == 0) {
			raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
			raw__drive(&r, w->batch);
			orphans__make(o, &r, RINGS_BATCH);
			end_worker(line);
		}
		await_word(line);
		o->peer = take_fd(pid, o->peer);
		release_worker(line, pid);
		orphans__await(o, t);
	}
	munmap(o, sizeof(*o));
}

/* --- handed on ------------------------------------------------------------------------------ */
/* Each of --workers processes opens a ring and uses it; the parent takes it and goes on after their end. */
static void run_handed(struct work *w, struct tally *t)
{
	struct raw *r = shared_alloc(sizeof(*r));

	for (unsigned int k = 0; k < w->workers; k++) {
		int line;
		pid_t pid = fork_worker(&line);

		if (pid == 0) {
			raw__open(r, t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
			raw__drive(r, w->batch);
			end_worker(line);
		}
		await_word(line);
		raw__take_over(r, t, pid);
		release_worker(line, pid);
		raw__drive(r, w->count / w->workers - w->batch);
		raw__close(r);
	}
	munmap(r, sizeof(*r));
}

static const struct scenario scenarios[] = {
	{ "plain", run_setup, 20000, 1, 1, "a ring without flags" },
	{ "submit-all", run_setup, 20000, 1, 1, "SUBMIT_ALL: a refused SQE does not end the submission" },
	{ "coop", run_setup, 20000, 1, 1, "COOP_TASKRUN, TASKRUN_FLAG" },
	{ "single", run_setup, 20000, 1, 1, "SINGLE_ISSUER" },
	{ "defer", run_setup, 20000, 1, 1, "SINGLE_ISSUER, DEFER_TASKRUN" },
	{ "sqpoll", run_setup, 20000, 1, 1, "SQPOLL" },
	{ "attach-wq", run_attach_wq, 20000, 1, 1, "SQPOLL, two rings that share its thread" },
	{ "disabled", run_disabled, 20000, 1, 1, "R_DISABLED until it is enabled" },
	{ "no-mmap", run_setup, 20000, 1, 1, "NO_MMAP" },
	{ "registered-only", run_setup, 20000, 1, 1, "NO_MMAP, REGISTERED_FD_ONLY" },
	{ "no-sqarray", run_setup, 20000, 1, 1, "NO_SQARRAY" },
	{ "sqe128", run_setup, 20000, 1, 1, "SQE128" },
	{ "cqe32", run_setup, 20000, 1, 1, "CQE32" },
	{ "large", run_setup, 20000, 1, 1, "SQE128, CQE32, NO_SQARRAY, DEFER_TASKRUN" },
	{ "cqe-mixed", run_setup, 20000, 1, 1, "CQE_MIXED" },
	{ "sqe-mixed", run_setup, 20000, 1, 1, "SQE_MIXED, SUBMIT_ALL" },
	{ "sqe-mixed-direct", run_setup, 20000, 1, 1, "SQE_MIXED, NO_SQARRAY" },
	{ "rewind", run_setup, 20000, 1, 1, "SQ_REWIND, NO_SQARRAY" },
	{ "iopoll", run_setup, 20000, 1, 1, "IOPOLL, NOPs" },
	{ "hybrid", run_setup, 20000, 1, 1, "IOPOLL, HYBRID_IOPOLL, NOPs" },
	{ "iopoll-read", run_polled_reads, 2000, 1, 1, "IOPOLL, direct reads" },
	{ "hybrid-read", run_polled_reads, 2000, 1, 1, "IOPOLL, HYBRID_IOPOLL, direct reads" },
	{ "resize", run_resize, 4800, 1, 1, "RESIZE_RINGS after every 24 requests" },
	{ "alive", run_alive, 100000, 16, 1000, "--workers rings, all open at once" },
	{ "crowd", run_crowd, 32000, 32, 1000, "--workers rings, all open at once, requests of all kinds" },
	{ "register", run_register, 100000, 16, 6000,
		"--workers rings, each registered, one after the other" },
	{ "reuse", run_reuse, 20000, 16, 300, "rings released with reads in flight, then the next" },
	{ "exit", run_exit, 5000, 16, 40, "processes that end with reads in flight" },
	{ "handed", run_handed, 20000, 64, 10, "rings taken over by another process" },
	{ "adopt", run_adopt, 0, 1, 1, "a ring of every setup, used when told to" },
	{ "hidden", run_hidden, 0, 16, 1, "an SQPOLL ring whose descriptor is closed, used when told to" },
	{ "receive", run_receive, 0, 64, 1, "a ring taken over by another process when told to" },
	{ "dropped", run_dropped, 0, 1, 1, "rings that drop SQEs when told to" },
	{ "gather", run_gather, 0, 4, 800, "--workers more rings, all used again, when told to" },
	{ "turnover", run_turnover, 0, 4, 200, "--workers other rings when told to" },
	{ "burst", run_burst, 0, 4, 400, "--workers rings, one after the other, when told to" },
	{ "hush", run_hush, 0, 2, 2000, "--workers rings without any CQE, not many at a time" },
	{ "hush-storm", run_hush_storm, 0, 4, 3000, "the same as fast as they can be made" },
	{ "waiters", run_waiters, 3000, 48, 1, "a ring released while thousands of requests wait" },
	{ "waiters-tight", run_waiters, 3000, 48, 1, "the same with a CQ for few of them" },
	{ "killed", run_killed, 3000, 48, 1, "a process killed while thousands of requests wait" },
	{ "killed-tight", run_killed, 3000, 48, 1, "the same with a CQ for few of them" },
	{ "traffic", run_traffic, 0, 16, 1, "rings that come and go until told to end" },
};

int main(int argc, char **argv)
{
	return work_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
