// SPDX-License-Identifier: MIT
/*
 * Cheap requests, of as many kinds, from as many threads and over as many rings as asked for, while others wait.
 *
 * scale_load THREADS RINGS OPCODES PARKED: RINGS for all threads together, PARKED requests that wait on a ring of
 * their own. Commands, one a line, each answered by one line:
 *   open    sets it all up; "ok"
 *   run N   N requests, by all threads together; their CPU time in nanoseconds
 *   close   lets the waiting requests end and tears the rings down; the number of requests since open
 * CPU time, as the observers run in these threads and other load on the machine should not count.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BATCH 32u
#define MAX_THREADS 64u
#define MAX_PARKED 65536u
#define PARKING_SQ 4096u

/* What they complete at once without an error; a request of kind k is of the k-th. */
enum kind { NOP, READ, WRITE, READV, WRITEV, READ_FIXED, WRITE_FIXED, POLL, KINDS };

struct load {
	unsigned int threads, rings, kinds, parked;
	int null_fd, ready_fd, parked_fd;
	struct io_uring parking;
	struct worker *workers;
	pthread_barrier_t step; /* the workers and main: before and after each order */
	uint64_t order;		/* requests for each worker, 0: leave */
	_Atomic int err;
	uint64_t requests;
};

struct worker {
	struct load *l;
	pthread_t thread;
	struct io_uring *rings;
	unsigned int n_rings, n_open;
	uint64_t cpu_ns;
	char buf[64];
	struct iovec iov;
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int open_rings(struct worker *w)
{
	const unsigned int flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
	int err;

	w->rings = calloc(w->n_rings, sizeof(*w->rings));
	if (!w->rings)
		return -ENOMEM;
	for (; w->n_open < w->n_rings; w->n_open++) {
		err = io_uring_queue_init(BATCH, &w->rings[w->n_open], flags);
		if (err)
			return err;
		err = w->l->kinds > READ_FIXED ? io_uring_register_buffers(&w->rings[w->n_open], &w->iov, 1)
					       : 0;
		if (err) {
			io_uring_queue_exit(&w->rings[w->n_open]);
			return err;
		}
	}
	return 0;
}

static void close_rings(struct worker *w)
{
	while (w->n_open)
		io_uring_queue_exit(&w->rings[--w->n_open]);
	free(w->rings);
	w->rings = NULL;
}

static void prepare(struct worker *w, struct io_uring_sqe *sqe, enum kind kind)
{
	switch (kind) {
	case READ:
		return io_uring_prep_read(sqe, w->l->null_fd, w->buf, sizeof(w->buf), 0);
	case WRITE:
		return io_uring_prep_write(sqe, w->l->null_fd, w->buf, sizeof(w->buf), 0);
	case READV:
		return io_uring_prep_readv(sqe, w->l->null_fd, &w->iov, 1, 0);
	case WRITEV:
		return io_uring_prep_writev(sqe, w->l->null_fd, &w->iov, 1, 0);
	case READ_FIXED:
		return io_uring_prep_read_fixed(sqe, w->l->null_fd, w->buf, sizeof(w->buf), 0, 0);
	case WRITE_FIXED:
		return io_uring_prep_write_fixed(sqe, w->l->null_fd, w->buf, sizeof(w->buf), 0, 0);
	case POLL:
		return io_uring_prep_poll_add(sqe, w->l->ready_fd, POLLIN);
	default:
		return io_uring_prep_nop(sqe);
	}
}

/* 0 or negative errno, that of a request too. */
static int reap(struct io_uring *ring, unsigned int n)
{
	struct io_uring_cqe *cqes[BATCH];
	unsigned int seen, i;

	for (; n; n -= seen) {
		seen = io_uring_peek_batch_cqe(ring, cqes, n < BATCH ? n : BATCH);
		if (!seen)
			return -EIO;
		for (i = 0; i < seen; i++)
			if (cqes[i]->res < 0)
				return cqes[i]->res;
		io_uring_cq_advance(ring, seen);
	}
	return 0;
}

static int batch(struct worker *w, struct io_uring *ring)
{
	unsigned int i;
	int ret;

	for (i = 0; i < BATCH; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		if (!sqe)
			return -EAGAIN;
		prepare(w, sqe, (enum kind)(i % w->l->kinds));
	}
	ret = io_uring_submit_and_wait(ring, BATCH);
	if (ret != (int)BATCH)
		return ret < 0 ? ret : -EIO;
	return reap(ring, BATCH);
}

static int run(struct worker *w, uint64_t requests)
{
	uint64_t start_ns = cpu_ns(), done;
	unsigned int ring = 0;
	int err = 0;

	for (done = 0; !err && done < requests; done += BATCH) {
		err = batch(w, &w->rings[ring]);
		ring = ring + 1 < w->n_rings ? ring + 1 : 0;
	}
	w->cpu_ns = cpu_ns() - start_ns;
	return err;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct load *l = w->l;
	int err = open_rings(w);

	for (;;) {
		if (err)
			l->err = err;
		pthread_barrier_wait(&l->step);
		/* main writes the next order here */
		pthread_barrier_wait(&l->step);
		if (!l->order)
			break;
		if (!err)
			err = run(w, l->order);
	}
	close_rings(w);
	return NULL;
}

static int park(struct load *l)
{
	struct io_uring_params p = { .flags = IORING_SETUP_CQSIZE, .cq_entries = MAX_PARKED };
	unsigned int i, n = l->parked < PARKING_SQ ? l->parked : PARKING_SQ, done;
	int ret;

	if (!l->parked)
		return 0;
	l->parked_fd = eventfd(0, EFD_CLOEXEC);
	if (l->parked_fd < 0)
		return -errno;
	ret = io_uring_queue_init_params(PARKING_SQ, &l->parking, &p);
	for (done = 0; !ret && done < l->parked; done += n) {
		n = l->parked - done < PARKING_SQ ? l->parked - done : PARKING_SQ;
		for (i = 0; i < n; i++)
			io_uring_prep_poll_add(io_uring_get_sqe(&l->parking), l->parked_fd, POLLIN);
		ret = io_uring_submit(&l->parking);
		ret = ret == (int)n ? 0 : ret < 0 ? ret : -EIO;
	}
	return ret;
}

static int unpark(struct load *l)
{
	int ret;

	if (!l->parked)
		return 0;
	ret = eventfd_write(l->parked_fd, 1) ? -errno : io_uring_submit_and_wait(&l->parking, l->parked);
	ret = ret < 0 ? ret : reap(&l->parking, l->parked);
	io_uring_queue_exit(&l->parking);
	close(l->parked_fd);
	return ret;
}

static int order(struct load *l, uint64_t requests)
{
	l->order = requests;
	pthread_barrier_wait(&l->step);
	/* they are at it */
	if (requests)
		pthread_barrier_wait(&l->step);
	return l->err;
}

static int do_open(struct load *l)
{
	unsigned int i;
	int err = park(l);

	if (err)
		return err;
	l->requests = l->parked;
	l->workers = calloc(l->threads, sizeof(*l->workers));
	if (!l->workers)
		return -ENOMEM;
	for (i = 0; i < l->threads; i++) {
		struct worker *w = &l->workers[i];

		w->l = l;
		w->n_rings = l->rings / l->threads;
		w->iov = (struct iovec){ w->buf, sizeof(w->buf) };
		err = pthread_create(&w->thread, NULL, work, w);
		if (err)
			return -err;
	}
	pthread_barrier_wait(&l->step);
	return l->err;
}

static int do_run(struct load *l, uint64_t requests, uint64_t *ret_ns)
{
	uint64_t each = requests / l->threads;
	unsigned int i;
	int err;

	each -= each % BATCH;
	if (!each || !l->workers)
		return -EINVAL;
	err = order(l, each);
	*ret_ns = 0;
	for (i = 0; i < l->threads; i++)
		*ret_ns += l->workers[i].cpu_ns;
	l->requests += each * l->threads;
	return err;
}

static int do_close(struct load *l)
{
	unsigned int i;

	if (!l->workers)
		return -EINVAL;
	order(l, 0);
	for (i = 0; i < l->threads; i++)
		pthread_join(l->workers[i].thread, NULL);
	free(l->workers);
	l->workers = NULL;
	return unpark(l);
}

static int serve(struct load *l)
{
	char line[64];
	uint64_t n = 0;
	int err = 0;

	while (!err && fgets(line, sizeof(line), stdin)) {
		n = 0;
		if (!strcmp(line, "open\n"))
			err = do_open(l);
		else if (!strcmp(line, "close\n"))
			err = do_close(l);
		else if (sscanf(line, "run %" SCNu64, &n) == 1)
			err = do_run(l, n, &n);
		else
			err = -EINVAL;
		if (err)
			break;
		if (line[0] == 'c')
			n = l->requests;
		printf("%llu\n", (unsigned long long)n);
		if (fflush(stdout))
			err = -errno;
	}
	return err;
}

static bool parse(const char *s, unsigned int least, unsigned int most, unsigned int *ret)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(s, &end, 10);
	if (errno || *end || end == s || n < least || n > most)
		return false;
	*ret = (unsigned int)n;
	return true;
}

int main(int argc, char **argv)
{
	struct load l = { 0 };
	struct rlimit files;
	int err;

	if (argc != 5 || !parse(argv[1], 1, MAX_THREADS, &l.threads) ||
		!parse(argv[2], l.threads, 1000000, &l.rings) || !parse(argv[3], 1, KINDS, &l.kinds) ||
		!parse(argv[4], 0, MAX_PARKED, &l.parked)) {
		fprintf(stderr, "usage: scale_load THREADS RINGS OPCODES PARKED\n");
		return 2;
	}
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	l.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	l.ready_fd = eventfd(1, EFD_CLOEXEC);
	err = l.null_fd < 0 || l.ready_fd < 0 ? -errno : -pthread_barrier_init(&l.step, NULL, l.threads + 1);
	err = err ? err : serve(&l);
	if (err)
		fprintf(stderr, "scale_load: %s\n", strerror(-err));
	return err ? 1 : 0;
}
