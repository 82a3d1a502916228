/* SPDX-License-Identifier: MIT */
/* Output that has not been written is an error, and its reason is known. */
#ifndef RINGSIDE_STREAM_H
#define RINGSIDE_STREAM_H

#include <stdbool.h>
#include <stdio.h>

/* 0, or negative errno if anything written to f so far got lost. */
int stream__flush(FILE *f);

/* For commands that only print: their exit status, after saying what went wrong if it did. */
int stream__finish_stdout(void);

#endif
