/* SPDX-License-Identifier: MIT */
/*
 * A ring without a library: every layout that the kernel knows, sq_array in any order,
 * entries of it that are wrong on purpose, CQEs consumed only when asked.
 */
#ifndef MIX_RING_H
#define MIX_RING_H

#include <sched.h>
#include <sys/syscall.h>

#include "mix_truth.h"

/* Newer than Debian 12's headers. */
#define MIX_SETUP_NO_MMAP (1u << 14)
#define MIX_SETUP_REGISTERED_FD_ONLY (1u << 15)
#define MIX_SETUP_NO_SQARRAY (1u << 16)
#define MIX_REGISTER_RESIZE_RINGS 33
#define MIX_REGISTER_USE_REGISTERED_RING (1u << 31)

#ifndef MIX_WAIT_S
#define MIX_WAIT_S 20
#endif
#define MIX_MAX_ENTRIES 256
#define MIX_RING_BYTES (128u << 10)
#define MIX_MARKS 64

struct mring {
	int fd; /* -1: closed, or only registered */
	int enter_fd;
	uint32_t enter_flags, flags;
	uint32_t sq_entries, cq_entries;
	uint32_t *khead, *ktail, *kflags, *array;
	uint32_t *chead, *ctail;
	char *sqes, *cqes;
	void *maps[2];
	size_t map_bytes[2];
	uint32_t tail;	  /* SQEs written; those up to *ktail are published */
	uint32_t shuffle; /* of sq_array */
	bool bad[MIX_MAX_ENTRIES];
	uint32_t marks[MIX_MARKS], n_marks; /* where groups end: a submission may stop there */
	struct mix_truth *t;
	bool open;

	/* the books, see mix_program.h */
	uint32_t potential;   /* CQEs that what is in flight may still bring */
	uint32_t promised;    /* the same since the ring was calm, whatever has ended since */
	uint64_t n_cqes;      /* consumed */
	uint64_t overflow_at; /* CQEs from this number on overflowed, ~0: none does */
	uint64_t aux_due, aux_seen;
	bool skip_used; /* from then on the kernel refuses IOSQE_IO_DRAIN */
	bool draining;
	bool has_files, has_buffers;
};

static inline uint32_t load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void store(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static inline bool mring__has(const struct mring *r, uint32_t flag)
{
	return r->flags & flag;
}

/* What is mapped or, under NO_MMAP, was given to the kernel. */
static void mring__lay_out(struct mring *r, const struct io_uring_params *p)
{
	char *rings = r->maps[0];

	r->khead = (uint32_t *)(rings + p->sq_off.head);
	r->ktail = (uint32_t *)(rings + p->sq_off.tail);
	r->kflags = (uint32_t *)(rings + p->sq_off.flags);
	r->array = p->flags & MIX_SETUP_NO_SQARRAY ? NULL : (uint32_t *)(rings + p->sq_off.array);
	r->chead = (uint32_t *)(rings + p->cq_off.head);
	r->ctail = (uint32_t *)(rings + p->cq_off.tail);
	r->cqes = rings + p->cq_off.cqes;
	r->sqes = r->maps[1];
	r->sq_entries = p->sq_entries;
	r->cq_entries = p->cq_entries;
	if (r->sq_entries > MIX_MAX_ENTRIES)
		die(1, "%u SQ entries", r->sq_entries);
}

static size_t sqe_bytes(uint32_t flags)
{
	return flags & IORING_SETUP_SQE128 ? 128 : 64;
}

static size_t cqe_bytes(uint32_t flags)
{
	return flags & IORING_SETUP_CQE32 ? 32 : 16;
}

static void mring__map(struct mring *r, const struct io_uring_params *p)
{
	size_t sq = p->sq_off.array + p->sq_entries * sizeof(uint32_t);
	size_t cq = p->cq_off.cqes + p->cq_entries * cqe_bytes(p->flags);
	static const off_t offsets[2] = { IORING_OFF_SQ_RING, IORING_OFF_SQES };

	r->map_bytes[0] = cq > sq || p->flags & MIX_SETUP_NO_SQARRAY ? cq : sq;
	r->map_bytes[1] = p->sq_entries * sqe_bytes(p->flags);
	for (unsigned int i = 0; i < 2; i++) {
		r->maps[i] = mmap(NULL, r->map_bytes[i], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			r->fd, offsets[i]);
		if (r->maps[i] == MAP_FAILED)
			die(1, "mmap of a ring: %s", strerror(errno));
	}
}

static void mring__unmap(struct mring *r)
{
	for (unsigned int i = 0; i < 2; i++)
		if (r->maps[i])
			munmap(r->maps[i], r->map_bytes[i]);
	r->maps[0] = r->maps[1] = NULL;
}

static void mring__lend_memory(struct mring *r, struct io_uring_params *p)
{
	for (unsigned int i = 0; i < 2; i++) {
		r->map_bytes[i] = MIX_RING_BYTES;
		r->maps[i] = mmap(NULL, MIX_RING_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (r->maps[i] == MAP_FAILED)
			die(1, "out of memory");
	}
	/* user_addr of both offsets, called resv2 in older headers */
	memcpy((char *)&p->cq_off + 32, &r->maps[0], sizeof(void *));
	memcpy((char *)&p->sq_off + 32, &r->maps[1], sizeof(void *));
}

/* Returns 0, or a negative errno when this kernel does not know such rings. */
static int mring__open(struct mring *r, struct mix_truth *t, uint32_t entries,
	const struct io_uring_params *wanted)
{
	struct io_uring_params p = *wanted;
	int fd;

	memset(r, 0, sizeof(*r));
	if (p.flags & MIX_SETUP_NO_MMAP)
		mring__lend_memory(r, &p);
	fd = (int)syscall(__NR_io_uring_setup, entries, &p);
	if (fd < 0) {
		fd = -errno;
		mring__unmap(r);
		return fd;
	}
	r->fd = r->enter_fd = fd;
	r->flags = p.flags;
	if (p.flags & MIX_SETUP_REGISTERED_FD_ONLY) {
		r->fd = -1;
		r->enter_flags = IORING_ENTER_REGISTERED_RING;
	}
	if (!(p.flags & MIX_SETUP_NO_MMAP))
		mring__map(r, &p);
	mring__lay_out(r, &p);
	r->open = true;
	r->t = t;
	r->overflow_at = UINT64_MAX;
	t->setup_flags = p.flags;
	t->sq_entries = p.sq_entries;
	t->cq_entries = p.cq_entries;
	t->fd = r->fd;
	t->batches = mring__has(r, IORING_SETUP_SQPOLL) ? WORK_UNKNOWN : 0;
	return 0;
}

static int mring__register(struct mring *r, unsigned int op, void *arg, unsigned int n)
{
	unsigned int flag = r->fd < 0 ? MIX_REGISTER_USE_REGISTERED_RING : 0;
	int ret = (int)syscall(__NR_io_uring_register, r->fd < 0 ? r->enter_fd : r->fd, op | flag, arg, n);

	if (ret < 0)
		ret = -errno;
	r->t->registers[op]++;
	r->t->register_errors[op] += ret < 0;
	return ret;
}

static void mring__close(struct mring *r)
{
	if (r->enter_flags) {
		struct io_uring_rsrc_update up = { .offset = (uint32_t)r->enter_fd };

		if (mring__register(r, IORING_UNREGISTER_RING_FDS, &up, 1) != 1)
			die(1, "a registered ring can't be unregistered");
	}
	if (r->fd >= 0)
		close(r->fd);
	mring__unmap(r);
	r->open = false;
	r->fd = -1;
}

/* Waits for `min` CQEs, but not for ever: a program that hangs must say so. */
static int mring__enter(struct mring *r, uint32_t to_submit, uint32_t min, uint32_t flags)
{
	struct __kernel_timespec ts = { .tv_sec = MIX_WAIT_S };
	struct io_uring_getevents_arg arg = { .ts = (uint64_t)(uintptr_t)&ts };
	bool timed = flags & IORING_ENTER_GETEVENTS;
	int ret;

	flags |= r->enter_flags | (timed ? IORING_ENTER_EXT_ARG : 0);
	if (mring__has(r, IORING_SETUP_SQPOLL) && load(r->kflags) & IORING_SQ_NEED_WAKEUP)
		flags |= IORING_ENTER_SQ_WAKEUP;
	ret = (int)syscall(__NR_io_uring_enter, r->enter_fd, to_submit, min, flags, timed ? &arg : NULL,
		timed ? sizeof(arg) : 0);
	if (ret >= 0)
		return ret;
	if (errno == EINTR || errno == EAGAIN || errno == EBUSY)
		return 0;
	if (errno == ETIME)
		return -ETIME;
	die(1, "io_uring_enter: %s", strerror(errno));
}

static uint32_t mring__sq_room(const struct mring *r)
{
	return r->sq_entries - (r->tail - load(r->khead));
}

/* The next SQE, blank. There must be room. */
static struct io_uring_sqe *mring__sqe(struct mring *r)
{
	uint32_t mask = r->sq_entries - 1, at = r->tail & mask, i = at;
	struct io_uring_sqe *sqe;

	if (!mring__sq_room(r))
		die(1, "the SQ is full");
	if (r->array) {
		i = (at ^ r->shuffle) & mask;
		r->array[at] = i;
	}
	r->bad[at] = false;
	r->tail++;
	sqe = (struct io_uring_sqe *)(r->sqes + i * sqe_bytes(r->flags));
	memset(sqe, 0, sqe_bytes(r->flags));
	return sqe;
}

/* An entry that names no SQE: the kernel drops it. */
static void mring__bad_entry(struct mring *r, uint32_t beyond)
{
	uint32_t at = r->tail & (r->sq_entries - 1);

	r->array[at] = r->sq_entries + beyond;
	r->bad[at] = true;
	r->tail++;
}

static void mring__mark(struct mring *r)
{
	if (r->n_marks == MIX_MARKS)
		die(1, "too many groups in a submission");
	r->marks[r->n_marks++] = r->tail;
}

/* The kernel consumed the entries from `from` up to `to`. */
static void mring__consumed(struct mring *r, uint32_t from, uint32_t to)
{
	uint32_t dropped = 0;

	for (uint32_t i = from; i != to; i++)
		dropped += r->bad[i & (r->sq_entries - 1)];
	r->t->sq_dropped += dropped;
	if (r->t->batches != WORK_UNKNOWN && to - from > dropped)
		r->t->batches++;
}

static void mring__submit_polled(struct mring *r, uint32_t to)
{
	uint32_t from = load(r->khead);
	uint64_t deadline_ns = now_ns() + MIX_WAIT_S * 1000000000ull;

	store(r->ktail, to);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while (load(r->khead) != to) {
		if (load(r->kflags) & IORING_SQ_NEED_WAKEUP)
			mring__enter(r, 0, 0, IORING_ENTER_SQ_WAKEUP);
		sched_yield();
		if (now_ns() > deadline_ns)
			die(1, "the SQPOLL thread leaves %u SQEs alone", to - load(r->khead));
	}
	mring__consumed(r, from, to);
}

static void mring__submit_some(struct mring *r, uint32_t to, uint32_t flags)
{
	uint32_t from;

	/* a refused SQE or a dropped entry ends a submission early */
	while ((from = load(r->khead)) != to) {
		mring__enter(r, to - from, 0, flags);
		mring__consumed(r, from, load(r->khead));
	}
}

/*
 * Makes the kernel consume every SQE. `split`: a bit for each group, set where a submission
 * ends. A ring whose SQPOLL thread serves others too takes few SQEs at a time, so there
 * each group goes alone: chains stay whole.
 */
static void mring__submit(struct mring *r, uint64_t split, uint32_t flags)
{
	bool polled = mring__has(r, IORING_SETUP_SQPOLL);

	if (!polled)
		store(r->ktail, r->tail);
	for (uint32_t i = 0; i < r->n_marks; i++) {
		if (polled)
			mring__submit_polled(r, r->marks[i]);
		else if (split >> i & 1 || i == r->n_marks - 1)
			mring__submit_some(r, r->marks[i], flags);
	}
	r->n_marks = 0;
}

static uint32_t mring__ready(const struct mring *r)
{
	return load(r->ctail) - load(r->chead);
}

static bool mring__overflown(const struct mring *r)
{
	return load(r->kflags) & IORING_SQ_CQ_OVERFLOW;
}

/* False: no CQE. */
static bool mring__next_cqe(struct mring *r, struct io_uring_cqe *ret)
{
	uint32_t head = *r->chead;

	if (head == load(r->ctail))
		return false;
	memcpy(ret, r->cqes + (head & (r->cq_entries - 1)) * cqe_bytes(r->flags), sizeof(*ret));
	store(r->chead, head + 1);
	return true;
}

/* Only rings with DEFER_TASKRUN can, and where sq_array moves to the kernel does not tell: so none with it. */
static bool mring__resize(struct mring *r, uint32_t sq_entries, uint32_t cq_entries)
{
	struct io_uring_params p = { .sq_entries = sq_entries,
		.cq_entries = cq_entries,
		.flags = IORING_SETUP_CQSIZE };

	if (mring__register(r, MIX_REGISTER_RESIZE_RINGS, &p, 1))
		return false;
	mring__unmap(r);
	p.flags = r->flags;
	mring__map(r, &p);
	mring__lay_out(r, &p);
	r->t->sq_entries = p.sq_entries;
	r->t->cq_entries = p.cq_entries;
	return true;
}

#endif
