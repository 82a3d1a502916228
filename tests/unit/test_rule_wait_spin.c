// SPDX-License-Identifier: MIT
/* WAIT-SPIN firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "WAIT-SPIN"

/* One second of 1000 NOPs, submitted and waited for one by one, and of so many calls in all. */
static struct snapshot *calling(uint64_t enters)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, OP_NOP);

	r->c[RS_RC_BATCHES] = r->c[RS_RC_WAITS] = 1000;
	r->c[RS_RC_ENTERS] = enters;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 1000;
	return s;
}

static void fires(void **state)
{
	struct snapshot *s = calling(63000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->weight, 60000);
	assert_int_equal(integer_of(f, "useless"), 60000);
	assert_int_equal(integer_of(f, "enters"), 63000);
	assert_int_equal(integer_of(f, "batches"), 1000);
	assert_int_equal(integer_of(f, "waits"), 1000);
	assert_int_equal(integer_of(f, "cqes"), 1000);
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t enters, duration_ns;
		bool fires;
	} rows[] = {
		{ 13000, 1000000000, true },
		{ 12999, 500000000, false },
		{ 13000, 1000000001, false },
		{ 60000, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = calling(rows[i].enters);

		s->duration_ns = rows[i].duration_ns;
		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	struct snapshot *s = calling(63000);
	struct ring_stats *r = &s->rings[0];

	(void)state;
	r->setup_flags = 1 << 1; /* SQPOLL */
	assert_silent(s, ID);
	r->setup_flags = 1 << 0; /* IOPOLL */
	assert_silent(s, ID);
	r->setup_flags = 0;
	/* each call brings a CQE of a multishot request */
	r->c[RS_RC_CQES_MULTISHOT] = 60000;
	assert_silent(s, ID);
	r->c[RS_RC_CQES_MULTISHOT] = 0;
	/* or submits */
	r->c[RS_RC_BATCHES] = 60000;
	assert_silent(s, ID);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = calling(63000);

	(void)state;
	assert_needs(s, ID, RS_F_ENTER);
	assert_needs(s, ID, RS_F_WAIT);
	s->rings[0].batchless = 5;
	assert_silent(s, ID);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fires),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(healthy),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
