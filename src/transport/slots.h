/* SPDX-License-Identifier: MIT */
/* The requests that are in the in-flight table right now, counted. */
#ifndef RINGSIDE_SLOTS_H
#define RINGSIDE_SLOTS_H

#include <stdint.h>

#include "session.h"
#include "snapshot.h"

/* By index into the series table, or into the ring table where the name says so. */
struct slot_counts {
	uint64_t *in_flight;
	size_t n_series;
	struct op_times **ages;	  /* of those in flight that should be running; NULL: none */
	uint64_t *ring_in_flight; /* those too whose series is shared */
	/* with what the series counted before the slots were looked at: none is in both, and none is counted twice */
	uint64_t *
		silent; /* ended without a CQE: the io_kiocb has another slot by now, or the ring is closed */
	uint64_t *overflowed;	       /* ended, and their CQE overflowed */
	uint64_t *unnamed;	       /* by ring: in flight, their opcode not known */
	uint64_t *rejected_overflowed; /* by ring: refused SQEs whose CQE overflowed */
};

/* now_ns: of CLOCK_MONOTONIC, to tell ages by; 0: no ages. 0 or -ENOMEM. Free with slot_counts__free(). */
int slot_counts__take(const struct session *s, uint64_t now_ns, struct slot_counts *ret);
void slot_counts__free(struct slot_counts *c);

#endif
