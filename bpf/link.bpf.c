// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Requests that wait for others: in a chain, behind a drain. */
#include "issuing.h"
#include "rings.h"
#include "staged.h"

/*
 * When it ends is seen by the CQE of its predecessor (end.h). One that has none (IOSQE_CQE_SKIP_SUCCESS) leaves
 * open how long it was. A link timeout waits beside its predecessor, not behind it.
 */
static __always_inline bool is_seen_waiting(struct rs_hot *s, struct rs_hot *predecessor)
{
	struct rs_series *se = series_at(s->series);

	return predecessor && !(predecessor->flags & RS_SLOT_CQE_SKIP) && se &&
	       se->op != IORING_OP_LINK_TIMEOUT;
}

/*
 * A follower of a chain waits, and shares its head's fate: asked for a worker with the head, it runs there too.
 * `target` is the head or the predecessor, depending on the kernel.
 */
SEC("?tp_btf/io_uring_link")
int BPF_PROG(rs_link, struct io_kiocb *req, struct io_kiocb *target)
{
	u64 ring = (u64)req->ctx;
	struct rs_hot *s, *head;
	struct place p;
	u32 i;

	if (!rs.active || !place_of(PTR_LOW32(target), &p))
		return 0;
	head = slot_find(&p, (u64)target, &i);
	if (head && !slot_is_of(head, ring))
		head = NULL;
	if (!place_of(PTR_LOW32(req), &p))
		return 0;
	s = slot_find(&p, (u64)req, &i);
	if (!s || !slot_is_of(s, ring))
		return 0;
	s->flags |= RS_SLOT_LINKED;
	if (rs_config.block)
		issuing_follows((u64)req);
	if (head) {
		head->flags |= RS_SLOT_HEAD;
		s->flags |= head->flags & RS_SLOT_ASKED;
	}
	if (slot_is_staged(s) && is_seen_waiting(s, head))
		rs_slot_enters(p.group, i, RS_ST_LINK, bpf_ktime_get_ns());
	return 0;
}

/* It ends with io_uring_queue_async_work: a request that was drained is handed to io-wq. */
SEC("?tp_btf/io_uring_defer")
int BPF_PROG(rs_defer, struct io_kiocb *req)
{
	struct io_ring_ctx *ring_ctx = req->ctx;
	u64 ring = (u64)ring_ctx;
	struct rs_ring *r;
	struct rs_hot *s;
	struct place p;
	u32 i;

	if (!rs.active)
		return 0;
	r = ring_get(ring, PTR_LOW32(ring_ctx));
	if (!r)
		return 0;
	ATOMIC_ADD(&r->c[RS_RC_DRAINED], 1);
	if (!place_of(PTR_LOW32(req), &p))
		return 0;
	s = slot_find(&p, (u64)req, &i);
	if (s && slot_is_of(s, ring) && slot_is_staged(s))
		rs_slot_enters(p.group, i, RS_ST_LINK, bpf_ktime_get_ns());
	return 0;
}
