/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Ends that no io_uring_complete told of: found out when the slot is wanted for something else. */
#ifndef RINGSIDE_UNSEEN_H
#define RINGSIDE_UNSEEN_H

#include "slots.h"
#include "tags.h"

/* Takes one CQE with this user_data from those that overflowed without a request. Whether there was one. */
static __noinline bool take_overflowed(struct rs_ring *r, u64 user_data)
{
	struct rs_overflow_key key = { .user_data = user_data };
	u64 *n;

	if (!r || !r->c[RS_RC_OVERFLOW_ENDS])
		return false;
	key.ring_uid = r->uid;
	n = bpf_map_lookup_elem(&rs_overflowed, &key);
	if (!n)
		return false;
	if (*n <= 1)
		bpf_map_delete_elem(&rs_overflowed, &key);
	else
		ATOMIC_ADD(n, -1);
	return true;
}

/* Whether the io_kiocb was last used for an SQE of this ring that was refused and found no slot. */
static __noinline bool take_rejected(struct rs_ring *r, u64 req)
{
	u32 *uid;
	bool ours;

	if (!r || (s64)r->rejected_no_slot <= 0)
		return false;
	uid = bpf_map_lookup_elem(&rs_rejected, &req);
	if (!uid)
		return false;
	ours = *uid == r->uid;
	if (bpf_map_delete_elem(&rs_rejected, &req) || !ours)
		return false;
	ATOMIC_ADD(&r->rejected_no_slot, -1);
	return true;
}

/*
 * The slot's io_kiocb has been used for something else, or its ring is gone: its request ended
 * without io_uring_complete. Its CQE overflowed, or it had none.
 */
VERIFIED_ONCE int end_unseen(u32 ring_uid, u32 series, u32 flags, u64 user_data)
{
	struct rs_ring *r = ring_by_uid(ring_uid);
	struct rs_series *se = series_at(series);
	bool overflowed;

	if (!r || !se)
		return 0;
	overflowed = take_overflowed(r, user_data);
	if (flags & RS_SLOT_REJECTED) {
		/* without a CQE: a refused follower of a chain that fails with IOSQE_CQE_SKIP_SUCCESS */
		if (!overflowed)
			return 0;
		/* the overflow was taken for the end of a request */
		ATOMIC_ADD(&r->c[RS_RC_CQES_REJECTED], 1);
		ATOMIC_ADD(&r->c[RS_RC_OVERFLOW_ENDS], -1);
		return 0;
	}
	if (flags & RS_SLOT_MULTI)
		tag_drop(ring_uid, RS_TAG_MULTI, user_data);
	if (overflowed)
		ATOMIC_ADD(&se->c[RS_SC_OVERFLOWED], 1);
	else
		ATOMIC_ADD(&se->c[RS_SC_SILENT], 1);
	return 0;
}

#endif
