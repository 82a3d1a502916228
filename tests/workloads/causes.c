// SPDX-License-Identifier: MIT
/*
 * Causes of what the doctor finds, in doses.
 *
 * causes SCENARIO [--count N] [--depth N] [--files N] [--dir DIR] [--out FILE]: does so, and says as one JSON
 * object how often. Exit status 77: this kernel can't do it.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "work_options.h"

#define CHUNK (1u << 20)

struct causes {
	unsigned int count, depth, files;
	const char *dir, *out;
	struct io_uring ring;
	/* the truth */
	const char *op;
	unsigned long requests, calls;
};

static void check(int ret, const char *what)
{
	if (ret < 0)
		die(1, "%s: %s", what, strerror(ret == -1 ? errno : -ret));
}

static void open_ring(struct causes *c, unsigned int flags)
{
	int err = io_uring_queue_init(1024, &c->ring, flags);

	if (err == -EINVAL && flags)
		die(WORK_SKIP, "this kernel opens no ring with flags %#x", flags);
	check(err, "io_uring_queue_init");
}

static struct io_uring_sqe *sqe_of(struct causes *c)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&c->ring);

	if (!sqe)
		die(1, "the SQ is full");
	c->requests++;
	return sqe;
}

static void submit(struct causes *c)
{
	check(io_uring_submit(&c->ring), "io_uring_submit");
}

/* Consumes a CQE; returns its result. */
static int reap(struct causes *c)
{
	struct io_uring_cqe *cqe;
	int res;

	check(io_uring_wait_cqe(&c->ring, &cqe), "io_uring_wait_cqe");
	res = cqe->res;
	io_uring_cqe_seen(&c->ring, cqe);
	return res;
}

static void reap_all(struct causes *c, unsigned int n)
{
	while (n--)
		check(reap(c), "a request");
}

static int file(const struct causes *c, size_t bytes)
{
	const struct work w = { .dir = c->dir };

	return work__file(&w, bytes, O_RDWR);
}

/* Writes or reads of a chunk by workers, `depth` at a time, over `files` files. */
static void by_workers(struct causes *c, bool writes)
{
	char *buf = block_alloc(CHUNK / WORK_BLOCK);
	int *fds = zalloc(c->files, sizeof(*fds));
	unsigned int sent = 0;

	c->op = writes ? "WRITE" : "READ";
	for (unsigned int i = 0; i < c->files; i++)
		fds[i] = file(c, CHUNK);
	open_ring(c, 0);
	if (!writes) {
		unsigned int most[2] = { 1, 1 };

		if (io_uring_register_iowq_max_workers(&c->ring, most) < 0)
			die(WORK_SKIP, "this kernel does not limit io-wq workers");
	}
	for (unsigned int done = 0; done < c->count; done++) {
		while (sent < c->count && sent - done < c->depth) {
			struct io_uring_sqe *sqe = sqe_of(c);
			int fd = fds[sent++ % c->files];

			if (writes)
				io_uring_prep_write(sqe, fd, buf, CHUNK, 0);
			else
				io_uring_prep_read(sqe, fd, buf, CHUNK, 0);
			/* one that asks for a worker is queued before its file is known, so out of its order */
			sqe->flags |= writes ? 0 : IOSQE_ASYNC;
		}
		submit(c);
		reap_all(c, 1);
	}
	io_uring_queue_exit(&c->ring);
}

static void run_hashed(struct causes *c)
{
	by_workers(c, true);
}

static void run_limited(struct causes *c)
{
	by_workers(c, false);
}

/* Threads of this process besides its own: io-wq's. */
static unsigned int workers(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned int n = 0;
	struct dirent *e;

	if (!d)
		die(1, "/proc/self/task: %s", strerror(errno));
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n - 1;
}

/* OPENATs of a FIFO, each of which blocks a worker; somebody opens its other end when all of them have one. */
static void run_blocked(struct causes *c)
{
	unsigned int most[2] = { c->depth, c->depth };
	char path[PATH_MAX];
	int fd;

	c->op = "OPENAT";
	snprintf(path, sizeof(path), "%s/causes.fifo", c->dir);
	check(mkfifo(path, 0600), "mkfifo");
	open_ring(c, 0);
	if (io_uring_register_iowq_max_workers(&c->ring, most) < 0)
		die(WORK_SKIP, "this kernel does not limit io-wq workers");
	for (unsigned int i = 0; i < c->depth; i++) {
		struct io_uring_sqe *sqe = sqe_of(c);

		io_uring_prep_openat(sqe, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
		sqe->flags |= IOSQE_ASYNC;
	}
	submit(c);
	while (workers() < c->depth)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	check(fd, "open");
	reap_all(c, c->depth);
	close(fd);
	unlink(path);
	io_uring_queue_exit(&c->ring);
}

/* For each fsync of a block that was written, `depth` reads from the cache. */
static void run_fsyncs(struct causes *c)
{
	char *buf = block_alloc(1);
	int fd = file(c, CHUNK);

	c->op = "FSYNC";
	open_ring(c, 0);
	for (unsigned int i = 0; i < c->count; i++) {
		for (unsigned int k = 0; k < c->depth; k++)
			io_uring_prep_read(sqe_of(c), fd, buf, WORK_BLOCK, k % 256 * WORK_BLOCK);
		submit(c);
		reap_all(c, c->depth);
		if (pwrite(fd, buf, WORK_BLOCK, i % 256 * WORK_BLOCK) != WORK_BLOCK)
			die(1, "pwrite: %s", strerror(errno));
		io_uring_prep_fsync(sqe_of(c), fd, 0);
		submit(c);
		reap_all(c, 1);
		c->calls++;
	}
	io_uring_queue_exit(&c->ring);
}

/* A buffer registered and unregistered, with a NOP in between. */
static void run_registers(struct causes *c)
{
	struct iovec v = { .iov_base = block_alloc(1), .iov_len = WORK_BLOCK };

	c->op = "NOP";
	open_ring(c, 0);
	for (unsigned int i = 0; i < c->count; i++) {
		check(io_uring_register_buffers(&c->ring, &v, 1), "register");
		io_uring_prep_nop(sqe_of(c));
		submit(c);
		reap_all(c, 1);
		check(io_uring_unregister_buffers(&c->ring), "unregister");
		c->calls++;
	}
	io_uring_queue_exit(&c->ring);
}

static void open_pipe(int fds[2])
{
	check(pipe2(fds, O_CLOEXEC), "pipe2");
}

/* Fills a pipe and leaves `count` writes to it in flight. */
static void leave_writes(struct causes *c, int fds[2])
{
	static const char bytes[WORK_BLOCK];

	c->op = "WRITE";
	open_pipe(fds);
	check(fcntl(fds[1], F_SETFL, O_NONBLOCK), "fcntl");
	while (write(fds[1], bytes, sizeof(bytes)) > 0)
		;
	check(fcntl(fds[1], F_SETFL, 0), "fcntl");
	open_ring(c, 0);
	for (unsigned int i = 0; i < c->count; i++)
		io_uring_prep_write(sqe_of(c), fds[1], bytes, sizeof(bytes), 0);
	submit(c);
}

/* To the end of file: when the last that could write to it is gone. Returns the bytes. */
static size_t read_to_end(int fd)
{
	static char buf[1 << 16];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		sum += (size_t)n;
	check((int)n, "read");
	return sum;
}

static void run_left_at_exit(struct causes *c)
{
	int fds[2];

	leave_writes(c, fds);
}

/* The ring is closed; the program goes on, and sees that the writes are gone. */
static void run_left_at_close(struct causes *c)
{
	int fds[2];

	leave_writes(c, fds);
	io_uring_queue_exit(&c->ring);
	close(fds[1]);
	/* as long as nothing is read none of them can be made, so all end by being canceled */
	while (poll(&(struct pollfd){ .fd = fds[0], .events = 0 }, 1, -1) != 1)
		;
}

/* The same writes, waited for. */
static void run_awaited(struct causes *c)
{
	int fds[2];
	pid_t pid;

	leave_writes(c, fds);
	pid = fork();
	check(pid, "fork");
	if (!pid) {
		close(fds[1]);
		read_to_end(fds[0]);
		_exit(0);
	}
	reap_all(c, c->count);
	io_uring_queue_exit(&c->ring);
}

/* `depth` RECVs wait on one socket; each of `count` bytes wakes them, and one of them gets it. */
static void run_herd(struct causes *c)
{
	char byte = 'x', buf[1];
	int sv[2];

	c->op = "RECV";
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), "socketpair");
	open_ring(c, 0);
	for (unsigned int i = 0; i < c->depth; i++)
		io_uring_prep_recv(sqe_of(c), sv[0], buf, 1, 0);
	submit(c);
	for (unsigned int i = 0; i < c->count; i++) {
		check((int)write(sv[1], &byte, 1), "write");
		reap_all(c, 1);
		io_uring_prep_recv(sqe_of(c), sv[0], buf, 1, 0);
		submit(c);
	}
	for (unsigned int i = 0; i < c->depth; i++)
		check((int)write(sv[1], &byte, 1), "write");
	reap_all(c, c->depth);
	io_uring_queue_exit(&c->ring);
}

/* Calls that neither submit nor wait, after one NOP. */
static void run_spin(struct causes *c)
{
	c->op = "NOP";
	open_ring(c, 0);
	io_uring_prep_nop(sqe_of(c));
	submit(c);
	reap_all(c, 1);
	for (unsigned int i = 0; i < c->count; i++) {
		check(io_uring_enter((unsigned int)c->ring.ring_fd, 0, 0, IORING_ENTER_GETEVENTS, NULL),
			"io_uring_enter");
		c->calls++;
	}
	io_uring_queue_exit(&c->ring);
}

/* Reads of `files` MiB from the cache, which end inline. */
static void run_large(struct causes *c)
{
	char *buf = block_alloc((size_t)c->files * CHUNK / WORK_BLOCK);
	int fd = file(c, (size_t)c->files * CHUNK);

	c->op = "READ";
	open_ring(c, 0);
	for (unsigned int i = 0; i < c->count; i++) {
		io_uring_prep_read(sqe_of(c), fd, buf, c->files * CHUNK, 0);
		submit(c);
		while (!io_uring_cq_ready(&c->ring))
			nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
		reap_all(c, 1);
	}
	io_uring_queue_exit(&c->ring);
}

#ifndef IORING_SEND_ZC_REPORT_USAGE
#define IORING_SEND_ZC_REPORT_USAGE (1u << 3)
#endif

/* Zero-copy sends over the loopback device, which copies. */
static void run_copied(struct causes *c)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), res;
	static char message[8192], in[8192];
	socklen_t len = sizeof(addr);

	c->op = "SEND_ZC";
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, len) ||
		getsockname(fd, (struct sockaddr *)&addr, &len) || connect(fd, (struct sockaddr *)&addr, len))
		die(WORK_SKIP, "no loopback network: %s", strerror(errno));
	open_ring(c, 0);
	for (unsigned int i = 0; i < c->count; i++) {
		struct io_uring_sqe *sqe = sqe_of(c);

		io_uring_prep_send_zc(sqe, fd, message, sizeof(message), 0, 0);
		sqe->ioprio = IORING_SEND_ZC_REPORT_USAGE;
		submit(c);
		res = reap(c);
		if (res == -EINVAL)
			die(WORK_SKIP, "this kernel does not say whether a send copied");
		check(res, "send");
		if (recv(fd, in, sizeof(in), 0) != sizeof(in))
			die(1, "recv: %s", strerror(errno));
		/* the notification: the lowest bits are 0, the highest says that it copied */
		c->calls += reap(c) == INT_MIN;
	}
	io_uring_queue_exit(&c->ring);
}

static const struct cause {
	const char *name;
	void (*run)(struct causes *c);
} causes[] = {
	{ "hashed", run_hashed },
	{ "limited", run_limited },
	{ "blocked", run_blocked },
	{ "fsyncs", run_fsyncs },
	{ "registers", run_registers },
	{ "left-at-exit", run_left_at_exit },
	{ "left-at-close", run_left_at_close },
	{ "awaited", run_awaited },
	{ "herd", run_herd },
	{ "spin", run_spin },
	{ "large", run_large },
	{ "copied", run_copied },
};

static void tell(const struct causes *c)
{
	FILE *f = c->out ? fopen(c->out, "we") : stdout;

	if (!f)
		die(1, "%s: %s", c->out, strerror(errno));
	fprintf(f, "{\"op\":\"%s\",\"requests\":%lu,\"calls\":%lu,\"pid\":%d}\n", c->op, c->requests,
		c->calls, (int)getpid());
	if (fflush(f) || (c->out && fclose(f)))
		die(1, "can't write: %s", strerror(errno));
}

static unsigned int number(const char *text)
{
	return (unsigned int)work_natural(text, 1000000);
}

static void parse(int argc, char **argv, struct causes *c)
{
	static const struct option options[] = { { "count", required_argument, NULL, 'n' },
		{ "depth", required_argument, NULL, 'q' }, { "files", required_argument, NULL, 'f' },
		{ "dir", required_argument, NULL, 'd' }, { "out", required_argument, NULL, 'o' }, { 0 } };
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'n')
			c->count = number(optarg);
		else if (opt == 'q')
			c->depth = number(optarg);
		else if (opt == 'f')
			c->files = number(optarg);
		else if (opt == 'd')
			c->dir = optarg;
		else if (opt == 'o')
			c->out = optarg;
		else
			exit(2);
	}
}

int main(int argc, char **argv)
{
	struct causes c = { .count = 200, .depth = 16, .files = 1, .dir = "." };

	parse(argc, argv, &c);
	for (size_t i = 0; optind == argc - 1 && i < sizeof(causes) / sizeof(causes[0]); i++) {
		if (strcmp(argv[optind], causes[i].name))
			continue;
		causes[i].run(&c);
		tell(&c);
		return 0;
	}
	fprintf(stderr,
		"usage: causes SCENARIO [--count N] [--depth N] [--files N] [--dir DIR] [--out FILE]\n"
		"  ");
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		fprintf(stderr, " %s", causes[i].name);
	fputc('\n', stderr);
	return 2;
}
