// SPDX-License-Identifier: MIT
/* UNREGISTERED firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "UNREGISTERED"

static struct snapshot *reading(uint64_t n)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 4);
	struct op_stats *o = sample__op(r, OP_READ);

	r->created_in_window = true;
	r->c[RS_RC_BATCHES] = n / 32;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = n;
	return s;
}

static void fires(void **state)
{
	struct snapshot *s = reading(200000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_int_equal(f->ring, 4);
	assert_int_equal(integer_of(f, "requests"), 200000);
	assert_float_equal(real_of(f, "per_s"), 200000, 1e-6);
	assert_float_equal(real_of(f, "gain_pct"), 0.22, 1e-9);
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t n, duration_ns;
		bool fires;
	} rows[] = {
		{ 100000, 1000000000, true },
		{ 99999, 500000000, false },
		{ 100000, 1000000001, false },
		{ 200000, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = reading(rows[i].n);

		s->duration_ns = rows[i].duration_ns;
		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	struct snapshot *s = reading(200000);

	(void)state;
	s->rings[0].c[RS_RC_FILE_TABLES] = 1;
	assert_silent(s, ID);
	sample__free(s);
	/* NOPs have no file */
	s = reading(0);
	sample__op(&s->rings[0], OP_NOP)->c[RS_SC_SUBMITTED] = 1000000;
	assert_silent(s, ID);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = reading(200000);
	struct diagnosis d;

	(void)state;
	assert_needs(s, ID, RS_F_REGISTER);
	/* it may have registered them before */
	s->rings[0].created_in_window = false;
	assert_string_equal(unchecked(s, ID),
		"not on 1 ring older than the observation, which may have registered files before");
	d = diagnose(s);
	assert_int_equal(findings_of(&d, ID, NULL), 0);
	diagnosis__free(&d);
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
