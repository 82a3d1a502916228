/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

/* Where execvp looks when PATH is unset. */
#define DEFAULT_PATH "/bin:/usr/bin"

/* The word that starts the program: whole, or it does not start. */
#define GO_WORD 0x676f2d72756e2121u

struct child {
	pid_t pid;
	int pidfd;
	int sock; /* to the held child; -1 after child__go() */
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

/* Whether this process may execute path, as far as that can be told without doing it. */
static int check_executable(const char *path)
{
	struct stat st;

	if (access(path, X_OK) || stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -EACCES;
}

/* The errors after which execvp tries the next directory of PATH. */
static bool search_goes_on(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -EACCES || err == -ESTALE || err == -ENODEV ||
	       err == -ETIMEDOUT;
}

/* Whether execvp(file) would find something to execute. */
static int find_program(const char *file)
{
	const char *dir = getenv("PATH"), *end;
	char path[PATH_MAX + NAME_MAX + 2];
	size_t dir_len, file_len = strlen(file);
	int err, found = -ENOENT;

	if (!*file)
		return -ENOENT;
	if (strchr(file, '/'))
		return check_executable(file);
	if (file_len > NAME_MAX)
		return -ENAMETOOLONG;
	if (!dir)
		dir = DEFAULT_PATH;
	for (;; dir = end + 1) {
		end = strchrnul(dir, ':');
		dir_len = (size_t)(end - dir);
		if (dir_len <= PATH_MAX) {
			/* An empty element is the current directory. */
			memcpy(path, dir, dir_len);
			if (dir_len)
				path[dir_len++] = '/';
			memcpy(path + dir_len, file, file_len + 1);
			err = check_executable(path);
			if (!err || !search_goes_on(err))
				return err;
			if (err == -EACCES)
				found = -EACCES;
		}
		if (!*end)
			return found;
	}
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
	uint64_t word = 0;
	int err;

	err = signal_state__restore(signals);
	if (!err && as)
		err = become(as);
	if (!err)
		err = find_program(argv[0]);
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

bool child__forward(struct child *c, const siginfo_t *info)
{
	if (c->reaped || info->si_code > 0 || info->si_pid == c->pid)
		return false;
	/* Not reaped by us, so nobody else has this pid. */
	return kill(c->pid, info->si_signo) == 0;
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
	free(c);
}

int child__shell_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
