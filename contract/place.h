/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Where a request stands in the table of requests in flight: at its home, else anywhere in its
 * home's group, else anywhere in one other group. So a table that is half full still has a
 * place for all but one in some thousand requests.
 */
#ifndef RINGSIDE_PLACE_H
#define RINGSIDE_PLACE_H

#include "abi.h"

/*
 * From the low 32 bits of an io_kiocb's address: one is 216 to 248 bytes long, on a multiple of 256. The 16 of a page
 * belong to 16 groups side by side, one page of the table: a ring's requests then take few entries of the TLB.
 */
static __always_inline __u32 rs_place_hash(__u32 req_low)
{
	__u32 h = (req_low >> 12) * 0x9E3779B1u;

	h ^= h >> 15;
	return h << 7 | (req_low >> 8 & 15) << 3 | h >> 29;
}

static __always_inline __u32 rs_place_home(__u32 hash)
{
	return hash & (RS_GROUP - 1);
}

static __always_inline __u32 rs_place_group(__u32 hash, __u32 group_mask)
{
	return (hash >> 3) & group_mask;
}

/* The other group, for each request of a page far from the others'. It may be the same one. */
static __always_inline __u32 rs_place_other(__u32 hash, __u32 group_mask)
{
	return (hash * 0x85EBCA6Bu >> 8) & group_mask;
}

#endif
