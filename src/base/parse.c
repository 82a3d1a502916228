// SPDX-License-Identifier: MIT
/* Strict parsing of option values. Digits are read by hand: strtoul takes spaces, signs and a locale. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

#define NS_PER_S 1000000000ull
#define MAX_DURATION_NS (10ull * 365 * 24 * 3600 * NS_PER_S)
/* A fraction below 10^-18 of an hour is no nanosecond: later digits are checked and ignored. */
#define MAX_FRACTION_DIGITS 18

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads digits at *s and moves *s behind them. 0; -EINVAL: none; -ERANGE: more than 64 bits. */
static int read_digits(const char **s, uint64_t *ret)
{
	bool overflow = false;
	uint64_t v = 0;

	if (!is_digit(**s))
		return -EINVAL;
	for (; is_digit(**s); (*s)++)
		overflow |= __builtin_mul_overflow(v, 10, &v) ||
			    __builtin_add_overflow(v, (uint64_t)(**s - '0'), &v);
	if (overflow)
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	bool negative;
	uint64_t v;
	int err;

	if (!s)
		return -EINVAL;
	negative = *s == '-';
	s += negative;
	err = read_digits(&s, &v);
	if (err == -EINVAL || *s)
		return -EINVAL;
	if (err || negative || v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

/* Reads "12" or "0.5" at *s and moves *s behind it. 0; -EINVAL; -ERANGE: too large. */
static int read_decimal(const char **s, double *ret)
{
	uint64_t whole, scale = 1, part = 0;
	int err = read_digits(s, &whole);

	if (err == -EINVAL)
		return err;
	if (**s == '.') {
		if (!is_digit(*++*s))
			return -EINVAL;
		for (; is_digit(**s); (*s)++) {
			if (scale == 1000000000)
				continue;
			part = part * 10 + (uint64_t)(**s - '0');
			scale *= 10;
		}
	}
	if (!err)
		*ret = (double)whole + (double)part / (double)scale;
	return err;
}

int parse_percent(const char *s, double *ret)
{
	double v = 0;
	int err;

	if (!s)
		return -EINVAL;
	err = read_decimal(&s, &v);
	if (err == -EINVAL)
		return err;
	if (*s == '%')
		s++;
	if (*s)
		return -EINVAL;
	if (err || v > 100 || !(v > 0))
		return -ERANGE;
	*ret = v;
	return 0;
}

int parse_number(const char *s, double *ret)
{
	bool negative;
	double v = 0;
	int err;

	if (!s)
		return -EINVAL;
	negative = *s == '-';
	s += negative;
	err = read_decimal(&s, &v);
	if (err == -EINVAL || *s)
		return -EINVAL;
	if (err || negative || v >= 1e15)
		return -ERANGE;
	*ret = v;
	return 0;
}

static int read_unit_ns(const char *s, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "", NS_PER_S },
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", NS_PER_S },
		{ "m", 60 * NS_PER_S },
		{ "min", 60 * NS_PER_S },
		{ "h", 3600 * NS_PER_S },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(s, units[i].name) == 0) {
			*ret_ns = units[i].ns;
			return 0;
		}
	}
	return -EINVAL;
}

/* Reads the digits after a decimal point: *ret_num / *ret_den. */
static bool read_fraction(const char **s, uint64_t *ret_num, uint64_t *ret_den)
{
	uint64_t num = 0, den = 1;
	int n = 0;

	if (!is_digit(**s))
		return false;
	for (; is_digit(**s); (*s)++) {
		if (n++ >= MAX_FRACTION_DIGITS)
			continue;
		num = num * 10 + (uint64_t)(**s - '0');
		den *= 10;
	}
	*ret_num = num;
	*ret_den = den;
	return true;
}

int parse_duration_ns(const char *s, uint64_t *ret_ns)
{
	uint64_t whole = 0, num = 0, den = 1, unit_ns;
	unsigned __int128 ns;
	bool negative;
	int err;

	if (!s)
		return -EINVAL;
	negative = *s == '-';
	s += negative;
	err = read_digits(&s, &whole);
	if (*s == '.') {
		s++;
		if (!read_fraction(&s, &num, &den))
			return -EINVAL;
	} else if (err == -EINVAL) {
		return -EINVAL;
	}
	if (read_unit_ns(s, &unit_ns) < 0)
		return -EINVAL;
	ns = (unsigned __int128)whole * unit_ns + (unsigned __int128)num * unit_ns / den;
	if (err == -ERANGE || negative || ns == 0 || ns > MAX_DURATION_NS)
		return -ERANGE;
	*ret_ns = (uint64_t)ns;
	return 0;
}

int parse_pids(const char *s, pid_t **pids, size_t *n)
{
	size_t count = 1, have = *n;
	pid_t *list;
	uint64_t v;

	if (!s)
		return -EINVAL;
	for (const char *p = s; *p; p++)
		count += *p == ',';
	list = calloc(have + count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	if (have)
		memcpy(list, *pids, have * sizeof(*list));
	for (size_t i = 0; i < count; i++) {
		if (read_digits(&s, &v) < 0 || v < 1 || v > INT32_MAX || *s != (i + 1 < count ? ',' : '\0')) {
			free(list);
			return -EINVAL;
		}
		s++;
		list[have + i] = (pid_t)v;
	}
	free(*pids);
	*pids = list;
	*n = have + count;
	return 0;
}
