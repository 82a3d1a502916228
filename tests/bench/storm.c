// SPDX-License-Identifier: MIT
/*
 * NOPs in batches of 32 through a DEFER_TASKRUN ring: requests that cost next to
 * nothing, so that what an observer adds stands out.
 *
 * storm REQUESTS: for each line read from standard input, runs REQUESTS requests
 * and prints the thread's CPU time for them in nanoseconds. CPU time, as the
 * observers run in this thread and other load on the machine should not count.
 */
#include <errno.h>
#include <liburing.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH 32

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int batch(struct io_uring *ring)
{
	unsigned int seen = 0;
	int ret;

	for (int i = 0; i < BATCH; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		if (!sqe)
			return -EAGAIN;
		io_uring_prep_nop(sqe);
	}
	ret = io_uring_submit_and_wait(ring, BATCH);
	if (ret != BATCH)
		return ret < 0 ? ret : -EIO;
	while (seen < BATCH) {
		struct io_uring_cqe *cqes[BATCH];
		unsigned int n = io_uring_peek_batch_cqe(ring, cqes, BATCH - seen);

		if (!n)
			return -EIO;
		for (unsigned int i = 0; i < n; i++) {
			if (cqes[i]->res)
				return cqes[i]->res < 0 ? cqes[i]->res : -EIO;
		}
		io_uring_cq_advance(ring, n);
		seen += n;
	}
	return 0;
}

static int serve(struct io_uring *ring, unsigned long requests)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t start_ns = cpu_ns();

		for (unsigned long done = 0; done < requests; done += BATCH) {
			int err = batch(ring);

			if (err)
				return err;
		}
		printf("%llu\n", (unsigned long long)(cpu_ns() - start_ns));
		if (fflush(stdout))
			return -errno;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct io_uring ring;
	unsigned long requests;
	char *end = NULL;
	int err;

	errno = 0;
	requests = argc == 2 ? strtoul(argv[1], &end, 10) : 0;
	if (!requests || errno || *end || requests % BATCH) {
		fprintf(stderr, "usage: storm REQUESTS (a multiple of %d)\n", BATCH);
		return 2;
	}
	err = io_uring_queue_init(BATCH, &ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	if (!err) {
		err = serve(&ring, requests);
		io_uring_queue_exit(&ring);
	}
	if (err)
		fprintf(stderr, "storm: %s\n", strerror(-err));
	return err ? 1 : 0;
}
