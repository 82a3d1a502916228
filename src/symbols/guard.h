/* SPDX-License-Identifier: MIT */
/*
 * Reading of mapped files, which their owner may cut short at any time: the kernel answers with SIGBUS. And calls of
 * libdw, which would end the process when memory is short.
 */
#ifndef RINGSIDE_GUARD_H
#define RINGSIDE_GUARD_H

/*
 * Returns what fn(arg) returns; -EIO: a mapped file ended before what fn wanted to read, or guard__leave() was
 * called. Then fn was left where it stood: what it had allocated and not stored is lost, what it was changing must not be used again.
 * Calls may be nested; other threads that get SIGBUS die of it as usual.
 */
int guard__run(int (*fn)(void *arg), void *arg);

/* Inside of guard__run(): leaves it. */
__attribute__((noreturn)) void guard__leave(void);

#endif
