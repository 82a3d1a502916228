// SPDX-License-Identifier: MIT
/* Option values: the whole string or an error, and the result untouched on an error. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "parse.h"
#include "scarce.h"

#define S 1000000000ull
#define UNTOUCHED 0x5a5a5a5a5a5a5a5aull

static void durations(void **state)
{
	static const struct {
		const char *s;
		uint64_t ns;
	} rows[] = {
		{ "2", 2 * S },
		{ "0.5", S / 2 },
		{ ".5", S / 2 },
		{ "007", 7 * S },
		{ "1.25s", S * 5 / 4 },
		{ "100ms", S / 10 },
		{ "3us", 3000 },
		{ "7ns", 7 },
		{ "1.5ns", 1 },
		{ "2m", 120 * S },
		{ "2min", 120 * S },
		{ "1h", 3600 * S },
		{ "0.000000001", 1 },
		{ "1.0000000010000000009999999999999999999", S + 1 },
		{ "87600h", 87600ull * 3600 * S },
	};
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(parse_duration_ns(rows[i].s, &ns), 0);
		assert_int_equal(ns, rows[i].ns);
	}
}

static void durations_refused(void **state)
{
	static const char *const malformed[] = {
		"",
		" ",
		"s",
		".",
		"-",
		"-s",
		"1.",
		"1.s",
		"1 s",
		" 1",
		"1 ",
		"+1",
		"1e3",
		"0x10",
		"1,5",
		"1sec",
		"1d",
		"1S",
		"1.2.3",
		"--1",
		"nan",
		"inf",
		"1ms2",
		"1\n",
	};
	static const char *const outside[] = {
		"0",
		"0.0",
		"0h",
		"-1",
		"-0.5ms",
		"0.0000000009",
		"0.9ns",
		"87601h",
		"99999999999999999999999",
		"18446744073709551615h",
		"18446744073709551616.5h",
	};
	uint64_t ns = UNTOUCHED;

	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_int_equal(parse_duration_ns(malformed[i], &ns), -EINVAL);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		assert_int_equal(parse_duration_ns(outside[i], &ns), -ERANGE);
	assert_int_equal(parse_duration_ns(NULL, &ns), -EINVAL);
	assert_int_equal(ns, UNTOUCHED);
}

static void percents(void **state)
{
	double v = 0;

	(void)state;
	assert_int_equal(parse_percent("100", &v), 0);
	assert_true(v == 100);
	assert_int_equal(parse_percent("0.5", &v), 0);
	assert_true(v == 0.5);
	assert_int_equal(parse_percent("2.25%", &v), 0);
	assert_true(v == 2.25);
	assert_int_equal(parse_percent("1.0000000000000000000000001", &v), 0);
	assert_true(v == 1);
}

static void percents_refused(void **state)
{
	static const char *const malformed[] = { "", ".", ".5", "5.", "-1", "+1", "1e1", "1%%", " 1", "1 ",
		"x", "%" };
	static const char *const outside[] = { "0", "0.0", "0%", "100.1", "101", "99999999999999999999999" };
	double v = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_int_equal(parse_percent(malformed[i], &v), -EINVAL);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		assert_int_equal(parse_percent(outside[i], &v), -ERANGE);
	assert_int_equal(parse_percent(NULL, &v), -EINVAL);
	assert_true(v == 7);
}

static void numbers(void **state)
{
	uint64_t v = UNTOUCHED;

	(void)state;
	assert_int_equal(parse_u64("0", 0, 10, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(parse_u64("10", 0, 10, &v), 0);
	assert_int_equal(v, 10);
	assert_int_equal(parse_u64("0010", 10, 10, &v), 0);
	assert_int_equal(v, 10);
	assert_int_equal(parse_u64("18446744073709551615", 0, UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
}

static void numbers_refused(void **state)
{
	static const char *const malformed[] = { "", " ", "-", "+1", " 1", "1 ", "1x", "0x1", "1.0", "1e1",
		"a", "--1", "1-", "99999999999999999999999x" };
	uint64_t v = UNTOUCHED;

	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_int_equal(parse_u64(malformed[i], 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(parse_u64(NULL, 0, 1, &v), -EINVAL);
	assert_int_equal(parse_u64("11", 0, 10, &v), -ERANGE);
	assert_int_equal(parse_u64("4", 5, 10, &v), -ERANGE);
	assert_int_equal(parse_u64("-5", 0, 10, &v), -ERANGE);
	assert_int_equal(parse_u64("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE);
	assert_int_equal(parse_u64("99999999999999999999999", 0, UINT64_MAX, &v), -ERANGE);
	assert_int_equal(v, UNTOUCHED);
}

static void pid_lists(void **state)
{
	pid_t *pids = NULL;
	size_t n = 0;

	(void)state;
	assert_int_equal(parse_pids("12", &pids, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(pids[0], 12);
	assert_int_equal(parse_pids("34,2147483647,12", &pids, &n), 0);
	assert_int_equal(n, 4);
	assert_int_equal(pids[0], 12);
	assert_int_equal(pids[1], 34);
	assert_int_equal(pids[2], INT32_MAX);
	assert_int_equal(pids[3], 12);
	free(pids);
}

static void pid_lists_refused(void **state)
{
	static const char *const malformed[] = { "", ",", "1,", ",1", "1,,2", "0", "-1", "1, 2", " 1", "1 2",
		"1;2", "x", "1,x", "2147483648", "1,99999999999999999999999" };
	pid_t *pids = NULL, *before;
	size_t n = 0;

	(void)state;
	assert_int_equal(parse_pids("7", &pids, &n), 0);
	before = pids;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_int_equal(parse_pids(malformed[i], &pids, &n), -EINVAL);
	assert_int_equal(parse_pids(NULL, &pids, &n), -EINVAL);
	scarce__begin(0);
	assert_int_equal(parse_pids("8", &pids, &n), -ENOMEM);
	scarce__end();
	assert_ptr_equal(pids, before);
	assert_int_equal(n, 1);
	assert_int_equal(pids[0], 7);
	free(pids);
}

static void decimals(void **state)
{
	double v = -1;

	(void)state;
	assert_int_equal(parse_number("0", &v), 0);
	assert_true(v == 0);
	assert_int_equal(parse_number("1.5", &v), 0);
	assert_true(v == 1.5);
	assert_int_equal(parse_number("1000000", &v), 0);
	assert_true(v == 1e6);
}

static void decimals_refused(void **state)
{
	static const char *const malformed[] = { "", "x", "1x", "1.", ".5", "1e3", " 1", "+1", "5%", "1,5",
		"nan", "inf", "-" };
	double v = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_int_equal(parse_number(malformed[i], &v), -EINVAL);
	assert_int_equal(parse_number(NULL, &v), -EINVAL);
	assert_int_equal(parse_number("-1", &v), -ERANGE);
	assert_int_equal(parse_number("1000000000000000", &v), -ERANGE);
	assert_int_equal(parse_number("99999999999999999999999", &v), -ERANGE);
	assert_true(v == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations),
		cmocka_unit_test(durations_refused),
		cmocka_unit_test(percents),
		cmocka_unit_test(percents_refused),
		cmocka_unit_test(numbers),
		cmocka_unit_test(numbers_refused),
		cmocka_unit_test(decimals),
		cmocka_unit_test(decimals_refused),
		cmocka_unit_test(pid_lists),
		cmocka_unit_test(pid_lists_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
