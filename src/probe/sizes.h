/* SPDX-License-Identifier: MIT */
/* How large the tables of a session are, where nobody says: after the machine. */
#ifndef RINGSIDE_SIZES_H
#define RINGSIDE_SIZES_H

#include <stdint.h>

struct machine {
	uint64_t memory_bytes;
	uint32_t cpus;
};

struct table_sizes {
	uint32_t inflight; /* requests */
	uint32_t rings;
	uint32_t series; /* pairs of a ring and an opcode */
	uint32_t kin;	 /* series of their stages */
};

void machine__read(struct machine *ret);

/* Chooses those that are 0; series and kin follow from rings that are given. */
void table_sizes__choose(const struct machine *m, struct table_sizes *s);

#endif
