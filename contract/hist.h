/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Log-linear latency buckets, the same code in the kernel and in user space.
 *
 * Values below 16 ns have a bucket each; above, every octave is cut into 16,
 * so a bucket is at most 1/16 of its value wide and its midpoint is off by at
 * most 1/32 (3.2 %).
 */
#ifndef RINGSIDE_HIST_H
#define RINGSIDE_HIST_H

#define RS_HIST_SUB_BITS 4
#define RS_HIST_SUB (1u << RS_HIST_SUB_BITS)
/* 2^43 ns is 2.4 hours; what is longer falls in the last bucket, and max_ns stays exact. */
#define RS_HIST_MAX_SHIFT 43
#define RS_HIST_OCTAVES (RS_HIST_MAX_SHIFT - RS_HIST_SUB_BITS + 1)
#define RS_HIST_BUCKETS (RS_HIST_OCTAVES * RS_HIST_SUB)

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* Position of the highest set bit of v, v != 0. BPF has no instruction for it; clang 14 dies of __builtin_clzll(). */
static __always_inline __u32 rs_log2(__u64 v)
{
#ifdef __bpf__
	__u32 hi = v >> 32, x, r = 0;

	if (hi) {
		x = hi;
		r = 32;
	} else {
		x = (__u32)v;
	}
	if (x >> 16) {
		x >>= 16;
		r += 16;
	}
	if (x >> 8) {
		x >>= 8;
		r += 8;
	}
	if (x >> 4) {
		x >>= 4;
		r += 4;
	}
	if (x >> 2) {
		x >>= 2;
		r += 2;
	}
	return r + (x >> 1);
#else
	return 63u - (__u32)__builtin_clzll(v);
#endif
}

/* Bucket of a value in nanoseconds: 0 .. RS_HIST_BUCKETS - 1. */
static __always_inline __u32 rs_hist_bucket(__u64 v_ns)
{
	__u32 log, idx;

	if (v_ns < RS_HIST_SUB)
		return (__u32)v_ns;
	log = rs_log2(v_ns);
	idx = (log - RS_HIST_SUB_BITS + 1) * RS_HIST_SUB +
	      ((__u32)(v_ns >> (log - RS_HIST_SUB_BITS)) & (RS_HIST_SUB - 1));
	return idx < RS_HIST_BUCKETS ? idx : RS_HIST_BUCKETS - 1;
}

/* Smallest value of a bucket, nanoseconds. */
static __always_inline __u64 rs_hist_lower_ns(__u32 bucket)
{
	__u32 oct = bucket / RS_HIST_SUB, sub = bucket % RS_HIST_SUB;

	if (oct == 0)
		return sub;
	return (__u64)(RS_HIST_SUB + sub) << (oct - 1);
}

/* Smallest value above a bucket, nanoseconds. */
static __always_inline __u64 rs_hist_upper_ns(__u32 bucket)
{
	return rs_hist_lower_ns(bucket + 1);
}

#endif
