// SPDX-License-Identifier: MIT
/* The latency buckets: bounds, order, error, and the two versions of the logarithm against each other. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/types.h>

/* what the BPF programs compile, under other names */
#define __bpf__
#define rs_log2 bpf_log2
#define rs_hist_bucket bpf_hist_bucket
#define rs_hist_lower_ns bpf_hist_lower_ns
#define rs_hist_upper_ns bpf_hist_upper_ns
#include "hist.h"
#undef __bpf__
#undef rs_log2
#undef rs_hist_bucket
#undef rs_hist_lower_ns
#undef rs_hist_upper_ns
#undef RINGSIDE_HIST_H
#include "hist.h"

#include "rng.h"

#define END_NS (1ull << RS_HIST_MAX_SHIFT)

static void buckets_tile_the_range(void **state)
{
	(void)state;
	assert_int_equal(rs_hist_lower_ns(0), 0);
	for (unsigned int b = 0; b < RS_HIST_BUCKETS; b++) {
		uint64_t lower = rs_hist_lower_ns(b), upper = rs_hist_upper_ns(b);

		assert_true(upper > lower);
		assert_int_equal(rs_hist_bucket(lower), b);
		assert_int_equal(rs_hist_bucket(lower + (upper - lower) / 2), b);
		assert_int_equal(rs_hist_bucket(upper - 1), b);
		if (b + 1 < RS_HIST_BUCKETS) {
			assert_int_equal(rs_hist_bucket(upper), b + 1);
			assert_int_equal(rs_hist_lower_ns(b + 1), upper);
		}
		/* at most 1/16 of its value wide, and exact below 16 ns */
		assert_true(
			lower < RS_HIST_SUB ? upper - lower == 1 : (upper - lower) * RS_HIST_SUB <= lower);
	}
	assert_int_equal(rs_hist_upper_ns(RS_HIST_BUCKETS - 1), END_NS);
}

static void longer_values_fall_in_the_last_bucket(void **state)
{
	(void)state;
	for (unsigned int shift = RS_HIST_MAX_SHIFT; shift < 64; shift++)
		assert_int_equal(rs_hist_bucket(1ull << shift), RS_HIST_BUCKETS - 1);
	assert_int_equal(rs_hist_bucket(END_NS - 1), RS_HIST_BUCKETS - 1);
	assert_int_equal(rs_hist_bucket(UINT64_MAX), RS_HIST_BUCKETS - 1);
}

static void midpoint_is_near(void **state)
{
	struct rng rng = { .s = 1 };

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		uint64_t v = rng__log_uniform(&rng, RS_HIST_MAX_SHIFT);
		unsigned int b = rs_hist_bucket(v);
		uint64_t lower = rs_hist_lower_ns(b), mid = lower + (rs_hist_upper_ns(b) - lower) / 2;
		uint64_t off = mid > v ? mid - v : v - mid;

		if (off * 1000 > v * 32)
			fail_msg("%llu ns is reported as %llu ns", (unsigned long long)v,
				(unsigned long long)mid);
	}
}

static void larger_values_have_no_smaller_bucket(void **state)
{
	struct rng rng = { .s = 2 };

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		uint64_t a = rng__log_uniform(&rng, 64), b = rng__log_uniform(&rng, 64);

		if (a > b)
			assert_true(rs_hist_bucket(a) >= rs_hist_bucket(b));
		else
			assert_true(rs_hist_bucket(a) <= rs_hist_bucket(b));
	}
}

static void kernel_side_agrees(void **state)
{
	struct rng rng = { .s = 3 };

	(void)state;
	for (unsigned int shift = 0; shift < 64; shift++) {
		assert_int_equal(bpf_log2(1ull << shift), shift);
		assert_int_equal(rs_log2(1ull << shift), shift);
		assert_int_equal(bpf_log2((1ull << shift) | ((1ull << shift) - 1)), shift);
	}
	for (int i = 0; i < 1000000; i++) {
		uint64_t v = rng__log_uniform(&rng, 64);

		assert_int_equal(bpf_hist_bucket(v), rs_hist_bucket(v));
	}
	for (unsigned int b = 0; b < RS_HIST_BUCKETS; b++) {
		assert_int_equal(bpf_hist_lower_ns(b), rs_hist_lower_ns(b));
		assert_int_equal(bpf_hist_upper_ns(b), rs_hist_upper_ns(b));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_tile_the_range),
		cmocka_unit_test(longer_values_fall_in_the_last_bucket),
		cmocka_unit_test(midpoint_is_near),
		cmocka_unit_test(larger_values_have_no_smaller_bucket),
		cmocka_unit_test(kernel_side_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
