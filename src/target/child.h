/* SPDX-License-Identifier: MIT */
/*
 * The program under observation: started held, let go on an explicit word, never harmed.
 */
#ifndef RINGSIDE_CHILD_H
#define RINGSIDE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "user.h"

struct child;

/* What a program inherits of signals: handlers never survive exec. */
struct signal_state {
	sigset_t mask;
	sigset_t ignored;
};

/* As they are now: to be called before ringside blocks or ignores any. 0 or negative errno. */
int signal_state__save(struct signal_state *ret);

/*
 * Forks a child that becomes `as` (NULL: stays), then looks for argv[0] as execvp would, with the
 * rights it then has, and waits. It runs nothing until child__go(); if the parent dies or child__free()
 * comes first, it exits without running the program. The program gets the signal mask and dispositions
 * of `signals` (NULL: the present ones) and no file descriptor but those that lack FD_CLOEXEC.
 * An ignored SIGCHLD becomes default in ringside: else there would be no exit status to collect.
 *
 * 0; -ENOENT: no such program; -EACCES: not executable by that user; other negative errno.
 * *ret is untouched on failure.
 */
int child__spawn(char *const argv[], const struct run_as *as, const struct signal_state *signals,
	struct child **ret);

pid_t child__pid(const struct child *c);
/* A pidfd: polls readable once the child ended. Owned by c. */
int child__pidfd(const struct child *c);

/*
 * Lets the program run, once. 0, or the negative errno with which exec failed (the child has then ended:
 * -ENOENT, as the program was there, if its interpreter is not). A child that a signal ended while it was held
 * gives 0; child__reap() tells the signal.
 */
int child__go(struct child *c);

/*
 * Collects the child if it ended. 1: ended, *ret_status is a wait status; 0: still running; negative errno.
 */
int child__reap(struct child *c, bool block, int *ret_status);

/*
 * Hands on a signal that ringside got, unless the program has got it by itself: because it was sent to the
 * whole process group (by the terminal, a shell's job control, kill(2) with a negative number) and the
 * program is still in ours. Nor does the program get back what it sent. Returns true if handed on.
 */
bool child__forward(struct child *c, const siginfo_t *info);

/* Releases c; a child that was never let go ends without running. A running one runs on. NULL is fine. */
void child__free(struct child *c);

/* Exit status as a shell would report it: status, or 128 + signal. */
int child__shell_status(int wait_status);

#endif
