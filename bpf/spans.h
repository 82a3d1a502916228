/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Requests of spans. In spans.bpf.c, and not static: the verifier looks at them once. Who calls asks
 * rs_config.spans first.
 */
#ifndef RINGSIDE_SPANS_H
#define RINGSIDE_SPANS_H

#include "common.h"

/* This thread submits a request. The pair of its span and op; 0: it is in none. */
u32 rs_span_submit(u32 op);
/* An SQE of this thread was refused. */
int rs_span_reject(u32 op);
/* The request in slot i of a group, which has RS_SLOT_SPAN, ended. */
int rs_span_end(u32 group, u32 i, s32 res, u64 now, u32 on_worker);
/* The same if it did not end inline: its stages have been summed up. */
int rs_span_staged(u32 group, u32 i, u64 latency_ns);
/* And one more of them that is not in its cold slot. */
int rs_span_stage(u32 pair, u32 stage, u64 ns, u64 latency_ns);

#endif
