/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Requests known by (ring, user_data): the further CQEs of multishot requests and the
 * notifications of zero-copy sends carry nothing else.
 */
#ifndef RINGSIDE_TAGS_H
#define RINGSIDE_TAGS_H

#include "slots.h"

static __noinline int tag_add(struct rs_tag_key *key, u32 series, u64 now)
{
	struct rs_series *se = series_at(series);
	struct rs_tag fresh = { .since_ns = now, .series = series, .n = 1 }, *t;

	if (!se || !key)
		return 0;
	fresh.op = se->op;
	t = bpf_map_lookup_elem(&rs_tags, key);
	if (t) {
		if (t->op != se->op)
			t->op = RS_OPS;
		ATOMIC_ADD(&t->n, 1);
	} else if (bpf_map_update_elem(&rs_tags, key, &fresh, BPF_NOEXIST)) {
		ATOMIC_ADD(&rs.tags_full, 1);
	}
	return 0;
}

/* The next time to be measured begins now. */
SHARED int tag_touch(struct rs_tag_key *key, u64 now)
{
	struct rs_tag *t = key ? bpf_map_lookup_elem(&rs_tags, key) : NULL;

	if (t)
		t->since_ns = now;
	return 0;
}

static __noinline int tag_release(struct rs_tag_key *key, struct rs_tag *t)
{
	if (!key || !t)
		return 0;
	if (t->n <= 1)
		bpf_map_delete_elem(&rs_tags, key);
	else
		ATOMIC_ADD(&t->n, -1);
	return 0;
}

/* A request under this user_data is gone. */
VERIFIED_ONCE int tag_drop(u32 ring_uid, u32 kind, u64 user_data)
{
	struct rs_tag_key key = { .ring_uid = ring_uid, .kind = kind, .user_data = user_data };

	return tag_release(&key, bpf_map_lookup_elem(&rs_tags, &key));
}

/* The request known as `from` may from now on be known as `to`. */
VERIFIED_ONCE int tag_rename(u32 ring_uid, u64 from, u64 to)
{
	struct rs_tag_key key = { .ring_uid = ring_uid, .kind = RS_TAG_MULTI, .user_data = from };
	struct rs_tag copy, *t;

	t = bpf_map_lookup_elem(&rs_tags, &key);
	if (!t)
		return 0;
	copy = *t;
	copy.n = 1;
	key.user_data = to;
	if (bpf_map_update_elem(&rs_tags, &key, &copy, BPF_NOEXIST))
		return tag_add(&key, copy.series, copy.since_ns);
	return 0;
}

/* The time between two CQEs. */
VERIFIED_ONCE int tag_time(u32 series, u64 ns)
{
	struct rs_series *se = series_at(series);

	if (se)
		rs_lat_add(&se->lat, ns, 1);
	return 0;
}

/* Counts a CQE for the opcode of its tag, and the time since the one before. */
static __noinline int tag_count(struct rs_tag_key *key, struct rs_tag *t, s32 res, bool last)
{
	struct rs_series *se;
	u64 now, since;
	u32 extra;

	if (!key || !t)
		return 0;
	if (t->op >= RS_OPS) {
		ATOMIC_ADD(&rs.tags_mixed, 1);
		return 0;
	}
	se = series_at(t->series);
	extra = series_make(key->ring_uid, t->op, key->kind);
	now = bpf_ktime_get_ns();
	since = t->since_ns;
	t->since_ns = now;
	if (extra)
		tag_time(extra, now > since ? now - since : 0);
	if (se && key->kind == RS_TAG_NOTIF) {
		ATOMIC_ADD(&se->c[RS_SC_NOTIFS], 1);
		if ((u32)res & IORING_NOTIF_USAGE_ZC_COPIED)
			ATOMIC_ADD(&se->c[RS_SC_NOTIFS_COPIED], 1);
	} else if (se && !last) {
		ATOMIC_ADD(&se->c[RS_SC_MULTISHOT], 1);
		if (res > 0 && (se->traits & RS_OP_BYTES))
			ATOMIC_ADD(&se->c[RS_SC_BYTES], (u32)res);
	}
	return 0;
}

/* A CQE that only its user_data names came; `last`: nothing more will. Whether its request is known. */
SHARED bool tag_cqe(struct rs_tag_key *key, s32 res, bool last)
{
	struct rs_tag *t;

	if (!key)
		return false;
	t = bpf_map_lookup_elem(&rs_tags, key);
	if (!t)
		return false;
	tag_count(key, t, res, last);
	if (last)
		tag_release(key, t);
	return true;
}

#endif
