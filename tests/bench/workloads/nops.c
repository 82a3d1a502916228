// SPDX-License-Identifier: MIT
/*
 * NOPs in batches of 32: requests that cost next to nothing, so that what an observer adds stands out.
 *
 *   nops batch    through a DEFER_TASKRUN ring, by one thread
 *   nops sqpoll   through a ring with a polling thread, two batches in flight
 *
 * The latency is that of a batch.
 */
#include <liburing.h>

#include "slice.h"

#define BATCH 32u
#define SQPOLL_IDLE_MS 20
/* The polling thread frees the SQEs that it took only after it has posted their CQEs: two batches, and two more. */
#define ENTRIES (4 * BATCH)

static void queue_batch(struct io_uring *ring)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		if (!sqe)
			die(1, "the submission queue is full");
		io_uring_prep_nop(sqe);
	}
}

static void submit_batch(struct io_uring *ring, unsigned int wait)
{
	int ret = io_uring_submit_and_wait(ring, wait);

	if (ret < 0)
		die(1, "submit: %s", strerror(-ret));
}

/* The CQEs of one batch, waiting for those that are missing. */
static void reap_batch(struct io_uring *ring)
{
	struct io_uring_cqe *cqes[BATCH], *first;
	unsigned int seen = 0;

	while (seen < BATCH) {
		unsigned int n = io_uring_peek_batch_cqe(ring, cqes, BATCH - seen);
		int err = n ? 0 : io_uring_wait_cqe_nr(ring, &first, BATCH - seen);

		if (err && err != -EINTR)
			die(1, "wait: %s", strerror(-err));
		for (unsigned int i = 0; i < n; i++) {
			if (cqes[i]->res)
				die(1, "a NOP gave %d", cqes[i]->res);
		}
		io_uring_cq_advance(ring, n);
		seen += n;
	}
}

static void count_batch(struct slice *s, uint64_t ns)
{
	s->work += BATCH;
	s->submitted += BATCH;
	s->completed += BATCH;
	slice__latency(s, ns);
}

static void run_batches(void *arg, struct slice *s)
{
	uint64_t before_ns = s->start_ns, after_ns;

	do {
		queue_batch(arg);
		submit_batch(arg, BATCH);
		reap_batch(arg);
		after_ns = now_ns();
		count_batch(s, after_ns - before_ns);
		before_ns = after_ns;
	} while (!slice__over(s, after_ns));
}

static void run_sqpoll(void *arg, struct slice *s)
{
	uint64_t sent_ns[2] = { s->start_ns, 0 };
	unsigned int turn = 0;
	bool over = false;

	queue_batch(arg);
	submit_batch(arg, 0);
	while (sent_ns[turn]) {
		uint64_t at_ns = now_ns();

		over = over || slice__over(s, at_ns);
		sent_ns[!turn] = over ? 0 : at_ns;
		if (!over) {
			queue_batch(arg);
			submit_batch(arg, 0);
		}
		reap_batch(arg);
		count_batch(s, now_ns() - sent_ns[turn]);
		turn = !turn;
	}
}

int main(int argc, char **argv)
{
	struct io_uring_params p = { .sq_thread_idle = SQPOLL_IDLE_MS };
	struct io_uring ring;
	bool sqpoll;
	int err;

	if (argc != 2 || (strcmp(argv[1], "batch") && strcmp(argv[1], "sqpoll")))
		die(2, "usage: nops batch|sqpoll");
	sqpoll = !strcmp(argv[1], "sqpoll");
	p.flags = sqpoll ? IORING_SETUP_SQPOLL : IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
	err = io_uring_queue_init_params(ENTRIES, &ring, &p);
	if (err)
		die(EXIT_SKIP, "this kernel gives no such ring: %s", strerror(-err));
	serve_slices(sqpoll ? run_sqpoll : run_batches, &ring);
	io_uring_queue_exit(&ring);
	return 0;
}
