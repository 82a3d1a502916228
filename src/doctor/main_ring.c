// SPDX-License-Identifier: MIT
/* Where to look when a rule fires on an opcode over all rings. */
#include "rules.h"

/* Percent of all: then that ring is where to look. */
#define NEARLY_ALL_PCT 90

static uint64_t on_ring(const struct ring_stats *ring, unsigned int op,
	uint64_t (*value)(const struct op_stats *o))
{
	for (size_t i = 0; i < ring->n_ops; i++)
		if (ring->ops[i].op == op)
			return value(&ring->ops[i]);
	return 0;
}

uint32_t rule__main_ring(const struct snapshot *s, const struct op_stats *sum,
	uint64_t (*value)(const struct op_stats *o))
{
	for (size_t i = 0; i < s->n_rings; i++) {
		uint64_t n = on_ring(&s->rings[i], sum->op, value);

		if (n && rule__pct(n, value(sum)) >= NEARLY_ALL_PCT)
			return s->rings[i].id;
	}
	return 0;
}
