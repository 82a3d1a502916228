/* SPDX-License-Identifier: MIT */
/* What descriptors are: our own, and those of a process in a network namespace of its own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fdpath.h"

struct fixture {
	char dir[64];
	char path[80];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	snprintf(f->dir, sizeof(f->dir), "/tmp/ringside-test-XXXXXX");
	*state = f;
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/file", f->dir);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	if (system(command))
		return -1;
	free(f);
	return 0;
}

static struct fd_about about(int fd)
{
	struct fd_about a;

	assert_true(fd >= 0);
	assert_int_equal(fd_about__read(getpid(), fd, &a), 0);
	return a;
}

/* name NULL: none. Closes fd. */
static void assert_is(int fd, enum fd_kind kind, bool deleted, const char *name, const char *text)
{
	struct fd_about a = about(fd);
	char buf[FD_TEXT_LEN];
	struct stat st;

	assert_int_equal(a.kind, kind);
	assert_int_equal(a.deleted, deleted);
	if (name)
		assert_string_equal(a.name, name);
	else
		assert_null(a.name);
	if (text)
		assert_string_equal(fd_about__text(buf, &a), text);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(a.inode == st.st_ino && a.dev == st.st_dev);
	fd_about__free(&a);
	close(fd);
}

static int create(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

static void test_files(void **state)
{
	struct fixture *f = *state;
	char named[128], text[160];
	int fd;

	assert_is(create(f->path), FD_FILE, false, f->path, f->path);
	assert_is(open(f->dir, O_RDONLY | O_CLOEXEC), FD_DIRECTORY, false, f->dir, f->dir);
	assert_is(open("/dev/null", O_RDONLY | O_CLOEXEC), FD_CHARACTER, false, "/dev/null", "/dev/null");

	fd = open(f->path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(unlink(f->path), 0);
	snprintf(text, sizeof(text), "%s (deleted)", f->path);
	assert_is(fd, FD_FILE, true, f->path, text);

	/* a file that only says so */
	snprintf(named, sizeof(named), "%s (deleted)", f->path);
	assert_is(create(named), FD_FILE, false, named, named);
}

static void test_no_files(void **state)
{
	struct fixture *f = *state;
	char text[64], fifo[96];
	struct stat st;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(fstat(fds[0], &st), 0);
	snprintf(text, sizeof(text), "pipe:[%llu]", (unsigned long long)st.st_ino);
	assert_is(fds[0], FD_PIPE, false, NULL, text);
	assert_is(fds[1], FD_PIPE, false, NULL, text);
	snprintf(fifo, sizeof(fifo), "%s/fifo", f->dir);
	assert_int_equal(mkfifo(fifo, 0644), 0);
	assert_is(open(fifo, O_RDWR | O_CLOEXEC), FD_PIPE, false, fifo, fifo);

	assert_is(memfd_create("scratch", MFD_CLOEXEC), FD_MEMFD, false, "scratch", "memfd:scratch");
	assert_is(eventfd(0, EFD_CLOEXEC), FD_ANONYMOUS, false, "eventfd", "eventfd");
	assert_is(epoll_create1(EPOLL_CLOEXEC), FD_ANONYMOUS, false, "eventpoll", "eventpoll");
	assert_is(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), FD_ANONYMOUS, false, "net", "net");
}

static void test_long_path(void **state)
{
	char name[700], buf[FD_TEXT_LEN];
	struct fd_about a = { .kind = FD_FILE, .deleted = true, .name = name };

	(void)state;
	memset(name, 'x', sizeof(name));
	memcpy(name + sizeof(name) - 5, "/end", 5);
	fd_about__text(buf, &a);
	assert_int_equal(strlen(buf), FD_TEXT_LEN - 1);
	assert_memory_equal(buf, "...x", 4);
	assert_string_equal(buf + strlen(buf) - 14, "/end (deleted)");
}

static void test_missing(void **state)
{
	struct fd_about a = { .inode = 77 };
	int found = 77;

	(void)state;
	assert_int_equal(fd_about__read(getpid(), INT32_MAX, &a), -EBADF);
	assert_int_equal(fd_about__read(INT32_MAX, 0, &a), -ESRCH);
	assert_int_equal(fd_about__find(INT32_MAX, 0, 1, &a, &found), -ESRCH);
	assert_int_equal(fd_about__add_addresses(INT32_MAX, &a, 1), -ESRCH);
	assert_int_equal(fd_about__find(getpid(), 0xffffff, UINT64_MAX, &a, &found), -ENOENT);
	assert_true(a.inode == 77 && found == 77);
}

static void test_find(void **state)
{
	struct fixture *f = *state;
	int fd = create(f->path), found = -1;
	struct fd_about a;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(fd_about__find(getpid(), st.st_dev, st.st_ino, &a, &found), 0);
	assert_int_equal(found, fd);
	assert_string_equal(a.name, f->path);
	fd_about__free(&a);
	close(fd);
	assert_int_equal(fd_about__find(getpid(), st.st_dev, st.st_ino, &a, &found), -ENOENT);
}

static void assert_socket(int fd, const char *protocol, const char *local, const char *peer, bool listening)
{
	struct fd_about a = about(fd);

	assert_int_equal(a.kind, FD_SOCKET);
	assert_int_equal(fd_about__add_addresses(getpid(), &a, 1), 0);
	assert_string_equal(a.protocol, protocol);
	assert_string_equal(a.local, local);
	assert_string_equal(a.peer, peer);
	assert_int_equal(a.listening, listening);
	fd_about__free(&a);
}

/* Its address as the socket itself says it. */
static char *own_address(int fd, char buf[FD_ADDRESS_LEN])
{
	struct sockaddr_storage ss;
	struct sockaddr_in *in = (void *)&ss;
	struct sockaddr_in6 *in6 = (void *)&ss;
	socklen_t len = sizeof(ss);
	char text[INET6_ADDRSTRLEN];

	assert_int_equal(getsockname(fd, (void *)&ss, &len), 0);
	if (ss.ss_family == AF_INET)
		snprintf(buf, FD_ADDRESS_LEN, "%s:%u", inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)),
			ntohs(in->sin_port));
	else
		snprintf(buf, FD_ADDRESS_LEN, "[%s]:%u",
			inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text)), ntohs(in6->sin6_port));
	return buf;
}

static int listen_on(const struct sockaddr *addr, socklen_t len)
{
	int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && (bind(fd, addr, len) || listen(fd, 8))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int connect_to(int to, int type)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int fd;

	assert_int_equal(getsockname(to, (void *)&ss, &len), 0);
	fd = socket(ss.ss_family, type | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (void *)&ss, len), 0);
	return fd;
}

static void check_tcp(const struct sockaddr *addr, socklen_t len, const char *protocol)
{
	char server_text[FD_ADDRESS_LEN], client_text[FD_ADDRESS_LEN], buf[FD_TEXT_LEN], want[FD_TEXT_LEN];
	int server = listen_on(addr, len), client, accepted;
	struct fd_about list[2];

	if (server < 0)
		skip();
	client = connect_to(server, SOCK_STREAM);
	accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	own_address(server, server_text);
	own_address(client, client_text);
	assert_socket(server, protocol, server_text, "", true);
	assert_socket(client, protocol, client_text, server_text, false);
	assert_socket(accepted, protocol, server_text, client_text, false);

	/* two at once, for people */
	list[0] = about(server);
	list[1] = about(client);
	assert_int_equal(fd_about__add_addresses(getpid(), list, 2), 0);
	snprintf(want, sizeof(want), "%s %s listening", protocol, server_text);
	assert_string_equal(fd_about__text(buf, &list[0]), want);
	snprintf(want, sizeof(want), "%s %s > %s", protocol, client_text, server_text);
	assert_string_equal(fd_about__text(buf, &list[1]), want);
	close(server);
	close(client);
	close(accepted);
}

static void test_tcp(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	(void)state;
	check_tcp((void *)&in, sizeof(in), "tcp");
}

static void test_tcp6(void **state)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	(void)state;
	check_tcp((void *)&in6, sizeof(in6), "tcpv6");
}

static void test_udp(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), client;
	char server_text[FD_ADDRESS_LEN], client_text[FD_ADDRESS_LEN];

	(void)state;
	assert_int_equal(bind(server, (void *)&in, sizeof(in)), 0);
	client = connect_to(server, SOCK_DGRAM);
	assert_socket(server, "udp", own_address(server, server_text), "", false);
	assert_socket(client, "udp", own_address(client, client_text), server_text, false);
	close(server);
	close(client);
}

static void test_unix(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	char buf[FD_TEXT_LEN], want[FD_TEXT_LEN];
	struct fd_about a;
	int server, pair[2];

	snprintf(un.sun_path, sizeof(un.sun_path), "%s/a socket", f->dir);
	server = listen_on((void *)&un, sizeof(un));
	a = about(server);
	assert_int_equal(fd_about__add_addresses(getpid(), &a, 1), 0);
	assert_string_equal(a.local, un.sun_path);
	assert_true(a.listening);
	assert_memory_equal(a.protocol, "unix", 4);
	close(server);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	a = about(pair[0]);
	assert_int_equal(fd_about__add_addresses(getpid(), &a, 1), 0);
	assert_string_equal(a.local, "");
	snprintf(want, sizeof(want), "%s socket:[%llu]", a.protocol, (unsigned long long)a.inode);
	assert_string_equal(fd_about__text(buf, &a), want);
	close(pair[0]);
	close(pair[1]);
}

/* In a child: a socket that listens in a network namespace of its own. Its number to `tell`. */
static void listen_apart(int tell, int wait)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(4711) };
	int fd;
	char c;

	if (unshare(CLONE_NEWNET))
		_exit(1);
	fd = listen_on((void *)&in, sizeof(in));
	if (fd < 0 || write(tell, &fd, sizeof(fd)) != sizeof(fd))
		_exit(1);
	_exit(read(wait, &c, 1) < 0);
}

static void test_network_namespace(void **state)
{
	int tell[2], wait[2], fd, status = -1;
	struct fd_about a;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	assert_int_equal(pipe2(wait, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(wait[1]);
		listen_apart(tell[1], wait[0]);
	}
	close(tell[1]);
	close(wait[0]);
	assert_int_equal(read(tell[0], &fd, sizeof(fd)), sizeof(fd));
	assert_int_equal(fd_about__read(pid, fd, &a), 0);
	/* not there where we are */
	assert_int_equal(fd_about__add_addresses(getpid(), &a, 1), 0);
	assert_string_equal(a.local, "");
	assert_int_equal(fd_about__add_addresses(pid, &a, 1), 0);
	assert_string_equal(a.local, "0.0.0.0:4711");
	assert_true(a.listening);
	close(tell[0]);
	close(wait[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_files),
		TEST(test_no_files),
		cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_missing),
		TEST(test_find),
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_tcp6),
		cmocka_unit_test(test_udp),
		TEST(test_unix),
		cmocka_unit_test(test_network_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
