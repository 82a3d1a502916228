/* SPDX-License-Identifier: MIT */
/* What this user lacks to observe. */
#ifndef RINGSIDE_PRIVILEGES_H
#define RINGSIDE_PRIVILEGES_H

#include <stddef.h>

/*
 * Writes the capabilities missing from the effective set, as "CAP_BPF and CAP_PERFMON",
 * to buf ("" if none). CAP_SYS_ADMIN stands for both. 0 or negative errno.
 */
int privileges__missing(char *buf, size_t size);

#endif
