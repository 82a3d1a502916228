/* SPDX-License-Identifier: MIT */
/* The ways to set up a ring. */
#ifndef RINGS_SETUPS_H
#define RINGS_SETUPS_H

#include "rings_raw.h"

struct setup {
	const char *name;
	unsigned int flags;
};

#define SETUP_DEFER (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

static const struct setup setups[] = {
	{ "plain", 0 },
	{ "submit-all", IORING_SETUP_SUBMIT_ALL },
	{ "coop", IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG },
	{ "single", IORING_SETUP_SINGLE_ISSUER },
	{ "defer", SETUP_DEFER },
	{ "sqpoll", IORING_SETUP_SQPOLL },
	{ "disabled", IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER },
	{ "no-mmap", RAW_SETUP_NO_MMAP },
	{ "registered-only", RAW_SETUP_NO_MMAP | RAW_SETUP_REGISTERED_FD_ONLY },
	{ "no-sqarray", RAW_SETUP_NO_SQARRAY },
	{ "sqe128", IORING_SETUP_SQE128 },
	{ "cqe32", IORING_SETUP_CQE32 },
	{ "large", IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | RAW_SETUP_NO_SQARRAY | SETUP_DEFER },
	{ "cqe-mixed", RAW_SETUP_CQE_MIXED },
	{ "sqe-mixed", RAW_SETUP_SQE_MIXED | IORING_SETUP_SUBMIT_ALL },
	{ "sqe-mixed-direct", RAW_SETUP_SQE_MIXED | RAW_SETUP_NO_SQARRAY },
	{ "rewind", RAW_SETUP_SQ_REWIND | RAW_SETUP_NO_SQARRAY },
	{ "iopoll", IORING_SETUP_IOPOLL },
	{ "iopoll-read", IORING_SETUP_IOPOLL },
	{ "hybrid", IORING_SETUP_IOPOLL | RAW_SETUP_HYBRID_IOPOLL },
	{ "hybrid-read", IORING_SETUP_IOPOLL | RAW_SETUP_HYBRID_IOPOLL },
};

#define N_SETUPS (sizeof(setups) / sizeof(setups[0]))

static inline const struct setup *setup_of(const char *name)
{
	for (size_t i = 0; i < N_SETUPS; i++)
		if (!strcmp(setups[i].name, name))
			return &setups[i];
	die(2, "no setup %s", name);
}

#endif
