// SPDX-License-Identifier: MIT
/* LEAK firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "LEAK"
#define SECOND 1000000000ull

/* n requests in flight, of that age. */
static struct snapshot *hanging(unsigned int op, uint64_t n, uint64_t age_ns)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, op);

	r->c[RS_RC_BATCHES] = 1;
	o->c[RS_SC_SUBMITTED] = o->in_flight = n + 1;
	sample__times(o, OP_TIMES_AGE, age_ns, n);
	return s;
}

static void fires(void **state)
{
	struct snapshot *s = hanging(OP_WRITE, 3, 60 * SECOND);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->op, OP_WRITE);
	assert_int_equal(integer_of(f, "requests"), 3);
	assert_int_equal(integer_of(f, "in_flight"), 4);
	assert_int_equal(integer_of(f, "oldest_ns"), 60 * SECOND);
	assert_string_equal(f->title, "WRITE: 3 requests in flight for more than 30 s, one since 1.0min");
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t age_ns;
		bool fires;
	} rows[] = {
		{ 30 * SECOND, true },
		{ 30 * SECOND - 1000, false },
		{ 29 * SECOND, false },
		{ 3600 * SECOND, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = hanging(OP_READ, 1, rows[i].age_ns);

		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	static const unsigned int waits[] = { 6, 11, 13, 16, 18, 27, 30, 51, 59 };

	(void)state;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		struct snapshot *s = hanging(waits[i], 10, 3600 * SECOND);

		assert_silent(s, ID);
		sample__free(s);
	}
}

static void unknown(void **state)
{
	struct snapshot *s = hanging(OP_WRITE, 3, 60 * SECOND);

	(void)state;
	assert_needs(s, ID, RS_F_STAGES);
	assert_needs(s, ID, RS_F_POLL);
	/* in flight, their age not known */
	free(s->rings[0].ops[0].kin[OP_TIMES_AGE]);
	s->rings[0].ops[0].kin[OP_TIMES_AGE] = NULL;
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
