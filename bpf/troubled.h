/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Requests in trouble, and their files: punted unasked, failed, slow. Slow path only. */
#ifndef RINGSIDE_TROUBLED_H
#define RINGSIDE_TROUBLED_H

#include "common.h"

#define TROUBLE_PUNT 1u
#define TROUBLE_ERROR 2u
#define TROUBLE_SLOW 4u

/*
 * In troubled.bpf.c. Not static: the verifier looks at them once, and not on every path that leads there.
 *
 * The request in slot i of a group was handed to a worker for the first time.
 */
int rs_slot_punted(u32 group, u32 i);
/* It ends, has not lost its slot, and failed, was punted or took slow_ns or longer. latency_ns 0: not timed. */
int rs_slot_troubled(u32 group, u32 i, s32 res, u64 latency_ns);
/* What the io_kiocb at req met with, TROUBLE_*; ns: how long it took, once it has ended. */
int rs_file_note(u64 req, u32 op, u32 trouble, u64 ns);

#endif
