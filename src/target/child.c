// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bystander.h"
#include "child.h"
#include "pidns.h"
#include "program.h"

/* The word that starts the program: whole, or it does not start. */
#define GO_WORD 0x676f2d72756e2121u

/* An init that ends a service, or the machine, signals its processes one by one, older ones first. */
#define ONE_BY_ONE_MS 20

struct child {
	pid_t pid;
	int pidfd;
	int sock;		     /* to the held child; -1 after child__go() */
	struct bystander *bystander; /* NULL: none */
	bool reaped;
	int status; /* once reaped */
};

int signal_state__save(struct signal_state *ret)
{
	struct signal_state s;
	struct sigaction sa;

	sigemptyset(&s.ignored);
	if (sigprocmask(SIG_SETMASK, NULL, &s.mask))
		return -errno;
	for (int sig = 1; sig < NSIG; sig++) {
		/* The C library keeps a few real-time signals for itself and refuses them. */
		if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN)
			sigaddset(&s.ignored, sig);
	}
	*ret = s;
	return 0;
}

/* Dispositions first: an unblocked signal must not find a handler of ringside. */
static int signal_state__restore(const struct signal_state *s)
{
	struct sigaction sa, want = { .sa_handler = SIG_DFL };

	for (int sig = 1; sig < NSIG; sig++) {
		want.sa_handler = sigismember(&s->ignored, sig) == 1 ? SIG_IGN : SIG_DFL;
		if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler != want.sa_handler &&
			sigaction(sig, &want, NULL))
			return -errno;
	}
	return sigprocmask(SIG_SETMASK, &s->mask, NULL) ? -errno : 0;
}

/* What sudo set for root must not reach the user's program, even where nothing better is known. */
static int set_or_unset(const char *name, const char *value)
{
	return (value ? setenv(name, value, 1) : unsetenv(name)) ? -errno : 0;
}

static int become(const struct run_as *as)
{
	int err;

	if (setgroups(as->n_groups, as->groups) || setresgid(as->gid, as->gid, as->gid) ||
		setresuid(as->uid, as->uid, as->uid))
		return -errno;
	err = set_or_unset("USER", as->name);
	if (!err)
		err = set_or_unset("LOGNAME", as->name);
	if (!err)
		err = set_or_unset("HOME", as->home);
	if (!err)
		err = set_or_unset("SHELL", as->shell);
	return err;
}

/* Whole messages or an error; a peer that is gone gives -EPIPE and no signal. */
static int send_all(int sock, const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t n;

	while (len) {
		n = send(sock, p, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* 0 if len bytes came; -EPIPE if the peer is gone before. */
static int recv_all(int sock, void *buf, size_t len)
{
	char *p = buf;
	ssize_t n;

	while (len) {
		n = recv(sock, p, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ECONNRESET ? -EPIPE : -errno;
		if (n == 0)
			return -EPIPE;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The life of the child until exec. It tells its parent an errno twice: of getting ready, and of exec. */
static void __attribute__((noreturn))
child_main(int sock, char *const argv[], const struct run_as *as, const struct signal_state *signals)
{
	char path[PROGRAM_PATH_LEN];
	uint64_t word = 0;
	int err;

	err = signal_state__restore(signals);
	if (!err && as)
		err = become(as);
	if (!err)
		err = program__find(argv[0], path);
	if (send_all(sock, &err, sizeof(err)) || err)
		_exit(127);
	if (recv_all(sock, &word, sizeof(word)) || word != GO_WORD)
		_exit(127);
	execvp(argv[0], argv);
	err = -errno;
	/* A parent that died meanwhile has nobody to tell. */
	(void)send_all(sock, &err, sizeof(err));
	_exit(127);
}

/* Forks with every signal blocked, so that the child starts without a handler having run in it. */
static pid_t fork_held(int socks[2], char *const argv[], const struct run_as *as,
	const struct signal_state *signals)
{
	sigset_t all, before;
	pid_t pid;
	int err;

	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &before))
		return -errno;
	pid = fork();
	err = errno;
	if (pid == 0) {
		/* The end of the parent is known by the last copy of its socket closing. */
		close(socks[0]);
		child_main(socks[1], argv, as, signals);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid < 0 ? -err : pid;
}

static int collect(struct child *c, int options)
{
	pid_t pid;

	if (c->reaped)
		return 1;
	do {
		pid = waitpid(c->pid, &c->status, options);
	} while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -errno;
	c->reaped = pid == c->pid;
	return c->reaped;
}

/* Waits until the child is ready to go. */
static int await_ready(struct child *c)
{
	int err, told;

	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		return -errno;
	err = recv_all(c->sock, &told, sizeof(told));
	/* It told nothing: a signal ended it. */
	return err == -EPIPE ? -EINTR : err ? err : told;
}

/*
 * Where children get a pid namespace of their own (unshare --pid without --fork), signals look different to a
 * bystander; and the program, which is process 1 there, could not end before we had reaped it.
 */
static int start_bystander(struct child *c)
{
	return pidns__is_left_to_children() ? 0 : bystander__start(&c->bystander);
}

static int open_sockets(int ret[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret) ? -errno : 0;
}

/* Else the kernel throws exit statuses away. */
static int keep_exit_statuses(void)
{
	struct sigaction sa;

	if (sigaction(SIGCHLD, NULL, &sa))
		return -errno;
	if (sa.sa_handler != SIG_IGN)
		return 0;
	return signal(SIGCHLD, SIG_DFL) == SIG_ERR ? -errno : 0;
}

int child__spawn(char *const argv[], const struct run_as *as, const struct signal_state *signals,
	struct child **ret)
{
	struct signal_state now;
	struct child *c;
	int socks[2], err;

	if (!argv || !argv[0])
		return -EINVAL;
	if (!signals) {
		err = signal_state__save(&now);
		if (err)
			return err;
		signals = &now;
	}
	err = keep_exit_statuses();
	if (err)
		return err;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->pidfd = -1;
	c->sock = -1;
	err = open_sockets(socks);
	if (err)
		goto fail;
	c->sock = socks[0];
	c->pid = fork_held(socks, argv, as, signals);
	close(socks[1]);
	err = c->pid < 0 ? c->pid : await_ready(c);
	if (!err)
		err = start_bystander(c);
	if (err)
		goto fail;
	*ret = c;
	return 0;
fail:
	child__free(c);
	return err;
}

pid_t child__pid(const struct child *c)
{
	return c->pid;
}

int child__pidfd(const struct child *c)
{
	return c->pidfd;
}

int child__go(struct child *c)
{
	static const uint64_t word = GO_WORD;
	int err, exec_err;

	if (c->sock < 0)
		return -EALREADY;
	err = send_all(c->sock, &word, sizeof(word));
	if (!err)
		err = recv_all(c->sock, &exec_err, sizeof(exec_err));
	if (err && err != -EPIPE)
		return err;
	close(c->sock);
	c->sock = -1;
	/* Silence is success: exec closed the other end. */
	if (err)
		return 0;
	err = collect(c, 0);
	return err < 0 ? err : exec_err;
}

int child__reap(struct child *c, bool block, int *ret_status)
{
	int err;

	err = collect(c, block ? 0 : WNOHANG);
	if (err == 1)
		*ret_status = c->status;
	return err;
}

/* Signals that ask for the end, and may come as part of such a round. */
static int wait_for_others_ms(int signo)
{
	return signo == SIGTERM || signo == SIGINT || signo == SIGHUP || signo == SIGQUIT ? ONE_BY_ONE_MS : 0;
}

bool child__forward(struct child *c, const siginfo_t *info)
{
	int to_all;

	if (c->reaped)
		return false;
	to_all = c->bystander ? bystander__got(c->bystander, info, wait_for_others_ms(info->si_signo))
			      : -ESRCH;
	/* Nobody to ask: it was the terminal, or else it was not. */
	if (to_all < 0)
		to_all = info->si_code > 0 && info->si_signo != SIGALRM;
	/* Whom the terminal's signals are for is the terminal's business. */
	if (to_all && (info->si_code > 0 || getpgid(c->pid) == getpgrp()))
		return false;
	/* Not reaped by us, so nobody else has this pid. */
	return info->si_pid != c->pid && kill(c->pid, info->si_signo) == 0;
}

void child__free(struct child *c)
{
	if (!c)
		return;
	if (c->sock >= 0) {
		close(c->sock);
		/* It would end by itself, but not while it is stopped. */
		if (c->pid > 0 && !c->reaped) {
			kill(c->pid, SIGKILL);
			collect(c, 0);
		}
	}
	if (c->pidfd >= 0)
		close(c->pidfd);
	bystander__free(c->bystander);
	free(c);
}

int child__shell_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
