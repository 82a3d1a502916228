/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The aggregation core: how a finished request changes its series. Compiled into
 * the BPF programs and into user space, so that the same requests give the same
 * report wherever they are added up.
 */
#ifndef RINGSIDE_AGG_H
#define RINGSIDE_AGG_H

#include "abi.h"

/* shared: several writers at once. */
static __always_inline void rs_add(__u64 *p, __u64 n, int shared)
{
	if (shared)
		(void)__sync_fetch_and_add(p, n);
	else
		*p += n;
}

/*
 * min and max of a shared series may lose one of two updates in the same nanoseconds;
 * shared series only exist once tables overflowed, and fidelity says so.
 */
static __always_inline void rs_lat_add(struct rs_lat *l, __u64 ns, int shared)
{
	rs_add(&l->sum_ns, ns, shared);
	if (ns < l->min_ns)
		l->min_ns = ns;
	if (ns > l->max_ns)
		l->max_ns = ns;
	rs_add(&l->buckets[rs_hist_bucket(ns)], 1, shared);
}

/* A request of this series ended with result res. */
static __always_inline void rs_series_end(struct rs_series *se, __s32 res, int shared)
{
	rs_add(&se->c[RS_SC_COMPLETED], 1, shared);
	if (res > 0 && (se->traits & RS_OP_BYTES))
		rs_add(&se->c[RS_SC_BYTES], (__u32)res, shared);
	else if (res < 0)
		rs_add(&se->c[RS_SC_ERRORS], 1, shared);
}

#endif
