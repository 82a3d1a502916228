// SPDX-License-Identifier: MIT
/* Which requests are timed when not all are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "rng.h"
#include "sampling.h"

static uint64_t scale_of(uint32_t n)
{
	return n > 1 ? (uint64_t)(65536 / -log2(1 - 1.0 / n)) : 0;
}

static void test_log2(void **state)
{
	uint32_t r;

	(void)state;
	for (r = 1; r < 1u << 31; r += 1 + r / 97)
		assert_true(fabs(rs_log2_fixed(r) / 65536.0 - log2(r)) < 2.0 / 65536);
	assert_true(rs_log2_fixed(UINT32_MAX) <= 32u << 16);
	assert_int_equal(rs_log2_fixed(1), 0);
}

static void test_every_request(void **state)
{
	(void)state;
	assert_int_equal(rs_sample_gap(0, 0), 0);
	assert_int_equal(rs_sample_gap(UINT32_MAX, 0), 0);
}

/* The longest gap is 22 times the mean one: nothing overflows. */
static void test_extremes(void **state)
{
	uint32_t gap = rs_sample_gap(0, scale_of(RS_SAMPLE_MAX));

	(void)state;
	assert_in_range(gap, 22 * RS_SAMPLE_MAX, 23 * RS_SAMPLE_MAX);
	assert_int_equal(rs_sample_gap(UINT32_MAX, scale_of(RS_SAMPLE_MAX)), 0);
}

/* Requests between two timed ones, as the programs count them down. */
struct stream {
	struct rng rng;
	uint32_t skip;
	uint64_t scale;
};

static int is_timed(struct stream *s)
{
	if (s->skip) {
		s->skip--;
		return 0;
	}
	s->skip = rs_sample_gap((uint32_t)(rng__next(&s->rng) >> 32), s->scale);
	return 1;
}

#define REQUESTS 2000000u
#define BATCH 32u

/* Every position in a batch has the same chance, for any n, also one that divides the batch. */
static void check_fair(uint32_t n)
{
	struct stream s = { .rng = { 12345 + n }, .scale = scale_of(n) };
	double want = (double)REQUESTS / BATCH / n, limit = 6 * sqrt(want) + 0.01 * want;
	uint32_t hits[BATCH] = { 0 }, i;

	s.skip = rs_sample_gap((uint32_t)(rng__next(&s.rng) >> 32), s.scale);
	for (i = 0; i < REQUESTS; i++)
		hits[i % BATCH] += (uint32_t)is_timed(&s);
	for (i = 0; i < BATCH; i++)
		assert_true(fabs(hits[i] - want) < limit);
}

static void test_fair(void **state)
{
	static const uint32_t ns[] = { 1, 2, 3, 16, 32, 64, 100, 1000 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
		check_fair(ns[i]);
}

/* Rings that live for a few requests are timed as often as those that live long. */
static void test_short_rings(void **state)
{
	struct stream s = { .rng = { 99 }, .scale = scale_of(64) };
	uint32_t ring, i, hits = 0;

	(void)state;
	for (ring = 0; ring < 200000; ring++) {
		s.skip = rs_sample_gap((uint32_t)(rng__next(&s.rng) >> 32), s.scale);
		for (i = 0; i < 4; i++)
			hits += (uint32_t)is_timed(&s);
	}
	assert_in_range(hits, 12500 * 0.96, 12500 * 1.04);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log2),
		cmocka_unit_test(test_every_request),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_short_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
