/* SPDX-License-Identifier: MIT */
/* The pid namespace of this process, and whether /proc shows that one. */
#ifndef RINGSIDE_PIDNS_H
#define RINGSIDE_PIDNS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Its inode, 0: it is the initial one, or nothing tells. */
uint32_t pidns__inode(void);

/* Whether processes that are forked come into another pid namespace than that of their parent. */
bool pidns__is_left_to_children(void);

/*
 * Whether a process id stands for the same process in /proc as in system calls: a /proc that was mounted in
 * another pid namespace has that one's numbers.
 */
bool pidns__owns_proc(void);

/* The same from the text of /proc/self/status. */
bool pidns__owns_status(FILE *status);

#endif
