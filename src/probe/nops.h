/* SPDX-License-Identifier: MIT */
/* A small ring of our own and the cheapest requests there are, to see what watching them costs. */
#ifndef RINGSIDE_NOPS_H
#define RINGSIDE_NOPS_H

#include <stdint.h>

struct nops;

/* 0 or negative errno, as io_uring_setup() gives it: EPERM where io_uring is disabled. */
int nops__open(struct nops **ret);

/*
 * CPU time that one NOP takes this thread, in nanoseconds: the least of several short runs, as whatever
 * else happens on the machine only adds to it. 0 or negative errno.
 */
int nops__measure(struct nops *n, double *ret_ns);

/* NULL is fine. */
void nops__close(struct nops *n);

#endif
