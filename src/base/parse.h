/* SPDX-License-Identifier: MIT */
/* Strict parsing of option values: the whole string or an error. */
#ifndef RINGSIDE_PARSE_H
#define RINGSIDE_PARSE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* "2", "0.5", "100ms", "3us", "2m", "1h": seconds unless a unit follows. 0; -EINVAL; -ERANGE (0, negative, over 10 years). */
int parse_duration_ns(const char *s, uint64_t *ret_ns);
/* Decimal number in [min, max]. 0; -EINVAL; -ERANGE. */
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
/* "0.5", "2%": above 0, to 100. 0; -EINVAL; -ERANGE. */
int parse_percent(const char *s, double *ret);
/* "3", "0.25": 0 or more. 0; -EINVAL; -ERANGE: negative, or 10^15 and more. */
int parse_number(const char *s, double *ret);
/*
 * "12,34": appends to *pids (malloc'ed, may be NULL with *n 0). 0; -EINVAL: not a list of positive numbers; -ENOMEM.
 */
int parse_pids(const char *s, pid_t **pids, size_t *n);

#endif
