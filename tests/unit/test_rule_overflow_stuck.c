// SPDX-License-Identifier: MIT
/* OVERFLOW-STUCK: CQEs that nobody fetches, and rings that nobody could look into. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define RULE_UNDER_TEST "OVERFLOW-STUCK"
#include "diagnosis.h"

#define MS 1000000ull

static struct ring_stats *stuck(struct snapshot *s, uint64_t ns, uint32_t left)
{
	struct ring_stats *r = sample__ring(s, 3);

	r->c[RS_RC_CQ_OVERFLOWS] = 8;
	r->stuck_known = true;
	r->stuck_ns = ns;
	r->reap.left_known = true;
	r->reap.left = left;
	return r;
}

static void nobody_fetches(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = stuck(s, 1000 * MS, 0);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = only_finding(s, &d);
	assert_int_equal(f->severity, SEVERITY_CRIT);
	assert_int_equal(f->ring, 3);
	assert_int_equal(f->time_ns, 1000 * MS);
	assert_string_equal(f->title, "ring 3: overflowed CQEs wait in the kernel, for 1.00s or longer");
	assert_int_equal(integer_of(f, "stuck_ns"), 1000 * MS);
	assert_int_equal(integer_of(f, "cq_overflows"), 8);
	assert_int_equal(integer_of(f, "unreaped"), 0);
	diagnosis__free(&d);
	/* an application that does not look at all is not misled */
	r->reap.left = 4;
	assert_severity(s, SEVERITY_WARN);
	r->reap.left_known = false;
	f = only_finding(s, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_absent(f, "unreaped");
	diagnosis__free(&d);
	r->stuck_ns--;
	assert_healthy(s);
	r->stuck_ns = 0;
	assert_healthy(s);
	sample__free(s);
}

static void what_is_not_known(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = stuck(s, 5000 * MS, 0);
	struct diagnosis d;

	(void)state;
	r->stuck_known = false;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 0);
	assert_int_equal(d.n_not_checked, 1);
	assert_true(d.not_checked[0].in_part);
	assert_string_equal(d.not_checked[0].why, "not on 1 ring that could not be looked into at the end");
	diagnosis__free(&d);
	/* nothing overflowed there */
	r->c[RS_RC_CQ_OVERFLOWS] = 0;
	assert_healthy(s);
	r->stuck_known = true;
	s->interval = true;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 0);
	assert_false(d.not_checked[0].in_part);
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_fetches),
		cmocka_unit_test(what_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
