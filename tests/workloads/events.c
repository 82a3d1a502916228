// SPDX-License-Identifier: MIT
/* Requests that wait for something, and CQEs that are not the end of a request. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "work.h"

#define MESSAGE_BYTES 64u

static void prep_timeout(struct wring *r, struct io_uring_sqe *sqe, uint64_t i, unsigned int slot, void *arg)
{
	(void)r, (void)i, (void)slot;
	io_uring_prep_timeout(sqe, arg, 0, 0);
}

static struct __kernel_timespec timespec_of_ms(uint64_t ms)
{
	return (struct __kernel_timespec){ .tv_sec = (long long)(ms / 1000),
		.tv_nsec = (long long)(ms % 1000 * 1000000) };
}

static void run_timeout(struct work *w, struct tally *t)
{
	struct __kernel_timespec ts = timespec_of_ms(w->ms);
	struct wring r;

	wring__open(&r, t, w->batch, 0, w->batch, w->setup_flags);
	tally__never_punted(t, IORING_OP_TIMEOUT);
	wring__drive(&r, w->count, w->batch, prep_timeout, &ts);
	wring__close(&r);
}

static void open_pair(int sv[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		die(1, "socketpair: %s", strerror(errno));
}

static void send_bytes(int fd, unsigned int n)
{
	static const char message[WORK_SLOTS];

	if (n && write(fd, message, n) != (ssize_t)n)
		die(1, "write: %s", strerror(errno));
}

/* Reads of empty sockets; the data follows when all of a batch are parked. */
static void run_poll(struct work *w, struct tally *t)
{
	int(*pairs)[2] = zalloc(w->batch, sizeof(pairs[0]));
	char *bufs = zalloc(w->batch, MESSAGE_BYTES);
	unsigned int slot;
	struct wring r;

	for (unsigned int k = 0; k < w->batch; k++)
		open_pair(pairs[k]);
	wring__open(&r, t, w->batch, 0, w->batch, w->setup_flags);
	tally__never_punted(t, IORING_OP_READ);
	tally__never_punted(t, IORING_OP_RECV);
	t->poll_armed = 0;
	for (uint64_t left = w->count; left;) {
		unsigned int n = left < w->batch ? (unsigned int)left : w->batch;

		for (unsigned int k = 0; k < n; k++) {
			struct io_uring_sqe *sqe = wring__sqe(&r, &slot);
			char *buf = bufs + (size_t)k * MESSAGE_BYTES;

			if (k % 2)
				io_uring_prep_recv(sqe, pairs[k][0], buf, MESSAGE_BYTES, 0);
			else
				io_uring_prep_read(sqe, pairs[k][0], buf, MESSAGE_BYTES, 0);
			wring__queue(&r, sqe, slot, SLOT_REQUEST);
		}
		wring__submit(&r, 0);
		t->poll_armed += n;
		for (unsigned int k = 0; k < n; k++)
			send_bytes(pairs[k][1], MESSAGE_BYTES);
		wring__drain(&r);
		left -= n;
	}
	wring__close(&r);
	for (unsigned int k = 0; k < w->batch; k++) {
		close(pairs[k][0]);
		close(pairs[k][1]);
	}
	free(pairs);
	free(bufs);
}

/* Reads of a silent socket, each cut off by a linked timeout. */
static void run_deadline(struct work *w, struct tally *t)
{
	struct __kernel_timespec ts = timespec_of_ms(w->ms);
	unsigned int slot;
	char buf[MESSAGE_BYTES];
	struct wring r;
	int sv[2];

	open_pair(sv);
	wring__open(&r, t, 8, 0, 8, w->setup_flags);
	t->poll_armed = 0;
	for (uint64_t i = 0; i < w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_recv(sqe, sv[0], buf, sizeof(buf), 0);
		sqe->flags |= IOSQE_IO_LINK;
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		sqe = wring__sqe(&r, &slot);
		io_uring_prep_link_timeout(sqe, &ts, 0);
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		wring__submit(&r, 2);
		t->poll_armed++;
		wring__drain(&r);
	}
	wring__close(&r);
	close(sv[0]);
	close(sv[1]);
}

static void bump_eventfd(int fd)
{
	uint64_t v = 1;

	if (write(fd, &v, sizeof(v)) != sizeof(v))
		die(1, "eventfd: %s", strerror(errno));
}

/* One POLL_ADD that reports `count` events, then is removed. */
static void run_multishot(struct work *w, struct tally *t)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	unsigned int slot, poll_slot;
	struct io_uring_sqe *sqe;
	struct wring r;
	uint64_t v;

	if (fd < 0)
		die(1, "eventfd: %s", strerror(errno));
	wring__open(&r, t, 8, 0, 8, w->setup_flags);
	sqe = wring__sqe(&r, &poll_slot);
	io_uring_prep_poll_multishot(sqe, fd, POLLIN);
	wring__queue(&r, sqe, poll_slot, SLOT_MULTISHOT);
	wring__submit(&r, 0);
	for (uint64_t i = 0; i < w->count; i++) {
		bump_eventfd(fd);
		wring__reap(&r, 1);
		if (read(fd, &v, sizeof(v)) != sizeof(v))
			die(1, "eventfd: %s", strerror(errno));
	}
	sqe = wring__sqe(&r, &slot);
	io_uring_prep_poll_remove(sqe, poll_slot);
	wring__queue(&r, sqe, slot, SLOT_REQUEST);
	wring__submit(&r, 2);
	wring__drain(&r);
	wring__close(&r);
	close(fd);
}

/*
 * Ends the workload if the first SQE that was submitted has been refused: the kernel is older than its opcode.
 * (To ask the kernel for a list of opcodes needs a ring of its own, which would be observed too.)
 */
static void need_acceptance(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	if (!io_uring_peek_cqe(ring, &cqe) && cqe->res == -EINVAL)
		die(WORK_SKIP, "this kernel has no such opcode");
}

/* Ends the workload where the kernel lacks IORING_FEAT_*. */
static void need_feature(const struct io_uring *ring, unsigned int feature)
{
	if (!(ring->features & feature))
		die(WORK_SKIP, "this kernel's io_uring lacks feature 0x%x", feature);
}

/* Messages from one ring to another, whose CQEs there answer no request. */
static void run_message(struct work *w, struct tally *t)
{
	struct wring from, to;
	unsigned int slot;

	wring__open(&from, t, 8, 0, 8, w->setup_flags);
	wring__open(&to, t, 8, 0, 8, w->setup_flags);
	for (uint64_t i = 0; i < w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&from, &slot);

		io_uring_prep_msg_ring(sqe, to.u.ring_fd, 1, WORK_TAG_AUX, 0);
		wring__queue(&from, sqe, slot, SLOT_REQUEST);
		wring__submit(&from, 1);
		need_acceptance(&from.u);
		wring__drain(&from);
		wring__reap(&to, 1);
	}
	wring__close(&from);
	wring__close(&to);
}

static int open_udp_to_itself(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(addr);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) ||
		getsockname(fd, (struct sockaddr *)&addr, &len) || connect(fd, (struct sockaddr *)&addr, len))
		die(WORK_SKIP, "no loopback network: %s", strerror(errno));
	return fd;
}

/* Zero-copy sends: a CQE for the request, and a later one when the buffer is free. */
static void run_zerocopy(struct work *w, struct tally *t)
{
	int fd = open_udp_to_itself();
	static char message[1024];
	unsigned int slot;
	struct wring r;

	wring__open(&r, t, 8, 0, 8, w->setup_flags);
	for (uint64_t i = 0; i < w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);
		char in[sizeof(message)];

		io_uring_prep_send_zc(sqe, fd, message, sizeof(message), 0, 0);
		wring__queue(&r, sqe, slot, SLOT_ZEROCOPY);
		wring__submit(&r, 1);
		need_acceptance(&r.u);
		if (recv(fd, in, sizeof(in), 0) != sizeof(in))
			die(1, "recv: %s", strerror(errno));
		wring__drain(&r);
	}
	wring__close(&r);
	close(fd);
}

/* All but the last of each batch ask for no CQE. */
static void run_skip(struct work *w, struct tally *t)
{
	unsigned int slot;
	struct wring r;

	wring__open(&r, t, w->batch, 0, w->batch, w->setup_flags);
	need_feature(&r.u, IORING_FEAT_CQE_SKIP);
	for (uint64_t i = 1; i <= w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_nop(sqe);
		if (i % w->batch && i < w->count) {
			wring__queue_silent(&r, sqe);
			continue;
		}
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		wring__submit(&r, 1);
		wring__drain(&r);
	}
	wring__close(&r);
}

#define CHAIN_BAD_OPCODE 200
#define CHAIN_MOST 3u  /* requests between head and tail */
#define CHAIN_ROUND 8u /* requests of a round that have a CQE, at most */

static void queue_nop(struct wring *r)
{
	unsigned int slot;
	struct io_uring_sqe *sqe = wring__sqe(r, &slot);

	io_uring_prep_nop(sqe);
	wring__queue(r, sqe, slot, SLOT_REQUEST);
}

/* Consumes CQEs until n requests are left. */
static void wring__reap_until(struct wring *r, unsigned int n)
{
	while (wring__in_flight(r) > n)
		wring__reap(r, 1);
}

/* A NOP in a chain that fails; silent: it has no CQE then. */
static void queue_link(struct wring *r, unsigned int sqe_flags, bool silent)
{
	unsigned int slot;
	struct io_uring_sqe *sqe = wring__sqe(r, &slot);

	io_uring_prep_nop(sqe);
	sqe->flags = (uint8_t)(sqe_flags | IOSQE_IO_LINK);
	if (!silent) {
		wring__queue(r, sqe, slot, SLOT_REQUEST);
		return;
	}
	sqe->user_data = WORK_TAG_SKIP;
	r->n_sqes++;
	r->t->op[IORING_OP_NOP].submitted++;
	r->t->silent++;
}

/* An SQE that is refused; silent: without a CQE. */
static void queue_refused(struct wring *r, bool silent)
{
	unsigned int slot;
	struct io_uring_sqe *sqe = wring__sqe(r, &slot);

	sqe->opcode = CHAIN_BAD_OPCODE;
	if (!silent) {
		wring__queue(r, sqe, slot, SLOT_REJECTED);
		return;
	}
	sqe->user_data = WORK_TAG_SKIP;
	r->n_sqes++;
	r->t->rejected++;
}

/*
 * Chains whose last SQE is refused. Their head fails, and if it asked for no CQE, its followers have
 * none, refused or not; in every other round it did not ask. What is submitted next gets their memory.
 */
static void refused_chains(struct wring *r, const struct work *w)
{
	for (uint64_t i = 0; i < w->count / CHAIN_ROUND; i++) {
		unsigned int parked = (unsigned int)w->stray;
		bool silent = i % 2 == 0;

		queue_link(r, silent ? IOSQE_CQE_SKIP_SUCCESS : 0, false);
		for (unsigned int k = 0; k < i / 2 % (CHAIN_MOST + 1); k++)
			queue_link(r, 0, silent);
		queue_refused(r, silent);
		wring__submit(r, 1);
		wring__reap_until(r, parked);
		/* also by another that is refused, alone */
		if (i % 3 == 0)
			queue_refused(r, false);
		for (unsigned int k = 0; k < i % 5; k++)
			queue_nop(r);
		wring__submit(r, 0);
		wring__reap_until(r, parked);
	}
}

/* With --stray reads that wait meanwhile. */
static void run_refused_chain(struct work *w, struct tally *t)
{
	unsigned int entries = 16, slot, n = (unsigned int)w->stray;
	static char byte;
	struct wring r;
	int sv[2];

	open_pair(sv);
	wring__open(&r, t, entries, 2 * WORK_SLOTS, entries + n, w->setup_flags);
	t->poll_armed = n;
	for (unsigned int i = 0; i < n; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_recv(sqe, sv[0], &byte, 1, 0);
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		if (r.n_sqes == entries || i == n - 1)
			wring__submit(&r, 0);
	}
	refused_chains(&r, w);
	send_bytes(sv[1], n);
	wring__drain(&r);
	wring__close(&r);
	close(sv[0]);
	close(sv[1]);
}

/*
 * Rounds that fill the CQ, and then, all in one submission, --batch requests that ask for no CQE and one
 * whose CQE finds no room.
 */
static void run_skip_overflow(struct work *w, struct tally *t)
{
	unsigned int entries = 8, slot;
	int fd = eventfd(1, EFD_CLOEXEC);
	struct io_uring_sqe *sqe;
	struct wring r;

	if (fd < 0)
		die(1, "eventfd: %s", strerror(errno));
	while (entries <= w->batch)
		entries *= 2;
	wring__open(&r, t, entries, entries, entries + 1, w->setup_flags);
	for (uint64_t i = 0; i < w->count / (entries + 1); i++) {
		for (unsigned int k = 0; k < entries; k++)
			queue_nop(&r);
		wring__submit(&r, 0);
		for (unsigned int k = 0; k < w->batch; k++) {
			sqe = wring__sqe(&r, &slot);
			io_uring_prep_nop(sqe);
			wring__queue_silent(&r, sqe);
		}
		sqe = wring__sqe(&r, &slot);
		io_uring_prep_poll_add(sqe, fd, POLLIN);
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		wring__submit(&r, 0);
		t->overflows++;
		wring__drain(&r);
	}
	wring__close(&r);
	close(fd);
}

/* Ends with `count` reads in flight: the kernel cancels them after the program is gone. */
static void run_abandon(struct work *w, struct tally *t)
{
	unsigned int slots = (unsigned int)w->count + w->batch, slot;
	static char buf[MESSAGE_BYTES];
	struct wring r;
	int sv[2];

	open_pair(sv);
	wring__open(&r, t, slots, 0, slots, w->setup_flags);
	for (uint64_t i = 0; i < w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_recv(sqe, sv[0], buf, sizeof(buf), 0);
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
	}
	wring__submit(&r, 0);
}

static const struct scenario scenarios[] = {
	{ "timeout", run_timeout, 20, 10, 1, "TIMEOUTs of --ms" },
	{ "poll", run_poll, 10000, 8, 1, "reads that wait for their data" },
	{ "deadline", run_deadline, 10, 2, 1, "reads cut off after --ms by a LINK_TIMEOUT" },
	{ "multishot", run_multishot, 1000, 1, 1, "one POLL_ADD with many CQEs" },
	{ "message", run_message, 1000, 1, 1, "MSG_RING from one ring to another" },
	{ "zerocopy", run_zerocopy, 1000, 1, 1, "SEND_ZC and its notifications" },
	{ "skip", run_skip, 10000, 10, 1, "requests without a CQE" },
	{ "refused-chain", run_refused_chain, 24000, 1, 1,
		"chains whose last SQE is refused, half without CQEs" },
	{ "skip-overflow", run_skip_overflow, 25700, 200, 1,
		"overflows, each after --batch requests without a CQE" },
	{ "skip-overflow-far", run_skip_overflow, 49155, 10000, 1, "the same with many more" },
	{ "abandon", run_abandon, 100, 8, 1, "exit with reads in flight" },
};

int main(int argc, char **argv)
{
	return work_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
