// SPDX-License-Identifier: MIT
/* The choice of the programs of the block layer: all of them, or none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/btf.h>
#include <string.h>

#include "kernel_shape.h"
#include "select.h"

static enum ksym_state as_told(const char *name, void *arg)
{
	const enum ksym_state *state = arg;

	(void)name;
	return *state;
}

static struct plan plan_of(const struct kernel *k, enum ksym_state symbols)
{
	struct plan p;

	plan__select(k->btf, as_told, &symbols, NULL, &p);
	return p;
}

/* A program that has to have others beside it is off without them, and says which is lacking. */
static void test_companions(void **state)
{
	static const char *const forms[][2] = { { NULL, "request*" }, { "bio*", NULL },
		{ "request_queue*,bio*", "request*" }, { "bio*", "request_queue*,request*" } };
	static const char *const whys[] = { "no tracepoint block_bio_queue", "no tracepoint block_rq_issue",
		"unknown form of tracepoint block_bio_queue", "unknown form of tracepoint block_rq_issue" };
	struct kernel k;
	struct plan p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		k = new_kernel();
		add_tracepoint(&k, "block_rq_complete", "request*,u8,u32");
		if (forms[i][0])
			add_tracepoint(&k, "block_bio_queue", forms[i][0]);
		if (forms[i][1])
			add_tracepoint(&k, "block_rq_issue", forms[i][1]);
		p = plan_of(&k, KSYM_PRESENT);
		assert_null(p.chosen[RS_F_BLOCK]);
		assert_non_null(strstr(p.state[RS_F_BLOCK].why, whys[i]));
		btf__free(k.btf);
	}
}

/* Without the address of what ends direct I/O it is seen in part. */
static void test_direct_io_unknown(void **state)
{
	struct kernel k = new_kernel();
	struct plan p;

	(void)state;
	add_common(&k);
	p = plan_of(&k, KSYM_ABSENT);
	assert_int_equal(p.state[RS_F_BLOCK].level, FEATURE_DEGRADED);
	assert_non_null(strstr(p.state[RS_F_BLOCK].why, "direct I/O"));
	btf__free(k.btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_companions),
		cmocka_unit_test(test_direct_io_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
