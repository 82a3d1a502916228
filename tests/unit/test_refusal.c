// SPDX-License-Identifier: MIT
/* What is said of a program that the kernel refused, and of a process that it refuses BPF. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "privileges.h"
#include "refusal.h"

static void assert_reason(const char *log, int err, const char *want)
{
	char got[160] = "untouched";

	refusal__reason(log, err, got, sizeof(got));
	assert_string_equal(got, want);
}

static void test_last_words(void **state)
{
	(void)state;
	assert_reason("BPF program is too large. Processed 1000001 insn\n"
		      "verification time 358862 usec\nstack depth 0\n"
		      "processed 1000001 insns (limit 1000000) max_states_per_insn 4 total_states 25001\n",
		-E2BIG, "BPF program is too large. Processed 1000001 insn");
	/* 5.10: the statistics are one line */
	assert_reason("R1 type=ctx expected=fp\nprocessed 3 insns (limit 1000000)\n", -EACCES,
		"R1 type=ctx expected=fp");
	/* of several complaints the last */
	assert_reason("arg#0 is odd\nunknown func bpf_loop#181\n", -EINVAL, "unknown func bpf_loop#181");
	/* cut off, indented, with blanks and empty lines behind */
	assert_reason("R0 !read_ok", -EACCES, "R0 !read_ok");
	assert_reason("\n\n  R0 !read_ok \t\r\n\n \n", -EACCES, "R0 !read_ok");
	assert_reason("x\n", -EACCES, "x");
}

static void test_nothing_said(void **state)
{
	(void)state;
	assert_reason("", -EPERM, "Operation not permitted");
	assert_reason("\n \n", -EBUSY, "Device or resource busy");
	assert_reason("processed 3 insns (limit 1000000)\n", -EINVAL, "Invalid argument");
	assert_reason("", -ESRCH, "no such function that can be traced");
	/* an errno that only the kernel has */
	assert_reason("", -524, "Operation not supported");
}

static void test_missing_field(void **state)
{
	(void)state;
	assert_reason("invalid func unknown#195896080\nprocessed 9 insns (limit 1000000)\n", -EINVAL,
		"it reads something that this kernel does not have");
}

static void test_long_line(void **state)
{
	char log[512], got[16];

	(void)state;
	memset(log, 'x', sizeof(log) - 1);
	log[sizeof(log) - 1] = '\0';
	refusal__reason(log, -EINVAL, got, sizeof(got));
	assert_string_equal(got, "xxxxxxxxxxxxxxx");
}

static void assert_missing(struct privileges p, const char *want)
{
	char got[160] = "untouched";

	privileges__missing(&p, got, sizeof(got));
	assert_string_equal(got, want);
}

static void test_missing_capabilities(void **state)
{
	(void)state;
	assert_missing((struct privileges){ .bpf = true, .perfmon = true }, "");
	assert_missing((struct privileges){ .bpf = true, .perfmon = true, .foreign_user_ns = true }, "");
	assert_missing((struct privileges){ .perfmon = true },
		"missing CAP_BPF: run as root, or grant them (ringside loads BPF programs)");
	assert_missing((struct privileges){ .bpf = true },
		"missing CAP_PERFMON: run as root, or grant them (ringside loads BPF programs)");
	assert_missing((struct privileges){ 0 },
		"missing CAP_BPF and CAP_PERFMON: run as root, or grant them (ringside loads BPF programs)");
	/* where granting them would not help */
	assert_missing((struct privileges){ .foreign_user_ns = true },
		"missing CAP_BPF and CAP_PERFMON of the initial user namespace: run as root outside of this one");
}

static void assert_cause(struct privileges p, int err, bool memlock, const char *want)
{
	char got[256];

	p.bpf = p.perfmon = true;
	privileges__why_refused(&p, err, memlock, got, sizeof(got));
	if (!strstr(got, want))
		fail_msg("\"%s\" is not in \"%s\"", want, got);
	assert_null(strchr(got, '\n'));
}

static void test_bpf_refused(void **state)
{
	(void)state;
	assert_cause((struct privileges){ .foreign_user_ns = true }, -EPERM, false, "user namespace");
	assert_cause((struct privileges){ .foreign_user_ns = true }, -EPERM, true, "user namespace");
	assert_cause((struct privileges){ .seccomp = true }, -EPERM, false, "seccomp");
	assert_cause((struct privileges){ 0 }, -EPERM, true, "RLIMIT_MEMLOCK");
	assert_cause((struct privileges){ 0 }, -EPERM, false, "security module");
	/* other errors have other causes */
	assert_cause((struct privileges){ .foreign_user_ns = true }, -EINVAL, true, "BPF: Invalid argument");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_words),
		cmocka_unit_test(test_nothing_said),
		cmocka_unit_test(test_missing_field),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_missing_capabilities),
		cmocka_unit_test(test_bpf_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
