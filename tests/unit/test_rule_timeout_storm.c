// SPDX-License-Identifier: MIT
/* TIMEOUT-STORM firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#include <errno.h>

#define ID "TIMEOUT-STORM"

enum { TIMEOUT = 11, LINK_TIMEOUT = 15 };

static struct snapshot *expiring(unsigned int op, uint64_t all, uint64_t expired)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 5);
	struct op_stats *o = sample__op(r, op);

	r->c[RS_RC_BATCHES] = 1;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = all;
	o->c[RS_SC_ERRORS] = all;
	assert_int_equal(op_stats__add_errno(o, ETIME, expired), 0);
	assert_int_equal(op_stats__add_errno(o, ECANCELED, all - expired), 0);
	return s;
}

static void timers(void **state)
{
	struct snapshot *s = expiring(TIMEOUT, 3000, 2000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_int_equal(f->ring, 5);
	assert_int_equal(f->op, TIMEOUT);
	assert_int_equal(f->weight, 2000);
	assert_int_equal(integer_of(f, "expired"), 2000);
	assert_int_equal(integer_of(f, "submitted"), 3000);
	assert_float_equal(real_of(f, "per_s"), 2000, 1e-9);
	diagnosis__free(&d);
	s->rings[0].ops[0].c[RS_SC_MULTISHOT] = 7999;
	assert_severity_of(s, ID, SEVERITY_INFO);
	s->rings[0].ops[0].c[RS_SC_MULTISHOT] = 8000;
	assert_severity_of(s, ID, SEVERITY_WARN);
	sample__free(s);
}

static void deadlines(void **state)
{
	struct snapshot *s = expiring(LINK_TIMEOUT, 1000, 200);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->op, LINK_TIMEOUT);
	assert_string_equal(f->title, "LINK_TIMEOUT: 200 of 1000 requests (20.0%) missed their deadline");
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		unsigned int op;
		uint64_t all, expired, duration_ns;
		bool fires;
	} rows[] = {
		{ TIMEOUT, 1000, 1000, 1000000000, true },
		{ TIMEOUT, 1000, 999, 500000000, false },
		{ TIMEOUT, 1000, 1000, 1000000001, false },
		{ TIMEOUT, 1000, 1000, 0, false },
		{ LINK_TIMEOUT, 1000, 100, 1000000000, true },
		{ LINK_TIMEOUT, 1000, 99, 1000000000, false },
		{ LINK_TIMEOUT, 1001, 100, 1000000000, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = expiring(rows[i].op, rows[i].all, rows[i].expired);

		s->duration_ns = rows[i].duration_ns;
		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	/* as many, canceled in time */
	struct snapshot *s = expiring(TIMEOUT, 100000, 0);

	(void)state;
	assert_silent(s, ID);
	sample__free(s);
	s = expiring(LINK_TIMEOUT, 100000, 0);
	assert_silent(s, ID);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = expiring(TIMEOUT, 2000, 2000);

	(void)state;
	assert_needs(s, ID, RS_F_COMPLETE);
	/* errors whose errno found no place */
	s->rings[0].ops[0].errnos[0].count = 10;
	assert_silent(s, ID);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers),
		cmocka_unit_test(deadlines),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(healthy),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
