/* SPDX-License-Identifier: MIT */
/* A ring by raw system calls, for the setups that liburing 2.3 can't open. */
#ifndef RINGS_RAW_H
#define RINGS_RAW_H

#include <sched.h>
#include <sys/syscall.h>

#include "work.h"

/* What <liburing/io_uring.h> of liburing 2.3 does not have. */
#define RAW_SETUP_NO_MMAP (1u << 14)
#define RAW_SETUP_REGISTERED_FD_ONLY (1u << 15)
#define RAW_SETUP_NO_SQARRAY (1u << 16)
#define RAW_SETUP_HYBRID_IOPOLL (1u << 17)
#define RAW_SETUP_CQE_MIXED (1u << 18)
#define RAW_SETUP_SQE_MIXED (1u << 19)
#define RAW_SETUP_SQ_REWIND (1u << 20)
#define RAW_USE_REGISTERED_RING (1u << 31)
#define RAW_RESIZE_RINGS 33u
#define RAW_OP_NOP128 63
#define RAW_NOP_INJECT_RESULT 1u
#define RAW_NOP_CQE32 (1u << 5)
#define RAW_CQE_F_SKIP (1u << 5)
#define RAW_CQE_F_32 (1u << 15)

/* The field has a name since the flag exists (6.5). */
#ifdef IORING_SETUP_NO_MMAP
#define RAW_USER_ADDR user_addr
#else
#define RAW_USER_ADDR resv2
#endif

struct raw {
	struct wring w; /* what is in flight; its liburing ring stays unused */
	int fd;		/* of a registered ring: its index; -1: closed, and the kernel goes on by itself */
	bool registered;
	struct io_uring_params p;
	void *rings, *sqes, *cqes;
	size_t rings_bytes, sqes_bytes;
	unsigned int *sq_tail, *sq_flags, *cq_head, *cq_tail;
	unsigned int tail, sqe_shift, cqe_shift;
};

static inline int raw__enter(struct raw *r, unsigned int submit, unsigned int min, unsigned int flags)
{
	long ret;

	if (r->registered)
		flags |= IORING_ENTER_REGISTERED_RING;
	if (r->w.t->enters != WORK_UNKNOWN)
		r->w.t->enters++;
	ret = syscall(SYS_io_uring_enter, r->fd, submit, min, flags, NULL, 0);
	return ret < 0 ? -errno : (int)ret;
}

/* Negative errno if it fails. Counts the call. */
static inline int raw__register(struct raw *r, unsigned int op, const char *name, void *arg, unsigned int n)
{
	long ret = syscall(SYS_io_uring_register, r->fd, r->registered ? op | RAW_USE_REGISTERED_RING : op,
		arg, n);
	int err = ret < 0 ? -errno : (int)ret;

	tally__register(r->w.t, name, err);
	return err;
}

static inline void *raw_map(int fd, size_t bytes, off_t offset)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	if (p == MAP_FAILED)
		die(1, "mapping a ring: %s", strerror(errno));
	return p;
}

/* Finds its way in the ring that r->p describes, which starts at r->rings. */
static inline void raw__locate(struct raw *r)
{
	char *base = r->rings;
	unsigned int *array = (unsigned int *)(base + r->p.sq_off.array);

	r->sq_tail = (unsigned int *)(base + r->p.sq_off.tail);
	r->sq_flags = (unsigned int *)(base + r->p.sq_off.flags);
	r->cq_head = (unsigned int *)(base + r->p.cq_off.head);
	r->cq_tail = (unsigned int *)(base + r->p.cq_off.tail);
	r->cqes = base + r->p.cq_off.cqes;
	r->sqe_shift = r->p.flags & IORING_SETUP_SQE128 ? 7 : 6;
	r->cqe_shift = r->p.flags & IORING_SETUP_CQE32 ? 5 : 4;
	r->tail = *r->sq_tail;
	for (unsigned int i = 0; !(r->p.flags & RAW_SETUP_NO_SQARRAY) && i < r->p.sq_entries; i++)
		array[i] = i;
}

/* Maps the ring behind r->fd. */
static inline void raw__map(struct raw *r)
{
	const struct io_uring_params *p = &r->p;
	size_t cq_end = p->cq_off.cqes + ((size_t)p->cq_entries << (p->flags & IORING_SETUP_CQE32 ? 5 : 4));
	size_t sq_end = p->sq_off.array + p->sq_entries * sizeof(unsigned int);

	r->rings_bytes = cq_end > sq_end ? cq_end : sq_end;
	r->sqes_bytes = (size_t)p->sq_entries << (p->flags & IORING_SETUP_SQE128 ? 7 : 6);
	r->rings = raw_map(r->fd, r->rings_bytes, IORING_OFF_SQ_RING);
	r->sqes = raw_map(r->fd, r->sqes_bytes, (off_t)IORING_OFF_SQES);
	raw__locate(r);
}

static inline void raw__unmap(struct raw *r)
{
	munmap(r->rings, r->rings_bytes);
	munmap(r->sqes, r->sqes_bytes);
}

/*
 * Memory of our own for the ring: a page each, as kernels before 6.10 want it in one piece. That is
 * enough for 32 SQEs.
 */
static inline void raw__lend_memory(struct raw *r)
{
	int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE;

	r->rings_bytes = r->sqes_bytes = (size_t)sysconf(_SC_PAGESIZE);
	r->rings = mmap(NULL, r->rings_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	r->sqes = mmap(NULL, r->sqes_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (r->rings == MAP_FAILED || r->sqes == MAP_FAILED)
		die(1, "out of memory");
	r->p.cq_off.RAW_USER_ADDR = (uint64_t)(uintptr_t)r->rings;
	r->p.sq_off.RAW_USER_ADDR = (uint64_t)(uintptr_t)r->sqes;
}

/* Opens a ring as r->p asks for it. 0 or negative errno; on failure there is nothing to close. */
static inline int raw__try_open(struct raw *r, struct tally *t, unsigned int entries, unsigned int n_slots)
{
	bool lend = r->p.flags & RAW_SETUP_NO_MMAP;

	if (lend)
		raw__lend_memory(r);
	r->fd = (int)syscall(SYS_io_uring_setup, entries, &r->p);
	if (r->fd < 0) {
		int err = -errno;

		if (lend)
			raw__unmap(r);
		return err;
	}
	r->registered = r->p.flags & RAW_SETUP_REGISTERED_FD_ONLY;
	if (lend)
		raw__locate(r);
	else
		raw__map(r);
	wring__begin(&r->w, t, n_slots, r->p.flags & IORING_SETUP_SQPOLL);
	return 0;
}

static inline void raw__open(struct raw *r, struct tally *t, unsigned int entries, unsigned int n_slots,
	unsigned int setup_flags)
{
	int err;

	*r = (struct raw){ .p = { .flags = setup_flags, .sq_thread_idle = 50 } };
	err = raw__try_open(r, t, entries, n_slots);
	if (err == -EINVAL || err == -ENOSYS || err == -EPERM || err == -EOPNOTSUPP)
		die(WORK_SKIP, "this kernel opens no ring with flags 0x%x: %s", setup_flags, strerror(-err));
	if (err)
		die(1, "io_uring_setup: %s", strerror(-err));
}

/* Releases the ring; requests in flight are the kernel's business. */
static inline void raw__close(struct raw *r)
{
	struct io_uring_rsrc_update up = { .offset = (unsigned int)r->fd };
	int n = 1;

	if (r->registered)
		n = raw__register(r, IORING_UNREGISTER_RING_FDS, "UNREGISTER_RING_FDS", &up, 1);
	else if (r->fd >= 0)
		close(r->fd);
	if (n != 1)
		die(1, "unregistering a ring: %s", strerror(-n));
	raw__unmap(r);
	wring__end(&r->w);
}

static inline bool raw__rewinds(const struct raw *r)
{
	return r->p.flags & RAW_SETUP_SQ_REWIND;
}

/* A blank SQE and the slot that its request will occupy. A large one is two entries that do not wrap. */
static inline struct io_uring_sqe *raw__sqe(struct raw *r, unsigned int *ret_slot)
{
	unsigned int i = raw__rewinds(r) ? r->w.n_sqes : r->tail & (r->p.sq_entries - 1);
	struct io_uring_sqe *sqe = (void *)((char *)r->sqes + ((size_t)i << r->sqe_shift));

	if (r->w.n_sqes == r->p.sq_entries || !r->w.n_free)
		die(1, "%s is full", r->w.n_free ? "the SQ" : "the slot table");
	memset(sqe, 0, (size_t)1 << r->sqe_shift);
	*ret_slot = r->w.free[r->w.n_free - 1];
	return sqe;
}

static inline void raw__queue(struct raw *r, struct io_uring_sqe *sqe, unsigned int slot, enum slot_kind kind)
{
	wring__queue(&r->w, sqe, slot, kind);
	r->tail++;
	if (sqe->opcode != RAW_OP_NOP128)
		return;
	r->tail++;
	r->w.n_sqes++;
}

/* The kernel took n SQEs; the others start at the first entry again if the ring rewinds. */
static inline void raw__took(struct raw *r, unsigned int n)
{
	r->w.n_sqes -= n;
	if (raw__rewinds(r))
		memmove(r->sqes, (char *)r->sqes + ((size_t)n << r->sqe_shift),
			(size_t)r->w.n_sqes << r->sqe_shift);
}

/* Submits everything queued. */
static inline void raw__submit(struct raw *r)
{
	int ret;

	wring__stamp(&r->w);
	if (!raw__rewinds(r))
		__atomic_store_n(r->sq_tail, r->tail, __ATOMIC_RELEASE);
	if (r->w.sqpoll) {
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (__atomic_load_n(r->sq_flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP)
			raw__enter(r, 0, 0, IORING_ENTER_SQ_WAKEUP);
		r->w.n_sqes = 0;
	}
	while (r->w.n_sqes) {
		ret = raw__enter(r, r->w.n_sqes, 0, 0);
		if (ret == -EINTR || ret == -EAGAIN || ret == -EBUSY)
			continue;
		if (ret < 0)
			die(1, "io_uring_enter: %s", strerror(-ret));
		r->w.t->batches += ret > 0;
		raw__took(r, (unsigned int)ret);
	}
	r->w.n_queued = 0;
}

/* Consumes what is there. Returns the number of CQEs that were answers. */
static inline unsigned int raw__consume(struct raw *r)
{
	unsigned int head = *r->cq_head, tail = __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE), n = 0;
	uint64_t now = r->w.timed ? now_ns() : 0;

	while (head != tail) {
		size_t at = (size_t)(head & (r->p.cq_entries - 1)) << r->cqe_shift;
		const struct io_uring_cqe *cqe = (void *)((char *)r->cqes + at);
		bool mixed = r->p.flags & RAW_SETUP_CQE_MIXED;

		head += mixed && cqe->flags & RAW_CQE_F_32 ? 2 : 1;
		/* fills the end of the CQ where a large one would wrap */
		if (mixed && cqe->flags & RAW_CQE_F_SKIP)
			continue;
		wring__on_cqe(&r->w, cqe, now);
		n++;
	}
	__atomic_store_n(r->cq_head, head, __ATOMIC_RELEASE);
	return n;
}

/* Consumes every CQE there is, and at least min of them. */
static inline void raw__reap(struct raw *r, unsigned int min)
{
	unsigned int got = raw__consume(r);
	int ret;

	while (got < min) {
		ret = r->fd < 0 ? sched_yield() : raw__enter(r, 0, 1, IORING_ENTER_GETEVENTS);
		if (ret < 0 && ret != -EINTR && ret != -EAGAIN)
			die(1, "waiting for a CQE: %s", strerror(-ret));
		got += raw__consume(r);
	}
}

static inline void raw__drain(struct raw *r)
{
	while (wring__in_flight(&r->w))
		raw__reap(r, 1);
}

#endif
