// SPDX-License-Identifier: MIT
/* The aggregation core, as user space compiles it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agg.h"
#include "lat.h"

static struct rs_series new_series(unsigned int traits)
{
	return (struct rs_series){ .traits = traits, .lat = { .min_ns = ~0ull } };
}

static void test_results(void **state)
{
	struct rs_series bytes = new_series(RS_OP_BYTES), plain = new_series(0);
	static const int results[] = { 4096, 0, -5, 100, -1, 2147483647 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		rs_series_end(&bytes, results[i], 0);
		rs_series_end(&plain, results[i], 1);
	}
	assert_int_equal(bytes.c[RS_SC_COMPLETED], 6);
	assert_int_equal(bytes.c[RS_SC_ERRORS], 2);
	assert_int_equal(bytes.c[RS_SC_BYTES], 4096ull + 100 + 2147483647);
	assert_int_equal(plain.c[RS_SC_COMPLETED], 6);
	assert_int_equal(plain.c[RS_SC_ERRORS], 2);
	assert_int_equal(plain.c[RS_SC_BYTES], 0);
}

static void test_latency(void **state)
{
	struct rs_series one = new_series(0), many = new_series(0);
	uint64_t ns, sum = 0;

	(void)state;
	for (ns = 0; ns < 5000; ns += 7) {
		rs_lat_add(&one.lat, ns, 0);
		rs_lat_add(&many.lat, ns, 1);
		sum += ns;
	}
	assert_int_equal(one.lat.sum_ns, sum);
	assert_int_equal(one.lat.min_ns, 0);
	assert_int_equal(one.lat.max_ns, 4998);
	assert_int_equal(lat__count(&one.lat), 715);
	assert_memory_equal(&one.lat, &many.lat, sizeof(one.lat));
}

/* Longer than the last bucket: counted there, and the extremes stay exact. */
static void test_very_long(void **state)
{
	struct rs_series se = new_series(0);
	const uint64_t day_ns = 86400ull * 1000000000;

	(void)state;
	rs_lat_add(&se.lat, day_ns, 0);
	assert_int_equal(se.lat.buckets[RS_HIST_BUCKETS - 1], 1);
	assert_int_equal(se.lat.max_ns, day_ns);
	assert_int_equal(lat__quantile_ns(&se.lat, 0.5), day_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_latency),
		cmocka_unit_test(test_very_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
