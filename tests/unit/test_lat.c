// SPDX-License-Identifier: MIT
/* Percentiles against sorted samples; sums and differences of distributions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lat.h"
#include "rng.h"

#define N 20000

static const double quantiles[] = { 0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1 };
#define N_QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

static void lat__record(struct rs_lat *l, uint64_t ns)
{
	if (lat__count(l) == 0)
		l->min_ns = UINT64_MAX;
	l->buckets[rs_hist_bucket(ns)]++;
	l->sum_ns += ns;
	if (ns < l->min_ns)
		l->min_ns = ns;
	if (ns > l->max_ns)
		l->max_ns = ns;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Adds v[0..n) one by one (a distribution starts empty, min_ns ~0) and sorts v. */
static struct rs_lat distribution_of(uint64_t *v, size_t n)
{
	struct rs_lat l = { .min_ns = UINT64_MAX };

	for (size_t i = 0; i < n; i++) {
		l.buckets[rs_hist_bucket(v[i])]++;
		l.sum_ns += v[i];
		l.min_ns = v[i] < l.min_ns ? v[i] : l.min_ns;
		l.max_ns = v[i] > l.max_ns ? v[i] : l.max_ns;
	}
	qsort(v, n, sizeof(*v), by_value);
	return l;
}

static void assert_quantiles(uint64_t *v, size_t n)
{
	struct rs_lat l = distribution_of(v, n);
	uint64_t last = 0;

	assert_int_equal(lat__count(&l), n);
	for (size_t i = 0; i < N_QUANTILES; i++) {
		double exact = quantiles[i] * (double)n;
		size_t below = (size_t)exact; /* samples below the one wanted, or up to it */
		size_t at = below && (double)below == exact ? below - 1 : below;
		uint64_t want = v[at], got = lat__quantile_ns(&l, quantiles[i]);
		uint64_t off = got > want ? got - want : want - got;

		if (off * 1000 > want * 32)
			fail_msg("q %g: %llu, want %llu", quantiles[i], (unsigned long long)got,
				(unsigned long long)want);
		assert_true(got >= v[0] && got <= v[n - 1]);
		assert_true(got >= last);
		last = got;
	}
}

static void quantiles_of_random_samples(void **state)
{
	static uint64_t v[N];
	struct rng rng = { .s = 7 };

	(void)state;
	for (int i = 0; i < N; i++)
		v[i] = rng__log_uniform(&rng, RS_HIST_MAX_SHIFT);
	assert_quantiles(v, N);
	/* two narrow humps, the second with a tenth of the samples */
	for (int i = 0; i < N; i++)
		v[i] = (i % 10 ? 4000 : 9000000) + rng__next(&rng) % 500;
	assert_quantiles(v, N);
	for (int i = 0; i < N; i++)
		v[i] = 1000 + rng__next(&rng) % 1000000;
	assert_quantiles(v, N);
	for (size_t n = 1; n <= 64; n++) {
		for (size_t i = 0; i < n; i++)
			v[i] = rng__log_uniform(&rng, 40);
		assert_quantiles(v, n);
	}
}

static void empty_is_zero(void **state)
{
	struct rs_lat l = { .min_ns = UINT64_MAX };

	(void)state;
	assert_int_equal(lat__count(&l), 0);
	assert_int_equal(lat__quantile_ns(&l, 0.5), 0);
}

static void stays_within_min_and_max(void **state)
{
	struct rs_lat l = { 0 };

	(void)state;
	/* 1000003 is near the lower end of a bucket 65536 wide: its midpoint is no sample */
	lat__record(&l, 1000003);
	assert_int_equal(lat__quantile_ns(&l, 0), 1000003);
	assert_int_equal(lat__quantile_ns(&l, 0.5), 1000003);
	assert_int_equal(lat__quantile_ns(&l, 1), 1000003);
	/* three hours: beyond the last bucket, max_ns is exact */
	memset(&l, 0, sizeof(l));
	lat__record(&l, 10800ull * 1000000000);
	assert_int_equal(lat__quantile_ns(&l, 0.99), 10800ull * 1000000000);
}

static void takes_odd_input(void **state)
{
	struct rs_lat l = { 0 };

	(void)state;
	for (uint64_t ns = 1; ns <= 10; ns++)
		lat__record(&l, ns);
	assert_int_equal(lat__quantile_ns(&l, -1), 1);
	assert_int_equal(lat__quantile_ns(&l, NAN), 1);
	assert_int_equal(lat__quantile_ns(&l, 7), 10);
	assert_int_equal(lat__quantile_ns(&l, 0.5), 5);
	assert_int_equal(lat__quantile_ns(&l, 0.51), 6);
	/* a count near 2^64, and a sample counted before its minimum was stored */
	l.buckets[5] = UINT64_MAX - 100;
	assert_int_equal(lat__quantile_ns(&l, 0.9999), 5);
	memset(&l, 0, sizeof(l));
	l.min_ns = UINT64_MAX;
	l.buckets[rs_hist_bucket(40)] = 1;
	assert_in_range(lat__quantile_ns(&l, 0.5), 40, 41);
}

static void add_equals_recording_all(void **state)
{
	struct rs_lat a = { 0 }, b = { 0 }, all = { 0 }, sum = { 0 }, empty = { .min_ns = UINT64_MAX };
	struct rng rng = { .s = 9 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t ns = 100 + rng__log_uniform(&rng, 40);

		lat__record(i % 3 ? &a : &b, ns);
		lat__record(&all, ns);
	}
	lat__add(&sum, &empty);
	assert_int_equal(sum.min_ns, UINT64_MAX);
	lat__add(&sum, &a);
	lat__add(&sum, &empty);
	lat__add(&sum, &b);
	assert_memory_equal(&sum, &all, sizeof(all));
}

static void delta_is_what_came_since(void **state)
{
	struct rs_lat prev = { 0 }, cur, d, nothing = { .min_ns = UINT64_MAX };

	(void)state;
	lat__record(&prev, 10);
	lat__record(&prev, 9000000000);
	cur = prev;
	lat__record(&cur, 5000);
	lat__record(&cur, 5003);
	lat__record(&cur, 70000);
	lat__delta(&prev, &cur, &d);
	assert_int_equal(lat__count(&d), 3);
	assert_int_equal(d.sum_ns, 5000 + 5003 + 70000);
	assert_int_equal(d.min_ns, rs_hist_lower_ns(rs_hist_bucket(5000)));
	assert_int_equal(d.max_ns, rs_hist_upper_ns(rs_hist_bucket(70000)) - 1);
	/* beyond the last bucket there is no bound but cur's maximum */
	lat__record(&cur, 1ull << RS_HIST_MAX_SHIFT << 3);
	lat__delta(&prev, &cur, &d);
	assert_int_equal(lat__count(&d), 4);
	assert_true(d.max_ns == 1ull << RS_HIST_MAX_SHIFT << 3);
	cur.buckets[RS_HIST_BUCKETS - 1] = 0;
	cur.max_ns = 9000000000;
	/* an extreme of cur is exact: it lies in the outermost bucket hit */
	lat__record(&cur, 3);
	lat__record(&cur, 9100000001);
	lat__delta(&prev, &cur, &d);
	assert_int_equal(d.min_ns, 3);
	assert_int_equal(d.max_ns, 9100000001);
	lat__delta(&nothing, &cur, &d);
	assert_memory_equal(&d, &cur, sizeof(d));
	/* nothing came, and in place */
	lat__delta(&cur, &cur, &cur);
	assert_int_equal(lat__count(&cur), 0);
	assert_int_equal(cur.min_ns, UINT64_MAX);
	assert_int_equal(cur.max_ns, 0);
	assert_int_equal(cur.sum_ns, 0);
}

static void delta_never_goes_below_zero(void **state)
{
	struct rs_lat prev = { 0 }, cur, d;

	(void)state;
	lat__record(&prev, 100);
	lat__record(&prev, 100);
	cur = prev;
	lat__record(&cur, 100);
	lat__delta(&prev, &cur, &d);
	assert_int_equal(lat__count(&d), 1);
	/* read the wrong way round */
	cur = prev;
	lat__record(&prev, 200);
	lat__delta(&prev, &cur, &d);
	assert_int_equal(lat__count(&d), 0);
	assert_int_equal(d.sum_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_of_random_samples),
		cmocka_unit_test(empty_is_zero),
		cmocka_unit_test(stays_within_min_and_max),
		cmocka_unit_test(takes_odd_input),
		cmocka_unit_test(add_equals_recording_all),
		cmocka_unit_test(delta_is_what_came_since),
		cmocka_unit_test(delta_never_goes_below_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
