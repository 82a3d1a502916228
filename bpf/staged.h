/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Where the time of a request goes: what its events say. */
#ifndef RINGSIDE_STAGED_H
#define RINGSIDE_STAGED_H

#include "common.h"

#include "slots.h"
#include "stages.h"

static __always_inline struct rs_cold *cold_at(u32 group, u32 i)
{
	struct rs_cold_group *cg = bpf_map_lookup_elem(&rs_cold, &group);

	return cg ? &cg->s[in_group(i)] : NULL;
}

/* What the block layer did for the request in slot i, whoever had that before; NULL: it is not observed. */
static __always_inline struct rs_block *block_at(u32 group, u32 i)
{
	struct rs_block_group *bg = rs_config.block ? bpf_map_lookup_elem(&rs_blocks, &group) : NULL;

	return bg ? &bg->s[in_group(i)] : NULL;
}

/* Requests whose stages are of interest: timed ones that end once. */
static __always_inline bool slot_is_staged(struct rs_hot *s)
{
	return s->submit_ns && !(s->flags & (RS_SLOT_MULTI | RS_SLOT_REJECTED));
}

/*
 * In staged.bpf.c. Not static: the verifier looks at them once, and not on every path that leads there.
 *
 * The request in slot i of a group is in another stage from now on.
 */
int rs_slot_enters(u32 group, u32 i, u32 stage, u64 now);
/* Direct I/O is handed over by what ends it; else a worker goes on, and any other thread is woken. */
static __always_inline u32 stage_after_block(const struct rs_block *b, u32 stage)
{
	bool on_worker = stage == RS_ST_WQ || stage == RS_ST_WQ_RUN;

	return on_worker && !(b->flags & RS_BLOCK_DIRECT) ? stage : RS_ST_DELIVER;
}

/* The block layer did what the request was for: that it ended before its batch did makes no difference. */
static __always_inline bool slot_did_direct_io(const struct rs_hot *s, u32 group, u32 i)
{
	struct rs_block *b = block_at(group, i);

	return b && b->of_ns == s->submit_ns && (b->flags & RS_BLOCK_DIRECT) && rs_block_is_done(b);
}

/* It ended, and not inline: its stages are counted. */
int rs_slot_staged_end(u32 group, u32 i, u64 latency_ns);

#endif
