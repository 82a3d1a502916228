// SPDX-License-Identifier: MIT
/* OVERFLOW firing and not; what it counts on old and new kernels. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define RULE_UNDER_TEST "OVERFLOW"
#include "diagnosis.h"

static void overflow_fires(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 2);
	struct op_stats *o = sample__op(r, OP_NOP);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	/* 6400 NOPs over a CQ of 8, as a kernel since 6.3 shows them */
	o->c[RS_SC_SUBMITTED] = 6400;
	o->c[RS_SC_COMPLETED] = 800;
	r->c[RS_RC_CQ_OVERFLOWS] = r->c[RS_RC_OVERFLOW_ENDS] = 5600;
	r->cq_entries = r->cq_depth_max = 8;
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "OVERFLOW");
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 2);
	assert_int_equal(f->op, -1);
	assert_int_equal(f->weight, 5600);
	assert_string_equal(f->title, "ring 2: 5600 of 6400 CQEs (87.5%) found the CQ full");
	assert_int_equal(integer_of(f, "cq_overflows"), 5600);
	assert_int_equal(integer_of(f, "cq_dropped"), 0);
	assert_int_equal(integer_of(f, "cqes"), 6400);
	assert_int_equal(integer_of(f, "completed"), 6400);
	assert_float_equal(real_of(f, "overflow_pct"), 87.5, 1e-9);
	assert_int_equal(integer_of(f, "cq_entries"), 8);
	assert_int_equal(integer_of(f, "cq_depth_max"), 8);
	assert_non_null(strstr(f->advice, "IORING_SETUP_CQSIZE"));
	diagnosis__free(&d);

	/* the same where io_uring_complete comes first and the overflow after it */
	o->c[RS_SC_COMPLETED] = 6400;
	r->c[RS_RC_OVERFLOW_ENDS] = 0;
	f = only_finding(s, &d);
	assert_int_equal(integer_of(f, "cqes"), 6400);
	diagnosis__free(&d);
	sample__free(s);
}

static void overflow_near_misses(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);

	(void)state;
	/* a full CQ is no overflow, nor are SQEs that the kernel dropped */
	r->cq_entries = r->cq_depth_max = 8;
	r->sq_dropped = 5;
	sample__op(r, OP_NOP)->c[RS_SC_COMPLETED] = 1000000;
	assert_healthy(s);
	r->c[RS_RC_CQ_OVERFLOWS] = 1;
	assert_severity(s, SEVERITY_WARN);
	sample__free(s);
}

static void overflow_counts_multishot_cqes(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	/* nothing but CQEs of one multishot request: more overflowed than were posted */
	r->c[RS_RC_CQES_MULTISHOT] = 10;
	r->c[RS_RC_CQ_OVERFLOWS] = 30;
	f = only_finding(s, &d);
	assert_float_equal(real_of(f, "overflow_pct"), 100, 1e-9);
	diagnosis__free(&d);
	sample__free(s);
}

static void overflow_of_unlisted_rings(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct diagnosis d;

	(void)state;
	sample__others(s)->c[RS_RC_CQ_OVERFLOWS] = 9;
	sample__ring(s, 0)->c[RS_RC_CQ_OVERFLOWS] = 7;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(d.findings[i].ring, 0);
		assert_memory_equal(d.findings[i].title, "unlisted rings:", 15);
		assert_absent(&d.findings[i], "ring_ids");
	}
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overflow_fires),
		cmocka_unit_test(overflow_near_misses),
		cmocka_unit_test(overflow_counts_multishot_cqes),
		cmocka_unit_test(overflow_of_unlisted_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
