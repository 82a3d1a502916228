// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "options.h"

struct fields {
	bool flag, other;
	const char *text;
	uint64_t time_ns;
	struct pid_list pids;
	struct optional_string json;
	int sev;
	uint64_t count;
	struct string_list list;
};

#define ROW(letter, name, kind, field)                                                                       \
	{                                                                                                    \
		letter, name, "X", kind, offsetof(struct fields, field), "help", 100                         \
	}

static const struct option_row rows[] = {
	ROW('f', "flag", OPTION_FLAG, flag),
	ROW('g', NULL, OPTION_FLAG, other),
	ROW('t', "text", OPTION_STRING, text),
	ROW('d', "time", OPTION_DURATION, time_ns),
	ROW('p', "pid", OPTION_PIDS, pids),
	ROW(0, "json", OPTION_OPTIONAL, json),
	ROW(0, "fail-on", OPTION_SEVERITY, sev),
	ROW('n', "count", OPTION_COUNT, count),
	ROW('s', "span", OPTION_STRINGS, list),
};

static char errmsg[256];
static int first;

/* Parses words up to the first NULL. */
static int parse(struct fields *f, ...)
{
	char *argv[16] = { (char *)"stat" }, *word;
	int argc = 1;
	va_list ap;

	memset(f, 0, sizeof(*f));
	f->sev = -1;
	errmsg[0] = '\0';
	first = -1;
	va_start(ap, f);
	while ((word = va_arg(ap, char *)))
		argv[argc++] = word;
	va_end(ap);
	return options__parse(rows, sizeof(rows) / sizeof(rows[0]), argc, argv, f, &first, errmsg,
		sizeof(errmsg));
}

static void test_forms(void **state)
{
	struct fields f;

	(void)state;
	assert_int_equal(parse(&f, "-fg", "-t", "a b", "-d0.5", "--json", "prog", "-f", NULL), 0);
	assert_true(f.flag && f.other && f.json.given);
	assert_null(f.json.value);
	assert_string_equal(f.text, "a b");
	assert_int_equal(f.time_ns, 500000000);
	assert_int_equal(first, 6);

	assert_int_equal(parse(&f, "-n100", NULL), 0);
	assert_int_equal(f.count, 100);

	assert_int_equal(parse(&f, "--text=x=y", "--time", "2", "--json=out", "--fail-on=warn", "--", "-f",
				 NULL),
		0);
	assert_string_equal(f.text, "x=y");
	assert_int_equal(f.time_ns, 2000000000);
	assert_string_equal(f.json.value, "out");
	assert_int_equal(f.sev, SEVERITY_WARN);
	assert_false(f.flag);
	assert_int_equal(first, 7);
}

static void test_nothing(void **state)
{
	struct fields f;

	(void)state;
	assert_int_equal(parse(&f, NULL), 0);
	assert_int_equal(first, 1);
	assert_int_equal(f.sev, -1);
	/* a lone dash is a word, as everywhere */
	assert_int_equal(parse(&f, "-", NULL), 0);
	assert_int_equal(first, 1);
}

static void test_pids_add_up(void **state)
{
	struct fields f;

	(void)state;
	assert_int_equal(parse(&f, "-p", "1,2", "--pid=3", NULL), 0);
	assert_int_equal(f.pids.n, 3);
	assert_int_equal(f.pids.pids[2], 3);
	free(f.pids.pids);
}

static void test_strings_add_up(void **state)
{
	struct fields f;

	(void)state;
	assert_int_equal(parse(&f, "--span", "a:b", "-sc:*", "--span=./d=:e", "prog", "--span=x", NULL), 0);
	assert_int_equal(f.list.n, 3);
	assert_string_equal(f.list.strings[0], "a:b");
	assert_string_equal(f.list.strings[1], "c:*");
	assert_string_equal(f.list.strings[2], "./d=:e");
	free(f.list.strings);
	assert_int_equal(parse(&f, "--span", NULL), -EINVAL);
	assert_string_equal(errmsg, "--span needs a value (X)");
	assert_int_equal(f.list.n, 0);
}

static void test_pids_refused(void **state)
{
	static const char *const lists[] = { "", ",", "1,", ",1", "1,,2", "0", "1,0", "-1", "+1", "1 ", " 1",
		"0x1", "2147483648", "18446744073709551617", "99999999999999999999999999999999" };
	struct fields f;
	char want[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		assert_int_equal(parse(&f, "-p", lists[i], NULL), -EINVAL);
		snprintf(want, sizeof(want), "-p '%s': must be process ids, such as 123 or 123,456",
			lists[i]);
		assert_string_equal(errmsg, want);
		assert_int_equal(f.pids.n, 0);
	}
	memset(want, '1', sizeof(want) - 1);
	want[sizeof(want) - 1] = '\0';
	assert_int_equal(parse(&f, "-p", want, NULL), -EINVAL);
	assert_non_null(strstr(errmsg, "111...': must be process ids"));
	assert_int_equal(parse(&f, "-p", "2147483647", NULL), 0);
	assert_int_equal(f.pids.pids[0], 2147483647);
	free(f.pids.pids);
}

static void test_help(void **state)
{
	struct fields f;

	(void)state;
	assert_int_equal(parse(&f, "-f", "-h", NULL), 1);
	assert_int_equal(parse(&f, "--help", NULL), 1);
	assert_int_equal(parse(&f, "--", "--help", NULL), 0);
}

static void test_errors(void **state)
{
	struct fields f;

	(void)state;
	assert_int_equal(parse(&f, "--nope", NULL), -EINVAL);
	assert_string_equal(errmsg, "unknown option '--nope'");
	assert_int_equal(parse(&f, "--fla", NULL), -EINVAL);
	assert_int_equal(parse(&f, "-z", NULL), -EINVAL);
	assert_string_equal(errmsg, "unknown option '-z'");
	assert_int_equal(parse(&f, "-fz", NULL), -EINVAL);
	assert_int_equal(parse(&f, "--flag=1", NULL), -EINVAL);
	assert_string_equal(errmsg, "--flag takes no value");
	assert_int_equal(parse(&f, "-t", NULL), -EINVAL);
	assert_string_equal(errmsg, "-t needs a value (X)");
	assert_int_equal(parse(&f, "--text", NULL), -EINVAL);
	assert_int_equal(parse(&f, "-d", "soon", NULL), -EINVAL);
	assert_non_null(strstr(errmsg, "-d 'soon'"));
	assert_int_equal(parse(&f, "-d", "0", NULL), -EINVAL);
	assert_int_equal(parse(&f, "-n", "101", NULL), -EINVAL);
	assert_string_equal(errmsg, "-n '101': must be a number from 1 to 100");
	assert_int_equal(parse(&f, "-n0", NULL), -EINVAL);
	assert_int_equal(parse(&f, "--fail-on=bad", NULL), -EINVAL);
	assert_non_null(strstr(errmsg, "info, warn or crit"));
	assert_int_equal(parse(&f, "-p", "1,x", NULL), -EINVAL);
	free(f.pids.pids);
	assert_int_equal(first, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_pids_add_up),
		cmocka_unit_test(test_strings_add_up),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_pids_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
