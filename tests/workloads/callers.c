// SPDX-License-Identifier: MIT
/*
 * Two functions submit requests that go to workers unasked, each its own number of them, on the command of whoever
 * tests it. It is built in several ways: what can be said of its code differs.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APPENDS 7
#define LOOKUPS 5

struct caller {
	struct io_uring ring;
	int fd;
	char buf[16];
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static int prepare(struct caller *c)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&c->ring);

	io_uring_prep_read(sqe, c->fd, c->buf, sizeof(c->buf), 0);
	return sqe != NULL;
}

static void reap(struct caller *c)
{
	struct io_uring_cqe *cqe;

	if (io_uring_wait_cqe(&c->ring, &cqe) || cqe->res <= 0)
		die("a read failed");
	io_uring_cqe_seen(&c->ring, cqe);
}

/* Returns the line of its call. Not a tail call: it has to come back here. */
__attribute__((noinline)) int wal_append(struct caller *c)
{
	int line, ret;

	prepare(c);
	line = __LINE__ + 1;
	ret = io_uring_submit(&c->ring);
	reap(c);
	return ret == 1 ? line : -1;
}

__attribute__((noinline)) int page_lookup(struct caller *c)
{
	int line, ret;

	prepare(c);
	line = __LINE__ + 1;
	ret = io_uring_submit(&c->ring);
	reap(c);
	return ret == 1 ? line : -1;
}

/* A pointer, lest the compiler sees who is called. */
__attribute__((noinline)) static int repeat(int (*volatile fn)(struct caller *), struct caller *c, int n)
{
	int line = 0;

	while (n-- && line >= 0)
		line = fn(c);
	return line;
}

int main(void)
{
	struct caller c = { .fd = open("/proc/self/stat", O_RDONLY) };
	int ret = io_uring_queue_init(8, &c.ring, 0), append, lookup;
	char line[32];

	if (ret || c.fd < 0)
		die("io_uring: %s", strerror(ret ? -ret : errno));
	printf("{\"pid\": %d}\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		append = repeat(wal_append, &c, APPENDS);
		lookup = repeat(page_lookup, &c, LOOKUPS);
		printf("{\"wal_append\": [%d, %d], \"page_lookup\": [%d, %d]}\n", append, APPENDS, lookup,
			LOOKUPS);
		fflush(stdout);
		if (!strcmp(line, "quit\n"))
			break;
	}
	return 0;
}
