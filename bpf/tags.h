/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Requests known by (ring, user_data): the further CQEs of multishot requests and the
 * notifications of zero-copy sends carry nothing else.
 */
#ifndef RINGSIDE_TAGS_H
#define RINGSIDE_TAGS_H

#include "slots.h"

static __noinline int tag_add(u32 ring_uid, u32 kind, u64 user_data, u32 series, u64 now)
{
	struct rs_tag_key key = {.ring_uid = ring_uid, .kind = kind, .user_data = user_data};
	struct rs_series *se = series_at(series);
	struct rs_tag fresh = {.since_ns = now, .series = series, .n = 1}, *t;

	if (!se)
		return 0;
	fresh.op = se->op;
	t = bpf_map_lookup_elem(&rs_tags, &key);
	if (t)
		ATOMIC_ADD(&t->n, 1);
	else if (bpf_map_update_elem(&rs_tags, &key, &fresh, BPF_NOEXIST))
		ATOMIC_ADD(&rs.tags_full, 1);
	return 0;
}

/*
 * A CQE that only its user_data names came: counts it for its opcode and the time since the one
 * before. `last`: nothing more will come.
 */
SHARED int tag_cqe(struct rs_tag_key *key, s32 res, bool last)
{
	struct rs_series *se, *extra;
	struct rs_tag *t;
	u64 now, since;

	if (!key)
		return 0;
	t = bpf_map_lookup_elem(&rs_tags, key);
	if (!t)
		return 0;
	se = series_at(t->series);
	extra = series_at(series_make(key->ring_uid, t->op, key->kind));
	now = bpf_ktime_get_ns();
	since = t->since_ns;
	t->since_ns = now;
	if (extra)
		rs_lat_add(&extra->lat, now > since ? now - since : 0, 1);
	if (se && key->kind == RS_TAG_NOTIF) {
		ATOMIC_ADD(&se->c[RS_SC_NOTIFS], 1);
	} else if (se && !last) {
		ATOMIC_ADD(&se->c[RS_SC_MULTISHOT], 1);
		if (res > 0 && (se->traits & RS_OP_BYTES))
			ATOMIC_ADD(&se->c[RS_SC_BYTES], (u32)res);
	}
	if (!last)
		return 0;
	if (t->n <= 1)
		bpf_map_delete_elem(&rs_tags, key);
	else
		ATOMIC_ADD(&t->n, -1);
	return 0;
}

#endif
