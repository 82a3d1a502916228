// SPDX-License-Identifier: MIT
/* Rings, threads, processes and batches, with the cheapest request there is. */
#include <pthread.h>
#include <sys/wait.h>

#include "work.h"

static void nops_on_own_ring(const struct work *w, struct tally *t, uint64_t count)
{
	struct wring r;

	wring__open(&r, t, w->batch, 0, w->batch, w->setup_flags);
	tally__never_punted(t, IORING_OP_NOP);
	t->poll_armed = 0;
	wring__drive(&r, count, w->batch, prep_nop, NULL);
	wring__close(&r);
}

static void run_storm(struct work *w, struct tally *t)
{
	nops_on_own_ring(w, t, w->count);
}

/* One SQE to a submission, though `batch` are in flight together. */
static void run_drip(struct work *w, struct tally *t)
{
	struct wring r;
	unsigned int slot;

	wring__open(&r, t, w->batch, 0, w->batch, w->setup_flags);
	tally__never_punted(t, IORING_OP_NOP);
	t->poll_armed = 0;
	for (uint64_t i = 0; i < w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_nop(sqe);
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		wring__submit(&r, 0);
		if (!r.n_free)
			wring__drain(&r);
	}
	wring__drain(&r);
	wring__close(&r);
}

/* How many requests worker k of w->workers does. */
static uint64_t share(const struct work *w, unsigned int k)
{
	return w->count / w->workers + (k < w->count % w->workers);
}

struct thread_arg {
	const struct work *w;
	struct tally *t;
	unsigned int k;
	/* a shared ring */
	struct wring *r;
	pthread_mutex_t *lock;
	pthread_barrier_t *drained;
};

static void *thread_with_ring(void *arg)
{
	struct thread_arg *a = arg;

	nops_on_own_ring(a->w, a->t, share(a->w, a->k));
	return NULL;
}

static struct thread_arg *start_threads(const struct work *w, const struct thread_arg *proto,
	void *(*fn)(void *), pthread_t *ret_threads)
{
	struct thread_arg *args = zalloc(w->workers, sizeof(*args));

	for (unsigned int k = 0; k < w->workers; k++) {
		args[k] = *proto;
		args[k].w = w;
		args[k].k = k;
		if (!proto->t)
			args[k].t = tally__new(w->timed ? share(w, k) : 0);
		if (pthread_create(&ret_threads[k], NULL, fn, &args[k]))
			die(1, "no thread %u", k);
	}
	return args;
}

static void join_threads(const struct work *w, const pthread_t *threads)
{
	for (unsigned int k = 0; k < w->workers; k++)
		if (pthread_join(threads[k], NULL))
			die(1, "thread %u can't be joined", k);
}

static void run_threads(struct work *w, struct tally *t)
{
	pthread_t *threads = zalloc(w->workers, sizeof(threads[0]));
	struct thread_arg proto = { 0 };
	struct thread_arg *args = start_threads(w, &proto, thread_with_ring, threads);

	join_threads(w, threads);
	for (unsigned int k = 0; k < w->workers; k++)
		tally__add(t, args[k].t);
	free(args);
	free(threads);
}

/*
 * One batch at a time under the lock; whoever holds it consumes what is there. No thread may
 * end before the ring is empty: the kernel cancels the requests of a thread that exits.
 */
static void *thread_on_shared_ring(void *arg)
{
	struct thread_arg *a = arg;
	uint64_t left = share(a->w, a->k);
	unsigned int slot;

	while (left) {
		unsigned int n = left < a->w->batch ? (unsigned int)left : a->w->batch;

		pthread_mutex_lock(a->lock);
		for (unsigned int i = 0; i < n; i++) {
			struct io_uring_sqe *sqe = wring__sqe(a->r, &slot);

			io_uring_prep_nop(sqe);
			/* Every fourth ends on a worker and its CQE arrives in another thread's turn. */
			if (i % 4 == 0)
				sqe->flags |= IOSQE_ASYNC;
			wring__queue(a->r, sqe, slot, SLOT_REQUEST);
		}
		wring__submit(a->r, 0);
		wring__reap(a->r, 0);
		while (a->r->n_free < a->w->batch)
			wring__reap(a->r, 1);
		pthread_mutex_unlock(a->lock);
		left -= n;
	}
	pthread_barrier_wait(a->drained);
	if (a->k == 0)
		wring__drain(a->r);
	pthread_barrier_wait(a->drained);
	return NULL;
}

static void run_shared(struct work *w, struct tally *t)
{
	pthread_t *threads = zalloc(w->workers, sizeof(threads[0]));
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_barrier_t drained;
	struct wring r;
	struct thread_arg proto = { .t = t, .r = &r, .lock = &lock, .drained = &drained }, *args;

	if (pthread_barrier_init(&drained, NULL, w->workers))
		die(1, "no barrier");
	wring__open(&r, t, w->batch * 4, 0, w->batch * 4, w->setup_flags);
	t->poll_armed = 0;
	tally__punted(t, IORING_OP_NOP, PUNT_UNWANTED, 0);
	args = start_threads(w, &proto, thread_on_shared_ring, threads);
	join_threads(w, threads);
	wring__close(&r);
	free(args);
	free(threads);
	pthread_barrier_destroy(&drained);
}

/* Every worker is a child with a ring of its own; the parent has none and sums. */
static void run_fork(struct work *w, struct tally *t)
{
	struct tally **tallies = zalloc(w->workers, sizeof(tallies[0]));
	int status;

	for (unsigned int k = 0; k < w->workers; k++) {
		pid_t pid;

		tallies[k] = tally__new(w->timed ? share(w, k) : 0);
		pid = fork();
		if (pid < 0)
			die(1, "fork: %s", strerror(errno));
		if (pid == 0) {
			nops_on_own_ring(w, tallies[k], share(w, k));
			_exit(0);
		}
	}
	for (unsigned int k = 0; k < w->workers; k++)
		if (wait(&status) < 0 || status)
			die(1, "a worker failed");
	for (unsigned int k = 0; k < w->workers; k++)
		tally__add(t, tallies[k]);
	free(tallies);
}

/* One ring that the parent opened: its children use it one after the other, then the parent. */
static void run_inherit(struct work *w, struct tally *t)
{
	struct wring r;
	int status;

	wring__open(&r, t, w->batch, 0, w->batch, w->setup_flags);
	for (unsigned int k = 0; k < w->workers; k++) {
		pid_t pid = k + 1 < w->workers ? fork() : 0;

		if (pid < 0)
			die(1, "fork: %s", strerror(errno));
		if (pid == 0)
			wring__drive(&r, share(w, k), w->batch, prep_nop, NULL);
		if (pid == 0 && k + 1 < w->workers)
			_exit(0);
		if (pid > 0 && (waitpid(pid, &status, 0) != pid || status))
			die(1, "worker %u failed", k);
		/* What the child moved on is in the ring itself, but for liburing's own count of SQEs. */
		r.u.sq.sqe_head = r.u.sq.sqe_tail = *r.u.sq.ktail;
	}
	wring__close(&r);
}

/*
 * Rounds of `batch` NOPs over a CQ of 8, eight to a submission, consumed only at the end of a
 * round: all but the first 8 CQEs of a round overflow.
 */
static void run_overflow(struct work *w, struct tally *t)
{
	const unsigned int entries = 8;
	struct wring r;
	unsigned int slot;

	wring__open(&r, t, entries, entries, w->batch, w->setup_flags);
	for (uint64_t left = w->count; left;) {
		unsigned int n = left < w->batch ? (unsigned int)left : w->batch;

		for (unsigned int i = 0; i < n; i++) {
			struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

			io_uring_prep_nop(sqe);
			wring__queue(&r, sqe, slot, SLOT_REQUEST);
			if (r.n_sqes == entries || i == n - 1)
				wring__submit(&r, 0);
		}
		t->overflows += n > entries ? n - entries : 0;
		wring__drain(&r);
		left -= n;
	}
	wring__close(&r);
}

/* Returns with n more CQEs in the CQ. *ret_begin_ns: none of them was there by then. */
static void post_nops(struct wring *r, unsigned int n, uint64_t *ret_begin_ns)
{
	unsigned int slot, ready = io_uring_cq_ready(&r->u) + n;

	for (unsigned int i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = wring__sqe(r, &slot);

		io_uring_prep_nop(sqe);
		wring__queue(r, sqe, slot, SLOT_REQUEST);
	}
	*ret_begin_ns = now_ns();
	wring__submit(r, 0);
	while (io_uring_cq_ready(&r->u) < ready)
		;
}

static void lie_in_wait(uint64_t ms)
{
	struct timespec ts = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (ms && nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/*
 * Rounds of `batch` NOPs whose CQEs lie in the CQ for --ms. With --stray, one more NOP follows before they are
 * consumed, at which the kernel can see them there; it does not lie long.
 */
static void run_late(struct work *w, struct tally *t)
{
	struct lag_tally *l = &t->lags;
	uint64_t begin, posted, end, seen = 0;
	struct wring r;

	l->lower_min_ns = l->seen_min_ns = UINT64_MAX;
	wring__open(&r, t, w->batch, 0, w->batch + 1, w->setup_flags);
	for (uint64_t left = w->count; left >= w->batch; left -= w->batch) {
		post_nops(&r, w->batch, &begin);
		posted = now_ns();
		lie_in_wait(w->ms);
		if (w->stray) {
			post_nops(&r, 1, &seen);
			seen -= posted;
		}
		end = now_ns();
		l->lower_min_ns = end - posted < l->lower_min_ns ? end - posted : l->lower_min_ns;
		l->seen_min_ns = seen < l->seen_min_ns ? seen : l->seen_min_ns;
		l->lower_sum_ns += (end - posted) * w->batch;
		wring__reap(&r, w->batch);
		end = now_ns();
		l->upper_max_ns = end - begin > l->upper_max_ns ? end - begin : l->upper_max_ns;
		l->upper_sum_ns += (end - begin) * w->batch;
		l->count += w->batch;
	}
	wring__close(&r);
}

/* Nobody ever consumes the CQEs. */
static void run_unread(struct work *w, struct tally *t)
{
	uint64_t begin, posted;
	struct wring r;

	wring__open(&r, t, w->batch, 0, w->batch * 2, w->setup_flags);
	post_nops(&r, w->batch, &begin);
	posted = now_ns();
	lie_in_wait(w->ms);
	t->lags.seen_min_ns = now_ns() - posted;
	t->lags.left = w->batch;
	t->op[IORING_OP_NOP].completed = w->batch;
	wring__close(&r);
}

/* Rings that live for a moment. */
static void run_churn(struct work *w, struct tally *t)
{
	for (unsigned int k = 0; k < w->workers; k++)
		nops_on_own_ring(w, t, share(w, k));
}

/* The twin that does its work without io_uring. */
static void run_none(struct work *w, struct tally *t)
{
	int fd = work__file(w, WORK_BLOCK, O_RDWR);
	char *buf = block_alloc(1);

	(void)t;
	for (uint64_t i = 0; i < w->count; i++)
		if (pread(fd, buf, WORK_BLOCK, 0) != WORK_BLOCK)
			die(1, "pread: %s", strerror(errno));
	free(buf);
	close(fd);
}

static const struct scenario scenarios[] = {
	{ "storm", run_storm, 1000000, 32, 1, "NOPs on one ring" },
	{ "drip", run_drip, 100000, 16, 1, "NOPs, one to a submission, --batch in flight" },
	{ "threads", run_threads, 400000, 32, 8, "threads, each with a ring" },
	{ "shared", run_shared, 200000, 8, 4, "threads that share one ring" },
	{ "fork", run_fork, 200000, 32, 4, "child processes, each with a ring" },
	{ "inherit", run_inherit, 40000, 32, 3, "child processes that use their parent's ring" },
	{ "overflow", run_overflow, 6400, 64, 1, "rounds of --batch NOPs over a CQ of 8" },
	{ "late", run_late, 200, 1, 1, "CQEs that lie in the CQ for --ms, --batch at a time" },
	{ "unread", run_unread, 8, 8, 1, "CQEs that nobody consumes" },
	{ "churn", run_churn, 20000, 10, 200, "--workers rings, one after the other" },
	{ "none", run_none, 1000, 1, 1, "no io_uring at all" },
};

int main(int argc, char **argv)
{
	return work_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
