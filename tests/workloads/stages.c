// SPDX-License-Identifier: MIT
/*
 * Requests that are held up in one stage, for a time that this program knows.
 *
 * stages SCENARIO [--count N] [--ms N] [--dir DIR] [--out FILE]: for each of N requests, one after the other, the
 * stage took at least what this program waited in it, and the whole request at most what it saw of it. Exit
 * status 77: this kernel can't do it.
 */
#include <sys/socket.h>

#include "work_options.h"

struct stages {
	struct work_options o;
	struct io_uring ring;
	/* the truth */
	const char *op;
	uint64_t requests, least_ns, most_ns;
};

static void check(int ret, const char *what)
{
	if (ret < 0)
		die(1, "%s: %s", what, strerror(ret == -1 ? errno : -ret));
}

static void hold(const struct stages *s)
{
	struct timespec t = { .tv_sec = (time_t)(s->o.ms / 1000),
		.tv_nsec = (long)(s->o.ms % 1000) * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void open_ring(struct stages *s, unsigned int flags)
{
	int err = io_uring_queue_init(8, &s->ring, flags);

	if (err == -EINVAL && flags)
		die(WORK_SKIP, "this kernel opens no ring with flags %#x", flags);
	check(err, "io_uring_queue_init");
}

static struct io_uring_sqe *sqe_of(struct stages *s)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);

	if (!sqe)
		die(1, "the SQ is full");
	return sqe;
}

static void submit(struct stages *s)
{
	check(io_uring_submit(&s->ring), "io_uring_submit");
}

static void reap(struct stages *s, unsigned int n)
{
	struct io_uring_cqe *cqe;

	while (n--) {
		check(io_uring_wait_cqe(&s->ring, &cqe), "io_uring_wait_cqe");
		if (cqe->res < 0 && cqe->res != -ETIME)
			die(1, "a request failed: %s", strerror(-cqe->res));
		io_uring_cqe_seen(&s->ring, cqe);
	}
}

static void add(struct stages *s, uint64_t requests, uint64_t least_ns, uint64_t most_ns)
{
	s->requests += requests;
	s->least_ns += least_ns;
	s->most_ns += most_ns;
}

/* A RECV whose data comes late, or whose thread enters the kernel late to hear of it. */
static void receive(struct stages *s, bool late_data)
{
	uint64_t begin, from, to;
	char c = 'x', buf[1];
	int sv[2];

	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), "socketpair");
	begin = now_ns();
	io_uring_prep_recv(sqe_of(s), sv[0], buf, sizeof(buf), 0);
	submit(s);
	if (!late_data && write(sv[1], &c, 1) != 1)
		die(1, "write: %s", strerror(errno));
	from = now_ns();
	hold(s);
	to = now_ns();
	if (late_data && write(sv[1], &c, 1) != 1)
		die(1, "write: %s", strerror(errno));
	reap(s, 1);
	add(s, 1, to - from, now_ns() - begin);
	close(sv[0]);
	close(sv[1]);
}

static void run_armed(struct stages *s)
{
	s->op = "RECV";
	open_ring(s, 0);
	for (unsigned long i = 0; i < s->o.count; i++)
		receive(s, true);
}

static void run_deliver(struct stages *s)
{
	s->op = "RECV";
	open_ring(s, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	for (unsigned long i = 0; i < s->o.count; i++)
		receive(s, false);
}

/* A NOP behind a TIMEOUT, in its chain or behind a drain. */
static void wait_behind(struct stages *s, unsigned int timeout_flags, unsigned int nop_flags)
{
	struct __kernel_timespec ts = { .tv_sec = (long long)(s->o.ms / 1000),
		.tv_nsec = (long long)(s->o.ms % 1000) * 1000000 };
	uint64_t begin = now_ns(), submitted_ns, timeout_ns = s->o.ms * 1000000;
	struct io_uring_sqe *sqe = sqe_of(s);

	io_uring_prep_timeout(sqe, &ts, 0, 0);
	sqe->flags |= timeout_flags;
	sqe = sqe_of(s);
	io_uring_prep_nop(sqe);
	sqe->flags |= nop_flags;
	submit(s);
	/* the timer may have been running for as long before the NOP was submitted */
	submitted_ns = now_ns() - begin;
	reap(s, 2);
	add(s, 1, timeout_ns > submitted_ns ? timeout_ns - submitted_ns : 0, now_ns() - begin);
}

static void run_link(struct stages *s)
{
	s->op = "NOP";
	open_ring(s, 0);
	for (unsigned long i = 0; i < s->o.count; i++)
		wait_behind(s, IOSQE_IO_HARDLINK, 0);
}

static void run_drain(struct stages *s)
{
	s->op = "NOP";
	open_ring(s, 0);
	for (unsigned long i = 0; i < s->o.count; i++)
		wait_behind(s, 0, IOSQE_IO_DRAIN);
}

/* Two OPENATs that block in the only worker there may be: while one runs, the other waits for the worker. */
static void open_two(struct stages *s, char paths[2][4096])
{
	uint64_t begin = now_ns(), from, held_ns;
	int fds[2];

	for (int i = 0; i < 2; i++) {
		struct io_uring_sqe *sqe = sqe_of(s);

		io_uring_prep_openat(sqe, AT_FDCWD, paths[i], O_RDONLY | O_CLOEXEC, 0);
		sqe->flags |= IOSQE_ASYNC;
	}
	submit(s);
	from = now_ns();
	hold(s);
	held_ns = now_ns() - from;
	for (int i = 0; i < 2; i++) {
		fds[i] = open(paths[i], O_WRONLY | O_CLOEXEC);
		check(fds[i], "open");
	}
	reap(s, 2);
	add(s, 2, 2 * held_ns, 2 * (now_ns() - begin));
	for (int i = 0; i < 2; i++)
		close(fds[i]);
}

static void run_wq(struct stages *s)
{
	unsigned int most[2] = { 1, 1 };
	char paths[2][4096];

	s->op = "OPENAT";
	open_ring(s, 0);
	if (io_uring_register_iowq_max_workers(&s->ring, most) < 0)
		die(WORK_SKIP, "this kernel does not limit io-wq workers");
	for (int i = 0; i < 2; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/fifo.%d", s->o.dir, i);
		check(mkfifo(paths[i], 0600), "mkfifo");
	}
	for (unsigned long i = 0; i < s->o.count; i++)
		open_two(s, paths);
	unlink(paths[0]);
	unlink(paths[1]);
}

static const struct held {
	const char *name;
	void (*run)(struct stages *s);
} scenarios[] = {
	{ "armed", run_armed },
	{ "deliver", run_deliver },
	{ "link", run_link },
	{ "drain", run_drain },
	{ "wq", run_wq },
};

static void tell(const struct stages *s)
{
	FILE *f = s->o.out ? fopen(s->o.out, "we") : stdout;

	if (!f)
		die(1, "%s: %s", s->o.out, strerror(errno));
	fprintf(f, "{\"op\":\"%s\",\"requests\":%llu,\"least_ns\":%llu,\"most_ns\":%llu}\n", s->op,
		(unsigned long long)s->requests, (unsigned long long)s->least_ns,
		(unsigned long long)s->most_ns);
	if (fflush(f) || (s->o.out && fclose(f)))
		die(1, "can't write: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	struct stages s = { .o = { .count = 5, .ms = 20, .dir = "." } };

	work_options__parse(argc, argv, 100000, &s.o);
	for (size_t i = 0; optind == argc - 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(argv[optind], scenarios[i].name))
			continue;
		scenarios[i].run(&s);
		io_uring_queue_exit(&s.ring);
		tell(&s);
		return 0;
	}
	fprintf(stderr,
		"usage: stages armed|deliver|link|drain|wq [--count N] [--ms N] [--dir DIR] [--out FILE]\n");
	return 2;
}
