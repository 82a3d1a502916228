/* SPDX-License-Identifier: MIT */
/* Random numbers for tests, the same in each run. */
#ifndef RINGSIDE_TEST_RNG_H
#define RINGSIDE_TEST_RNG_H

#include <stdint.h>

struct rng {
	uint64_t s; /* not 0 */
};

/* xorshift64* */
static inline uint64_t rng__next(struct rng *r)
{
	r->s ^= r->s >> 12;
	r->s ^= r->s << 25;
	r->s ^= r->s >> 27;
	return r->s * 0x2545f4914f6cdd1dull;
}

/* A number below 2^bits, each length in bits as likely as any other. */
static inline uint64_t rng__log_uniform(struct rng *r, unsigned int bits)
{
	unsigned int length = (unsigned int)(rng__next(r) >> 32) % (bits + 1);

	return length ? rng__next(r) >> (64 - length) : 0;
}

#endif
