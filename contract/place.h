/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Where a request stands in the table of requests in flight: at its home, else anywhere in its
 * home's group, else anywhere in one other group. So a table that is half full still has a
 * place for all but one in some thousand requests.
 */
#ifndef RINGSIDE_PLACE_H
#define RINGSIDE_PLACE_H

#include "abi.h"

/* From the low 32 bits of an io_kiocb's address: one is 216 to 248 bytes long, on a multiple of 256. */
static __always_inline __u32 rs_place_hash(__u32 req_low)
{
	__u32 h = (req_low >> 8) * 0x9E3779B1u;

	return h ^ (h >> 15);
}

static __always_inline __u32 rs_place_home(__u32 hash)
{
	return hash & (RS_GROUP - 1);
}

static __always_inline __u32 rs_place_group(__u32 hash, __u32 group_mask)
{
	return (hash >> 3) & group_mask;
}

/* The other group; the same for a table of one group. */
static __always_inline __u32 rs_place_other(__u32 hash, __u32 group_mask)
{
	return ((hash >> 3) ^ (hash >> 17) ^ 1) & group_mask;
}

#endif
