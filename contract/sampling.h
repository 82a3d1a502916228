/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Which requests are timed when not all are: each with the same probability, whatever came before it and
 * wherever in its batch it stands. The gaps between two that are timed are then distributed geometrically,
 * and a gap may be drawn anew at any moment.
 */
#ifndef RINGSIDE_SAMPLING_H
#define RINGSIDE_SAMPLING_H

#include "abi.h"

#define RS_SAMPLE_MAX 65536u

/* log2 of r != 0, 16 bits after the point, rounded down: squaring a number doubles its logarithm. */
static __always_inline __u32 rs_log2_fixed(__u32 r)
{
	__u32 whole = rs_log2(r), part = 0, over, i;
	__u64 y = (__u64)r << (31 - whole);

	for (i = 0; i < 16; i++) {
		y = y * y >> 31;
		over = y >> 32;
		y >>= over;
		part = part << 1 | over;
	}
	return whole << 16 | part;
}

/*
 * How many requests go untimed before the next one that is timed. random: 32 random bits; scale:
 * 1 / -log2(1 - 1 / n) for one request in n, 16 bits after the point; 0 for n = 1.
 */
static __always_inline __u32 rs_sample_gap(__u32 random, __u64 scale)
{
	return (__u32)(((32u << 16) - rs_log2_fixed(random | 1)) * scale >> 32);
}

#endif
