/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The stages of a request that is timed. Compiled into the BPF programs and into user space, so that the
 * same events give the same stages wherever they are added up.
 */
#ifndef RINGSIDE_STAGES_H
#define RINGSIDE_STAGES_H

#include "abi.h"

/* An index below RS_LIVE_STAGES, for the verifier too, which may have lost that by the time it is used. */
static __always_inline __u32 rs_stage_index(__u32 stage)
{
#ifdef __bpf__
	asm volatile("%0 &= %1" : "+w"(stage) : "i"(RS_LIVE_STAGES - 1));
	return stage;
#else
	return stage & (RS_LIVE_STAGES - 1);
#endif
}

_Static_assert((RS_LIVE_STAGES & (RS_LIVE_STAGES - 1)) == 0, "rs_stage_index() masks");

/* The stage that every request of an opcode begins with. */
static __always_inline __u32 rs_stage_first(__u32 traits)
{
	return traits & RS_OP_WAITS ? RS_ST_ARMED : RS_ST_ISSUE;
}

/* Something happened to the request for the first time. */
static __always_inline void rs_stages_begin(struct rs_cold *c, __u32 first, __u64 submit_ns)
{
	__u32 i;

	for (i = 0; i < RS_LIVE_STAGES; i++)
		c->ns[i] = 0;
	c->stage = first;
	c->since_ns = submit_ns;
}

/* The stage that it was in has ended now. */
static __always_inline void rs_stage_enter(struct rs_cold *c, __u32 stage, __u64 now)
{
	/* clocks of two CPUs may differ by a little */
	if (now > c->since_ns) {
		c->ns[rs_stage_index(c->stage)] += now - c->since_ns;
		c->since_ns = now;
	}
	c->stage = stage;
}

/* Whether the block layer was asked for something that it has done by now. */
static __always_inline int rs_block_is_done(const struct rs_block *b)
{
	return b->queued_ns && b->issued_ns && b->done_ns;
}

/* The time until `to` that is in no stage yet goes to *ns; not what comes after now. */
static __always_inline void rs_stage_spend(struct rs_cold *c, __u64 *ns, __u64 to, __u64 now)
{
	to = to < now ? to : now;
	if (to <= c->since_ns)
		return;
	*ns += to - c->since_ns;
	c->since_ns = to;
}

/*
 * What the block layer has done becomes two stages, and the request is in `next` from then on. What it has not done yet
 * is not what the request waited for. The stamps are used up.
 */
static __always_inline void rs_block_settle(struct rs_cold *c, struct rs_block *b, __u32 next, __u64 now)
{
	if (rs_block_is_done(b)) {
		rs_stage_spend(c, &c->ns[rs_stage_index(c->stage)], b->queued_ns, now);
		rs_stage_spend(c, &b->blk_queue_ns, b->issued_ns, now);
		rs_stage_spend(c, &b->device_ns, b->done_ns, now);
		c->stage = next;
	}
	b->queued_ns = b->last_queued_ns = b->issued_ns = b->done_ns = 0;
	b->flags = 0;
}

/*
 * How long the stages took, ns[] by stage, which sum to latency_ns; staged: something happened to the request
 * besides its end, else nobody knows what it did.
 */
static __always_inline void rs_stages_end(struct rs_cold *c, int staged, __u32 traits, __u64 submit_ns,
	__u64 latency_ns)
{
	if (!staged)
		rs_stages_begin(c, traits & RS_OP_WAITS ? RS_ST_ARMED : RS_ST_OTHER, submit_ns);
	rs_stage_enter(c, RS_ST_OTHER, submit_ns + latency_ns);
}

#endif
