/* SPDX-License-Identifier: MIT */
/*
 * Harness of the ground-truth workloads.
 *
 * A workload does a known amount of io_uring work and prints, as one JSON object,
 * exactly what it did: the requests it queued, the CQEs it consumed, and how long each
 * took from just before its submission to just after its CQE was seen. It knows nothing
 * of ringside. What it can't know for sure is null.
 *
 * Exit status: 0, 1 (something unforeseen happened: the numbers are void), 2 usage,
 * 77 (this kernel or file system lacks what the scenario needs).
 */
#ifndef WORK_H
#define WORK_H

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <liburing.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define WORK_SKIP 77
#define WORK_UNKNOWN UINT64_MAX
#define WORK_OPS 64
#define WORK_ERRNOS 256
#define WORK_REGISTERS 40
#define WORK_SLOTS 4096
#define WORK_BLOCK 4096u

/* user_data of CQEs that are not the answer to a slot's request. */
#define WORK_TAG_AUX (UINT64_MAX - 1)
#define WORK_TAG_SKIP (UINT64_MAX - 2)

/* Why a worker ran a request. */
enum work_punt { PUNT_ASKED, PUNT_OPCODE, PUNT_UNWANTED, PUNT_CAUSES };

/* Times that have an end of their own: their number, and no more nanoseconds in all than these. */
struct span_tally {
	uint64_t count, sum_ns;
};

struct op_tally {
	uint64_t submitted, completed, errors, bytes;
	uint64_t punted[PUNT_CAUSES];
	struct span_tally gaps;	 /* from CQE to CQE of a multishot request, from its submission on */
	struct span_tally holds; /* until the notification of a zero-copy send */
};

struct register_tally {
	const char *name;
	uint64_t count, errors;
};

/* How long CQEs lay in the CQ: between lower and upper, which the program took the time around. */
struct lag_tally {
	uint64_t count, lower_sum_ns, upper_sum_ns;
	uint64_t lower_min_ns, upper_max_ns;
	uint64_t
		seen_min_ns; /* for so long they had lain there when the kernel last had reason to look, at least */
	uint64_t left;	     /* never consumed */
};

struct tally {
	struct op_tally op[WORK_OPS];
	struct lag_tally lags;
	uint64_t errnos[WORK_ERRNOS];
	uint64_t enters;  /* calls of io_uring_enter: known of raw rings, liburing makes its own */
	uint64_t imports; /* requests that used a registered buffer */
	uint64_t poller_cpu_ns, poller_wait_ns; /* of a thread that polls an SQ; 0: not known */
	uint64_t rejected, silent, rings, batches, overflows, poll_armed, multishot, aux, notifs;
	struct register_tally registers[WORK_REGISTERS];
	size_t n_registers;
	/* opcode << 56 | nanoseconds, shared with forked workers */
	uint64_t *samples;
	size_t n_samples, max_samples;
};

struct work {
	const char *scenario;
	uint64_t count;	      /* requests in all */
	unsigned int batch;   /* SQEs to a submission */
	unsigned int workers; /* threads, processes or rings */
	unsigned int setup_flags;
	uint64_t ms;
	uint64_t stray; /* one request in this many takes the bad way, 0: none */
	const char *dir;
	const char *out; /* NULL: stdout */
	bool timed;
};

struct scenario {
	const char *name;
	void (*run)(struct work *w, struct tally *t);
	uint64_t count;
	unsigned int batch;
	unsigned int workers;
	const char *what;
};

enum slot_kind { SLOT_REQUEST, SLOT_REJECTED, SLOT_MULTISHOT, SLOT_ZEROCOPY };

struct slot {
	uint64_t submit_ns;
	uint8_t op;
	uint8_t kind;
	bool busy;
};

/* A ring and what is in flight on it. Not thread safe. */
struct wring {
	struct io_uring u;
	struct tally *t;
	struct slot *slots;
	unsigned int *free;   /* stack of free slots */
	unsigned int *queued; /* slots of SQEs not yet submitted */
	unsigned int n_slots, n_free, n_queued, n_sqes;
	bool sqpoll, timed;
};

__attribute__((noreturn, format(printf, 2, 3))) static inline void die(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(status);
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Zeroed memory that forked workers share with their parent. */
static inline void *shared_alloc(size_t bytes)
{
	void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		die(1, "out of memory");
	return p;
}

static inline void *zalloc(size_t n, size_t bytes)
{
	void *p = calloc(n, bytes);

	if (!p)
		die(1, "out of memory");
	return p;
}

/* Forgets everything but where the samples are. */
static inline void tally__reset(struct tally *t)
{
	*t = (struct tally){ .samples = t->samples, .max_samples = t->max_samples };
	for (unsigned int i = 0; i < WORK_OPS; i++)
		for (unsigned int c = 0; c < PUNT_CAUSES; c++)
			t->op[i].punted[c] = WORK_UNKNOWN;
	t->poll_armed = WORK_UNKNOWN;
}

static inline struct tally *tally__new(size_t max_samples)
{
	struct tally *t = shared_alloc(sizeof(*t));

	tally__reset(t);
	t->max_samples = max_samples;
	if (max_samples)
		t->samples = shared_alloc(max_samples * sizeof(t->samples[0]));
	return t;
}

static inline uint64_t known_sum(uint64_t a, uint64_t b)
{
	if (a == WORK_UNKNOWN)
		return b;
	return b == WORK_UNKNOWN ? a : a + b;
}

/* Adds what one worker did to the sum. */
static inline void tally__add(struct tally *sum, const struct tally *t)
{
	for (unsigned int i = 0; i < WORK_OPS; i++) {
		struct op_tally *to = &sum->op[i];
		const struct op_tally *from = &t->op[i];

		to->submitted += from->submitted;
		to->completed += from->completed;
		to->errors += from->errors;
		to->bytes += from->bytes;
		for (unsigned int c = 0; c < PUNT_CAUSES; c++)
			to->punted[c] = known_sum(to->punted[c], from->punted[c]);
		to->gaps.count += from->gaps.count;
		to->gaps.sum_ns += from->gaps.sum_ns;
		to->holds.count += from->holds.count;
		to->holds.sum_ns += from->holds.sum_ns;
	}
	for (unsigned int i = 0; i < WORK_ERRNOS; i++)
		sum->errnos[i] += t->errnos[i];
	sum->rejected += t->rejected;
	sum->silent += t->silent;
	sum->rings += t->rings;
	if (t->batches == WORK_UNKNOWN)
		sum->batches = WORK_UNKNOWN;
	else if (sum->batches != WORK_UNKNOWN)
		sum->batches += t->batches;
	if (t->enters == WORK_UNKNOWN || sum->enters == WORK_UNKNOWN)
		sum->enters = WORK_UNKNOWN;
	else
		sum->enters += t->enters;
	sum->imports += t->imports;
	sum->overflows += t->overflows;
	sum->poll_armed = known_sum(sum->poll_armed, t->poll_armed);
	sum->multishot += t->multishot;
	sum->aux += t->aux;
	sum->notifs += t->notifs;
	for (size_t i = 0; i < t->n_samples && sum->n_samples < sum->max_samples; i++)
		sum->samples[sum->n_samples++] = t->samples[i];
}

/* Another request of this opcode that a worker runs for this reason; 0: says that none does. */
static inline void tally__punted(struct tally *t, unsigned int op, enum work_punt cause, uint64_t n)
{
	t->op[op].punted[cause] = known_sum(t->op[op].punted[cause], n);
}

/* No request of this opcode leaves the submitting thread. */
static inline void tally__never_punted(struct tally *t, unsigned int op)
{
	for (unsigned int c = 0; c < PUNT_CAUSES; c++)
		tally__punted(t, op, c, 0);
}

static inline void tally__register(struct tally *t, const char *name, int ret)
{
	size_t i;

	for (i = 0; i < t->n_registers && strcmp(t->registers[i].name, name); i++)
		;
	if (i == WORK_REGISTERS)
		die(1, "too many kinds of registration");
	if (i == t->n_registers)
		t->registers[t->n_registers++].name = name;
	t->registers[i].count++;
	t->registers[i].errors += ret < 0;
}

static inline void tally__sample(struct tally *t, unsigned int op, uint64_t ns)
{
	if (t->n_samples < t->max_samples)
		t->samples[t->n_samples++] = (uint64_t)op << 56 | ns;
}

/* What is kept of a ring besides the ring: room for n_slots requests in flight. */
static inline void wring__begin(struct wring *r, struct tally *t, unsigned int n_slots, bool sqpoll)
{
	memset(r, 0, sizeof(*r));
	r->t = t;
	r->sqpoll = sqpoll;
	r->timed = t->max_samples > 0;
	r->n_slots = n_slots;
	r->slots = zalloc(n_slots, sizeof(r->slots[0]));
	r->free = zalloc(n_slots, sizeof(r->free[0]));
	r->queued = zalloc(n_slots, sizeof(r->queued[0]));
	while (r->n_free < n_slots) {
		r->free[r->n_free] = n_slots - 1 - r->n_free;
		r->n_free++;
	}
	t->rings++;
	if (sqpoll)
		t->batches = WORK_UNKNOWN;
}

static inline void wring__end(struct wring *r)
{
	free(r->slots);
	free(r->free);
	free(r->queued);
}

/*
 * Opens a ring of `entries` SQEs and a CQ of cq_entries (0: the kernel's choice) on which at most
 * n_slots requests are in flight.
 */
static inline void wring__open(struct wring *r, struct tally *t, unsigned int entries,
	unsigned int cq_entries, unsigned int n_slots, unsigned int setup_flags)
{
	struct io_uring_params p = { .flags = setup_flags, .sq_thread_idle = 50 };
	int ret;

	if (cq_entries) {
		p.flags |= IORING_SETUP_CQSIZE;
		p.cq_entries = cq_entries;
	}
	wring__begin(r, t, n_slots, setup_flags & IORING_SETUP_SQPOLL);
	t->enters = WORK_UNKNOWN;
	ret = io_uring_queue_init_params(entries, &r->u, &p);
	if (ret == -EINVAL || ret == -ENOSYS || ret == -EPERM)
		die(WORK_SKIP, "io_uring_setup with flags 0x%x: %s", p.flags, strerror(-ret));
	if (ret)
		die(1, "io_uring_setup: %s", strerror(-ret));
}

static inline void wring__close(struct wring *r)
{
	io_uring_queue_exit(&r->u);
	wring__end(r);
}

/* A blank SQE and the slot that its request will occupy. */
static inline struct io_uring_sqe *wring__sqe(struct wring *r, unsigned int *ret_slot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&r->u);

	while (!sqe && r->sqpoll) {
		io_uring_sqring_wait(&r->u);
		sqe = io_uring_get_sqe(&r->u);
	}
	if (!sqe || !r->n_free)
		die(1, "%s is full", sqe ? "the slot table" : "the SQ");
	memset(sqe, 0, sizeof(*sqe));
	*ret_slot = r->free[r->n_free - 1];
	return sqe;
}

/* Accepts the filled SQE for the next submission. */
static inline void wring__queue(struct wring *r, struct io_uring_sqe *sqe, unsigned int slot,
	enum slot_kind kind)
{
	struct slot *s = &r->slots[slot];

	sqe->user_data = slot;
	r->n_free--;
	r->queued[r->n_queued++] = slot;
	r->n_sqes++;
	s->op = sqe->opcode;
	s->kind = (uint8_t)kind;
	s->busy = true;
	if (kind == SLOT_REJECTED)
		return;
	if (sqe->opcode >= WORK_OPS)
		die(1, "opcode %u", sqe->opcode);
	r->t->op[sqe->opcode].submitted++;
	if (sqe->flags & IOSQE_ASYNC)
		tally__punted(r->t, sqe->opcode, PUNT_ASKED, 1);
}

/* The same for one that asks for no CQE and succeeds. */
static inline void wring__queue_silent(struct wring *r, struct io_uring_sqe *sqe)
{
	sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	sqe->user_data = WORK_TAG_SKIP;
	r->n_sqes++;
	r->t->op[sqe->opcode].submitted++;
	r->t->silent++;
}

/* From now on the requests that are queued take time. */
static inline void wring__stamp(struct wring *r)
{
	uint64_t now = r->timed ? now_ns() : 0;

	for (unsigned int i = 0; i < r->n_queued; i++)
		r->slots[r->queued[i]].submit_ns = now;
}

/* Submits everything queued and waits for `wait` CQEs. */
static inline void wring__submit(struct wring *r, unsigned int wait)
{
	unsigned int left = r->n_sqes;
	int ret;

	wring__stamp(r);
	while (left) {
		ret = io_uring_submit_and_wait(&r->u, wait);
		if (ret == -EINTR || ret == -EAGAIN || ret == -EBUSY)
			continue;
		if (ret < 0)
			die(1, "io_uring_enter: %s", strerror(-ret));
		if (r->sqpoll)
			break;
		r->t->batches += ret > 0;
		left -= (unsigned int)ret;
	}
	r->n_queued = 0;
	r->n_sqes = 0;
}

static inline bool op_moves_bytes(unsigned int op)
{
	switch (op) {
	case IORING_OP_READ:
	case IORING_OP_WRITE:
	case IORING_OP_READV:
	case IORING_OP_WRITEV:
	case IORING_OP_READ_FIXED:
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_SEND:
	case IORING_OP_RECV:
	case IORING_OP_SEND_ZC:
		return true;
	}
	return false;
}

static inline void wring__end_request(struct wring *r, const struct slot *s, int res, uint64_t now)
{
	struct op_tally *o = &r->t->op[s->op];

	o->completed++;
	if (res < 0) {
		o->errors++;
		if (-res < WORK_ERRNOS)
			r->t->errnos[-res]++;
	} else if (op_moves_bytes(s->op)) {
		o->bytes += (uint64_t)res;
	}
	if (s->kind == SLOT_MULTISHOT) {
		o->gaps.count++;
		o->gaps.sum_ns += now - s->submit_ns;
	} else if (r->timed) {
		tally__sample(r->t, s->op, now - s->submit_ns);
	}
}

static inline void wring__on_notif(struct wring *r, const struct slot *s, uint64_t now)
{
	r->t->notifs++;
	r->t->op[s->op].holds.count++;
	r->t->op[s->op].holds.sum_ns += now - s->submit_ns;
}

/* The last CQE of the request adds the time of all. */
static inline void wring__on_shot(struct wring *r, const struct slot *s)
{
	r->t->multishot++;
	r->t->op[s->op].gaps.count++;
}

static inline void wring__on_cqe(struct wring *r, const struct io_uring_cqe *cqe, uint64_t now)
{
	struct slot *s;

	if (cqe->user_data == WORK_TAG_AUX) {
		r->t->aux++;
		return;
	}
	if (cqe->user_data >= r->n_slots || !r->slots[cqe->user_data].busy)
		die(1, "CQE for nobody: user_data 0x%llx res %d", (unsigned long long)cqe->user_data,
			cqe->res);
	s = &r->slots[cqe->user_data];
	if (s->kind == SLOT_REJECTED)
		r->t->rejected++;
	else if (cqe->flags & IORING_CQE_F_NOTIF)
		wring__on_notif(r, s, now);
	else if (s->kind == SLOT_MULTISHOT && cqe->flags & IORING_CQE_F_MORE)
		wring__on_shot(r, s);
	else
		wring__end_request(r, s, cqe->res, now);
	if (cqe->flags & IORING_CQE_F_MORE)
		return;
	s->busy = false;
	r->free[r->n_free++] = (unsigned int)cqe->user_data;
}

/* Consumes every CQE there is, and at least min of them. Returns how many. */
static inline unsigned int wring__reap(struct wring *r, unsigned int min)
{
	struct io_uring_cqe *cqes[64], *cqe;
	unsigned int total = 0, n;
	uint64_t now;
	int ret;

	for (;;) {
		n = io_uring_peek_batch_cqe(&r->u, cqes, 64);
		now = r->timed ? now_ns() : 0;
		for (unsigned int i = 0; i < n; i++)
			wring__on_cqe(r, cqes[i], now);
		io_uring_cq_advance(&r->u, n);
		total += n;
		if (n)
			continue;
		if (total >= min)
			return total;
		ret = io_uring_wait_cqe(&r->u, &cqe);
		if (ret && ret != -EINTR && ret != -EAGAIN)
			die(1, "waiting for a CQE: %s", strerror(-ret));
	}
}

static inline unsigned int wring__in_flight(const struct wring *r)
{
	return r->n_slots - r->n_free - r->n_queued;
}

static inline void wring__drain(struct wring *r)
{
	while (wring__in_flight(r))
		wring__reap(r, 1);
}

/* Fills the SQE of request number i. */
typedef void (*prep_fn)(struct wring *r, struct io_uring_sqe *sqe, uint64_t i, unsigned int slot, void *arg);

/* `count` requests, `batch` to a submission, as many in flight as there are slots; then waits for all. */
static inline void wring__drive(struct wring *r, uint64_t count, unsigned int batch, prep_fn prep, void *arg)
{
	uint64_t i = 0;

	while (i < count) {
		unsigned int n = count - i < batch ? (unsigned int)(count - i) : batch, slot, want;

		for (unsigned int k = 0; k < n; k++) {
			struct io_uring_sqe *sqe = wring__sqe(r, &slot);

			prep(r, sqe, i++, slot, arg);
			wring__queue(r, sqe, slot, SLOT_REQUEST);
		}
		want = r->n_free >= batch ? 0 : batch - r->n_free;
		wring__submit(r, want);
		if (want)
			wring__reap(r, want);
	}
	wring__drain(r);
}

static inline void prep_nop(struct wring *r, struct io_uring_sqe *sqe, uint64_t i, unsigned int slot,
	void *arg)
{
	(void)r, (void)i, (void)slot, (void)arg;
	io_uring_prep_nop(sqe);
}

/* A file without a name that holds `bytes` bytes, written and flushed. Closing it frees it. */
static inline int work__file(const struct work *w, size_t bytes, int flags)
{
	size_t chunk = 1u << 20;
	char path[PATH_MAX];
	void *buf = NULL;
	int fd;

	if (snprintf(path, sizeof(path), "%s/ringside-work-XXXXXX", w->dir) >= (int)sizeof(path))
		die(2, "--dir is too long");
	fd = mkostemp(path, flags | O_CLOEXEC);
	if (fd < 0 && errno == EINVAL && flags & O_DIRECT)
		die(WORK_SKIP, "%s: no O_DIRECT on this file system", w->dir);
	if (fd < 0)
		die(1, "%s: %s", path, strerror(errno));
	if (unlink(path))
		die(1, "%s: %s", path, strerror(errno));
	if (posix_memalign(&buf, WORK_BLOCK, chunk))
		die(1, "out of memory");
	memset(buf, 0x5a, chunk);
	for (size_t off = 0; off < bytes; off += chunk) {
		size_t n = bytes - off < chunk ? bytes - off : chunk;

		if (pwrite(fd, buf, n, (off_t)off) != (ssize_t)n)
			die(1, "%s: short write", path);
	}
	if (bytes && fsync(fd))
		die(1, "%s: %s", path, strerror(errno));
	free(buf);
	return fd;
}

static inline void *block_alloc(size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, WORK_BLOCK, n * WORK_BLOCK))
		die(1, "out of memory");
	memset(p, 0x5a, n * WORK_BLOCK);
	return p;
}

#include "work_main.h"

#endif
