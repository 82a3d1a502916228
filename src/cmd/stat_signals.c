// SPDX-License-Identifier: MIT
/* Signals of `stat`: for ringside, or for the program under it. */
#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "stat.h"

/* What a signal is besides the program's: without a program the first that ends it does, with one the second. */
enum effect { NONE, ENDS, ENDS_UNLESS_IGNORED };

/*
 * The signals that are not left to their default actions. A shell ignores SIGINT and SIGQUIT for what it
 * starts with &, where kill is the only way to end it; who ignores SIGHUP (nohup) wants it to go on.
 */
static const struct {
	int signo;
	enum effect effect;
} rows[] = {
	{ SIGINT, ENDS },
	{ SIGQUIT, ENDS },
	{ SIGTERM, ENDS },
	{ SIGHUP, ENDS_UNLESS_IGNORED },
	{ SIGUSR1, NONE },
	{ SIGUSR2, NONE },
	{ SIGALRM, NONE },
	{ SIGWINCH, NONE },
};

static const size_t n_rows = sizeof(rows) / sizeof(rows[0]);

static bool row_ends(const struct stat_run *r, size_t i)
{
	return rows[i].effect == ENDS || (rows[i].effect == ENDS_UNLESS_IGNORED &&
						 sigismember(&r->signals.ignored, rows[i].signo) != 1);
}

int stat_run__open_signals(struct stat_run *r)
{
	sigset_t set;
	size_t i;
	int err;

	err = signal_state__save(&r->signals);
	if (err)
		return err;
	sigemptyset(&set);
	for (i = 0; i < n_rows; i++)
		if (r->o->program || row_ends(r, i))
			sigaddset(&set, rows[i].signo);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* a reader that goes away, or a file that may not grow, is an error of write() and not our death */
	if (r->signal_fd < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		return -errno;
	return 0;
}

bool stat_run__take_signal(struct stat_run *r)
{
	struct signalfd_siginfo s;
	siginfo_t info = { 0 };
	size_t i;

	if (read(r->signal_fd, &s, sizeof(s)) != sizeof(s))
		return false;
	info.si_signo = (int)s.ssi_signo;
	info.si_code = s.ssi_code;
	info.si_pid = (pid_t)s.ssi_pid;
	info.si_uid = s.ssi_uid;
	if (r->child)
		child__forward(r->child, &info);
	for (i = 0; i < n_rows; i++)
		if (rows[i].signo == info.si_signo && row_ends(r, i))
			r->n_ends++;
	return r->n_ends > (r->child ? 1 : 0);
}
