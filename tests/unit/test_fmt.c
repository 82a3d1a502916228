// SPDX-License-Identifier: MIT
/* Scaled numbers: digits, units, and the places where rounding crosses a unit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "fmt.h"
#include "rng.h"

static void nanoseconds(void **state)
{
	static const struct {
		uint64_t ns;
		const char *want;
	} rows[] = {
		{ 0, "0ns" },
		{ 812, "812ns" },
		{ 999, "999ns" },
		{ 1000, "1.00us" },
		{ 14240, "14.2us" },
		{ 99949, "99.9us" },
		{ 99960, "100us" },
		{ 999499, "999us" },
		{ 999500, "1.00ms" },
		{ 3050000, "3.05ms" },
		{ 999600000, "1.00s" },
		{ 1200000000, "1.20s" },
		{ 59900000000, "59.9s" },
		{ 59960000000, "1.0min" },
		{ 60000000000, "1.0min" },
		{ 270000000000, "4.5min" },
		{ 3597500000000, "1.0h" },
		{ 7560000000000, "2.1h" },
		{ UINT64_MAX, "5124096h" },
	};
	char buf[FMT_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(fmt_ns(buf, rows[i].ns), rows[i].want);
}

struct double_row {
	double n;
	const char *want;
};

static void assert_rows(const struct double_row *rows, size_t n, char *(*fmt)(char *, double))
{
	char buf[FMT_LEN];

	for (size_t i = 0; i < n; i++)
		assert_string_equal(fmt(buf, rows[i].n), rows[i].want);
}

static void counts(void **state)
{
	static const struct double_row rows[] = {
		{ 0, "0" },
		{ 950, "950" },
		{ 9999, "9999" },
		{ 9999.4, "9999" },
		{ 9999.6, "10.0k" },
		{ 10000, "10.0k" },
		{ 12345, "12.3k" },
		{ 999499, "999k" },
		{ 999500, "1.00M" },
		{ 4560000, "4.56M" },
		{ 1.2e9, "1.20G" },
		{ 18446744073709551615.0, "18.4E" },
		{ 0.004, "<0.01" },
		{ 0.25, "0.25" },
		{ 2.5, "2.50" },
		{ 1234.5678, "1235" },
		{ -1500000, "-1.50M" },
		{ -3, "-3" },
		{ NAN, "n/a" },
		{ INFINITY, "n/a" },
		{ -INFINITY, "n/a" },
		{ DBL_MAX, "1.8e+290E" },
	};

	(void)state;
	assert_rows(rows, sizeof(rows) / sizeof(rows[0]), fmt_count);
}

static void bytes(void **state)
{
	static const struct double_row rows[] = {
		{ 0, "0B" },
		{ 0.1, "<1B" },
		{ 512, "512B" },
		{ 1023, "1023B" },
		{ 1024, "1.0KiB" },
		{ 4096, "4.0KiB" },
		{ 65536, "64.0KiB" },
		{ 131072, "128KiB" },
		{ 1048000, "1023KiB" },
		{ 1048500, "1.00MiB" },
		{ 1342177280, "1.25GiB" },
		{ 18446744073709551615.0, "16.0EiB" },
		{ -4096, "-4.0KiB" },
		{ NAN, "n/a" },
		{ DBL_MAX, "1.56e+290EiB" },
	};

	(void)state;
	assert_rows(rows, sizeof(rows) / sizeof(rows[0]), fmt_bytes);
}

static void percentages(void **state)
{
	static const struct {
		double part, whole;
		const char *want;
	} rows[] = {
		{ 0, 10, "0%" },
		{ 3, 10000, "0.03%" },
		{ 1, 8, "12.5%" },
		{ 5, 100, "5.00%" },
		{ 10, 10, "100%" },
		{ 3, 2, "150%" },
		{ 0, 0, "-" },
		{ 5, 0, "-" },
		{ 1, -1, "-" },
		{ NAN, 1, "-" },
		{ 1, NAN, "-" },
		{ 1, 1e6, "<0.01%" },
		{ 999999, 1000000, ">99.9%" },
		{ 9994, 10000, "99.9%" },
		{ DBL_MAX, 1, "inf%" },
	};
	char buf[FMT_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(fmt_pct(buf, rows[i].part, rows[i].whole), rows[i].want);
}

/* Columns are as wide as the longest value: nothing that can be counted needs more than 8 characters. */
static void countable_values_stay_short(void **state)
{
	struct rng rng = { .s = 5 };
	char buf[FMT_LEN];

	(void)state;
	for (int i = 0; i < 300000; i++) {
		uint64_t v = rng__log_uniform(&rng, 64), w = rng__log_uniform(&rng, 64);

		assert_true(strlen(fmt_ns(buf, v)) <= 8);
		assert_true(strlen(fmt_count(buf, (double)v)) <= 5);
		assert_true(strlen(fmt_bytes(buf, (double)v)) <= 7);
		assert_true(strlen(fmt_pct(buf, (double)(v < w ? v : w), (double)(v < w ? w : v))) <= 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nanoseconds),
		cmocka_unit_test(counts),
		cmocka_unit_test(bytes),
		cmocka_unit_test(percentages),
		cmocka_unit_test(countable_values_stay_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
