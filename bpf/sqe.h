/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What only the SQE tells. */
#ifndef RINGSIDE_SQE_H
#define RINGSIDE_SQE_H

#include "common.h"

/* The SQE that is being submitted; its opcode is op. */
static __always_inline struct io_uring_sqe *current_sqe(struct io_ring_ctx *ctx, u32 op)
{
	u32 i = BPF_CORE_READ(ctx, cached_sq_head) - 1, shift = 6, setup = BPF_CORE_READ(ctx, flags);

	/* where sizes are mixed, a large one takes two entries, and both have been consumed */
	if ((setup & IORING_SETUP_SQE_MIXED) && (op == IORING_OP_NOP128 || op == IORING_OP_URING_CMD128))
		i--;
	i &= BPF_CORE_READ(ctx, sq_entries) - 1;
	if (!(setup & IORING_SETUP_NO_SQARRAY))
		bpf_probe_read_kernel(&i, sizeof(i), BPF_CORE_READ(ctx, sq_array) + i);
	if (setup & IORING_SETUP_SQE128)
		shift = 7;
	return (void *)BPF_CORE_READ(ctx, sq_sqes) + ((u64)i << shift);
}

/* Whether the SQE itself asked for a worker: REQ_F_FORCE_ASYNC is also set by opcodes. */
SHARED bool sqe_asks_async(struct io_ring_ctx *ctx, u32 op)
{
	return BPF_CORE_READ(current_sqe(ctx, op), flags) & IOSQE_ASYNC;
}

/* Whether this SQE may give many CQEs; called for opcodes that can. */
SHARED bool sqe_is_multishot(struct io_ring_ctx *ctx, u32 op)
{
	struct io_uring_sqe *sqe = current_sqe(ctx, op);

	switch (op) {
	case IORING_OP_POLL_ADD:
		return BPF_CORE_READ(sqe, len) & IORING_POLL_ADD_MULTI;
	case IORING_OP_ACCEPT:
		return BPF_CORE_READ(sqe, ioprio) & IORING_ACCEPT_MULTISHOT;
	case IORING_OP_SEND:
		return BPF_CORE_READ(sqe, ioprio) & IORING_RECVSEND_BUNDLE;
	case IORING_OP_RECV:
	case IORING_OP_RECVMSG:
		return BPF_CORE_READ(sqe, ioprio) & IORING_RECV_MULTISHOT;
	case IORING_OP_TIMEOUT:
		return BPF_CORE_READ(sqe, rw_flags) & IORING_TIMEOUT_MULTISHOT;
	case IORING_OP_URING_CMD:
	case IORING_OP_URING_CMD128:
		return BPF_CORE_READ(sqe, rw_flags) & IORING_URING_CMD_MULTISHOT;
	default:
		/* READ_MULTISHOT, RECV_ZC */
		return true;
	}
}

#endif
