/* SPDX-License-Identifier: MIT */
/* Numbers scaled for people. All write a string of at most FMT_LEN - 1 bytes to buf and return buf. */
#ifndef RINGSIDE_FMT_H
#define RINGSIDE_FMT_H

#include <stdint.h>

#define FMT_LEN 32

/* "812ns", "14.2us", "3.05ms", "1.20s", "4.5min", "2.1h": three significant digits. */
char *fmt_ns(char buf[FMT_LEN], uint64_t ns);
/* "0", "950", "12.3k", "4.56M", "1.20G": below 10000 exact. */
char *fmt_count(char buf[FMT_LEN], double n);
/* "512B", "4.0KiB", "1.25GiB". */
char *fmt_bytes(char buf[FMT_LEN], double n);
/* "0%", "0.03%", "12.5%", "100%": part of whole; "-" if whole is 0. */
char *fmt_pct(char buf[FMT_LEN], double part, double whole);

#endif
