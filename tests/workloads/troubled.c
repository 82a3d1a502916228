// SPDX-License-Identifier: MIT
/* Requests that have trouble with files of every kind; says which files, as it sees them itself, and with what. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <liburing.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ROUNDS 3
#define SKIP 77

struct trouble {
	struct io_uring ring;
	const char *dir;
	FILE *out;
	unsigned int n;
};

__attribute__((noreturn, format(printf, 2, 3))) static void die(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(status);
}

static int need(int fd, const char *what)
{
	if (fd < 0)
		die(1, "%s: %s", what, strerror(errno));
	return fd;
}

/* The name of fd in /proc, if that is a path. */
static const char *path_of(int fd, char buf[4096])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buf, 4095);
	need((int)n, link);
	buf[n] = '\0';
	if (n > 10 && !strcmp(buf + n - 10, " (deleted)"))
		buf[n - 10] = '\0';
	return buf;
}

/* What a report has to say of fd; path NULL: that of /proc. */
static void tell(struct trouble *t, int fd, const char *path, const char *kind, const char *op, int punted,
	int errors)
{
	char buf[4096];
	struct stat st;

	need(fstat(fd, &st), "fstat");
	fprintf(t->out,
		"%s{\"path\": \"%s\", \"kind\": \"%s\", \"deleted\": %s, \"inode\": %lu, \"op\": \"%s\", "
		"\"punted\": %d, \"errors\": %d}",
		t->n++ ? ",\n " : "", path ? path : path_of(fd, buf), kind,
		!strcmp(kind, "file") && !st.st_nlink ? "true" : "false", (unsigned long)st.st_ino, op,
		punted, errors);
}

static int submit(struct trouble *t, struct io_uring_sqe *sqe)
{
	struct io_uring_cqe *cqe;
	int ret, res;

	sqe->user_data = 1;
	ret = io_uring_submit(&t->ring);
	if (ret != 1 || io_uring_wait_cqe(&t->ring, &cqe))
		die(1, "submitted %d", ret);
	res = cqe->res;
	io_uring_cqe_seen(&t->ring, cqe);
	return res;
}

/* Writes that fail, as fd can't be written to; fixed: it is the first registered file. */
static void fail_writes(struct trouble *t, int fd, const char *path, const char *kind, unsigned int flags)
{
	char byte = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&t->ring);

		io_uring_prep_write(sqe, flags & IOSQE_FIXED_FILE ? 0 : fd, &byte, 1, 0);
		sqe->flags |= flags;
		if (submit(t, sqe) >= 0)
			die(1, "a write that was to fail did not");
	}
	tell(t, fd, path, kind, "WRITE", 0, ROUNDS);
}

/* What can't be synced; a worker finds out, and that one was needed is in the nature of the opcode. */
static void fail_syncs(struct trouble *t, int fd, const char *path, const char *kind)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&t->ring);

		io_uring_prep_fsync(sqe, fd, 0);
		if (submit(t, sqe) != -EINVAL)
			die(1, "%s was synced", path);
	}
	tell(t, fd, path, kind, "FSYNC", 0, ROUNDS);
}

static int make_file(struct trouble *t, const char *name, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	fd = need(open(path, O_RDWR | O_CREAT | O_EXCL, 0600), path);
	need(ftruncate(fd, 65536), "ftruncate");
	close(fd);
	fd = open(path, flags | O_CLOEXEC);
	return flags & O_DIRECT ? fd : need(fd, path);
}

static void files(struct trouble *t)
{
	int plain = make_file(t, "plain file", O_RDONLY), gone = make_file(t, "gone", O_RDONLY), fixed, dir;
	int direct = make_file(t, "direct", O_RDONLY | O_DIRECT);
	char path[4096];

	fail_writes(t, plain, NULL, "file", 0);
	fail_writes(t, make_file(t, "worked", O_RDONLY), NULL, "file", IOSQE_ASYNC);
	/* not every filesystem has it */
	if (direct >= 0)
		fail_writes(t, direct, NULL, "file", 0);
	snprintf(path, sizeof(path), "%s/gone", t->dir);
	need(unlink(path), path);
	fail_writes(t, gone, NULL, "file", 0);
	dir = need(open(t->dir, O_RDONLY | O_DIRECTORY), t->dir);
	fail_writes(t, dir, NULL, "directory", 0);
	fixed = make_file(t, "fixed", O_RDONLY);
	need(io_uring_register_files(&t->ring, &fixed, 1), "register_files");
	fail_writes(t, fixed, NULL, "file", IOSQE_FIXED_FILE);
}

/* Reads that no worker was asked for and that all end there. */
static void punts(struct trouble *t)
{
	int fd = need(open("/proc/self/stat", O_RDONLY), "/proc/self/stat");
	char buf[16];

	for (int i = 0; i < ROUNDS; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&t->ring);

		io_uring_prep_read(sqe, fd, buf, sizeof(buf), 0);
		if (submit(t, sqe) <= 0)
			die(1, "/proc/self/stat can't be read");
	}
	tell(t, fd, NULL, "file", "READ", ROUNDS, 0);
}

static void pseudo(struct trouble *t)
{
	int memfd = need(memfd_create("notes", 0), "memfd"), pipes[2], fd;
	char text[64];

	need(pipe(pipes), "pipe");
	snprintf(text, sizeof(text), "/proc/self/fd/%d", memfd);
	fd = need(open(text, O_RDONLY), "memfd again");
	fail_writes(t, fd, "memfd:notes", "memfd", 0);
	snprintf(text, sizeof(text), "%s", path_of(pipes[0], (char[4096]){ 0 }));
	fail_writes(t, pipes[0], text, "pipe", 0);
	fail_syncs(t, need(eventfd(0, 0), "eventfd"), "eventfd", "anonymous");
}

/* Nothing is there to be received. */
static void receive_nothing(struct trouble *t, int fd, const char *text)
{
	char byte;

	for (int i = 0; i < ROUNDS; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&t->ring);

		io_uring_prep_recv(sqe, fd, &byte, 1, MSG_DONTWAIT);
		if (submit(t, sqe) >= 0)
			die(1, "something was received");
	}
	tell(t, fd, text, "socket", "RECV", 0, ROUNDS);
}

static void inet_socket(struct trouble *t)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, local;
	int listener = need(socket(AF_INET, SOCK_STREAM, 0), "socket"), fd;
	socklen_t len = sizeof(a);
	char text[128];

	need(bind(listener, (void *)&a, sizeof(a)), "bind");
	need(listen(listener, 1), "listen");
	need(getsockname(listener, (void *)&a, &len), "getsockname");
	fd = need(socket(AF_INET, SOCK_STREAM, 0), "socket");
	need(connect(fd, (void *)&a, sizeof(a)), "connect");
	need(getsockname(fd, (void *)&local, &len), "getsockname");
	snprintf(text, sizeof(text), "tcp 127.0.0.1:%u > 127.0.0.1:%u", ntohs(local.sin_port),
		ntohs(a.sin_port));
	receive_nothing(t, fd, text);
}

static void inet6_socket(struct trouble *t)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	socklen_t len = sizeof(a);
	char text[128];

	if (fd < 0 || bind(fd, (void *)&a, sizeof(a)))
		return; /* a kernel without IPv6 */
	need(getsockname(fd, (void *)&a, &len), "getsockname");
	snprintf(text, sizeof(text), "udpv6 [::1]:%u", ntohs(a.sin6_port));
	receive_nothing(t, fd, text);
}

static void unix_socket(struct trouble *t, const char *name, bool abstract)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = need(socket(AF_UNIX, SOCK_DGRAM, 0), "socket");
	char text[160];

	snprintf(a.sun_path, sizeof(a.sun_path), "%s%s%s", abstract ? "@" : t->dir, abstract ? "" : "/",
		name);
	/* SOCK_DGRAM is plain "unix" to the kernel */
	snprintf(text, sizeof(text), "unix %s", a.sun_path);
	if (abstract)
		a.sun_path[0] = '\0';
	need(bind(fd, (void *)&a,
		     (socklen_t)(abstract ? offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)
					  : sizeof(a))),
		"bind");
	receive_nothing(t, fd, text);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "dir", 1, NULL, 'd' }, { "out", 1, NULL, 'o' },
		{ "sqpoll", 0, NULL, 's' }, { 0 } };
	struct trouble t = { .dir = "/tmp" };
	const char *out = "/dev/stdout";
	unsigned int flags = 0;
	char name[64];
	int c, ret;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'd')
			t.dir = optarg;
		else if (c == 'o')
			out = optarg;
		else if (c == 's')
			flags |= IORING_SETUP_SQPOLL;
		else
			return 2;
	}
	t.out = fopen(out, "w");
	if (!t.out)
		die(1, "%s: %s", out, strerror(errno));
	ret = io_uring_queue_init(8, &t.ring, flags);
	if (ret)
		die(ret == -ENOSYS || ret == -EPERM ? SKIP : 1, "io_uring: %s", strerror(-ret));
	fprintf(t.out, "[");
	files(&t);
	punts(&t);
	pseudo(&t);
	inet_socket(&t);
	inet6_socket(&t);
	unix_socket(&t, "socket", false);
	snprintf(name, sizeof(name), "ringside-%d", getpid());
	unix_socket(&t, name, true);
	fprintf(t.out, "]\n");
	/* without closing anything: whoever wants to know what these files were comes too late */
	if (fclose(t.out))
		die(1, "%s: %s", out, strerror(errno));
	return 0;
}
