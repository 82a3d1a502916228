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

/*
 * Finds argv[0] as execvp would and forks a child that waits. The child runs nothing
 * until child__go(); if the parent dies or child__free() comes first, it exits without
 * running the program. `as` names whom to become (NULL: stay). Unless the kernel refuses,
 * the child has its own copy of the signal mask and dispositions that ringside was started with.
 *
 * 0; -ENOENT: no such program; -EACCES or -ENOEXEC: not executable; other negative errno.
 * *ret is untouched on failure.
 */
int child__spawn(char *const argv[], const struct run_as *as, struct child **ret);

pid_t child__pid(const struct child *c);
/* A pidfd (pollable, readable at exit), or -1 on kernels before 5.3. Owned by c. */
int child__pidfd(const struct child *c);

/* Lets the program run. 0, or the negative errno with which exec failed (the child has then ended). */
int child__go(struct child *c);

/*
 * Collects the child if it ended. 1: ended, *ret_status is a wait status; 0: still running; negative errno.
 */
int child__reap(struct child *c, bool block, int *ret_status);

/*
 * Hands on a signal that somebody sent to ringside with kill(2): only if info says so (si_code <= 0);
 * what the terminal sends reaches the program's process group by itself. Returns true if handed on.
 */
bool child__forward(struct child *c, const siginfo_t *info);

/* Releases c; a child that was never let go ends without running. A running one runs on. NULL is fine. */
void child__free(struct child *c);

/* Exit status as a shell would report it: status, or 128 + signal. */
int child__shell_status(int wait_status);

#endif
