/* SPDX-License-Identifier: MIT */
/* Where the time of an opcode's requests went, stage by stage. */
#ifndef RINGSIDE_OP_STAGES_H
#define RINGSIDE_OP_STAGES_H

#include "snapshot.h"

struct op_stages {
	/* Together they are the latency. Those that end inline were never in any other stage than the first. */
	const struct rs_lat *lat[RS_STAGES]; /* NULL: none; point into the op_stats or to `issue` */
	struct rs_lat issue;
	/*
	 * The slowest percent of the requests: their number, and their time in each stage; a part of an octave of
	 * latencies is taken for as much of each of its stages.
	 */
	double tail_n;
	double tail_ns[RS_STAGES];
};

/* Whether it is told of all requests of o. */
bool op_stats__knows_stages(const struct snapshot *s, const struct op_stats *o);

/* o must outlive *ret, which must not be moved. */
void op_stages__make(const struct op_stats *o, struct op_stages *ret);

/* Part (0 .. 1) of the time, of all requests and of the slowest percent, that was spent in a stage. */
double op_stages__share(const struct op_stages *s, enum rs_stage stage);
double op_stages__tail_share(const struct op_stages *s, enum rs_stage stage);

/* Whether a snapshot can tell this stage from others. */
bool snapshot__knows_stage(const struct snapshot *s, enum rs_stage stage);

const char *stage_name(enum rs_stage stage);

#endif
