// SPDX-License-Identifier: MIT
#include "nops.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCH 32u
#define BATCHES 16u /* a run: long beside what reading the clock takes, short beside a time slice */
#define RUNS 8u

struct nops {
	int fd;
	void *rings, *sqes;
	size_t rings_bytes, sqes_bytes;
	unsigned int sq_mask;
	_Atomic unsigned int *sq_tail, *cq_head, *cq_tail;
};

static int map_rings(struct nops *n, const struct io_uring_params *p)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
	size_t sq_bytes = p->sq_off.array + p->sq_entries * sizeof(unsigned int);
	size_t cq_bytes = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);

	/* since 5.4 one mapping holds both */
	n->rings_bytes = sq_bytes > cq_bytes ? sq_bytes : cq_bytes;
	n->sqes_bytes = p->sq_entries * sizeof(struct io_uring_sqe);
	n->rings = mmap(NULL, n->rings_bytes, prot, flags, n->fd, IORING_OFF_SQ_RING);
	if (n->rings == MAP_FAILED)
		return -errno;
	n->sqes = mmap(NULL, n->sqes_bytes, prot, flags, n->fd, IORING_OFF_SQES);
	return n->sqes == MAP_FAILED ? -errno : 0;
}

/* The SQEs stay as they are: every batch is the same. */
static void prepare(struct nops *n, const struct io_uring_params *p)
{
	char *base = n->rings;
	unsigned int *array = (unsigned int *)(base + p->sq_off.array), i;
	struct io_uring_sqe *sqes = n->sqes;

	n->sq_tail = (_Atomic unsigned int *)(base + p->sq_off.tail);
	n->cq_head = (_Atomic unsigned int *)(base + p->cq_off.head);
	n->cq_tail = (_Atomic unsigned int *)(base + p->cq_off.tail);
	for (i = 0; i < p->sq_entries; i++) {
		array[i] = i;
		memset(&sqes[i], 0, sizeof(sqes[i]));
		sqes[i].opcode = IORING_OP_NOP;
		sqes[i].fd = -1;
	}
}

int nops__open(struct nops **ret)
{
	struct io_uring_params p = { 0 };
	struct nops *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	n->rings = n->sqes = MAP_FAILED;
	n->fd = (int)syscall(SYS_io_uring_setup, BATCH, &p);
	err = n->fd < 0 ? -errno : 0;
	if (!err)
		err = map_rings(n, &p);
	if (err) {
		nops__close(n);
		return err;
	}
	prepare(n, &p);
	*ret = n;
	return 0;
}

static int run_batch(struct nops *n)
{
	unsigned int tail = atomic_load_explicit(n->sq_tail, memory_order_relaxed), done;
	long submitted;

	atomic_store_explicit(n->sq_tail, tail + BATCH, memory_order_release);
	do
		submitted = syscall(SYS_io_uring_enter, n->fd, BATCH, BATCH, IORING_ENTER_GETEVENTS, NULL, 0);
	while (submitted < 0 && errno == EINTR);
	if (submitted < 0)
		return -errno;
	done = atomic_load_explicit(n->cq_tail, memory_order_acquire);
	atomic_store_explicit(n->cq_head, done, memory_order_release);
	return submitted == BATCH ? 0 : -EIO;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

int nops__measure(struct nops *n, double *ret_ns)
{
	uint64_t least = UINT64_MAX, begin, took;
	unsigned int run, i;
	int err = 0;

	for (run = 0; run < RUNS; run++) {
		begin = cpu_ns();
		for (i = 0; !err && i < BATCHES; i++)
			err = run_batch(n);
		took = cpu_ns() - begin;
		if (err)
			return err;
		least = took < least ? took : least;
	}
	*ret_ns = (double)least / (BATCH * BATCHES);
	return 0;
}

void nops__close(struct nops *n)
{
	if (!n)
		return;
	if (n->sqes != MAP_FAILED)
		munmap(n->sqes, n->sqes_bytes);
	if (n->rings != MAP_FAILED)
		munmap(n->rings, n->rings_bytes);
	if (n->fd >= 0)
		close(n->fd);
	free(n);
}
