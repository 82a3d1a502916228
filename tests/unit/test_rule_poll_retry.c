// SPDX-License-Identifier: MIT
/* POLL-RETRY firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "POLL-RETRY"

static struct snapshot *polling(uint64_t requests, uint64_t multishot, uint64_t armed)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, 27);

	r->c[RS_RC_BATCHES] = 1;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = requests;
	o->c[RS_SC_MULTISHOT] = multishot;
	o->c[RS_SC_POLL_ARMED] = armed;
	return s;
}

static void fires(void **state)
{
	struct snapshot *s = polling(500, 0, 4000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->op, 27);
	assert_int_equal(f->weight, 3500);
	assert_int_equal(integer_of(f, "poll_armed"), 4000);
	assert_int_equal(integer_of(f, "requests"), 500);
	assert_float_equal(real_of(f, "armed_each"), 8, 1e-9);
	assert_float_equal(real_of(f, "per_s"), 4000, 1e-9);
	assert_string_equal(f->title, "RECV: parked on a poll 4000 times for 500 requests, 8.0 times each");
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t requests, multishot, armed, duration_ns;
		bool fires;
	} rows[] = {
		{ 333, 0, 1000, 1000000000, true }, { 334, 0, 1000, 1000000000, false },
		{ 333, 0, 999, 500000000, false }, { 100, 0, 1000, 1000000001, false },
		{ 1, 999, 3000, 1000000000, true }, { 1, 1000, 3000, 1000000000, false },
		{ 0, 0, 5000, 1000000000, false }, /* whose they are is not known */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = polling(rows[i].requests, rows[i].multishot, rows[i].armed);

		s->duration_ns = rows[i].duration_ns;
		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	struct snapshot *s = polling(100000, 0, 100000);

	(void)state;
	assert_silent(s, ID);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = polling(500, 0, 4000);

	(void)state;
	assert_needs(s, ID, RS_F_POLL);
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
