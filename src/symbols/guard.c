// SPDX-License-Identifier: MIT
#include "guard.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

/* A signal handler takes no argument of ours. */
static __thread sigjmp_buf *way_out;

static void leave(int signal_number, siginfo_t *info, void *context)
{
	(void)context;
	if (way_out && info->si_code == BUS_ADRERR)
		siglongjmp(*way_out, 1);
	/* not ours: the instruction runs again, and ends the process */
	signal(signal_number, SIG_DFL);
}

int guard__run(int (*fn)(void *arg), void *arg)
{
	struct sigaction ours = { .sa_sigaction = leave, .sa_flags = SA_SIGINFO }, before;
	sigjmp_buf here, *volatile outer = way_out;
	volatile int ret = -EIO;

	if (sigaction(SIGBUS, &ours, &before))
		return -errno;
	if (sigsetjmp(here, 1) == 0) {
		way_out = &here;
		ret = fn(arg);
	}
	way_out = outer;
	sigaction(SIGBUS, &before, NULL);
	return ret;
}

void guard__leave(void)
{
	if (way_out)
		siglongjmp(*way_out, 1);
	abort();
}
