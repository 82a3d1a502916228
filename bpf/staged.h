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
/* It ended, and not inline: its stages are counted. */
int rs_slot_staged_end(u32 group, u32 i, u64 latency_ns);

#endif
