/* SPDX-License-Identifier: MIT */
/* Why the kernel refused a program, in one line. */
#ifndef RINGSIDE_REFUSAL_H
#define RINGSIDE_REFUSAL_H

#include <stddef.h>

/* What err (negative errno) means when it comes from loading or attaching a program. */
void refusal__meaning(int err, char *buf, size_t size);

/*
 * The reason in what the verifier said before it failed: its last line that is not a statistic. Where it said
 * nothing, what err means.
 */
void refusal__reason(const char *log, int err, char *buf, size_t size);

#endif
