// SPDX-License-Identifier: MIT
#include "bystander.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAME "(bystander)"

/* It answers at once, unless somebody stopped it. */
#define ANSWER_MS 1000

struct bystander {
	pid_t pid;
	int sock;
	unsigned int n_asked;
};

struct question {
	unsigned int n;
	int signo;
	int wait_ms;
};

struct answer {
	unsigned int n; /* of the question */
	int got;
	pid_t sender; /* 0: the kernel, or a process that is not in our pid namespace */
};

/* What signals all processes of a name, or of a command line, must not take it for ringside. */
static void rename_self(void)
{
	char buf[4096], *args = program_invocation_name; /* where the kernel put argv */
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	prctl(PR_SET_NAME, NAME);
	if (fd < 0)
		return;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		len += (size_t)n;
	close(fd);
	memset(args, 0, len);
	if (len > strlen(NAME))
		memcpy(args, NAME, strlen(NAME));
}

static struct answer look(const struct question *q)
{
	struct answer a = { .n = q->n };
	struct timespec wait = { .tv_sec = q->wait_ms / 1000, .tv_nsec = q->wait_ms % 1000 * 1000000L };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, q->signo);
	if (sigtimedwait(&set, &info, &wait) < 0)
		return a;
	a.got = 1;
	a.sender = info.si_pid;
	return a;
}

/* All signals are blocked, so none ends it and each waits until it is asked about. */
static void __attribute__((noreturn)) stand_by(int sock)
{
	struct question q;
	struct answer a;

	/* what is open in ringside must not stay open because of us */
	if (dup2(sock, 0) || syscall(SYS_close_range, 1u, ~0u, 0))
		_exit(1);
	rename_self();
	while (recv(0, &q, sizeof(q), 0) == sizeof(q)) {
		a = look(&q);
		if (send(0, &a, sizeof(a), MSG_NOSIGNAL) != sizeof(a))
			break;
	}
	_exit(0);
}

int bystander__start(struct bystander **ret)
{
	struct bystander *b = calloc(1, sizeof(*b));
	sigset_t all, before;
	int socks[2], err;

	if (!b)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks)) {
		err = -errno;
		free(b);
		return err;
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	b->pid = fork();
	err = -errno;
	if (b->pid == 0)
		stand_by(socks[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(socks[1]);
	if (b->pid < 0) {
		close(socks[0]);
		free(b);
		return err;
	}
	b->sock = socks[0];
	*ret = b;
	return 0;
}

pid_t bystander__pid(const struct bystander *b)
{
	return b->pid;
}

static int receive(struct bystander *b, int timeout_ms, struct answer *ret)
{
	struct pollfd p = { .fd = b->sock, .events = POLLIN };
	int n;

	do {
		n = poll(&p, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	n = (int)recv(b->sock, ret, sizeof(*ret), 0);
	return n < 0 ? -errno : n == sizeof(*ret) ? 0 : -EPIPE;
}

int bystander__got(struct bystander *b, const siginfo_t *info, int wait_ms)
{
	struct question q = { .n = ++b->n_asked, .signo = info->si_signo, .wait_ms = wait_ms };
	struct answer a;
	int err;

	if (send(b->sock, &q, sizeof(q), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	do {
		err = receive(b, wait_ms + ANSWER_MS, &a);
		if (err)
			return err;
	} while (a.n != q.n); /* an answer that came too late */
	return a.got && a.sender == info->si_pid;
}

void bystander__free(struct bystander *b)
{
	if (!b)
		return;
	close(b->sock);
	kill(b->pid, SIGKILL);
	while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(b);
}
