/* SPDX-License-Identifier: MIT */
/* What rules about results share: requests of one opcode that ended with one errno. */
#ifndef RINGSIDE_FAILING_H
#define RINGSIDE_FAILING_H

#include "rules.h"

struct failing {
	const struct snapshot *snap;
	const struct op_stats *op; /* over all rings */
	int err;		   /* 0: SQEs that were refused */
	uint64_t n, of;		   /* so many, of CQEs of this opcode; of SQEs where they were refused */
};

/* How often requests of o ended with err. */
uint64_t op_stats__errno(const struct op_stats *o, int err);
/* CQEs of o, those of multishot requests included. */
uint64_t op_stats__cqes(const struct op_stats *o);

/*
 * Calls judge() for each opcode and each errno that requests of it ended with, err 0 being SQEs that were refused;
 * it reports what it finds wrong. 0 or the first error.
 */
int failing__each(const struct rule *r, const struct snapshot *s,
	int (*judge)(const struct rule *r, const struct failing *f, struct diagnosis *d),
	struct diagnosis *d);

/* The ring that has at least 90 % of them, 0: none has. */
uint32_t failing__ring(const struct failing *f);
struct finding failing__finding(const struct rule *r, const struct failing *f);
/* failed, cqes (or sqes), failed_pct, failed_per_s. */
json_t *failing__evidence(const struct failing *f);

#endif
