/* SPDX-License-Identifier: MIT */
/* Reading a latency distribution. */
#ifndef RINGSIDE_LAT_H
#define RINGSIDE_LAT_H

#include <stdint.h>

#include "abi.h"

uint64_t lat__count(const struct rs_lat *l);

/*
 * The value below or at which a fraction q (0..1) of the samples lie, nanoseconds:
 * midpoint of its bucket, never outside [min_ns, max_ns]. 0 when empty.
 */
uint64_t lat__quantile_ns(const struct rs_lat *l, double q);

/* Adds o to *sum. */
void lat__add(struct rs_lat *sum, const struct rs_lat *o);

/* cur - prev; min and max become the bounds of the outermost buckets hit. */
void lat__delta(const struct rs_lat *prev, const struct rs_lat *cur, struct rs_lat *ret);

#endif
